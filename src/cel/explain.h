#pragma once

/*
 * Explain: an expression with the value of each of its parts, for people.
 *
 *     labels.tier == 'gpu' && free.cpu >= 4                  false
 *     ├─ labels.tier == 'gpu'                                true
 *     │  └─ labels.tier                                      "gpu"
 *     └─ free.cpu >= 4                                       false
 *        └─ free.cpu                                         2
 *
 * Constants are left out, and so is the way to a field that was found. What no run got to
 * says so; a loop shows its first turns, each with its variables, and cel.bind(x, 1 + y, …) a
 * line x = 1 + y.
 */

#include "base/buf.h"
#include "base/diag.h"
#include "cel/check.h"
#include "cel/env.h"
#include "cel/run.h"

#define CEL_EXPLAIN_LINES_MAX 400 /* more is cut */

/* Compiles and runs @source, and writes the tree above to @out. 0, a negative errno, or
 * CEL_COMPILE_REFUSED (program.h): @diags says why. @options may be NULL; nothing is folded. @ret:
 * the result, which may point into the run's arena and what @variables points to; may
 * be NULL. */
int cel_explain(const CelEnv *env, Str file, Str source, const CelOptions *options,
    const CelValue *variables, CelRun *run, bool colour, DiagList *diags, Buf *out, CelValue *ret)
    MUST_CHECK;
