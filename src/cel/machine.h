#pragma once

/*
 * Machine: runs code, one value at a time. Complete semantics; the oracle of any other.
 *
 * Pure: the same code, variables and bounds give the same result.
 */

#include "cel/code.h"
#include "cel/run.h"
#include "cel/value.h"

/* Told about every value on its way when the code was made for it (not about constants). @node is
 * a number of the graph; @v may be an error. */
struct CelTrace {
    void (*seen)(CelTrace *trace, uint32_t node, CelValue v);  /* computed */
    void (*again)(CelTrace *trace, uint32_t node, CelValue v); /* known from before */
};

/* @variables by slot; CEL_ABSENT for what is not bound (an error when read). The result may
 * point into the run's arena, the code and what @variables points to. An error is a value of
 * kind CEL_ERROR, with its place in the source. */
CelValue cel_run(const CelCode *code, CelRun *run, const CelValue *variables);
