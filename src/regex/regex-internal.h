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
#define REGEX_PREFIX_MAX 32 /* bytes of a literal prefix that are searched for */

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
    uint64_t ascii[2]; /* bit c: the set contains c */
    const RegexRange *ranges;
    uint32_t n; /* ranges, in order */
} RegexSet;

struct Regex {
    const RegexInstruction *instructions;
    const RegexSet *sets;
    size_t n_instructions, n_groups;
    uint16_t start;
    bool is_anchored; /* begins with ^ or \A: matches at 0 or nowhere */
    bool is_literal;  /* the pattern is only @prefix */
    Str prefix;       /* what every match begins with; may be empty */
};

/* 0; REGEX_MALFORMED (too large); -ENOMEM. @scratch is for temporary data. */
int regex_emit(const RegexTree *tree, size_t max_instructions, Arena *arena, Arena *scratch,
    Regex *ret) MUST_CHECK;

/* Decodes the code point at @at, which is before the end. Returns its length. */
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

/* Whether @assert holds at @at. Words and newlines are ASCII, so it reads one byte on each side. */
static inline bool regex_holds(RegexAssert assert, Str text, size_t at) {
    bool is_begin = at == 0, is_end = at == text.len;
    bool after_word = !is_begin && regex_is_word((unsigned char)text.ptr[at - 1]);
    bool before_word = !is_end && regex_is_word((unsigned char)text.ptr[at]);

    switch (assert) {
    case REGEX_BEGIN_TEXT:
        return is_begin;
    case REGEX_BEGIN_LINE:
        return is_begin || text.ptr[at - 1] == '\n';
    case REGEX_END_TEXT:
        return is_end;
    case REGEX_END_LINE:
        return is_end || text.ptr[at] == '\n';
    case REGEX_WORD_EDGE:
        return after_word != before_word;
    case REGEX_NO_WORD_EDGE:
        return after_word == before_word;
    }
    return false;
}
