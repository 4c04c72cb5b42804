#pragma once

/* Random policies and clusters as text: expressions of every type over all fields that a rule can
 * read, including errors: absent keys, overflows, NaN, values of another type than a rule's. The
 * first way of every choice is short, so that few bytes give a short text. */

#include "base/buf.h"
#include "base/test-choices.h"

#define GENERATED_NODES 150u /* n0, n1, … */
#define GENERATED_RULES 12u  /* filters, and as many scores; fewer in a fuzzer */

/* A policy file. It does not compile if a constant always fails (1 / 0, a timestamp out of
 * range). */
void generate_policy(Choices *choices, Buf *out);

/* A policy file with one filter and one score, with deeper expressions. */
void generate_expression(Choices *choices, Buf *out);

/* A TestScene with two nodes and measured values, for the policies of both functions. */
extern const char generated_small_scene[];

/* A TestScene (policy/test-scene.h), terminated by NUL. */
void generate_scene(Choices *choices, Buf *out);
