#pragma once

/*
 * The text of a PromQL query, read from its front: each function cuts off what it has read.
 *
 * For metric-guess.c. Any text will do: nothing behind its end is looked at.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "policy/promql.h"

bool promql_is_letter(char c); /* of a name: also '_' and ':' */
bool promql_is_quote(char c);

/* The first @n bytes. */
Str promql_cut(Str *text, size_t n);

/* Spaces, and comments to the end of the line. */
void promql_skip_space(Str *text);

/* A name of a series, a label, a function; empty: there is none. */
Str promql_cut_word(Str *text);

/* A string literal, which begins there, without its quotes. False: it does not end. */
bool promql_cut_string(Str *text, Str *ret);

/* A list of labels in parentheses, which begins there. False: it does not end. */
bool promql_skip_labels(Str *text);

/* "1h30m", "7d", in nanoseconds; what is not understood ends it. At most a day, which is more than
 * anybody's. */
int64_t promql_cut_duration(Str *text);

/* label="value" and its like. False: there is none. */
bool promql_cut_matcher(Str *text, PromqlMatcher *ret);

/* The longest range of a whole query, in nanoseconds: "[5m]", "[1h:1m]". 0: there is none. */
int64_t promql_longest_range(Str query);
