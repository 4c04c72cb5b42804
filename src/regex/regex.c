/*
 * Regex: from a pattern to something that can be asked.
 */

#include "regex/regex.h"

#include <errno.h>
#include <stdatomic.h>

#include "regex/program.h"

#define SCRATCH_MAX ((size_t)16 * 1024 * 1024) /* for trees and classes while compiling */

/* The only variable of the process here. A pool outlives regexes and must not take a new one
 * for an old one, so each has a number that is never used again; nothing depends on which. */
static _Atomic uint64_t n_compiled;

static int compile(Str pattern, size_t max_instructions, Arena *arena, Arena *scratch, Regex *regex,
    RegexError *ret_error) {
    RegexTree tree;
    int r = regex_parse(pattern, scratch, &tree, ret_error);

    if (r != 0)
        return r;
    r = regex_emit(&tree, max_instructions, arena, scratch, regex);
    if (r == REGEX_MALFORMED)
        *ret_error = (RegexError){.text = STR("expression too large"), .part = pattern};
    if (r == 0)
        r = regex_alphabet_make(regex, arena, scratch, &regex->alphabet);
    return r;
}

const Regex *regex_compile(
    Str pattern, size_t max_instructions, Arena *arena, RegexError *ret_error) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_MAX);
    Regex *regex = ARENA_NEW(arena, Regex);
    int r = -ENOMEM;

    if (scratch && regex)
        r = compile(pattern, max_instructions, arena, scratch, regex, ret_error);
    if (r < 0)
        *ret_error = (RegexError){.text = STR("out of memory"), .part = pattern};
    if (r != 0)
        return NULL;
    regex->number = atomic_fetch_add_explicit(&n_compiled, 1, memory_order_relaxed);
    return regex;
}

size_t regex_n_groups(const Regex *regex) {
    return regex->n_groups;
}

size_t regex_size(const Regex *regex) {
    return regex->n_instructions;
}
