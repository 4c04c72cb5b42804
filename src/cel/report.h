#pragma once

/* Mistakes in an expression's text. One message per mistake: a second one at the same place, or
 * during error recovery (is_quiet), is dropped. */

#include "base/diag.h"

/* Replaces [@from, @to) of the source with @text; STR_NULL: no fix. */
typedef struct CelFix {
    uint32_t from, to;
    Str text;
} CelFix;

typedef struct CelSyntaxErrors {
    Str file, source;
    DiagList *diags;
    uint32_t n;    /* number of errors added */
    uint32_t last; /* where the last one was, plus 1 */
    bool is_quiet; /* nothing is added */
} CelSyntaxErrors;

/* [@from, @to) is wrong. @hint may be NULL; @text is printf's. Returns whether it was added. */
bool cel_syntax_error(CelSyntaxErrors *errors, uint32_t from, uint32_t to, const char *hint,
    const char *text, ...) __attribute__((format(printf, 5, 6)));

/* An error of any step at [@from, @to) of @source; @hint may be empty. */
void cel_report(
    DiagList *diags, Str file, Str source, uint32_t from, uint32_t to, Str text, Str hint);

/* Adds @fix to the diag that was added last, if there is one and it is on one line. */
void cel_report_fix(DiagList *diags, Str source, CelFix fix);

/* Where [@at, @to) of @source is: the line and column of @at, and as many columns of carets as
 * there are bytes up to @to or the end of the line; one at least. */
Place cel_place(Str file, Str source, uint32_t at, uint32_t to);
