#pragma once

/* Normalize: maps the values of a score rule to 0..100 over the candidates of a request. */

#include "policy/policy.h"

/* Whether the value takes part: its state is not COLUMN_ERROR, and it is finite. */
bool normalize_counts(uint8_t state, double value);

/* The lowest value of minMax where another candidate has no value and 0 for it: a point on the
 * wire, so that the worst of the known ones stays ahead of it. */
#define NORMALIZE_LEAST 10.0

/* @values, in place. Those that do not take part become @on_error and do not affect the others.
 *
 *   MIN_MAX   the lowest is @least, the highest 100; all 100 when they are equal
 *   RANK      100 × the share of the others that have less: equals have the same; 100 for one
 *             that is alone
 *
 * 0 or -ENOMEM. */
int normalize(Normalize mode, double on_error, double least, const uint8_t *states, size_t n,
    Arena *arena, double *values) MUST_CHECK;
