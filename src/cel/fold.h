#pragma once

/*
 * Fold: computing beforehand what is always the same.
 *
 * There is no second implementation of anything: a node whose arguments are constants is
 * emitted and run like any other code, with little fuel. Errors are told, but it is up to
 * the caller never to fold one: it happens when, and if, a run gets there.
 */

#include "cel/graph.h"

#define CEL_FOLD_FUEL_MAX 100000          /* units, for all nodes of an expression */
#define CEL_FOLD_FUEL 20000               /* for one node */
#define CEL_FOLD_BYTES_MAX 4096           /* of a value; a larger one is computed when needed */
#define CEL_FOLD_LITERAL_MAX (128 * 1024) /* of a list or map that was written out */

/* What node @number is, whose arguments are all constants: a value; an error; CEL_ABSENT: cannot
 * be said in advance. Takes from *@fuel what it used. */
CelValue cel_fold(CelGraph *graph, uint32_t number, int64_t *fuel);
