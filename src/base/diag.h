#pragma once

/*
 * Diag: an error or warning about a text that a user wrote, with its place.
 *
 *     policy.yaml:14:7: error: unknown field "nodeLabel"
 *       14 |     - nodeLabel: {pool: a}
 *          |       ^^^^^^^^^
 *       = did you mean "nodeLabels"?
 *
 * A list collects all of them, not only the first, up to DIAG_MAX. Library
 * code adds; the command line and the daemon print.
 */

#include "base/buf.h"
#include "base/vec.h"

#define DIAG_MAX 200          /* more are only counted */
#define DIAG_LINE_COLUMNS 160 /* a longer source line is cut to this */

typedef enum DiagLevel {
    DIAG_ERROR,
    DIAG_WARNING,
} DiagLevel;

/* A place in a text. Lines and columns count from 1, columns in bytes; line 0
 * means "the file as a whole". */
typedef struct Place {
    Str file; /* as the user named it */
    size_t line, column;
    size_t width; /* bytes to underline; 0 counts as 1 */
} Place;

/* A fix that a program can apply: replaces the bytes at @place, which are on one line, by @text. */
typedef struct DiagFix {
    Place place;
    Str text; /* STR_NULL: there is no fix */
} DiagFix;

typedef struct Diag {
    DiagLevel level;
    Place place;
    Str source;  /* the source line, without its end; empty if the source was not given */
    Str text;    /* the error */
    Str hint;    /* how to fix it; may be empty */
    DiagFix fix; /* the hint, if it is a replacement */
} Diag;

typedef struct DiagList {
    Arena *arena; /* owns all texts of the list */
    VEC(Diag) diags;
    size_t n_errors, n_warnings; /* including those over the ceiling */
} DiagList;

#define DIAG_LIST_IN(where) ((DiagList){.arena = (where)})

/* Adds an error or warning; copies the file's name, the line of @source, @text and @hint. @source
 * is the whole text that @place points into; it and @hint may be empty. If memory runs out, the
 * diag is still counted. */
void diag_add(DiagList *list, DiagLevel level, Place place, Str source, Str text, Str hint);

/* The same with a printf text, cut at 511 bytes, and no hint. */
void diag_addf(DiagList *list, DiagLevel level, Place place, Str source, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Adds a fix to the last diag, unless that was only counted. @text is copied; the file's name is
 * that of the diag. */
void diag_fix(DiagList *list, Place place, Str text);

/* Sorts the diags from number @from on by file, line and column. Files keep the order of their
 * first diag, and diags of one place the order in which they were added. For readers that come back
 * to a line (a repeated name, a warning about the whole text). */
void diag_list_sort(DiagList *list, size_t from);

/* Writes one in the form above. Control characters are escaped. A line over DIAG_LINE_COLUMNS is
 * cut to the part around the carets, with "…" where text was left out. @colour adds terminal
 * colours. */
void diag_print(const Diag *diag, bool colour, Buf *out);

/* Writes all of them, then a line with their number ("2 errors, 1 warning"). */
void diag_list_print(const DiagList *list, bool colour, Buf *out);
