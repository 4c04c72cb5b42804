#pragma once

/*
 * Quantity: an amount of a resource, by Kubernetes' rules and exactly.
 *
 * "500m", "1.5Gi", "12e6", "0.1": fixed point, never floating. Kept as a number
 * of nano-units in 128 bits, which holds every amount up to 1.7e29 exactly.
 *
 *   suffixes     n u m (none) k M G T P E, Ki Mi Gi Ti Pi Ei, e or E with a
 *                signed exponent. "K" alone is not one. "E" is exa, "E3" an exponent.
 *   rounding     digits below nano round up, away from zero.
 *   saturation   with a binary suffix the amount is capped at 2^63-1 (whole
 *                units), as apimachinery does. Decimal amounts beyond 128 bits
 *                saturate here; apimachinery keeps them exactly, but every
 *                resource amount is read through int64 there too.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef struct Quantity {
    __int128 nano; /* value * 10^9 */
} Quantity;

/* False, and @ret untouched, when @text is not a quantity. */
bool quantity_parse(Str text, Quantity *ret);

/* Whole units, and thousandths of them; rounded away from zero (as apimachinery's
 * Value() and MilliValue()), saturated to int64. */
int64_t quantity_value(Quantity quantity);
int64_t quantity_milli(Quantity quantity);

int quantity_cmp(Quantity a, Quantity b);

/* Exact; stops at the limits of 128 bits. */
Quantity quantity_add(Quantity a, Quantity b);
