#pragma once

/*
 * Shapes: sizes of pods, of which `berth simulate` counts how many more would fit.
 */

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "model/resources.h"
#include "simulate/simulation-input.h"

#define SHAPES_TYPICAL_MAX 3u

/* "cpu=2,memory=8Gi", in @arena. NULL when it is a shape; else what is wrong. */
const char *shape_parse(const char *text, Arena *arena, Resources *ret) MUST_CHECK;

/* The same back. */
void shape_print(const Resources *shape, Buf *out);

/* Up to SHAPES_TYPICAL_MAX that are typical of the pods of @input, in @arena. 0 or -ENOMEM. */
int shapes_find_typical(const SimulationInput *input, Arena *arena, Resources *ret, size_t *ret_n)
    MUST_CHECK;
