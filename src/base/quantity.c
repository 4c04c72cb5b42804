/* Kubernetes quantities, exactly. */

#include "base/quantity.h"

#include <assert.h>

#include "base/ascii.h"
#include "base/cleanup.h"

/*
 * Every digit counts, however many there are, because rounding is upward: one
 * digit other than 0 at the far end adds a nano-unit. So the digits are read one
 * by one, without converting the text to a machine number first.
 *
 * Two rules of apimachinery look like mistakes and are kept, since API servers store
 * what they accept: a suffix without digits is zero ("m", "." and "+"
 * too), unless it makes apimachinery leave its fast path; and an exponent is cut
 * to 32 bits.
 *
 * Where its accessors overflow, ours saturate: apimachinery's Value() of 1e19 is
 * 0, and MilliValue() of 9Ei is -1000. A fraction of a negative amount rounds away
 * from zero here in all cases; there, only if few enough digits were written.
 */

#define NANO INT64_C(1000000000)
#define NANO_MAX ((unsigned __int128)QUANTITY_NANO_MAX)

/* Beyond 10^39 nothing fits into 127 bits. */
#define NANO_DIGITS_MAX 39

typedef struct Suffix {
    Str text;
    QuantityFormat format;
    int32_t exponent; /* of 2 or 10 */
} Suffix;

/* Cuts the digits off the front of @text. */
static Str take_digits(Str *text) {
    size_t n = 0;
    Str digits;

    while (n < text->len && ascii_is_digit(text->ptr[n]))
        n++;
    digits = str_take(*text, n);
    *text = str_skip(*text, n);
    return digits;
}

/* Cuts everything before the suffix off the front. Returns whether there was a digit. */
static bool take_number(Str *text, QuantityText *ret) {
    bool has_digits;

    *ret = (QuantityText){.is_negative = text->ptr[0] == '-'};
    if (text->ptr[0] == '-' || text->ptr[0] == '+')
        *text = str_skip(*text, 1);
    ret->whole = take_digits(text);
    if (str_cut_char(text, '.'))
        ret->fraction = take_digits(text);
    has_digits = ret->whole.len + ret->fraction.len > 0;
    while (ret->whole.len > 0 && ret->whole.ptr[0] == '0')
        ret->whole = str_skip(ret->whole, 1);
    return has_digits;
}

static bool exponent_parse(Str text, Suffix *ret) {
    int64_t exponent;

    if (text.len > 1 && text.ptr[0] == '+' && ascii_is_digit(text.ptr[1]))
        text = str_skip(text, 1);
    if (!str_to_int64(text, &exponent))
        return false;
    *ret = (Suffix){.format = QUANTITY_EXPONENT, .exponent = (int32_t)(uint32_t)(uint64_t)exponent};
    return true;
}

static bool suffix_parse(Str text, Suffix *ret) {
    static const Suffix suffixes[] = {
        {STR(""), QUANTITY_DECIMAL, 0},
        {STR("Ki"), QUANTITY_BINARY, 10},
        {STR("Mi"), QUANTITY_BINARY, 20},
        {STR("Gi"), QUANTITY_BINARY, 30},
        {STR("m"), QUANTITY_DECIMAL, -3},
        {STR("k"), QUANTITY_DECIMAL, 3},
        {STR("M"), QUANTITY_DECIMAL, 6},
        {STR("G"), QUANTITY_DECIMAL, 9},
        {STR("T"), QUANTITY_DECIMAL, 12},
        {STR("P"), QUANTITY_DECIMAL, 15},
        {STR("E"), QUANTITY_DECIMAL, 18},
        {STR("Ti"), QUANTITY_BINARY, 40},
        {STR("Pi"), QUANTITY_BINARY, 50},
        {STR("Ei"), QUANTITY_BINARY, 60},
        {STR("u"), QUANTITY_DECIMAL, -6},
        {STR("n"), QUANTITY_DECIMAL, -9},
    };

    for (size_t i = 0; i < ELEMENTS_OF(suffixes); i++) {
        if (str_eq(text, suffixes[i].text)) {
            *ret = suffixes[i];
            return true;
        }
    }
    if (text.ptr[0] == 'e' || text.ptr[0] == 'E')
        return exponent_parse(str_skip(text, 1), ret);
    return false;
}

/* Digit @i, from 0, of <whole><fraction>. */
static unsigned digit_at(const QuantityText *number, size_t i) {
    const char *at = i < number->whole.len ? number->whole.ptr + i
                                           : number->fraction.ptr + (i - number->whole.len);

    assert(at); /* there is a digit: i is below the length of both together */
    return (unsigned)(*at - '0');
}

