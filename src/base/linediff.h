#pragma once

/*
 * Linediff: how one text became another, line by line, as a unified diff.
 *
 *     --- policy.yaml
 *     +++ policy.yaml
 *     @@ -3,4 +3,4 @@
 *      spec:
 *     -  mode: Observe
 *     +  mode: Enforce
 *
 * The shortest diff (Myers), if it has at most LINEDIFF_EDITS_MAX lines. Above that, or if a text
 * has more than LINEDIFF_LINES_MAX lines, everything between the common first lines and the common
 * last lines is shown as removed and added: a correct diff too, and it takes linear time.
 */

#include "base/buf.h"

#define LINEDIFF_EDITS_MAX 1500u  /* about 5 MB while it works */
#define LINEDIFF_LINES_MAX 65536u /* of each text */
#define LINEDIFF_CONTEXT 3u       /* as in diff -u */

typedef struct LinediffText {
    Str name; /* after "---" or "+++"; control characters become '?' */
    Str text;
} LinediffText;

typedef struct LinediffCounts {
    size_t n_added, n_removed; /* lines */
} LinediffCounts;

/* Appends the difference to @out, with @context lines around each change; nothing if both texts are
 * the same. A last line without a newline is marked as diff does. Adds the numbers of added and
 * removed lines to @counts, which may be NULL. 0, or -ENOMEM with nothing written; a full buffer is
 * the buffer's failure. */
int linediff_write(const LinediffText *before, const LinediffText *after, size_t context, Buf *out,
    LinediffCounts *counts) MUST_CHECK;
