#pragma once

/* Parser: what the two halves of the parser share (parse.c: structure, leaf.c: leaves). */

#include "regex/tree.h"

typedef struct RegexParser {
    Str pattern;
    size_t at; /* the next byte */
    uint8_t flags;
    Arena *arena;
    RegexTree *tree;
    RegexError *error;
    size_t n_ranges; /* of all classes so far */
} RegexParser;

/* flags */
#define REGEX_FOLD 1u       /* i */
#define REGEX_MULTI_LINE 2u /* m */
#define REGEX_DOT_ALL 4u    /* s */
#define REGEX_LAZY 8u       /* U: what * and *? mean is swapped */

/* Says what is wrong with the pattern from byte @from to @to. REGEX_MALFORMED. */
int regex_parser_refuse(RegexParser *parser, const char *text, size_t from, size_t to);
int regex_parser_refuse_size(RegexParser *parser); /* too large as a whole */

/* The next byte; false at the end. */
static inline bool regex_parser_sees(const RegexParser *parser, char c) {
    return parser->at < parser->pattern.len && parser->pattern.ptr[parser->at] == c;
}

/* The rest of the pattern. */
static inline Str regex_parser_rest(const RegexParser *parser) {
    return str_of(parser->pattern.ptr + parser->at, parser->pattern.len - parser->at);
}

/* Takes one code point. 0 or REGEX_MALFORMED (UTF-8). */
int regex_parser_take(RegexParser *parser, uint32_t *ret) MUST_CHECK;

/* A new node; its number in @ret. */
int regex_parser_add(RegexParser *parser, RegexNode node, uint32_t *ret) MUST_CHECK;

/* The leaves. All: 0, REGEX_MALFORMED or -ENOMEM; @ret is the new node. */
int regex_leaf_char(RegexParser *parser, uint32_t c, uint32_t *ret) MUST_CHECK;
int regex_leaf_dot(RegexParser *parser, uint32_t *ret) MUST_CHECK;
int regex_leaf_bracket(RegexParser *parser, uint32_t *ret) MUST_CHECK; /* at the [ */
int regex_leaf_escape(RegexParser *parser, uint32_t *ret) MUST_CHECK;  /* at the \, no assertion */
