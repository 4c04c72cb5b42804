#pragma once

/* Format: the text that string.format() fills in, read piece by piece: some text, then perhaps a
 * clause (%s, %.3f), for which the next argument is taken. The checker reads it the same way. */

#include "cel/value.h"

#define CEL_PRECISION_DEFAULT 6
#define CEL_PRECISION_MAX 1000 /* digits after the point; more is refused */

typedef struct CelFormatPiece {
    Str text;            /* as it is, before the clause */
    bool is_clause;      /* it consumes an argument, even when the clause is wrong */
    char clause;         /* s d f e b o x X */
    uint32_t precision;  /* f, e */
    const char *problem; /* NULL: the clause is right */
    Str culprit;         /* the text with the problem; may be empty */
} CelFormatPiece;

/* Cuts the next piece off the front of @rest. False at the end. After a problem the rest is
 * undefined. */
bool cel_format_next(Str *rest, CelFormatPiece *ret);

/* Whether the clause accepts such a value (elements are checked separately: %s of a list). */
bool cel_format_takes(char clause, CelKind kind);

/* Those kinds by the names of their types: "int, uint and double". */
const char *cel_format_types(char clause);

/* The error for a value of a wrong kind: "…, was given " and its type. */
const char *cel_format_refusal(char clause);
