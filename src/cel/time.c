/* Times as values. Durations are printed exactly, in seconds, whatever unit they were written in;
 * cel-go uses a double and rounds after about 15 digits. */

#include "cel/time.h"

#include "base/ascii.h"
#include "base/calendar.h"
#include "base/nsec.h"

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

/* Not cel_timestamp_add(-ns): -INT64_MIN overflows. */
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

int64_t cel_timestamp_part(int64_t local_sec, uint32_t nanos, CelTimePart part) {
    int clock;
    int64_t days = calendar_day_of(local_sec, &clock);

    switch (part) {
    case CEL_FULL_YEAR:
        return calendar_date(days).year;
    case CEL_MONTH:
        return calendar_date(days).month - 1;
    case CEL_DAY_OF_YEAR:
        return days - calendar_days((CalendarDate){calendar_date(days).year, 1, 1});
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

#define MAX_NS (UINT64_C(1) << 63) /* the magnitude of the smallest duration */

/* Takes digits, maybe none, off the front; false: above MAX_NS. */
static bool take_whole(Str *text, uint64_t *ret) {
    uint64_t value = 0;
    size_t n = 0;

    for (; n < text->len && ascii_is_digit(text->ptr[n]); n++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text->ptr[n] - '0'), &value) || value > MAX_NS)
            return false;
    *text = str_skip(*text, n);
    *ret = value;
    return true;
}

/* Digits after the point: @ret / @ret_scale. Digits beyond 63 bits are too small to matter. */
static void take_fraction(Str *text, uint64_t *ret, double *ret_scale) {
    bool is_full = false;
    size_t n = 0;

    *ret = 0;
    *ret_scale = 1;
    for (; n < text->len && ascii_is_digit(text->ptr[n]); n++) {
        uint64_t digit = (uint64_t)(text->ptr[n] - '0');

        is_full |= *ret > (MAX_NS - digit) / 10;
        if (is_full)
            continue;
        *ret = *ret * 10 + digit;
        *ret_scale *= 10;
    }
    *text = str_skip(*text, n);
}

static bool take_unit(Str *text, uint64_t *ret_ns) {
    static const struct {
        Str name;
        uint64_t ns;
    } units[] = {
        {STR("ns"), 1},
        {STR("us"), 1000},
        {STR("\u00b5s"), 1000}, /* the micro sign */
        {STR("\u03bcs"), 1000}, /* the Greek letter */
        {STR("ms"), NSEC_PER_MSEC},
        {STR("s"), NSEC_PER_SEC},
        {STR("m"), 60 * NSEC_PER_SEC},
        {STR("h"), 3600 * NSEC_PER_SEC},
    };
    size_t n = 0;

    while (n < text->len && text->ptr[n] != '.' && !ascii_is_digit(text->ptr[n]))
        n++;
    for (size_t i = 0; i < ELEMENTS_OF(units); i++) {
        if (!str_eq(str_take(*text, n), units[i].name))
            continue;
        *text = str_skip(*text, n);
        *ret_ns = units[i].ns;
        return true;
    }
    return false;
}

/* One number with its unit: "1.5h". The fraction is computed as a double, as in Go, for the same
 * rounding. */
static bool take_part(Str *text, uint64_t *ret_ns) {
    uint64_t whole, fraction = 0, unit;
    double scale = 1;
    size_t before = text->len, n_digits;

    if (!take_whole(text, &whole))
        return false;
    n_digits = before - text->len;
    if (str_cut_char(text, '.')) {
        before = text->len;
        take_fraction(text, &fraction, &scale);
        n_digits += before - text->len;
    }
    if (n_digits == 0 || !take_unit(text, &unit) || whole > MAX_NS / unit)
        return false;
    *ret_ns = whole * unit + (uint64_t)((double)fraction * ((double)unit / scale));
    return *ret_ns <= MAX_NS;
}

bool cel_duration_parse(Str text, int64_t *ret_ns) {
    bool is_negative = text.len > 0 && text.ptr[0] == '-';
    uint64_t sum = 0, part;

    if (is_negative || (text.len > 0 && text.ptr[0] == '+'))
        text = str_skip(text, 1);
    if (text.len == 0)
        return false;
    if (str_is(text, "0"))
        text = STR_NULL;
    while (text.len > 0) {
        if (!take_part(&text, &part) || part > MAX_NS - sum)
            return false;
        sum += part;
    }
    if (!is_negative && sum == MAX_NS)
        return false;
    *ret_ns = is_negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

void cel_duration_print(int64_t ns, Buf *out) {
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    if (ns < 0)
        buf_append_char(out, '-');
    buf_append_int(out, (int64_t)(size / NSEC_PER_SEC));
    calendar_print_fraction((uint32_t)(size % NSEC_PER_SEC), out);
    buf_append_char(out, 's');
}
