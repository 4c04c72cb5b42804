/* Kernels for numbers, as in operators.h, lib-conversions.c, lib-math.c and value.c. Times and
 * durations are ints here. With NaN all comparisons are false but !=. An int compares with a double
 * as a double. */

#include <math.h>

#include "base/nsec.h"
#include "columnar/kernel-internal.h"

#define INT(name, expression, fails, state)                                                        \
    KERNEL_BINARY_FAILING(                                                                         \
        kernel_##name, int64_t, ints, int64_t, ints, int64_t, ints, expression, fails, state)

KERNEL_INLINE bool product_fails(int64_t x, int64_t y) {
    int64_t product;

    return __builtin_mul_overflow(x, y, &product);
}

KERNEL_INLINE bool quotient_fails(int64_t x, int64_t y) {
    return (y == 0) | ((y == -1) & (x == INT64_MIN));
}

KERNEL_INLINE int64_t divisor(int64_t x, int64_t y) {
    return quotient_fails(x, y) ? 1 : y;
}

INT(add_int, kernel_sum(x, y), kernel_sum_fails(x, y), COLUMN_ERROR)
INT(sub_int, kernel_difference(x, y), kernel_difference_fails(x, y), COLUMN_ERROR)
INT(mul_int, (uint64_t)x *(uint64_t)y, product_fails(x, y), COLUMN_ERROR)
INT(div_int, x / divisor(x, y), quotient_fails(x, y), COLUMN_ERROR)
INT(mod_int, x % divisor(x, y), quotient_fails(x, y), COLUMN_ERROR)

KERNEL_UNARY_FAILING(
    kernel_neg_int, int64_t, ints, int64_t, ints, 0 - (uint64_t)x, x == INT64_MIN, COLUMN_ERROR)
KERNEL_UNARY_FAILING(kernel_abs_int, int64_t, ints, int64_t, ints,
    x < 0 ? 0 - (uint64_t)x : (uint64_t)x, x == INT64_MIN, COLUMN_ERROR)

KERNEL_UNARY(kernel_double_of_int, int64_t, ints, double, doubles, x)

/* Of two equal ints either may be chosen. */
#define CHOICE_INT(name, expression)                                                               \
    KERNEL_BINARY(kernel_##name, int64_t, ints, int64_t, ints, int64_t, ints, expression)

CHOICE_INT(least_int, y < x ? y : x)
CHOICE_INT(greatest_int, y > x ? y : x)

#define DOUBLE(name, expression)                                                                   \
    KERNEL_BINARY(kernel_##name, double, doubles, double, doubles, double, doubles, expression)

DOUBLE(add_double, x + y)
DOUBLE(sub_double, x - y)
DOUBLE(mul_double, x *y)
DOUBLE(div_double, x / y)

#define DOUBLE_TO(name, R, rm, expression)                                                         \
    KERNEL_UNARY(kernel_##name, double, doubles, R, rm, expression)

DOUBLE_TO(neg_double, double, doubles, -x)
DOUBLE_TO(abs_double, double, doubles, fabs(x))
DOUBLE_TO(sqrt_double, double, doubles, sqrt(x))
DOUBLE_TO(ceil_double, double, doubles, ceil(x))
DOUBLE_TO(floor_double, double, doubles, floor(x))
DOUBLE_TO(round_double, double, doubles, round(x))
DOUBLE_TO(trunc_double, double, doubles, trunc(x))
DOUBLE_TO(is_nan, uint8_t, states, isnan(x) != 0)

/* The first of two equal values is chosen: 0.0 and -0.0 differ. */
#define CHOICE_DOUBLE(name, expression)                                                            \
    KERNEL_BINARY_FAILING(kernel_##name, double, doubles, double, doubles, double, doubles,        \
        expression, isunordered(x, y), COLUMN_ERROR)

CHOICE_DOUBLE(least_double, y < x ? y : x)
CHOICE_DOUBLE(greatest_double, y > x ? y : x)

/* Both limits are rejected, as in number.h. */
KERNEL_INLINE bool is_in_range(double x) {
    return (x > -0x1p63) & (x < 0x1p63);
}

KERNEL_UNARY_FAILING(kernel_int_of_double, double, doubles, int64_t, ints, is_in_range(x) ? x : 0,
    !is_in_range(x), COLUMN_ERROR)

#define COMPARE(name, A, am, B, bm, operator)                                                      \
    KERNEL_BINARY(kernel_##name, A, am, B, bm, uint8_t, states, x operator y)

COMPARE(eq_int, int64_t, ints, int64_t, ints, ==)
COMPARE(ne_int, int64_t, ints, int64_t, ints, !=)
COMPARE(lt_int, int64_t, ints, int64_t, ints, <)
COMPARE(le_int, int64_t, ints, int64_t, ints, <=)
COMPARE(gt_int, int64_t, ints, int64_t, ints, >)
COMPARE(ge_int, int64_t, ints, int64_t, ints, >=)

COMPARE(eq_double, double, doubles, double, doubles, ==)
COMPARE(ne_double, double, doubles, double, doubles, !=)
COMPARE(lt_double, double, doubles, double, doubles, <)
COMPARE(le_double, double, doubles, double, doubles, <=)
COMPARE(gt_double, double, doubles, double, doubles, >)
COMPARE(ge_double, double, doubles, double, doubles, >=)

COMPARE(lt_int_double, int64_t, ints, double, doubles, <)
COMPARE(le_int_double, int64_t, ints, double, doubles, <=)
COMPARE(gt_int_double, int64_t, ints, double, doubles, >)
COMPARE(ge_int_double, int64_t, ints, double, doubles, >=)

COMPARE(lt_double_int, double, doubles, int64_t, ints, <)
COMPARE(le_double_int, double, doubles, int64_t, ints, <=)
COMPARE(gt_double_int, double, doubles, int64_t, ints, >)
COMPARE(ge_double_int, double, doubles, int64_t, ints, >=)

/* Instants in nanoseconds since 1970, and durations, as in lib-time.c. The lane holds the years
 * 1677 to 2262: an instant that leaves it may be a good timestamp, so it is FALLBACK; a difference
 * that does not fit the lane is no duration, so it is an error. */

#define SECONDS_MAX (INT64_MAX / NSEC_PER_SEC) /* before and after 1970 */

INT(sub_time_duration, kernel_difference(x, y), kernel_difference_fails(x, y), COLUMN_FALLBACK)
INT(add_time_duration, kernel_sum(x, y), kernel_sum_fails(x, y), COLUMN_FALLBACK)

/* Rounded towards the past. */
KERNEL_INLINE int64_t seconds_of(int64_t ns) {
    return ns / NSEC_PER_SEC - (ns % NSEC_PER_SEC < 0);
}

#define INT_TO_INT(name, expression)                                                               \
    KERNEL_UNARY(kernel_##name, int64_t, ints, int64_t, ints, expression)

INT_TO_INT(int_of_time, seconds_of(x))
INT_TO_INT(duration_hours, x / (3600 * NSEC_PER_SEC))
INT_TO_INT(duration_minutes, x / (60 * NSEC_PER_SEC))
INT_TO_INT(duration_seconds, x / NSEC_PER_SEC)

KERNEL_INLINE bool is_far(int64_t seconds) {
    return (seconds > SECONDS_MAX) | (seconds < -SECONDS_MAX);
}

KERNEL_UNARY_FAILING(kernel_time_of_int, int64_t, ints, int64_t, ints,
    (is_far(x) ? 0 : x) * NSEC_PER_SEC, is_far(x), COLUMN_FALLBACK)
