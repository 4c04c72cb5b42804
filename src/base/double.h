#pragma once

/*
 * Double: floating point numbers and their texts.
 *
 * Printed with the fewest digits that read back as the same number; if several texts do, the
 * nearest to the number. Neither printing nor reading depends on the locale.
 */

#include "base/str.h"

#define DOUBLE_TEXT_MAX 32 /* bytes that double_print() writes at most */

/* The fewest digits: the value is 0.DIGITS × 10^point. */
typedef struct DoubleDigits {
    bool is_negative;
    char digits[18]; /* '1' to '9' first; none for 0; no zeros at the end; not terminated */
    int n;
    int point;
} DoubleDigits;

/* @d is finite. */
DoubleDigits double_digits(double d);

/* Orders doubles, for qsort(). */
int double_compare(const void *a, const void *b);

/* "0.25", "100000", "1e+06", "1e-05", "-0", "NaN", "+Inf", "-Inf": an exponent, of two digits
 * at least, below 1e-4 and from 1e6 on (as C's %g, and as Go prints %g). Returns the
 * length; nothing is terminated. */
size_t double_print(double d, char out[DOUBLE_TEXT_MAX]);

/* Reads [+-] digits [. digits] [e[+-]digits], or 0x and hexadecimal digits with an obligatory
 * p exponent; with digits on one side of the point at least. Rounded to the nearest. False,
 * and @ret untouched, for anything else; @ret_overflow (may be NULL): a number, but too large. */
bool double_parse(Str text, double *ret, bool *ret_overflow);
