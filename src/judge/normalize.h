#pragma once

/* Normalize: maps the values of a score rule to 0..100 over the candidates of a request. */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "policy/policy.h"

/* @values, in place. Values whose state is COLUMN_ERROR or that are not finite become @on_error and
 * do not affect the others.
 *
 *   MIN_MAX   the least is 0, the most 100; all 100 when they are equal
 *   RANK      100 × the share of the others that have less: equals have the same; 100 for one
 *             that is alone
 *
 * 0 or -ENOMEM. */
int normalize(Normalize mode, double on_error, const uint8_t *states, size_t n, Arena *arena,
    double *values) MUST_CHECK;
