#pragma once

/*
 * Quantity: an amount of a resource, by Kubernetes' rules and exactly.
 *
 * "500m", "1.5Gi", "12e6", "0.1": fixed point, never floating. Kept as a number
 * of nano-units in 128 bits, which holds every amount up to 1.7e29 exactly.
 *
 *   suffixes     n u m (none) k M G T P E, Ki Mi Gi Ti Pi Ei, e or E with a
 *                signed exponent. "K" is not a suffix. "E" is exa, "E3" an exponent.
 *   rounding     digits below nano round up, away from zero.
 *   saturation   with a binary suffix the amount is capped at 2^63-1 (whole
 *                units), as apimachinery does. Decimal amounts beyond 128 bits
 *                saturate here; apimachinery keeps them exactly, but every
 *                resource amount is read through int64 there too.
 */

#include "base/str.h"

typedef struct Quantity {
    __int128 nano; /* value * 10^9 */
} Quantity;

/* False, and @ret untouched, when @text is not a quantity. */
bool quantity_parse(Str text, Quantity *ret);

/* The largest amount; larger amounts are cut to it. */
#define QUANTITY_NANO_MAX ((__int128)((unsigned __int128)-1 >> 1))

/* The family of suffixes that a quantity was written with, which printing keeps. */
typedef enum QuantityFormat {
    QUANTITY_DECIMAL,  /* none, n to E */
    QUANTITY_BINARY,   /* Ki to Ei */
    QUANTITY_EXPONENT, /* e3 */
} QuantityFormat;

/* The parts of a written quantity, for amounts beyond 128 bits. */
typedef struct QuantityText {
    bool is_negative;
    Str whole; /* digits, no leading zeros */
    Str fraction;
    QuantityFormat format;
    int32_t exponent; /* of 2 in binary, of 10 otherwise */
} QuantityText;

/* Like quantity_parse(), but only splits @text; the parts point into it. */
bool quantity_read(Str text, QuantityText *ret);

/* The amount in whole units, and in thousandths; rounded away from zero (as apimachinery's
 * Value() and MilliValue()), saturated to int64. */
int64_t quantity_value(Quantity quantity);
int64_t quantity_milli(Quantity quantity);

int quantity_cmp(Quantity a, Quantity b); /* -1, 0 or 1 */

/* Exact; stops at the limits of 128 bits. */
Quantity quantity_add(Quantity a, Quantity b);
