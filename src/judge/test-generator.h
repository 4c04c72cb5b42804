#pragma once

/*
 * Policies and clusters drawn with rng, as texts: expressions of every type over all that a rule
 * can read, with what goes wrong in them: keys that are absent, numbers that overflow, NaN. The
 * same rng draw the same.
 */

#include "base/buf.h"
#include "base/rng.h"

#define GENERATED_NODES 150u /* n0, n1, … */
#define GENERATED_RULES 12u  /* filters, and as many scores */

/* A policy file. Constants that cannot be right (1 / 0, a timestamp out of range) are refused when
 * it is compiled. */
void generate_policy(Rng *rng, Buf *out);

/* A TestScene (policy/test-scene.h), which ends with a NUL. */
void generate_scene(Rng *rng, Buf *out);
