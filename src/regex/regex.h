#pragma once

/*
 * Regex: RE2's syntax and results, as in Go's regexp, in time linear in the text: all ways are
 * followed at once (leftmost, first alternative wins). A Regex is immutable and read by any thread.
 *
 * Text is UTF-8; an invalid byte counts as U+FFFD, as in Go. There are no look-arounds and no
 * back-references, and \C is refused. Words (\b, \w) are ASCII.
 */

#include "base/arena.h"

typedef struct Regex Regex;
typedef struct RegexScan RegexScan;

/* The error in a pattern. Go prints it as: error parsing regexp: TEXT: `PART`. */
typedef struct RegexError {
    Str text;      /* "missing closing )": static */
    Str part;      /* the part of the pattern that is wrong */
    size_t offset; /* of that part in the pattern */
} RegexError;

/* Everything is in @arena; @pattern is not needed afterwards. NULL when the pattern is invalid,
 * needs more than @max_instructions or than the budget of @arena ("expression too large"), or
 * memory ran out ("out of memory for the expression"); the reason is in @ret_error. */
const Regex *regex_compile(
    Str pattern, size_t max_instructions, Arena *arena, RegexError *ret_error) MUST_CHECK;

/* Whether some part of @text matches: 1, 0 or -ENOMEM. */
int regex_matches(const Regex *regex, Str text) MUST_CHECK;

/* Where a capture begins and ends; from == SIZE_MAX: it did not match. */
typedef struct RegexSpan {
    size_t from, to;
} RegexSpan;

/* All matches in @text from left to right, each with the first @n_spans captures (0 is the whole
 * match); none overlap, and none is empty where the previous one ends. Anchors and \b see the whole
 * text. Regex and text are borrowed. NULL when out of memory: a scan needs memory for the size of
 * the program times @n_spans, not for the text. */
RegexScan *regex_scan_new(const Regex *regex, Str text, size_t n_spans) MUST_CHECK;
RegexScan *regex_scan_free(RegexScan *scan); /* takes NULL, returns NULL */
DEFINE_CLEANUP(RegexScan *, regex_scan_free)

/* The next match: 1 with @ret_spans; 0: none left; REGEX_LIMIT: it would take more than *@work
 * steps (instructions executed), and the scan cannot be used again. Subtracts from *@work the steps
 * taken, which are the same for the same regex and text. */
#define REGEX_LIMIT 2
int regex_scan_next(RegexScan *scan, uint64_t *work, RegexSpan *ret_spans) MUST_CHECK;

/* Captures of the pattern, the whole match not counted. */
size_t regex_n_groups(const Regex *regex);

/* Instructions of the compiled pattern. */
size_t regex_size(const Regex *regex);
