/* Regex: compiles a pattern, and answers whether and where it matches. */

#include "regex/regex.h"

#include <errno.h>

#include "regex/regex-internal.h"

#define SCRATCH_MAX ((size_t)16 * 1024 * 1024) /* for trees and classes while compiling */
#define MEMORY_MAX ((size_t)64 * 1024 * 1024)  /* of a simulation: it grows with slots × program */

static int compile(Str pattern, size_t max_instructions, Arena *arena, Arena *scratch, Regex *regex,
    RegexError *ret_error) {
    RegexTree tree;
    int r = regex_parse(pattern, scratch, &tree, ret_error);

    if (r != 0)
        return r;
    r = regex_emit(&tree, max_instructions, arena, scratch, regex);
    if (r == REGEX_MALFORMED)
        *ret_error = (RegexError){.text = STR("expression too large"), .part = pattern};
    return r;
}

const Regex *regex_compile(
    Str pattern, size_t max_instructions, Arena *arena, RegexError *ret_error) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_MAX);
    Regex *regex = ARENA_NEW(arena, Regex);
    int r = -ENOMEM;

    if (scratch && regex)
        r = compile(pattern, max_instructions, arena, scratch, regex, ret_error);
    if (r < 0) {
        bool is_limit =
            arena_limit_reached(arena) > 0 || (scratch && arena_limit_reached(scratch) > 0);

        *ret_error = (RegexError){.text = is_limit ? STR("expression too large")
                                                   : STR("out of memory for the expression"),
            .part = pattern};
    }
    return r == 0 ? regex : NULL;
}

size_t regex_n_groups(const Regex *regex) {
    return regex->n_groups;
}

size_t regex_size(const Regex *regex) {
    return regex->n_instructions;
}

size_t regex_prefix_find(const Regex *regex, Str text, size_t from) {
    Str prefix = regex->prefix;

    while (from < text.len && prefix.len <= text.len - from) {
        const char *at = memchr(text.ptr + from, prefix.ptr[0], text.len - from - prefix.len + 1);

        if (!at)
            return SIZE_MAX;
        if (memcmp(at, prefix.ptr, prefix.len) == 0)
            return (size_t)(at - text.ptr);
        from = (size_t)(at - text.ptr) + 1;
    }
    return SIZE_MAX;
}

/* The simulation has its own memory and frees it at once: an evaluation that matches ten thousand
 * strings must not collect it. */
static int simulate_matches(const Regex *regex, Str text) {
    _cleanup_(arena_freep) Arena *arena = arena_new(MEMORY_MAX);
    RegexSimulation *simulation = arena ? regex_simulation_new(regex, 0, arena) : NULL;
    uint64_t work = UINT64_MAX;

    if (!simulation)
        return -ENOMEM;
    return regex_simulate(simulation, text, 0, &work, NULL);
}

int regex_matches(const Regex *regex, Str text) {
    if (regex->is_literal)
        return regex_prefix_find(regex, text, 0) != SIZE_MAX;
    return simulate_matches(regex, text);
}

struct RegexScan {
    Arena *arena; /* holds all of this */
    RegexSimulation *simulation;
    const Regex *regex;
    Str text;
    size_t n_spans, n_slots;
    size_t at;           /* SIZE_MAX: the end */
    size_t previous_end; /* of the match before; SIZE_MAX: none */
    size_t *slots;
};

RegexScan *regex_scan_free(RegexScan *scan) {
    if (scan)
        (void)arena_free(scan->arena);
    return NULL;
}

RegexScan *regex_scan_new(const Regex *regex, Str text, size_t n_spans) {
    _cleanup_(arena_freep) Arena *arena = arena_new(MEMORY_MAX);
    RegexScan *scan = arena ? ARENA_NEW(arena, RegexScan) : NULL;
    size_t n_all = regex->n_groups + 1;

    if (!scan)
        return NULL;
    scan->regex = regex;
    scan->text = text;
    scan->n_spans = n_spans;
    scan->n_slots = 2 * (n_spans == 0 ? 1 : n_spans < n_all ? n_spans : n_all);
    scan->previous_end = SIZE_MAX;
    scan->slots = ARENA_RAW(arena, size_t, scan->n_slots);
    scan->simulation = regex_simulation_new(regex, scan->n_slots, arena);
    if (!scan->slots || !scan->simulation)
        return NULL;
    scan->arena = TAKE_PTR(arena);
    return scan;
}

/* After a match that ends at @to: the next search begins there, or a character further if
 * nothing was taken. */
static void advance(RegexScan *scan, size_t to) {
    uint32_t c;

    if (to > scan->at)
        scan->at = to;
    else if (scan->at < scan->text.len)
        scan->at += regex_decode(scan->text, scan->at, &c);
    else
        scan->at = SIZE_MAX;
}

static void write_spans(const RegexScan *scan, RegexSpan *ret) {
    for (size_t i = 0; i < scan->n_spans; i++) {
        ret[i] = (RegexSpan){SIZE_MAX, SIZE_MAX};
        if (2 * i < scan->n_slots && scan->slots[2 * i + 1] != SIZE_MAX)
            ret[i] = (RegexSpan){scan->slots[2 * i], scan->slots[2 * i + 1]};
    }
}

int regex_scan_next(RegexScan *scan, uint64_t *work, RegexSpan *ret_spans) {
    while (scan->at != SIZE_MAX) {
        bool is_empty, is_adjacent;
        int r = regex_simulate(scan->simulation, scan->text, scan->at, work, scan->slots);

        if (r != 1) {
            if (r == 0)
                scan->at = SIZE_MAX;
            return r;
        }
        /* An empty match right at the end of the previous one does not count (Go's rule). */
        is_empty = scan->slots[1] == scan->at;
        is_adjacent = scan->slots[0] == scan->previous_end;
        scan->previous_end = scan->slots[1];
        advance(scan, scan->slots[1]);
        if (is_empty && is_adjacent)
            continue;
        write_spans(scan, ret_spans);
        return 1;
    }
    return 0;
}
