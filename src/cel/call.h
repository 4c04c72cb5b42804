#pragma once

/*
 * Call: which overload takes the arguments, where that is known only when they are.
 *
 * The first whose kinds fit is called. When none does, the error spells the call as it was
 * written, with kinds for the arguments: "no such overload: int + string".
 */

#include "cel/code.h"
#include "cel/run.h"

/* The one overload that could take them. */
CelValue cel_call_checked(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args);

/* One of several: @callees and those that follow in the table. */
CelValue cel_call_dispatch(
    CelRun *run, const CelCallee *callees, const CelValue *args, uint32_t n_args);
