#pragma once

/*
 * Query: the parameters after the '?' of a URL.
 *
 * Strict, because ignoring a misspelt filter would answer another question: unknown, repeated and
 * empty parameters are errors.
 */

#include <stdio.h>

#include "base/arena.h"

#define QUERY_PARAMETERS_MAX 16u
#define QUERY_ERROR_MAX 256u

/* Writes an error, by printf's rules; its value is false. */
#define query_fail(error, ...) ((void)snprintf((error), QUERY_ERROR_MAX, __VA_ARGS__), false)

typedef struct Query {
    const Str *names; /* that may be given; borrowed */
    size_t n_names;
    Str values[QUERY_PARAMETERS_MAX]; /* by name; ptr NULL: not given */
} Query;

/* Parameters of @text, each one of @names (at most QUERY_PARAMETERS_MAX), "%2F" and "+" decoded
 * into @arena. False with the error in @error (QUERY_ERROR_MAX). */
bool query_parse(Str text, const Str *names, size_t n_names, Arena *arena, Query *ret, char *error)
    MUST_CHECK;

/* The value of @name, one of the allowed names; ptr NULL: not given. */
Str query_get(const Query *query, Str name);

/* A whole number from @min to @max, or @otherwise when it is not given. */
bool query_number(const Query *query, Str name, int64_t min, int64_t max, int64_t otherwise,
    int64_t *ret, char *error) MUST_CHECK;
