/* Instants in nanoseconds since 1970, and durations, as in lib-time.c. The lane holds the years
 * 1677 to 2262: an instant that leaves it may be a good timestamp, so it is FALLBACK; a difference
 * that does not fit the lane is no duration, so it is an error. */

#include "base/nsec.h"
#include "cel/time.h"
#include "columnar/kernel-internal.h"

#define SECONDS_MAX (INT64_MAX / NSEC_PER_SEC) /* either way */

#define MOVE(name, expression, fails, state)                                                       \
    KERNEL_BINARY_FAILING(                                                                         \
        kernel_##name, int64_t, ints, int64_t, ints, int64_t, ints, expression, fails, state)

MOVE(sub_time, kernel_difference(x, y), kernel_difference_fails(x, y), COLUMN_ERROR)
MOVE(sub_time_duration, kernel_difference(x, y), kernel_difference_fails(x, y), COLUMN_FALLBACK)
MOVE(add_time_duration, kernel_sum(x, y), kernel_sum_fails(x, y), COLUMN_FALLBACK)

/* Rounded towards the past. */
KERNEL_INLINE int64_t seconds_of(int64_t ns) {
    return ns / NSEC_PER_SEC - (ns % NSEC_PER_SEC < 0);
}

KERNEL_INLINE uint32_t nanos_of(int64_t ns) {
    int64_t nanos = ns % NSEC_PER_SEC;

    return (uint32_t)(nanos < 0 ? nanos + NSEC_PER_SEC : nanos);
}

#define INT_TO_INT(name, expression)                                                               \
    KERNEL_UNARY(kernel_##name, int64_t, ints, int64_t, ints, expression)

INT_TO_INT(int_of_time, seconds_of(x))
INT_TO_INT(duration_hours, x / (3600 * NSEC_PER_SEC))
INT_TO_INT(duration_minutes, x / (60 * NSEC_PER_SEC))
INT_TO_INT(duration_seconds, x / NSEC_PER_SEC)
INT_TO_INT(duration_milliseconds, x / NSEC_PER_MSEC % 1000)

#define PART(name, part) INT_TO_INT(name, cel_timestamp_part(seconds_of(x), nanos_of(x), part))

PART(time_year, CEL_FULL_YEAR)
PART(time_month, CEL_MONTH)
PART(time_day_of_year, CEL_DAY_OF_YEAR)
PART(time_day_of_month, CEL_DAY_OF_MONTH)
PART(time_date, CEL_DATE)
PART(time_day_of_week, CEL_DAY_OF_WEEK)
PART(time_hours, CEL_HOURS)
PART(time_minutes, CEL_MINUTES)
PART(time_seconds, CEL_SECONDS)
PART(time_milliseconds, CEL_MILLISECONDS)

KERNEL_INLINE bool is_far(int64_t seconds) {
    return (seconds > SECONDS_MAX) | (seconds < -SECONDS_MAX);
}

KERNEL_UNARY_FAILING(kernel_time_of_int, int64_t, ints, int64_t, ints,
    (is_far(x) ? 0 : x) * NSEC_PER_SEC, is_far(x), COLUMN_FALLBACK)
