#pragma once

/*
 * Kernel: one operation over whole columns (column.h).
 *
 * A kernel is a plain loop over arrays and does exactly what the scalar machine would do row by
 * row (operators.h, the libraries): the same bits, and an error where there would be one. What
 * it cannot decide is FALLBACK.
 *
 * States of arguments: what evaluates all of them has no value where one has none; && and || are
 * false (true) where either side is, else as bad as the worst; ?: looks at the condition and at
 * the side it chose. A FALLBACK row of an argument is FALLBACK in the result, unless the scalar
 * machine would give the same result for every value of the argument.
 */

#include <stdbool.h>
#include <stddef.h>

#include "cel/graph.h"
#include "columnar/column.h"

typedef struct KernelOperand {
    const Column *column;
    bool is_single; /* entry 0 is the value of all rows */
} KernelOperand;

typedef struct KernelArgs {
    size_t n;                  /* rows; at least 1 */
    KernelOperand operands[3]; /* as many as the operation has */

    /* Its lane is that of the result. There is room for @n entries, and for @n states even if
     * the lane has values; none of it overlaps with an operand. A kernel sets out->states to NULL
     * if all are fine (never in lane BOOL): the next user of the room puts it back. Entries whose
     * state is not fine are some number, but not uninitialised. */
    Column *out;
} KernelArgs;

typedef void Kernel(const KernelArgs *args);

/* The kernel for a node of the graph whose arguments are columns in the lanes of their types
 * (column_lane_of()); its result is in the lane of the node's type. NULL: there is none. Not for
 * strings, whose codes mean something in their own block only (work-text.c). */
Kernel *kernel_find(const CelGraph *graph, uint32_t node);

/* The same for a CALL of this overload, whose arguments are of the types it declares. */
Kernel *kernel_for_call(const CelOverload *overload);

/* math.least() and math.greatest() of more than two are calls with a LIST: @node is one, and all
 * elements of the list are of one lane. Then this kernel takes them two by two from the left: the
 * first and the second, that and the third. NULL: it is no such node. */
Kernel *kernel_find_fold(const CelGraph *graph, uint32_t node);
