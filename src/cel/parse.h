#pragma once

/* Parse: text to a tree, by operator precedence, with an explicit stack instead of recursion. The
 * limits (limits.h) are errors like any other. All mistakes of a text are reported: after one, the
 * parser resumes at the next comma, closing bracket or operator that fits. */

#include "base/diag.h"
#include "cel/check.h"

/* @source is borrowed and must outlive the tree; everything else is in @arena. 0, CEL_REFUSED or
 * -ENOMEM. @file is the name of the source in messages. @options may be NULL; only its
 * no_macros matters. */
int cel_parse(Str file, Str source, const CelOptions *options, Arena *arena, DiagList *diags,
    CelTree **ret) MUST_CHECK;
