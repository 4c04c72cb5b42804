#pragma once

/*
 * Kernel: one operation over whole columns (column.h).
 *
 * A kernel is a plain loop over arrays with exactly the results of the scalar machine for each row
 * (operators.h, the libraries): the same bits, ERROR in the same rows. Rows that it cannot
 * compute are FALLBACK.
 *
 * States of arguments: in a row where an argument has no value, most operations have none. && is
 * false, and || true, if either side is; else they have the worse state of both. ?: reads only the
 * condition and the chosen side. A FALLBACK row of an argument is FALLBACK in the result,
 * unless the scalar machine would give the same result for every value of the argument.
 */

#include "cel/graph.h"
#include "columnar/column.h"

typedef struct KernelOperand {
    const Column *column;
    bool is_single; /* entry 0 is the value of all rows */
} KernelOperand;

typedef struct KernelArgs {
    size_t n;                  /* rows; at least 1 */
    KernelOperand operands[3]; /* as many as the operation has */

    /* Has the lane of the result, and room for @n entries and @n states, apart from the operands'.
     * A kernel sets out->states to NULL if all are OK (never in lane BOOL); the next user of the
     * memory resets it. Entries that are not OK hold some number, never uninitialised memory. */
    Column *out;
} KernelArgs;

typedef void Kernel(const KernelArgs *args);

/* The kernel for a node of the graph whose arguments are columns in the lanes of their types
 * (column_lane_of()); its result is in the lane of the node's type. NULL: there is none. Not for
 * strings: codes of different blocks cannot be compared (evaluate-string.c). */
Kernel *kernel_find(const CelGraph *graph, uint32_t node);

/* The kernel for a CALL of @overload with arguments of the declared types. NULL: there is none. */
Kernel *kernel_for_call(const CelOverload *overload);

/* The kernel of two for math.least() or math.greatest() of a LIST whose elements have one lane. The
 * caller runs it from the left: on the first and second element, then on that result and the third.
 * NULL: @node is no such call. */
Kernel *kernel_find_fold(const CelGraph *graph, uint32_t node);
