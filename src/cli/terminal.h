#pragma once

/* Terminal: what a command may assume about who reads its output. */

#include <stdbool.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/str.h"

/* Colour: only on a terminal, and not when NO_COLOR is set (no-color.org). */
bool terminal_has_colour(FILE *stream);

/* What is written before text, and behind it, to colour it; empty strings where there is none. */
typedef struct Paint {
    const char *good, *bad, *dim, *bold, *off;
} Paint;

Paint paint_for(bool colour);

/* Whether letters beyond ASCII can be shown: the locale says so, or nobody looks at it now. */
bool terminal_has_symbols(FILE *stream);

/* "WHO: TEXT" on stderr. What is in @text may come from outside and is shown escaped,
 * line by line; several get a heading first, so that diagnostics begin their lines. */
void terminal_complain(const char *who, const char *text);

/* The same of memory that is not to be had. Returns the exit code for it. */
int terminal_out_of_memory(const char *who);

/* What is wrong with files, or is worth a warning, on stderr. */
void terminal_print_diags(const DiagList *diags);

/* Writes all of @text. False when that failed (a closed pipe, a full disk). */
bool terminal_print(FILE *stream, Str text);
