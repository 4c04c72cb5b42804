#pragma once

/*
 * Calendar: days and dates, seconds and RFC 3339.
 *
 * The Gregorian calendar without a beginning, days counted from 1970-01-01, no leap
 * seconds: what Unix, Go and Kubernetes count with. libc's functions are not used: they
 * know a time zone, which is global, and years of one size only.
 */

#include "base/buf.h"

#define CALENDAR_DAY_SEC INT64_C(86400)

/* The first and the last second that can be written: years 1 to 9999. */
#define CALENDAR_FIRST INT64_C(-62135596800)
#define CALENDAR_LAST INT64_C(253402300799)

typedef struct CalendarDate {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
} CalendarDate;

/* Days from 1970-01-01 to a date that exists; years of up to twelve digits. */
int64_t calendar_days(CalendarDate date);

/* The date that is @days after 1970-01-01. */
CalendarDate calendar_date(int64_t days);

bool calendar_is_leap(int64_t year);
int calendar_month_days(int64_t year, int month); /* @month: 1 to 12 */

/* 0 is Sunday. */
int calendar_weekday(int64_t days);

/* The day since 1970-01-01 of second @sec since 1970; @ret_second: the second of that day. */
int64_t calendar_day_of(int64_t sec, int *ret_second);

/* Takes "2026-11-15" off the front of @text. False when there is no such date; then @text is
 * undefined. */
bool calendar_take_date(Str *text, CalendarDate *ret);

/* Reads RFC 3339: "Z" or an offset of hours and minutes, any fraction of a second (digits after
 * the ninth are dropped). Big letters only, and no second of 60, as in Go. False, with
 * nothing returned, when @text is no such time or not in CALENDAR_FIRST to CALENDAR_LAST. */
bool calendar_parse(Str text, int64_t *ret_sec, uint32_t *ret_nanos);

/* "2026-11-15T08:09:10.5Z": the fraction as short as possible, none when it is 0. Times outside of
 * CALENDAR_FIRST to CALENDAR_LAST are written as the nearer limit. */
void calendar_print(int64_t sec, uint32_t nanos, Buf *out);

/* Appends ".5" for 500,000,000 billionths: no zeros at the end; nothing for 0. */
void calendar_print_fraction(uint32_t nanos, Buf *out);
