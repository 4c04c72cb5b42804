#pragma once

/*
 * Diag: something wrong with a text a user wrote, and where.
 *
 *     policy.yaml:14:7: error: unknown field "nodeLabel"
 *       14 |     - nodeLabel: {pool: a}
 *          |       ^^^^^^^^^
 *       = did you mean "nodeLabels"?
 *
 * A list collects all of them, not only the first, up to a ceiling. Library
 * code adds; the command line and the daemon print.
 */

#include "base/buf.h"
#include "base/vec.h"

#define DIAG_MAX 200          /* more are only counted */
#define DIAG_LINE_COLUMNS 160 /* shown of a source line that is longer */

typedef enum DiagLevel {
    DIAG_ERROR,
    DIAG_WARNING,
} DiagLevel;

/* A place in a text. Lines and columns count from 1, columns in bytes; line 0
 * means "the file as a whole". */
typedef struct Place {
    Str file; /* as the person named it */
    size_t line, column;
    size_t width; /* bytes to underline; 0 counts as 1 */
} Place;

/* A change of the text that programs can make: @text instead of the bytes at @place, which are on
 * one line. */
typedef struct DiagFix {
    Place place;
    Str text; /* STR_NULL: there is no fix */
} DiagFix;

typedef struct Diag {
    DiagLevel level;
    Place place;
    Str source;  /* the source line, without its end; empty when not at hand */
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

/* Adds one; the file's name, the line of @source, @text and @hint are copied. @source is the whole
 * text @place points into, or empty, as @hint may be. Out of memory drops the text, never the
 * count. */
void diag_add(DiagList *list, DiagLevel level, Place place, Str source, Str text, Str hint);

/* The same with a printf text, cut at 511 bytes, and no hint. */
void diag_addf(DiagList *list, DiagLevel level, Place place, Str source, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Adds a fix to the diag that was added last, unless that was only counted. @text is copied; the
 * file's name is the diag's. */
void diag_fix(DiagList *list, Place place, Str text);

/* Puts those from number @from on into the order of their places, file by file, files in the order
 * of their first; of one place they stay as they were added. Readers that come back to a line (a
 * name that is there already, a warning about the whole) then report like one that goes from top
 * to bottom. */
void diag_list_sort(DiagList *list, size_t from);

/* Writes one in the form above. Control characters are escaped. A line over DIAG_LINE_COLUMNS is
 * cut to the part around the carets, with "…" where text was left out. @colour adds terminal
 * colours. */
void diag_print(const Diag *diag, bool colour, Buf *out);

/* All of them, then a closing line that counts ("2 errors, 1 warning"). */
void diag_list_print(const DiagList *list, bool colour, Buf *out);
