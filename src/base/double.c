/* Doubles to their shortest text, and back. */

#include "base/double.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"

#define DIGITS_SAFE 15   /* digits that survive a conversion to double and back */
#define DIGITS_ENOUGH 17 /* digits that distinguish any two doubles */
#define TEXT_NEAR 256    /* longer texts, which are rare, are copied to the heap */

#define DIGITS_SHORT 19 /* decimal digits that fit into 64 bits */
#define EXACT_MAX (UINT64_C(1) << 53)
#define DOUBLE_BIAS 1023
#define DOUBLE_FRACTION_BITS 52

/* @d rounded to @n digits. */
static void round_to(double d, int n, DoubleDigits *ret) {
    char text[48];
    const char *exponent;

    (void)snprintf(text, sizeof(text), "%.*e", n - 1, d);
    ret->digits[0] = text[0];
    if (n > 1)
        memcpy(ret->digits + 1, text + 2, (size_t)n - 1); /* anything after the point */
    ret->n = n;
    exponent = strchr(text, 'e') + 1;
    ret->point = (int)strtol(exponent, NULL, 10) + 1;
}

static double read_back(const DoubleDigits *d) {
    char text[48];

    (void)snprintf(text, sizeof(text), "%.*se%d", d->n, d->digits, d->point - d->n);
    return strtod(text, NULL);
}

/* The next larger number with the same number of digits. */
static void step_up(DoubleDigits *d) {
    int i = d->n - 1;

    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    d->digits[0] = '1';
    d->point++;
}

/* Below a power of two doubles are twice as dense as above it. So the nearest text of n digits may
 * read back as another number, but the next larger text as @d (for example 2^-44). */
static bool is_power_of_two(double d) {
    int exponent;

    return frexp(d, &exponent) == 0.5;
}

static bool fits(double d, int n, DoubleDigits *ret) {
    round_to(d, n, ret);
    if (read_back(ret) == d)
        return true;
    if (!is_power_of_two(d))
        return false;
    step_up(ret);
    return read_back(ret) == d;
}

static void whole_digits(uint64_t number, DoubleDigits *ret) {
    char text[20];
    size_t at = sizeof(text);

    for (; number > 0; number /= 10)
        text[--at] = (char)('0' + number % 10);
    ret->n = (int)(sizeof(text) - at);
    ret->point = ret->n;
    memcpy(ret->digits, text + at, sizeof(text) - at);
}

/* The number of digits that survive a conversion of @d and back. Numbers below DBL_MIN have fewer
 * bits, and n bits keep (n - 1) × log10(2) digits. */
static int safe_digits(double d) {
    int n;

    if (d >= DBL_MIN)
        return DIGITS_SAFE;
    n = (ilogb(d) - ilogb(DBL_TRUE_MIN)) * 301 / 1000;
    return n > 1 ? n : 1;
}

DoubleDigits double_digits(double d) {
    DoubleDigits ret = {.is_negative = signbit(d) != 0};
    int n;

    d = fabs(d);
    if (d < 0x1p53 && d == (double)(uint64_t)d) {
        whole_digits((uint64_t)d, &ret); /* exact: shorter digits would be another number */
    } else {
        n = safe_digits(d);
        while (n < DIGITS_ENOUGH && !fits(d, n, &ret))
            n++;
        if (n == DIGITS_ENOUGH)
            round_to(d, n, &ret);
    }
    while (ret.n > 0 && ret.digits[ret.n - 1] == '0')
        ret.n--;
    return ret;
}

/* d.ddde±xx */
static size_t print_exponent(const DoubleDigits *d, char *out) {
    int exponent = d->point - 1;
    size_t at = 0;

    out[at++] = d->digits[0];
    if (d->n > 1) {
        out[at++] = '.';
        memcpy(out + at, d->digits + 1, (size_t)d->n - 1);
        at += (size_t)d->n - 1;
    }
    out[at++] = 'e';
    out[at++] = exponent < 0 ? '-' : '+';
    if (exponent < 0)
        exponent = -exponent;
    if (exponent >= 100)
        out[at++] = (char)('0' + exponent / 100);
    out[at++] = (char)('0' + exponent / 10 % 10);
    out[at++] = (char)('0' + exponent % 10);
    return at;
}

/* 0.00ddd, dd.dd or dd00 */
static size_t print_plain(const DoubleDigits *d, char *out) {
    size_t at = 0;

    if (d->point <= 0)
        out[at++] = '0';
    for (int i = 0; i < d->point; i++)
        out[at++] = i < d->n ? d->digits[i] : '0';
    if (d->n <= d->point)
        return at;
    out[at++] = '.';
    for (int i = d->point; i < d->n; i++)
        out[at++] = i < 0 ? '0' : d->digits[i];
    return at;
}

