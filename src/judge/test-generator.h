#pragma once

/*
 * Random policies and clusters as text: expressions of every type over all fields that a rule can
 * read, including errors: absent keys, overflows, NaN. The same rng gives the same text.
 */

#include "base/buf.h"
#include "base/rng.h"

#define GENERATED_NODES 150u /* n0, n1, … */
#define GENERATED_RULES 12u  /* filters, and as many scores */

/* A policy file. Constants that are certain to fail (1 / 0, a timestamp out of range) are compile
 * errors. */
void generate_policy(Rng *rng, Buf *out);

/* A TestScene (policy/test-scene.h), terminated by NUL. */
void generate_scene(Rng *rng, Buf *out);
