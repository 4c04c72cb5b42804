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

/* "could not parse formatting clause: …", of a piece with a problem. ptr NULL: out of memory. */
Str cel_format_problem(const CelFormatPiece *piece, Arena *arena);

typedef struct CelFormatClause {
    char clause;
    uint32_t kinds;      /* a bit per CelKind that it takes; elements are not checked */
    const char *types;   /* the names of their types: "int, uint and double" */
    const char *refusal; /* the error for others: "…, was given " and the type */
} CelFormatClause;

/* The clause with this letter; NULL: none. */
const CelFormatClause *cel_format_clause(char clause);

static inline bool cel_format_takes(const CelFormatClause *clause, CelKind kind) {
    return (clause->kinds >> kind & 1) != 0;
}
