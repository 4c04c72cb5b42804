/* Doubles to their shortest text, and back. */

#include "base/double.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"

#define DIGITS_SAFE 15       /* as many digits always survive: text to double and back */
#define DIGITS_ENOUGH 17     /* as many always distinguish two doubles */
#define DIGITS_DECIDE 800    /* more than any double has: later digits only break ties */
#define EXPONENT_MAX 1000000 /* an exponent beyond it is as good as this one */

#define DIGITS_SHORT 19 /* as many fit 64 bits */
#define EXACT_MAX (UINT64_C(1) << 53)
#define DOUBLE_BIAS 1023
#define DOUBLE_FRACTION_BITS 52

/* Printing. */

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

/* The next number of as many digits. */
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

/* Below a power of two doubles are twice as dense as above: there the nearest text of some length
 * may belong to another number while the next one up does not (2^-44). */
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

/* How many digits always survive. Below DBL_MIN a number has fewer bits the smaller it is,
 * and n bits keep (n - 1) × log10(2) digits. */
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
        whole_digits((uint64_t)d, &ret); /* no other number of fewer digits is as near */
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

/* Reading a short one, as most are: without an exponent, and up to 19 digits, which are a whole
 * number below 2^64; the point is the power of ten that it is divided by. Where both are
 * small enough to be doubles without loss, one division of doubles rounds once, and so rightly.
 * Where they are not (17 digits are usual for what was computed), the division is one of 128 by 64
 * bits: more bits of the quotient than a double has, and one more that is set if there is a rest.
 */

static const uint64_t powers[DIGITS_SHORT + 1] = {
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

/* False: it is longer than DIGITS_SHORT, or something else. */
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

/* Reading any other. The digits that decide are copied without their point, which moves into the
 * exponent: so the length is bounded and libc's point, which is the locale's, plays no part. */

typedef struct Reader {
    const char *at, *end;
    char digits[DIGITS_DECIDE + 1];
    size_t n;
    int64_t exponent; /* of the last digit copied, in digits */
    bool is_inexact;  /* a digit other than 0 was left out */
    bool has_digits;
} Reader;

static bool is_digit(char c, bool is_hex) {
    return ascii_is_digit(c) || (is_hex && ascii_hex_value(c) >= 0);
}

static void take_digit(Reader *in, char c, bool after_point) {
    in->has_digits = true;
    if (in->n == 0 && c == '0') {
        in->exponent -= after_point;
    } else if (in->n < DIGITS_DECIDE) {
        in->digits[in->n++] = c;
        in->exponent -= after_point;
    } else {
        in->is_inexact |= c != '0';
        in->exponent += !after_point;
    }
}

static void read_digits(Reader *in, bool is_hex) {
    bool after_point = false;

    for (; in->at < in->end; in->at++) {
        if (is_digit(*in->at, is_hex))
            take_digit(in, *in->at, after_point);
        else if (*in->at == '.' && !after_point)
            after_point = true;
        else
            return;
    }
}

static bool read_exponent(Reader *in, int64_t *ret) {
    bool is_negative = false;
    int64_t exponent = 0;

    in->at++;
    if (in->at < in->end && (*in->at == '+' || *in->at == '-'))
        is_negative = *in->at++ == '-';
    if (in->at == in->end)
        return false;
    for (; in->at < in->end; in->at++) {
        if (!is_digit(*in->at, false))
            return false;
        if (exponent < INT64_MAX / 100) /* enough to outweigh any number of digits */
            exponent = exponent * 10 + (*in->at - '0');
    }
    *ret = is_negative ? -exponent : exponent;
    return true;
}

static double convert(const Reader *in, bool is_hex, int64_t exponent) {
    char text[DIGITS_DECIDE + 64];

    if (in->n == 0)
        return 0;
    exponent += in->exponent * (is_hex ? 4 : 1);
    if (in->is_inexact) /* one more digit that is not 0: the side of a tie it falls to */
        exponent -= is_hex ? 4 : 1;
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    if (exponent < -EXPONENT_MAX)
        exponent = -EXPONENT_MAX;
    (void)snprintf(text, sizeof(text), "%s%.*s%s%c%lld", is_hex ? "0x" : "", (int)in->n, in->digits,
        in->is_inexact ? "1" : "", is_hex ? 'p' : 'e', (long long)exponent);
    return strtod(text, NULL);
}

/* Without a sign. May be infinite. */
static bool read_long(Str text, double *ret) {
    Reader in = {.at = text.ptr, .end = text.ptr + text.len};
    bool is_hex = false;
    int64_t exponent = 0;

    if (in.end - in.at > 2 && in.at[0] == '0' && (in.at[1] == 'x' || in.at[1] == 'X')) {
        is_hex = true;
        in.at += 2;
    }
    read_digits(&in, is_hex);
    if (!in.has_digits)
        return false;
    if (in.at == in.end) {
        if (is_hex)
            return false;
    } else if ((*in.at | 0x20) != (is_hex ? 'p' : 'e') || !read_exponent(&in, &exponent)) {
        return false;
    }
    *ret = convert(&in, is_hex, exponent);
    return true;
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
