#pragma once

/*
 * WrittenText: a scalar of a policy file, and where its bytes are written there.
 *
 * Known for literal blocks, and for scalars of one line that are plain or quoted, with escapes of
 * quotes only.
 */

#include "base/diag.h"

typedef struct WrittenText {
    Str source;  /* the file's */
    Place place; /* of the scalar */
    Str text;    /* as it reads */
} WrittenText;

/* The place in the file of @within, which is one in the text. False: it is not known, and @ret is
 * untouched. */
bool written_find(const WrittenText *written, const Place *within, Place *ret);

/* @text as it must be written there: quotes are escaped. In @arena; STR_NULL when out of memory. */
Str written_escape(const WrittenText *written, Str text, Arena *arena);
