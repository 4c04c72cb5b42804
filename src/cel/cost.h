#pragma once

/* Cost: the highest possible cost of an expression, in a unit of berth's own that resembles that of
 * Kubernetes: 1 for a name, a selection or a call, 0.1 for a byte of a string, 10 for a list, 30
 * for a map; for a pattern its length times the text's. Loops multiply by the largest size of their
 * range: declared (CelVariable.max_size, CelField.max_size), that of a literal, or
 * CEL_COST_SIZE_UNKNOWN. */

#include "base/diag.h"
#include "cel/check.h"

#define CEL_COST_SIZE_UNKNOWN 10000 /* bytes or elements, where nothing is declared */

typedef struct CelCostRange {
    uint64_t min, max; /* saturated */
} CelCostRange;

/* 0 or -ENOMEM. Temporary data stays in @scratch. */
int cel_cost_estimate(const CelChecked *checked, Arena *scratch, CelCostRange *ret) MUST_CHECK;

/* Reports that @cost is over @limit, at the smallest part that exceeds it by itself. Texts and
 * temporary data are in the list's arena. */
void cel_cost_refuse(const CelChecked *checked, CelCostRange cost, uint64_t limit, DiagList *diags);
