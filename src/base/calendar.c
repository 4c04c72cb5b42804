/* Dates and RFC 3339 times. */

#include "base/calendar.h"

#define ERA_DAYS INT64_C(146097) /* 400 years */
/* Between March 1st of year 0, where an era begins, and 1970-01-01. */
#define ERA_TO_1970 INT64_C(719468)

/* Years begin in March, so that the leap day is the last day of its year, and are counted in eras
 * of 400 years, so that no number below is negative. */
int64_t calendar_days(CalendarDate date) {
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t month = date.month <= 2 ? date.month + 9 : date.month - 3; /* 0 is March */
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t y = year - era * 400;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;

    return era * ERA_DAYS + y * 365 + y / 4 - y / 100 + day_of_year - ERA_TO_1970;
}

/* The inverse. Days of an era are corrected for leap days before they are divided by 365. */
CalendarDate calendar_date(int64_t days) {
    int64_t since = days + ERA_TO_1970;
    int64_t era = (since >= 0 ? since : since - (ERA_DAYS - 1)) / ERA_DAYS;
    int64_t in_era = since - era * ERA_DAYS;
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t day_of_year = in_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * day_of_year + 2) / 153; /* 0 is March */

    return (CalendarDate){
        .year = era * 400 + y + (m >= 10),
        .month = (int)(m < 10 ? m + 3 : m - 9),
        .day = (int)(day_of_year - (153 * m + 2) / 5 + 1),
    };
}

bool calendar_is_leap(int64_t year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int calendar_month_days(int64_t year, int month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && calendar_is_leap(year));
}

/* 1970-01-01 was a Thursday. */
int calendar_weekday(int64_t days) {
    int from_thursday = (int)(days % 7);

    return (from_thursday + 4 + 7) % 7;
}

int64_t calendar_day_of(int64_t sec, int *ret_second) {
    int64_t day = sec / CALENDAR_DAY_SEC, second = sec % CALENDAR_DAY_SEC;

    if (second < 0) {
        second += CALENDAR_DAY_SEC;
        day--;
    }
    *ret_second = (int)second;
    return day;
}

/* Takes exactly @n digits off the front of @text. */
static bool take_number(Str *text, size_t n, int *ret) {
    int value = 0;

    if (text->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned char)text->ptr[i] - (unsigned)'0';

        if (digit > 9)
            return false;
        value = value * 10 + (int)digit;
    }
    *text = str_skip(*text, n);
    *ret = value;
    return true;
}

bool calendar_take_date(Str *text, CalendarDate *ret) {
    int year, month, day;

    if (!take_number(text, 4, &year) || !str_cut_char(text, '-') || !take_number(text, 2, &month) ||
        !str_cut_char(text, '-') || !take_number(text, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > calendar_month_days(year, month))
        return false;
    *ret = (CalendarDate){.year = year, .month = month, .day = day};
    return true;
}

static bool take_clock(Str *text, int64_t *ret_sec) {
    int hour, minute, second;

    if (!take_number(text, 2, &hour) || !str_cut_char(text, ':') ||
        !take_number(text, 2, &minute) || !str_cut_char(text, ':') ||
        !take_number(text, 2, &second))
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_sec = hour * INT64_C(3600) + minute * 60 + second;
    return true;
}

/* Cuts a fraction off the front, if there is one. False: a point without digits. */
static bool take_fraction(Str *text, uint32_t *ret_nanos) {
    uint32_t nanos = 0, unit = 100000000;
    size_t n = 0;
    int digit;

    *ret_nanos = 0;
    if (!str_cut_char(text, '.'))
        return true;
    for (; take_number(text, 1, &digit); n++) {
        nanos += (uint32_t)digit * unit;
        unit /= 10;
    }
    *ret_nanos = nanos;
    return n > 0;
}

/* Cuts "Z" or an offset off the front. @ret_sec: how far the written time is ahead of UTC. */
static bool take_offset(Str *text, int64_t *ret_sec) {
    int hours, minutes, sign;

    *ret_sec = 0;
    if (str_cut_char(text, 'Z'))
        return true;
    sign = str_cut_char(text, '-') ? -1 : 1;
    if ((sign > 0 && !str_cut_char(text, '+')) || !take_number(text, 2, &hours) ||
        !str_cut_char(text, ':') || !take_number(text, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_sec = sign * (hours * INT64_C(3600) + minutes * 60);
    return true;
}

bool calendar_parse(Str text, int64_t *ret_sec, uint32_t *ret_nanos) {
    CalendarDate date;
    int64_t clock, offset, sec;
    uint32_t nanos;

    if (!calendar_take_date(&text, &date) || !str_cut_char(&text, 'T') ||
        !take_clock(&text, &clock) || !take_fraction(&text, &nanos) ||
        !take_offset(&text, &offset) || text.len > 0)
        return false;
    sec = calendar_days(date) * CALENDAR_DAY_SEC + clock - offset;
    if (sec < CALENDAR_FIRST || sec > CALENDAR_LAST)
        return false;
    *ret_sec = sec;
    *ret_nanos = nanos;
    return true;
}

void calendar_print_fraction(uint32_t nanos, Buf *out) {
    int n_digits = 9;

    if (nanos == 0)
        return;
    for (; nanos % 10 == 0; nanos /= 10)
        n_digits--;
    buf_printf(out, ".%0*u", n_digits, (unsigned)nanos);
}

void calendar_print(int64_t sec, uint32_t nanos, Buf *out) {
    CalendarDate date;
    int clock;

    sec = sec < CALENDAR_FIRST ? CALENDAR_FIRST : sec > CALENDAR_LAST ? CALENDAR_LAST : sec;
    date = calendar_date(calendar_day_of(sec, &clock));
    buf_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d", (int)date.year, date.month, date.day,
        clock / 3600, clock / 60 % 60, clock % 60);
    calendar_print_fraction(nanos, out);
    buf_append_char(out, 'Z');
}