static unsigned __int128 decimal_nano(const QuantityText *number, int32_t exponent) {
    size_t first = 0, last = number->whole.len + number->fraction.len;
    /* How many of the digits are before the point, counted in nano-units. May be negative, or
     * beyond the last digit, where zeros follow. */
    int64_t n_whole = (int64_t)number->whole.len + exponent + 9;
    unsigned __int128 nano = 0;

    while (first < last && digit_at(number, first) == 0)
        first++;
    if (first == last)
        return 0;
    while (digit_at(number, last - 1) == 0)
        last--;
    if (n_whole > (int64_t)first + NANO_DIGITS_MAX)
        return NANO_MAX;
    for (int64_t i = (int64_t)first; i < n_whole; i++) {
        if (nano > NANO_MAX / 10)
            return NANO_MAX;
        nano = nano * 10 + ((size_t)i < last ? digit_at(number, (size_t)i) : 0);
    }
    if ((int64_t)last > n_whole) /* the last digit is not 0 and is below nano */
        nano++;
    return nano < NANO_MAX ? nano : NANO_MAX;
}

/* Digits of a fraction that are read at once: this many nines times the greatest binary unit
 * fit into 128 bits. */
#define CHUNK 9

/* The fraction times @unit, rounded up. From the last digits to the first, because the rest only
 * decides the rounding. */
static unsigned __int128 fraction_scale(Str fraction, unsigned __int128 unit) {
    unsigned __int128 scaled = 0;
    bool is_exact = true;

    for (size_t end = fraction.len, n; end > 0; end -= n) {
        uint64_t digits = 0, power = 1;

        n = (end - 1) % CHUNK + 1;
        for (size_t i = end - n; i < end; i++) {
            digits = digits * 10 + (unsigned)(fraction.ptr[i] - '0');
            power *= 10;
        }
        scaled += digits * unit;
        is_exact = is_exact && scaled % power == 0;
        scaled /= power;
    }
    return scaled + (is_exact ? 0 : 1);
}

static unsigned __int128 binary_nano(const QuantityText *number, int32_t exponent) {
    const unsigned __int128 cap = (unsigned __int128)INT64_MAX * NANO;
    const unsigned __int128 unit = ((unsigned __int128)1 << exponent) * NANO;
    uint64_t whole = 0;
    unsigned __int128 nano;

    for (size_t i = 0; i < number->whole.len; i++) {
        whole = whole * 10 + digit_at(number, i);
        if (whole > (uint64_t)INT64_MAX >> exponent)
            return cap;
    }
    nano = whole * unit + fraction_scale(number->fraction, unit);
    return nano < cap ? nano : cap;
}

bool quantity_read(Str text, QuantityText *ret) {
    QuantityText number;
    Suffix suffix;
    bool has_digits;

    if (text.len == 0)
        return false;
    has_digits = take_number(&text, &number);
    if (!suffix_parse(text, &suffix))
        return false;
    if (!has_digits &&
        (suffix.format == QUANTITY_BINARY ? suffix.exponent > 40 : suffix.exponent < -9))
        return false;
    number.format = suffix.format;
    number.exponent = suffix.exponent;
    *ret = number;
    return true;
}

bool quantity_parse(Str text, Quantity *ret) {
    QuantityText number;
    unsigned __int128 nano;

    if (!quantity_read(text, &number))
        return false;
    nano = number.format == QUANTITY_BINARY ? binary_nano(&number, number.exponent)
                                            : decimal_nano(&number, number.exponent);
    ret->nano = number.is_negative ? -(__int128)nano : (__int128)nano;
    return true;
}

/* Divides, away from zero, and saturates. */
static int64_t in_units(__int128 nano, int64_t unit) {
    __int128 quotient = nano / unit;

    if (nano % unit != 0)
        quotient += nano > 0 ? 1 : -1;
    if (quotient > INT64_MAX)
        return INT64_MAX;
    return quotient < INT64_MIN ? INT64_MIN : (int64_t)quotient;
}

int64_t quantity_value(Quantity quantity) {
    return in_units(quantity.nano, NANO);
}

int64_t quantity_milli(Quantity quantity) {
    return in_units(quantity.nano, NANO / 1000);
}

int quantity_cmp(Quantity a, Quantity b) {
    return (a.nano > b.nano) - (a.nano < b.nano);
}

Quantity quantity_add(Quantity a, Quantity b) {
    __int128 sum;

    if (__builtin_add_overflow(a.nano, b.nano, &sum))
        sum = b.nano > 0 ? (__int128)NANO_MAX : -(__int128)NANO_MAX;
    return (Quantity){.nano = sum};
}
