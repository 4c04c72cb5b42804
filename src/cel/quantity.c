/* Quantities: a sign and 256 bits of nano-units; base/quantity.h reads those of up to 128 bits.
 * Unlike Kubernetes' code, but as it is documented, whether an amount is an integer depends on the
 * number, not its spelling (1000m is one), and a double is the nearest one. */

#include "cel/quantity.h"

#include <math.h>

#define NANO UINT64_C(1000000000)

typedef unsigned __int128 Wide;

static unsigned bit_length(const CelQuantity *amount) {
    for (unsigned i = CEL_QUANTITY_LIMBS; i > 0; i--) {
        if (amount->limbs[i - 1] != 0)
            return i * 64 - (unsigned)__builtin_clzll(amount->limbs[i - 1]);
    }
    return 0;
}

static bool is_zero(const CelQuantity *amount) {
    return bit_length(amount) == 0;
}

/* Multiplies the magnitude by @factor and adds @addend. Returns false if it does not fit. */
static bool multiply_add(CelQuantity *amount, uint64_t factor, uint64_t addend) {
    Wide carry = addend;

    for (size_t i = 0; i < CEL_QUANTITY_LIMBS; i++) {
        carry += (Wide)amount->limbs[i] * factor;
        amount->limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

/* Divides the magnitude; returns the remainder. */
static uint64_t divide(CelQuantity *amount, uint64_t divisor) {
    Wide rest = 0;

    for (size_t i = CEL_QUANTITY_LIMBS; i > 0; i--) {
        rest = rest << 64 | amount->limbs[i - 1];
        amount->limbs[i - 1] = (uint64_t)(rest / divisor);
        rest %= divisor;
    }
    return (uint64_t)rest;
}

/* Divides if that leaves no remainder; else returns false. */
static bool divide_exactly(CelQuantity *amount, uint64_t divisor) {
    CelQuantity quotient = *amount;

    if (divide(&quotient, divisor) != 0)
        return false;
    *amount = quotient;
    return true;
}

static int magnitude_cmp(const CelQuantity *a, const CelQuantity *b) {
    for (size_t i = CEL_QUANTITY_LIMBS; i > 0; i--) {
        if (a->limbs[i - 1] != b->limbs[i - 1])
            return a->limbs[i - 1] < b->limbs[i - 1] ? -1 : 1;
    }
    return 0;
}

static bool magnitude_add(const CelQuantity *a, const CelQuantity *b, CelQuantity *ret) {
    Wide carry = 0;

    for (size_t i = 0; i < CEL_QUANTITY_LIMBS; i++) {
        carry += (Wide)a->limbs[i] + b->limbs[i];
        ret->limbs[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

/* The magnitude of @a is not below that of @b. */
static void magnitude_sub(const CelQuantity *a, const CelQuantity *b, CelQuantity *ret) {
    uint64_t borrow = 0;

    for (size_t i = 0; i < CEL_QUANTITY_LIMBS; i++) {
        Wide difference = (Wide)a->limbs[i] - b->limbs[i] - borrow;

        ret->limbs[i] = (uint64_t)difference;
        borrow = (uint64_t)(difference >> 64) & 1;
    }
}

CelQuantity cel_quantity_from_quantity(Quantity quantity, QuantityFormat format) {
    Wide magnitude = quantity.nano < 0 ? -(Wide)quantity.nano : (Wide)quantity.nano;

    return (CelQuantity){
        .limbs = {(uint64_t)magnitude, (uint64_t)(magnitude >> 64)},
        .is_negative = quantity.nano < 0,
        .format = (uint8_t)format,
    };
}

CelQuantity cel_quantity_from_int(int64_t value) {
    Quantity quantity = {.nano = (__int128)value * (int64_t)NANO};

    return cel_quantity_from_quantity(quantity, QUANTITY_EXPONENT); /* as in apimachinery */
}

static unsigned digit_at(const QuantityText *text, size_t i) {
    const char *at =
        i < text->whole.len ? text->whole.ptr + i : text->fraction.ptr + (i - text->whole.len);

    return (unsigned)(*at - '0');
}

/* Reads a decimal amount beyond 128 bits. A remainder below nano-units rounds up. */
static int read_wide(const QuantityText *text, CelQuantity *ret) {
    size_t n_digits = text->whole.len + text->fraction.len, i = 0;
    int64_t n_nano = (int64_t)text->whole.len + text->exponent + 9; /* digits down to nano */
    bool is_rounded = false;

    *ret = (CelQuantity){.is_negative = text->is_negative, .format = (uint8_t)text->format};
    for (; (int64_t)i < n_nano; i++) {
        if (!multiply_add(ret, 10, i < n_digits ? digit_at(text, i) : 0))
            return CEL_QUANTITY_RANGE;
    }
    for (; i < n_digits && !is_rounded; i++)
        is_rounded = digit_at(text, i) != 0;
    return is_rounded && !multiply_add(ret, 1, 1) ? CEL_QUANTITY_RANGE : 0;
}

int cel_quantity_parse(Str text, CelQuantity *ret) {
    static const CelQuantity one = {.limbs = {NANO}};
    QuantityText written;
    Quantity quantity = {0};

    if (!quantity_read(text, &written) || !quantity_parse(text, &quantity))
        return CEL_QUANTITY_INVALID;
    if (quantity.nano == QUANTITY_NANO_MAX || quantity.nano == -QUANTITY_NANO_MAX)
        return read_wide(&written, ret);
    *ret = cel_quantity_from_quantity(quantity, written.format);
    if (written.format == QUANTITY_BINARY && magnitude_cmp(ret, &one) < 0)
        ret->format = QUANTITY_DECIMAL; /* as apimachinery does below 1 */
    return 0;
}

int cel_quantity_sign(const CelQuantity *amount) {
    return is_zero(amount) ? 0 : amount->is_negative ? -1 : 1;
}

int cel_quantity_cmp(const CelQuantity *a, const CelQuantity *b) {
    if (a->is_negative != b->is_negative)
        return a->is_negative ? -1 : 1;
    return a->is_negative ? magnitude_cmp(b, a) : magnitude_cmp(a, b);
}

bool cel_quantity_add(const CelQuantity *a, const CelQuantity *b, CelQuantity *ret) {
    int order = magnitude_cmp(a, b);

    *ret = (CelQuantity){
        .is_negative = order < 0 ? b->is_negative : a->is_negative,
        .format = is_zero(a) ? b->format : a->format,
    };
    if (a->is_negative == b->is_negative)
        return magnitude_add(a, b, ret);
    ret->is_negative &= order != 0;
    magnitude_sub(order < 0 ? b : a, order < 0 ? a : b, ret);
    return true;
}

bool cel_quantity_sub(const CelQuantity *a, const CelQuantity *b, CelQuantity *ret) {
    CelQuantity negated = *b;

    negated.is_negative = !b->is_negative && !is_zero(b);
    return cel_quantity_add(a, &negated, ret);
}

bool cel_quantity_to_int(const CelQuantity *amount, int64_t *ret) {
    CelQuantity whole = *amount;
    uint64_t limit = (uint64_t)INT64_MAX + (amount->is_negative ? 1 : 0);

    if (!divide_exactly(&whole, NANO))
        return false;
    if (whole.limbs[1] != 0 || whole.limbs[2] != 0 || whole.limbs[3] != 0 || whole.limbs[0] > limit)
        return false;
    *ret = (int64_t)(amount->is_negative ? -whole.limbs[0] : whole.limbs[0]);
    return true;
}

/* At most 128 bits of the magnitude, from bit @from on; bits below 0 are 0. */
static Wide bits_from(const CelQuantity *amount, int from) {
    Wide bits = 0;

    for (int i = CEL_QUANTITY_LIMBS - 1; i >= 0; i--) {
        int shift = i * 64 - from;

        if (shift >= 0)
            bits |= shift < 128 ? (Wide)amount->limbs[i] << shift : 0;
        else
            bits |= shift > -64 ? amount->limbs[i] >> -shift : 0;
    }
    return bits;
}

double cel_quantity_to_double(const CelQuantity *amount) {
    /* Dividing the first 127 bits leaves at least 97, of which a double keeps 53: all that matters
     * of the rest is whether any bit is set. */
    int from = (int)bit_length(amount) - 127;
    Wide bits = bits_from(amount, from), quotient = bits / NANO;
    uint64_t cut = 0;
    double magnitude;

    if (is_zero(amount))
        return 0;
    for (int i = 0; from > 0 && i < CEL_QUANTITY_LIMBS; i++) {
        int n_bits = from - i * 64; /* bits of this limb that were not taken */

        if (n_bits > 0)
            cut |= n_bits >= 64 ? amount->limbs[i] : amount->limbs[i] << (64 - n_bits);
    }
    if (bits % NANO != 0 || cut != 0)
        quotient |= 1;
    magnitude = ldexp((double)quotient, from);
    return amount->is_negative ? -magnitude : magnitude;
}

static void print_digits(CelQuantity amount, Buf *out) {
    char digits[80]; /* 2^256 has 78 */
    size_t at = sizeof(digits);

    do
        digits[--at] = (char)('0' + (int)divide(&amount, 10));
    while (!is_zero(&amount));
    buf_append(out, str_of(digits + at, sizeof(digits) - at));
}

static void print_binary(CelQuantity whole, Buf *out) {
    static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    size_t i = 0;

    while (i + 1 < ELEMENTS_OF(suffixes) && divide_exactly(&whole, 1024))
        i++;
    print_digits(whole, out);
    buf_append(out, str_from_c(suffixes[i]));
}

static void print_decimal(CelQuantity nano, bool is_exponent, Buf *out) {
    static const char *const suffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    size_t i = 0; /* thousands above nano */

    while ((is_exponent || i + 1 < ELEMENTS_OF(suffixes)) && divide_exactly(&nano, 1000))
        i++;
    print_digits(nano, out);
    if (!is_exponent)
        buf_append(out, str_from_c(suffixes[i]));
    else if (i != 3)
        buf_printf(out, "e%d", (int)(3 * i) - 9);
}

void cel_quantity_print(const CelQuantity *amount, Buf *out) {
    static const CelQuantity kibi = {.limbs = {1024 * NANO}};
    CelQuantity whole = *amount;

    if (is_zero(amount)) {
        buf_append_char(out, '0');
        return;
    }
    if (amount->is_negative)
        buf_append_char(out, '-');
    if (amount->format == QUANTITY_BINARY && magnitude_cmp(amount, &kibi) >= 0 &&
        divide_exactly(&whole, NANO))
        print_binary(whole, out);
    else
        print_decimal(*amount, amount->format == QUANTITY_EXPONENT, out);
}
