#pragma once

/* Probe: one expression of a program for one row at a time, with the value of each part. Only for
 * explanations, not for decisions. */

#include "cel/explain.h"
#include "judge/judge.h"

#define PROBE_VALUES_MAX 8u

typedef struct Probe Probe;

/* Lies in @arena; borrows the judge and the program. 0 or -ENOMEM. */
int probe_new(Judge *judge, const Expression *expression, Arena *arena, Probe **ret) MUST_CHECK;

/* Stores the values that caused the result (cel_explained_leaves()), in @arena, into @ret, which
 * has room for PROBE_VALUES_MAX, and their number into @ret_n. 0 or -ENOMEM. */
int probe_values(Probe *probe, uint32_t row, Arena *arena, CelLeaf *ret, size_t *ret_n) MUST_CHECK;

/* Prints the expression as a tree with all its values, then each variable it uses as a tree. 0 or
 * -ENOMEM. */
int probe_print(Probe *probe, uint32_t row, bool colour, Arena *arena, Buf *out) MUST_CHECK;

/* Prints a leaf for users: `node.free.cpu = 500m`; resources in their units, absent values as
 * "absent". */
void probe_leaf_print(const CelLeaf *leaf, Buf *out);
