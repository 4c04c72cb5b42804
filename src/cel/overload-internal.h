#pragma once

/* CelMismatch: a call for which no overload fits. overload.c words the error,
 * overload-hints.c suggests what to write instead. */

#include "cel/check-internal.h"

typedef struct CelMismatch {
    CelChecker *checker;
    const CelNode *call;
    Str op; /* as it was written, "+"; empty: no operator */
    const CelOverload *const *overloads;
    size_t n_overloads;
    const uint32_t *args;
    const CelType *types[CEL_ARGS_MAX];
    size_t n_args;
    bool is_receiver;
    CelFix *fix; /* the rewrite that a hint names */
} CelMismatch;

/* What to write instead, with @fix set where that is a replacement; empty: none. */
Str cel_mismatch_hint(const CelMismatch *mismatch);

/* The same of a call with a number of arguments that no overload takes. */
Str cel_mismatch_shape_hint(const CelMismatch *mismatch);
