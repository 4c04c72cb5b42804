#pragma once

/*
 * Program: an expression, compiled. The five steps in a row:
 *
 *     text -- parse --> tree -- check --> types -- lower --> graph -- emit --> code
 *                                    \-- cost: refused above a limit
 */

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "cel/check.h"
#include "cel/code.h"
#include "cel/cost.h"
#include "cel/graph.h"
#include "cel/machine.h"

typedef struct CelProgram {
    const CelCode *code;
    const CelType *type; /* of the result */
    CelCostRange cost;
} CelProgram;

#define CEL_COMPILE_REFUSED 1 /* @diags says why */

/* The program lies in @arena; everything needed on the way only, in an arena of its own.
 * @source need not outlive the call; @env must outlive the program. @options may be NULL. */
int cel_compile(const CelEnv *env, Str file, Str source, const CelOptions *options, Arena *arena,
    DiagList *diags, CelProgram **ret) MUST_CHECK;

/* The first two steps: a checked tree in @arena, or CEL_COMPILE_REFUSED. */
int cel_compile_tree(const CelEnv *env, Str file, Str source, const CelOptions *options,
    Arena *arena, DiagList *diags, CelChecked **ret) MUST_CHECK;
