#pragma once

/* Parse: text to a tree, by operator precedence, with an explicit stack instead of recursion. The
 * limits (limits.h) are errors like any other. All mistakes of a text are reported: after one, the
 * parser resumes at the next comma, closing bracket or operator that fits. */

#include "base/diag.h"
#include "cel/tree.h"

typedef struct CelParseOptions {
    bool no_macros; /* has(), all() … are plain function calls */
} CelParseOptions;

#define CEL_PARSE_REFUSED 1 /* the text has errors; they are in @diags */

/* @source is borrowed and must outlive the tree; everything else is in @arena. 0,
 * CEL_PARSE_REFUSED, or a negative errno. @file is the name of the source in messages. */
int cel_parse(Str file, Str source, const CelParseOptions *options, Arena *arena, DiagList *diags,
    CelTree **ret) MUST_CHECK;
