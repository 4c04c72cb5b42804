#pragma once

/*
 * Regex: RE2's syntax and answers, in time linear in the text.
 *
 * A pattern is parsed, brought to byte-level instructions and matched by simulating all
 * ways at once; there is no backtracking and so no pattern that explodes. Whether there is
 * a match is answered by a DFA that is built while it is needed, in a cache of a
 * fixed size; where it is, by the simulation (leftmost, first alternative wins).
 *
 * A Regex is immutable and read by any thread. What matching learns about it (states of
 * the DFA) is kept in a RegexPool, which belongs to one thread.
 *
 * Text is UTF-8; a byte that is not is matched by nothing but \C-like classes would (RE2's
 * \C is refused, as in Go).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"

typedef struct Regex Regex;
typedef struct RegexPool RegexPool;

#define REGEX_GROUPS_MAX 64 /* captures of a pattern */

typedef struct RegexError {
    Str text;      /* "missing closing )": a static string or in the arena */
    size_t offset; /* in the pattern */
} RegexError;

/* Everything lies in @arena. NULL when the pattern is wrong, needs more than
 * @max_instructions, or memory ran out; @ret_error says which. */
const Regex *regex_compile(
    Str pattern, size_t max_instructions, Arena *arena, RegexError *ret_error) MUST_CHECK;

/* Keeps what it learns up to @budget bytes; more than that is forgotten and learned again. */
RegexPool *regex_pool_new(size_t budget) MUST_CHECK;
RegexPool *regex_pool_free(RegexPool *pool); /* takes NULL, returns NULL */
DEFINE_CLEANUP(RegexPool *, regex_pool_free)

/* Whether some part of @text matches. @pool may be NULL: then @scratch (which must not be)
 * holds what is needed and nothing is remembered. 1, 0 or -ENOMEM. */
int regex_matches(const Regex *regex, Str text, RegexPool *pool, Arena *scratch) MUST_CHECK;

/* Where a capture begins and ends; from == SIZE_MAX: it took no part. */
typedef struct RegexSpan {
    size_t from, to;
} RegexSpan;

/* The leftmost match in @text at or after @from, with as many captures as @n_spans asks for (0
 * is the whole). Anchors and \b look at the whole text. 1, 0 or -ENOMEM. */
int regex_find(const Regex *regex, Str text, size_t from, RegexSpan *ret_spans, size_t n_spans,
    Arena *scratch) MUST_CHECK;

/* Captures of the pattern, the whole match not counted; the name of one, empty if it has
 * none. */
size_t regex_n_groups(const Regex *regex);
Str regex_group_name(const Regex *regex, size_t group);

/* Instructions of the compiled pattern. */
size_t regex_size(const Regex *regex);
