#pragma once

/*
 * Probe: one expression of a program for one row at a time, with the value of each part. For
 * explanations; judge.h decides.
 */

#include "cel/explain.h"
#include "judge/judge.h"

#define PROBE_VALUES_MAX 8u

typedef struct Probe Probe;

/* In @arena; the judge and the program must outlive it. 0 or -ENOMEM. */
int probe_new(Judge *judge, const Expression *expression, Arena *arena, Probe **ret) MUST_CHECK;

/* The values that caused the result (cel_explained_leaves()): into @ret, which has room for
 * PROBE_VALUES_MAX; their number through @ret_n. In @arena. 0 or -ENOMEM. */
int probe_values(Probe *probe, uint32_t row, Arena *arena, CelLeaf *ret, size_t *ret_n) MUST_CHECK;

/* The whole expression as a tree with all its values, then the variables it uses as trees of
 * their own. 0 or -ENOMEM. */
int probe_print(Probe *probe, uint32_t row, bool colour, Arena *arena, Buf *out) MUST_CHECK;

/* A leaf for users: `node.free.cpu = 500m`. Amounts of resources in their units, absent values as
 * "absent". */
void probe_leaf_print(const CelLeaf *leaf, Buf *out);
