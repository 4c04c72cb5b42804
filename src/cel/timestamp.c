#include "cel/timestamp.h"

#include "base/calendar.h"
#include "base/nsec.h"

bool cel_timestamp_parse(Str text, int64_t *ret_sec, uint32_t *ret_nanos) {
    return calendar_parse(text, ret_sec, ret_nanos);
}

void cel_timestamp_print(int64_t sec, uint32_t nanos, Buf *out) {
    calendar_print(sec, nanos, out);
}

bool cel_timestamp_is_valid(int64_t sec) {
    return sec >= CALENDAR_FIRST && sec <= CALENDAR_LAST;
}

/* @sec within the range and @more at most 2^63 / 10^9: nothing overflows. */
static bool move(int64_t *sec, uint32_t *nanos, int64_t more, int64_t more_nanos) {
    int64_t sum = *sec + more, sum_nanos = (int64_t)*nanos + more_nanos;

    if (sum_nanos < 0) {
        sum_nanos += NSEC_PER_SEC;
        sum--;
    } else if (sum_nanos >= NSEC_PER_SEC) {
        sum_nanos -= NSEC_PER_SEC;
        sum++;
    }
    if (!cel_timestamp_is_valid(sum))
        return false;
    *sec = sum;
    *nanos = (uint32_t)sum_nanos;
    return true;
}

bool cel_timestamp_add(int64_t *sec, uint32_t *nanos, int64_t ns) {
    return move(sec, nanos, ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

/* Not add(-ns): the smallest duration has no negative. */
bool cel_timestamp_subtract(int64_t *sec, uint32_t *nanos, int64_t ns) {
    return move(sec, nanos, -(ns / NSEC_PER_SEC), -(ns % NSEC_PER_SEC));
}

bool cel_timestamp_difference(
    int64_t sec, uint32_t nanos, int64_t other_sec, uint32_t other_nanos, int64_t *ret_ns) {
    __int128 ns =
        (__int128)(sec - other_sec) * NSEC_PER_SEC + (int64_t)nanos - (int64_t)other_nanos;

    if (ns < INT64_MIN || ns > INT64_MAX)
        return false;
    *ret_ns = (int64_t)ns;
    return true;
}

static int64_t day_of_year(CalendarDate date, int64_t days) {
    return days - calendar_days((CalendarDate){.year = date.year, .month = 1, .day = 1});
}

int64_t cel_timestamp_part(int64_t local_sec, uint32_t nanos, CelTimePart part) {
    int clock;
    int64_t days = calendar_day_of(local_sec, &clock);

    switch (part) {
    case CEL_FULL_YEAR:
        return calendar_date(days).year;
    case CEL_MONTH:
        return calendar_date(days).month - 1;
    case CEL_DAY_OF_YEAR:
        return day_of_year(calendar_date(days), days);
    case CEL_DAY_OF_MONTH:
        return calendar_date(days).day - 1;
    case CEL_DATE:
        return calendar_date(days).day;
    case CEL_DAY_OF_WEEK:
        return calendar_weekday(days);
    case CEL_HOURS:
        return clock / 3600;
    case CEL_MINUTES:
        return clock / 60 % 60;
    case CEL_SECONDS:
        return clock % 60;
    case CEL_MILLISECONDS:
        return nanos / 1000000;
    }
    return 0;
}
