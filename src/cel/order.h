#pragma once

/* Order: in which order values stand when they are sorted, without moving them. */

#include "cel/run.h"
#include "cel/value.h"

/* Whether the language orders values of this kind among themselves. */
bool cel_is_comparable(CelKind kind);

/* What comparing these two costs: one, and more for long texts. */
uint64_t cel_compare_price(CelValue a, CelValue b);

/* The numbers 0 to @n - 1 such that keys[ret[0]] ≤ keys[ret[1]] ≤ …; equal keys keep their order,
 * and so does NaN, which is neither less nor greater. All keys are of one comparable kind.
 * Charges for every comparison. NULL: @ret_error says why. */
const uint32_t *cel_order(CelRun *run, const CelValue *keys, uint32_t n, CelValue *ret_error)
    MUST_CHECK;
