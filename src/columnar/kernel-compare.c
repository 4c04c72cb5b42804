/*
 * Comparisons: two columns of numbers give one of bools. Times and durations are ints here.
 *
 * With NaN all are false but !=. An int meets a double as value.c has it: read as a double, which
 * also puts every int below what is too large to be one.
 */
#include "columnar/kernel-loop.h"

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
