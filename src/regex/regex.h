#pragma once

/*
 * Regex: RE2's syntax and answers, as Go's regexp gives them, in time linear in the text.
 *
 * A pattern is parsed, brought to instructions and matched by following all ways at
 * once; there is no backtracking and so no pattern that explodes. Whether there is a
 * match is answered by a DFA that is built while it is needed, in a cache of a bounded size;
 * where it is, by the simulation (leftmost, first alternative wins).
 *
 * A Regex is immutable and read by any thread. What matching learns about it (states of
 * the DFA) is kept in a RegexPool, which belongs to one thread.
 *
 * Text is UTF-8; a byte that is not is taken for U+FFFD, as Go does. There are no
 * look-arounds and no back-references, and \C is refused. Words (\b, \w) are ASCII.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"

typedef struct Regex Regex;
typedef struct RegexPool RegexPool;
typedef struct RegexScan RegexScan;

/* What is wrong with a pattern. Go writes it as: error parsing regexp: TEXT: `PART`. */
typedef struct RegexError {
    Str text;      /* "missing closing )": static */
    Str part;      /* what it is about: a part of the pattern */
    size_t offset; /* in the pattern: where it is */
} RegexError;

/* Everything lies in @arena; @pattern is not needed after. NULL when the pattern is wrong, needs
 * more than @max_instructions ("expression too large"), or memory ran out ("out of memory");
 * @ret_error says which. */
const Regex *regex_compile(
    Str pattern, size_t max_instructions, Arena *arena, RegexError *ret_error) MUST_CHECK;

/* Keeps what it learns up to @budget bytes; more than that is forgotten and learned again. A
 * regex that is gone is forgotten by itself, in time. NULL when out of memory. */
RegexPool *regex_pool_new(size_t budget) MUST_CHECK;
RegexPool *regex_pool_free(RegexPool *pool); /* takes NULL, returns NULL */
DEFINE_CLEANUP(RegexPool *, regex_pool_free)

/* Whether some part of @text matches. @pool may be NULL: then nothing is learned, and each call
 * simulates. 1, 0 or -ENOMEM. */
int regex_matches(const Regex *regex, Str text, RegexPool *pool) MUST_CHECK;

/* Where a capture begins and ends; from == SIZE_MAX: it took no part. */
typedef struct RegexSpan {
    size_t from, to;
} RegexSpan;

/* All matches in @text, the leftmost first, each with as many captures as @n_spans asks for (0 is
 * the whole); none overlap, and none is empty where the one before ends. Anchors and \b look at the
 * whole text. Regex and text are borrowed. NULL when out of memory: what a scan needs grows with
 * the size of the program times @n_spans, not with the text. */
RegexScan *regex_scan_new(const Regex *regex, Str text, size_t n_spans) MUST_CHECK;
RegexScan *regex_scan_free(RegexScan *scan); /* takes NULL, returns NULL */
DEFINE_CLEANUP(RegexScan *, regex_scan_free)

/* The next one: 1 with @n_spans spans; 0: there is none; REGEX_TIRED: that would take more than
 * *@work steps (a step is one instruction looked at), and the scan is of no more use. *@work is
 * lessened by what it took, which is the same for the same regex and text. */
#define REGEX_TIRED 2
int regex_scan_next(RegexScan *scan, uint64_t *work, RegexSpan *ret_spans) MUST_CHECK;

/* Captures of the pattern, the whole match not counted. */
size_t regex_n_groups(const Regex *regex);

/* Instructions of the compiled pattern. */
size_t regex_size(const Regex *regex);
