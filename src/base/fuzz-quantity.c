/*
 * Any bytes: no crash, and a valid quantity is consistent. The amount is compared with a
 * floating-point reading where that is precise enough, and written out in nano-units it must read
 * as the same amount.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fuzz.h"
#include "base/quantity.h"
#include "base/str.h"

static void check_same_again(Quantity quantity) {
    char digits[48];
    size_t at = sizeof(digits);
    unsigned __int128 rest =
        quantity.nano < 0 ? -(unsigned __int128)quantity.nano : (unsigned __int128)quantity.nano;
    Quantity again;

    digits[--at] = 'n';
    do {
        digits[--at] = (char)('0' + (int)(rest % 10));
        rest /= 10;
    } while (rest > 0);
    if (quantity.nano < 0)
        digits[--at] = '-';
    require(quantity_parse(str_of(digits + at, sizeof(digits) - at), &again));
    require(quantity_cmp(quantity, again) == 0);
}

static void check_accessors(Quantity quantity) {
    int64_t value = quantity_value(quantity), milli = quantity_milli(quantity);
    Quantity zero = {0};

    require((value > 0) - (value < 0) == quantity_cmp(quantity, zero)); /* never rounds to 0 */
    require((milli > 0) - (milli < 0) == quantity_cmp(quantity, zero));
    if (value > INT64_MIN && value < INT64_MAX) {
        __int128 whole = (__int128)value * 1000000000;

        require(value >= 0 ? whole >= quantity.nano : whole <= quantity.nano);
        require((value >= 0 ? whole - quantity.nano : quantity.nano - whole) < 1000000000);
    }
}

/* A plain number, or one with an exponent of few digits (longer exponents are cut to 32
 * bits), has the value that strtold() reads. */
static void check_against_libc(Str text, Quantity quantity) {
    char copy[64];
    char *end, *exponent;
    long double libc, ours = (long double)quantity.nano / 1e9L;

    if (text.len >= sizeof(copy))
        return;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    exponent = strpbrk(copy, "eE");
    libc = strtold(copy, &end);
    if (end == copy || *end != '\0' || fabsl(libc) > 1e29L || (exponent && end - exponent > 5))
        return;
    require(fabsl(ours - libc) <= 1e-9L + fabsl(libc) * 1e-17L);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str text = str_of((const char *)data, size);
    Quantity quantity = {.nano = 42};

    if (!quantity_parse(text, &quantity)) {
        require(quantity.nano == 42);
        return 0;
    }
    check_same_again(quantity);
    check_accessors(quantity);
    check_against_libc(text, quantity);
    return 0;
}
