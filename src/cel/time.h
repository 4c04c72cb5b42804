#pragma once

/* Times as values. A timestamp is an instant of the years 1 to 9999, as seconds since 1970 and
 * nanoseconds (0 to 999,999,999). A duration is nanoseconds, up to 292 years either way. */

#include "base/buf.h"

bool cel_timestamp_is_valid(int64_t sec);

/* Moves the instant by @ns; false, with nothing changed, when that leaves the range. */
bool cel_timestamp_add(int64_t *sec, uint32_t *nanos, int64_t ns);
bool cel_timestamp_subtract(int64_t *sec, uint32_t *nanos, int64_t ns);

/* The first instant minus the second. False: more than a duration holds (292 years). */
bool cel_timestamp_difference(
    int64_t sec, uint32_t nanos, int64_t other_sec, uint32_t other_nanos, int64_t *ret_ns);

/* Parts of a timestamp that an expression can read. */
typedef enum CelTimePart {
    CEL_FULL_YEAR,
    CEL_MONTH,        /* 0 is January */
    CEL_DAY_OF_YEAR,  /* 0 is January 1st */
    CEL_DAY_OF_MONTH, /* 0 is the 1st */
    CEL_DATE,         /* 1 is the 1st */
    CEL_DAY_OF_WEEK,  /* 0 is Sunday */
    CEL_HOURS,
    CEL_MINUTES,
    CEL_SECONDS,
    CEL_MILLISECONDS, /* of the second */
} CelTimePart;

/* @local_sec: seconds since 1970 plus the zone's offset; may exceed the range by that offset. */
int64_t cel_timestamp_part(int64_t local_sec, uint32_t nanos, CelTimePart part);

/* Reads Go's format: a sign, then numbers with units, "1h30m", "-1.5s", "100ms", "1us" or "1µs",
 * "0". False, with @ret_ns unchanged, for any other text or on overflow. */
bool cel_duration_parse(Str text, int64_t *ret_ns);

/* As string(duration) gives it, in seconds and exactly: "5400s", "-0.001s". */
void cel_duration_print(int64_t ns, Buf *out);
