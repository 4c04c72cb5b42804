/*
 * Up to 19 digits are a whole number below 2^64, and the point says by which power of ten it is to
 * be divided. Where both are small enough to be doubles without loss, one division of doubles
 * rounds once, and so rightly. Where they are not (17 digits are usual for what was computed), the
 * division is one of 128 by 64 bits: more bits of the quotient than a double has, and one more
 * that says whether there is a rest. What is longer goes to double_parse().
 */

#include "load/number.h"

#include <math.h>

#include "base/double.h"

#define DIGITS_MAX 19 /* all of them fit 64 bits */
#define EXACT_MAX (UINT64_C(1) << 53)
#define DOUBLE_BIAS 1023
#define DOUBLE_FRACTION_BITS 52

#define TIME_SEC_MAX INT64_C(253402300799) /* the last second of the year 9999 */

static const uint64_t powers[DIGITS_MAX + 1] = {
    UINT64_C(1),
    UINT64_C(10),
    UINT64_C(100),
    UINT64_C(1000),
    UINT64_C(10000),
    UINT64_C(100000),
    UINT64_C(1000000),
    UINT64_C(10000000),
    UINT64_C(100000000),
    UINT64_C(1000000000),
    UINT64_C(10000000000),
    UINT64_C(100000000000),
    UINT64_C(1000000000000),
    UINT64_C(10000000000000),
    UINT64_C(100000000000000),
    UINT64_C(1000000000000000),
    UINT64_C(10000000000000000),
    UINT64_C(100000000000000000),
    UINT64_C(1000000000000000000),
    UINT64_C(10000000000000000000),
};

/* Digits with a point at most: digits / 10^n_fraction. */
typedef struct Decimal {
    uint64_t digits;
    unsigned n_fraction;
} Decimal;

/* False: it is longer than DIGITS_MAX, or something else. */
static bool decimal_read(Str text, Decimal *ret) {
    size_t point = SIZE_MAX, n = 0;
    uint64_t digits = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned char)text.ptr[i] - (unsigned)'0';

        if (digit > 9) {
            if (text.ptr[i] != '.' || point != SIZE_MAX)
                return false;
            point = i;
            continue;
        }
        n += (digits | digit) != 0; /* zeros in front take no room */
        if (n > DIGITS_MAX)
            return false;
        digits = digits * 10 + digit;
    }
    *ret = (Decimal){digits, point == SIZE_MAX ? 0 : (unsigned)(text.len - point - 1)};
    return ret->n_fraction <= DIGITS_MAX && text.len > (point != SIZE_MAX);
}

/* 2^@exponent, which is a normal double. */
static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(DOUBLE_BIAS + exponent) << DOUBLE_FRACTION_BITS;
    double ret;

    memcpy(&ret, &bits, sizeof(ret));
    return ret;
}

/* @dividend, not 0, by @divisor. Both are shifted up to their highest bit, the dividend to one bit
 * less: then the quotient has 62 to 64 bits. */
static double divide(uint64_t dividend, uint64_t divisor) {
    int up = __builtin_clzll(dividend), up_divisor = __builtin_clzll(divisor);
    unsigned __int128 shifted = (unsigned __int128)(dividend << up) << 63;
    uint64_t quotient = (uint64_t)(shifted / (divisor << up_divisor));
    uint64_t rest = (uint64_t)(shifted - (unsigned __int128)quotient * (divisor << up_divisor));

    return (double)(quotient | (rest != 0)) * power_of_two(up_divisor - up - 63);
}

static double decimal_value(Decimal decimal) {
    uint64_t divisor = powers[decimal.n_fraction];

    if (decimal.digits <= EXACT_MAX && divisor <= EXACT_MAX)
        return (double)decimal.digits / (double)divisor;
    return decimal.digits == 0 ? 0 : divide(decimal.digits, divisor);
}

static bool parse_word(Str text, double *ret) {
    if (str_eq(text, STR("NaN")))
        *ret = NAN;
    else if (str_eq(text, STR("+Inf")) || str_eq(text, STR("Inf")))
        *ret = INFINITY;
    else if (str_eq(text, STR("-Inf")))
        *ret = -INFINITY;
    else
        return false;
    return true;
}

static bool is_hexadecimal(Str text) {
    return str_find(text, 'x') != SIZE_MAX || str_find(text, 'X') != SIZE_MAX;
}

static bool parse_long(Str text, double *ret) {
    bool overflow;

    if (parse_word(text, ret))
        return true;
    if (is_hexadecimal(text))
        return false;
    if (double_parse(text, ret, &overflow))
        return true;
    if (overflow)
        *ret = text.ptr[0] == '-' ? -INFINITY : INFINITY;
    return overflow;
}

bool number_parse(Str text, double *ret) {
    bool is_negative;
    Decimal decimal;
    double value;

    if (text.len == 0)
        return false;
    is_negative = text.ptr[0] == '-';
    if (!decimal_read(str_of(text.ptr + is_negative, text.len - is_negative), &decimal))
        return parse_long(text, ret);
    value = decimal_value(decimal);
    *ret = is_negative ? -value : value;
    return true;
}

/* Of more than three digits of a fraction the first three. */
static uint64_t decimal_milli(Decimal decimal) {
    if (decimal.n_fraction <= 3)
        return decimal.digits * powers[3 - decimal.n_fraction];
    return decimal.digits / powers[decimal.n_fraction - 3];
}

bool number_parse_time(Str text, int64_t *ret_msec) {
    Decimal decimal;
    double value;

    if (decimal_read(text, &decimal)) {
        if (decimal.digits / powers[decimal.n_fraction] > (uint64_t)TIME_SEC_MAX)
            return false;
        *ret_msec = (int64_t)decimal_milli(decimal);
        return true;
    }
    if (!number_parse(text, &value) || !(value >= 0 && value <= (double)TIME_SEC_MAX))
        return false;
    *ret_msec = (int64_t)(value * 1000);
    return true;
}
