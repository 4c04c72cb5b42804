#pragma once

/*
 * Program: a compiled pattern, as the simulation reads it.
 *
 * The machine is at many instructions at once: SPLIT continues at both, the first with priority.
 * Instructions take code points, not bytes: a class is one instruction however many bytes its
 * members have, and an invalid byte is U+FFFD of length one, as in Go.
 */

#include "base/utf8.h"
#include "regex/class.h"
#include "regex/parse-internal.h"
#include "regex/regex.h"

#define REGEX_REPLACEMENT 0xFFFDu
#define REGEX_PREFIX_MAX 32 /* bytes of a literal beginning that are looked for */

typedef enum RegexOp {
    REGEX_OP_CHAR,   /* takes code point arg */
    REGEX_OP_SET,    /* takes a member of set arg */
    REGEX_OP_SPLIT,  /* next, then arg */
    REGEX_OP_JUMP,   /* next */
    REGEX_OP_SAVE,   /* the position is slot arg */
    REGEX_OP_ASSERT, /* next, if RegexAssert arg holds here */
    REGEX_OP_MATCH,
} RegexOp;

typedef struct RegexInstruction {
    uint32_t arg;
    uint16_t next;
    uint8_t op;
} RegexInstruction;

typedef struct RegexSet {
    uint64_t ascii[2]; /* bit c: c is in it */
    const RegexRange *ranges;
    uint32_t n; /* ranges, in order */
} RegexSet;

struct Regex {
    const RegexInstruction *instructions;
    const RegexSet *sets;
    size_t n_instructions, n_sets, n_groups;
    uint16_t start;
    bool sees_lines;  /* (?m)^: may begin after any newline */
    bool is_anchored; /* begins with ^ or \A: matches at 0 or nowhere */
    bool is_literal;  /* nothing but @prefix */
    Str prefix;       /* what every match begins with; may be empty */
};

/* 0; REGEX_MALFORMED (too large); -ENOMEM. @scratch is for temporary data. */
int regex_emit(const RegexTree *tree, size_t max_instructions, Arena *arena, Arena *scratch,
    Regex *ret) MUST_CHECK;

static inline bool regex_set_has(const RegexSet *set, uint32_t c) {
    size_t lo = 0, hi = set->n;

    if (c < 128)
        return set->ascii[c / 64] >> (c % 64) & 1;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;

        if (c > set->ranges[middle].hi)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < set->n && c >= set->ranges[lo].lo;
}

/* Whether a CHAR or SET takes @c. */
static inline bool regex_takes(
    const Regex *regex, const RegexInstruction *instruction, uint32_t c) {
    if (instruction->op == REGEX_OP_CHAR)
        return instruction->arg == c;
    return instruction->op == REGEX_OP_SET && regex_set_has(&regex->sets[instruction->arg], c);
}

/* The code point at @at, which is before the end, and its length. */
static inline size_t regex_decode(Str text, size_t at, uint32_t *ret) {
    unsigned char byte = (unsigned char)text.ptr[at];
    size_t n;

    if (byte < 0x80) {
        *ret = byte;
        return 1;
    }
    n = utf8_decode(str_of(text.ptr + at, text.len - at), ret);
    if (n > 0)
        return n;
    *ret = REGEX_REPLACEMENT;
    return 1;
}

static inline bool regex_is_word(uint32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The characters on both sides of a position, as far as assertions need them. */
typedef struct RegexEdge {
    bool at_begin, after_newline, after_word;
    bool at_end, before_newline, before_word;
} RegexEdge;

static inline bool regex_holds(RegexAssert assert, RegexEdge edge) {
    switch (assert) {
    case REGEX_BEGIN_TEXT:
        return edge.at_begin;
    case REGEX_BEGIN_LINE:
        return edge.at_begin || edge.after_newline;
    case REGEX_END_TEXT:
        return edge.at_end;
    case REGEX_END_LINE:
        return edge.at_end || edge.before_newline;
    case REGEX_WORD_EDGE:
        return edge.after_word != edge.before_word;
    case REGEX_NO_WORD_EDGE:
        return edge.after_word == edge.before_word;
    }
    return false;
}

/* The edge at @at. Words and newlines are ASCII, so a byte is enough. */
static inline RegexEdge regex_edge_at(Str text, size_t at) {
    char before = at > 0 ? text.ptr[at - 1] : '\0', after = at < text.len ? text.ptr[at] : '\0';

    return (RegexEdge){
        .at_begin = at == 0,
        .after_newline = before == '\n',
        .after_word = regex_is_word((unsigned char)before),
        .at_end = at == text.len,
        .before_newline = after == '\n',
        .before_word = regex_is_word((unsigned char)after),
    };
}

/* The first place at or after @from where @regex->prefix is, or SIZE_MAX. */
size_t regex_prefix_find(const Regex *regex, Str text, size_t from);

/* Simulation (simulate.c): all threads of the machine at once, in order of priority. */
typedef struct RegexSimulation RegexSimulation;

/* For any number of searches with this regex. @n_slots positions are kept: 2 a capture; 0: only
 * whether there is a match. NULL when out of memory. */
RegexSimulation *regex_simulation_new(const Regex *regex, size_t n_slots, Arena *arena) MUST_CHECK;

/* The leftmost match that starts at or after @from. 1 with @ret_slots (SIZE_MAX: did not match), 0,
 * or REGEX_LIMIT when it would take more than *@work steps. Subtracts the steps it takes. */
int regex_simulate(RegexSimulation *simulation, Str text, size_t from, uint64_t *work,
    size_t *ret_slots) MUST_CHECK;
