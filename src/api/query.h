#pragma once

/*
 * Query: the parameters after the '?' of a URL.
 *
 * Strict, because to ignore a misspelt filter would answer another question: unknown, repeated and
 * empty parameters are errors.
 */

#include <stdio.h>

#include "base/arena.h"

#define QUERY_PARAMETERS_MAX 16u
#define QUERY_ERROR_MAX 256u

/* Writes an error with printf's rules; its value is false. */
#define query_fail(error, ...) ((void)snprintf((error), QUERY_ERROR_MAX, __VA_ARGS__), false)

typedef struct Query {
    const Str *names; /* allowed names; borrowed */
    size_t n_names;
    Str values[QUERY_PARAMETERS_MAX]; /* by name; ptr NULL: not given */
} Query;

/* Parses @text, whose parameters must be among @names (at most QUERY_PARAMETERS_MAX). Decodes "%2F"
 * and "+" into @arena. False: @error (QUERY_ERROR_MAX) has the error. */
bool query_parse(Str text, const Str *names, size_t n_names, Arena *arena, Query *ret, char *error)
    MUST_CHECK;

/* The value of @name, which must be an allowed name; ptr NULL: not given. */
Str query_get(const Query *query, Str name);

/* Reads a whole number from @min to @max; @otherwise if not given. False: the error is in
 * @error. */
bool query_number(const Query *query, Str name, int64_t min, int64_t max, int64_t otherwise,
    int64_t *ret, char *error) MUST_CHECK;
