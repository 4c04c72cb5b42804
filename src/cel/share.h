#pragma once

/*
 * Share: which parts of an expression are computed once and remembered.
 *
 * Those that several places need, and those inside of a loop that do not change with every
 * turn of it; but not what is as cheap to compute as to remember.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cel/code.h"

#define CEL_NOT_SHARED UINT32_MAX

typedef struct CelShares {
    uint32_t *number; /* by node of the graph, up to the root: 0, 1, … or CEL_NOT_SHARED */
    uint32_t *nodes;  /* by that number, rising */
    uint32_t n;
    uint32_t *uses; /* by node, up to the root: places that need it; 0: none does */
} CelShares;

/* For the code of @root. When tracing, what does not change inside of a loop is computed on
 * every turn all the same. 0 or -ENOMEM. */
int cel_find_shares(const CelGraph *graph, uint32_t root, const CelEmitOptions *options,
    Arena *arena, CelShares *ret) MUST_CHECK;

/* The slot from which the code of @root loads node @number, or CEL_NO_SLOT. Not for a LOCAL:
 * the machine knows when that is one from outside. */
uint32_t cel_cut_slot(
    const CelGraph *graph, uint32_t root, const CelEmitOptions *options, uint32_t number);
