#include "model/time.h"

#define DAY_SEC INT64_C(86400)

/* Days from 1970-01-01. Years are counted from March, so that the day that comes and
 * goes is the last one of its year; 719468 days lie between March of year 0 and 1970. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t m = month <= 2 ? month + 9 : month - 3; /* 0 is March */
    int64_t day_of_year = (153 * m + 2) / 5 + day - 1;

    return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool is_leap(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t days_of_month(int64_t year, int64_t month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}

/* --- reading ---------------------------------------------------------------- */

/* Takes exactly @n digits off the front of @text. */
static bool take_number(Str *text, size_t n, int64_t *ret) {
    int64_t value = 0;

    if (text->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned char)text->ptr[i] - (unsigned)'0';

        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    *text = str_skip(*text, n);
    *ret = value;
    return true;
}

static bool take_char(Str *text, char c) {
    if (text->len == 0 || text->ptr[0] != c)
        return false;
    *text = str_skip(*text, 1);
    return true;
}

static bool take_date(Str *text, int64_t *ret_days) {
    int64_t year, month, day;

    if (!take_number(text, 4, &year) || !take_char(text, '-') || !take_number(text, 2, &month) ||
        !take_char(text, '-') || !take_number(text, 2, &day))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month))
        return false;
    *ret_days = days_of_date(year, month, day);
    return true;
}

static bool take_clock(Str *text, int64_t *ret_sec) {
    int64_t hour, minute, second;

    if (!take_number(text, 2, &hour) || !take_char(text, ':') || !take_number(text, 2, &minute) ||
        !take_char(text, ':') || !take_number(text, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_sec = hour * 3600 + minute * 60 + second;
    return true;
}

/* True as well when there is none. */
static bool take_fraction(Str *text) {
    int64_t digit;
    size_t n = 0;

    if (!take_char(text, '.'))
        return true;
    while (take_number(text, 1, &digit))
        n++;
    return n > 0;
}

/* How far the written time is ahead of UTC. */
static bool take_offset(Str *text, int64_t *ret_sec) {
    int64_t hours, minutes, sign;

    *ret_sec = 0;
    if (take_char(text, 'Z'))
        return true;
    sign = take_char(text, '-') ? -1 : 1;
    if ((sign > 0 && !take_char(text, '+')) || !take_number(text, 2, &hours) ||
        !take_char(text, ':') || !take_number(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_sec = sign * (hours * 3600 + minutes * 60);
    return true;
}

bool time_parse(Str text, int64_t *ret_sec) {
    int64_t days, clock, offset, sec;

    if (!take_date(&text, &days) || !take_char(&text, 'T') || !take_clock(&text, &clock) ||
        !take_fraction(&text) || !take_offset(&text, &offset) || text.len > 0)
        return false;
    sec = days * DAY_SEC + clock - offset;
    if (sec < TIME_FIRST || sec > TIME_LAST)
        return false;
    *ret_sec = sec;
    return true;
}

void time_decode(JsonReader *reader, Arena *arena, int64_t *ret_sec) {
    Str text = STR_NULL;

    if (json_null(reader))
        return;
    if (json_peek(reader) == JSON_STRING)
        json_string(reader, arena, &text);
    else
        json_skip(reader, NULL);
    if (!json_error(reader) && !time_parse(text, ret_sec))
        *ret_sec = 0;
}

/* --- writing ---------------------------------------------------------------- */

/* The date @days after March 1st of year 0, the way back from days_of_date(): 146097
 * days are 400 years, and within them a leap day must not start a year too early. */
static void date_of_days(int64_t days, int *ret_year, int *ret_month, int *ret_day) {
    int64_t era = days / 146097, in_era = days % 146097;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t day_of_year = in_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * day_of_year + 2) / 153; /* 0 is March */

    *ret_day = (int)(day_of_year - (153 * m + 2) / 5 + 1);
    *ret_month = (int)(m < 10 ? m + 3 : m - 9);
    *ret_year = (int)(era * 400 + y + (m >= 10));
}

void time_print(int64_t sec, Buf *out) {
    int year, month, day, clock;
    int64_t since_first; /* second of TIME_FIRST: not negative */

    sec = sec < TIME_FIRST ? TIME_FIRST : sec > TIME_LAST ? TIME_LAST : sec;
    since_first = sec - TIME_FIRST;
    clock = (int)(since_first % DAY_SEC);
    /* January 1st of year 1 is 306 days after March 1st of year 0. */
    date_of_days(since_first / DAY_SEC + 306, &year, &month, &day);
    buf_printf(out,
        "%04d-%02d-%02dT%02d:%02d:%02dZ",
        year,
        month,
        day,
        clock / 3600,
        clock / 60 % 60,
        clock % 60);
}
