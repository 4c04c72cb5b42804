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
#include "cel/graph.h"

#define CEL_NOT_SHARED UINT32_MAX

typedef struct CelShares {
    uint32_t *number; /* by node of the graph, up to the root: 0, 1, … or CEL_NOT_SHARED */
    uint32_t *nodes;  /* by that number, rising */
    uint32_t n;
} CelShares;

/* For the code of @root. @keep_turns: what does not change inside of a loop is computed on
 * every turn all the same (for tracing). 0 or -ENOMEM. */
int cel_find_shares(
    const CelGraph *graph, uint32_t root, bool keep_turns, Arena *arena, CelShares *ret) MUST_CHECK;