static size_t print_word(const char *word, char *out) {
    size_t len = strlen(word);

    memcpy(out, word, len);
    return len;
}

size_t double_print(double d, char out[DOUBLE_TEXT_MAX]) {
    DoubleDigits digits;
    size_t sign;

    if (isnan(d))
        return print_word("NaN", out);
    if (isinf(d))
        return print_word(d > 0 ? "+Inf" : "-Inf", out);
    digits = double_digits(d);
    sign = digits.is_negative;
    if (sign)
        out[0] = '-';
    if (digits.n == 0)
        return sign + print_word("0", out + sign);
    if (digits.point <= -4 || digits.point > 6)
        return sign + print_exponent(&digits, out + sign);
    return sign + print_plain(&digits, out + sign);
}

/* Short numbers, as most are, have no exponent and up to 19 digits: a whole number below 2^64,
 * divided by a power of ten for the digits after the point. If doubles hold both exactly, one
 * division of doubles rounds once, to the right result. If not (computed values often have 17
 * digits), 128 bits are divided by 64: the quotient has more bits than a double, and its last bit
 * is set if there is a remainder, so that rounding is right. */

/* digits / 10^n_fraction. */
typedef struct Decimal {
    uint64_t digits;
    unsigned n_fraction;
} Decimal;

/* Returns false if @text is not such a number. */
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
        n += (digits | digit) != 0; /* leading zeros do not count */
        if (n > DIGITS_SHORT)
            return false;
        digits = digits * 10 + digit;
    }
    *ret = (Decimal){digits, point == SIZE_MAX ? 0 : (unsigned)(text.len - point - 1)};
    return ret->n_fraction <= DIGITS_SHORT && text.len > (point != SIZE_MAX);
}

/* 2^@exponent, which is a normal double. */
static double power_of_two(int exponent) {
    uint64_t bits = (uint64_t)(DOUBLE_BIAS + exponent) << DOUBLE_FRACTION_BITS;
    double ret;

    memcpy(&ret, &bits, sizeof(ret));
    return ret;
}

/* @dividend, which is not 0, divided by @divisor. Both are shifted up to the highest bit, the
 * dividend to one bit less: then the quotient has 62 to 64 bits. */
static double divide(uint64_t dividend, uint64_t divisor) {
    int up = __builtin_clzll(dividend), up_divisor = __builtin_clzll(divisor);
    unsigned __int128 shifted = (unsigned __int128)(dividend << up) << 63;
    uint64_t quotient = (uint64_t)(shifted / (divisor << up_divisor));
    uint64_t rest = (uint64_t)(shifted - (unsigned __int128)quotient * (divisor << up_divisor));

    return (double)(quotient | (rest != 0)) * power_of_two(up_divisor - up - 63);
}

static double decimal_value(Decimal decimal) {
    uint64_t divisor = 1; /* 10^19 at most, which fits */

    for (unsigned i = 0; i < decimal.n_fraction; i++)
        divisor *= 10;
    if (decimal.digits <= EXACT_MAX && divisor <= EXACT_MAX)
        return (double)decimal.digits / (double)divisor;
    return decimal.digits == 0 ? 0 : divide(decimal.digits, divisor);
}

/* Reads any other number without a sign by libc's strtod(): the program never leaves the C locale.
 * Rejects words, and hexadecimal digits without an exponent, which strtod() accepts. The value may
 * be infinite. */
static bool read_long(Str text, double *ret) {
    bool is_hex = str_has_prefix(text, STR("0x")) || str_has_prefix(text, STR("0X"));
    bool begins = text.len > 0 && (ascii_is_digit(text.ptr[0]) || text.ptr[0] == '.');
    char near[TEXT_NEAR], *copy = near, *end;
    bool is_whole;

    if (!begins || (is_hex && str_find(text, 'p') == SIZE_MAX && str_find(text, 'P') == SIZE_MAX))
        return false;
    if (text.len >= sizeof(near))
        copy = malloc(text.len + 1);
    if (!copy)
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *ret = strtod(copy, &end);
    is_whole = end == copy + text.len;
    if (copy != near)
        free(copy);
    return is_whole;
}

int double_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool double_parse(Str text, double *ret, bool *ret_overflow) {
    bool has_sign = text.len > 0 && (text.ptr[0] == '+' || text.ptr[0] == '-');
    bool is_negative = has_sign && text.ptr[0] == '-';
    Str rest = str_skip(text, has_sign);
    Decimal decimal;
    double value;

    if (ret_overflow)
        *ret_overflow = false;
    if (decimal_read(rest, &decimal))
        value = decimal_value(decimal);
    else if (!read_long(rest, &value))
        return false;
    if (isinf(value)) {
        if (ret_overflow)
            *ret_overflow = true;
        return false;
    }
    *ret = is_negative ? -value : value;
    return true;
}
