#pragma once

/*
 * Copy: a value once more, in another arena.
 *
 * All three go down into lists, maps and optionals by recursion, as deep as values are
 * (CEL_VALUE_DEPTH_MAX).
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/value.h"

/* Bytes that a copy of @v takes; SIZE_MAX: more than @max, or there is a host's list or map in it
 * that is not empty. What is shared inside counts as often as it is reached. */
size_t cel_value_size(CelValue v, size_t max);

/* Whether a library's own kind or a host's record is in @v, whose lists and maps are plain. */
bool cel_value_has_opaque(CelValue v);

/* A copy of @v in @arena. What cannot be copied stays where it is: the libraries' own kinds, types,
 * and the host's lists, maps and records. False: out of memory. */
bool cel_value_copy(CelValue v, Arena *arena, CelValue *ret) MUST_CHECK;
