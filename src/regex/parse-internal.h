#pragma once

/*
 * Patterns, parsed: the tree, and what the files of the parser (parse.c, leaf.c) share.
 *
 * Nodes lie in one array and refer to each other by number; a list of children is chained through
 * @next. A leaf is a class of code points, even a single letter: case folding, negation and
 * properties are already applied. Repetitions keep their counts; the compiler writes them out.
 */

#include "base/vec.h"
#include "regex/class.h"
#include "regex/regex.h"

#define REGEX_NONE UINT32_MAX
#define REGEX_UNBOUNDED UINT32_MAX /* the max of x{2,} */
#define REGEX_REPEAT_MAX 1000      /* a count, and the product of nested ones */
#define REGEX_HEIGHT_MAX 1000      /* nodes inside each other */
#define REGEX_NODES_MAX 65536
#define REGEX_RANGES_MAX 65536 /* of all classes of a pattern */

typedef enum RegexNodeKind {
    REGEX_NODE_EMPTY,
    REGEX_NODE_CLASS,
    REGEX_NODE_ASSERT,
    REGEX_NODE_GROUP, /* capturing */
    REGEX_NODE_REPEAT,
    REGEX_NODE_SEQUENCE,
    REGEX_NODE_CHOICE, /* the first that leads to a match wins */
} RegexNodeKind;

/* Conditions between two characters. */
typedef enum RegexAssert {
    REGEX_BEGIN_TEXT,
    REGEX_BEGIN_LINE,
    REGEX_END_TEXT,
    REGEX_END_LINE,
    REGEX_WORD_EDGE, /* ASCII words only, as in RE2 */
    REGEX_NO_WORD_EDGE,
} RegexAssert;

typedef struct RegexNode {
    uint8_t kind;
    bool is_lazy;     /* REPEAT */
    bool is_nullable; /* could match nothing */
    uint8_t assert;   /* ASSERT */
    uint16_t height;
    uint16_t copies;   /* the largest product of counts on a way down; at most REGEX_REPEAT_MAX */
    uint32_t next;     /* sibling, or REGEX_NONE */
    uint32_t child;    /* the first */
    uint32_t min, max; /* REPEAT */
    uint32_t group;    /* GROUP: from 1 */
    const RegexRange *ranges; /* CLASS: in order */
    uint32_t n_ranges;
} RegexNode;

typedef struct RegexTree {
    VEC(RegexNode) nodes;
    uint32_t n_groups; /* capturing ones */
    uint32_t root;
} RegexTree;

#define REGEX_MALFORMED 1 /* or too large: see @ret_error */

/* The tree is in @arena. 0, REGEX_MALFORMED or -ENOMEM. */
int regex_parse(Str pattern, Arena *arena, RegexTree *ret, RegexError *ret_error) MUST_CHECK;

typedef struct RegexParser {
    Str pattern;
    size_t at; /* the next byte */
    uint8_t flags;
    Arena *arena;
    RegexTree *tree;
    RegexError *error;
    int failed;      /* 0, REGEX_MALFORMED or -ENOMEM */
    size_t n_ranges; /* of all classes so far */
} RegexParser;

/* flags */
#define REGEX_FOLD 1u       /* i */
#define REGEX_MULTI_LINE 2u /* m */
#define REGEX_DOT_ALL 4u    /* s */
#define REGEX_LAZY 8u       /* U: what * and *? mean is swapped */

/* What fails sets parser->failed, and returns false, or REGEX_NONE for a node. */

/* Reports the error in the pattern from byte @from to @to. Returns false. */
bool regex_parser_refuse(RegexParser *parser, const char *text, size_t from, size_t to);

/* The next byte; false at the end. */
static inline bool regex_parser_sees(const RegexParser *parser, char c) {
    return parser->at < parser->pattern.len && parser->pattern.ptr[parser->at] == c;
}

/* The rest of the pattern. */
static inline Str regex_parser_rest(const RegexParser *parser) {
    return str_of(parser->pattern.ptr + parser->at, parser->pattern.len - parser->at);
}

/* Takes one code point. */
bool regex_parser_take(RegexParser *parser, uint32_t *ret) MUST_CHECK;

/* The number of a new node. */
uint32_t regex_parser_add(RegexParser *parser, RegexNode node) MUST_CHECK;

/* The leaves: the number of the new node. */
uint32_t regex_leaf_char(RegexParser *parser, uint32_t c) MUST_CHECK;
uint32_t regex_leaf_dot(RegexParser *parser) MUST_CHECK;
uint32_t regex_leaf_bracket(RegexParser *parser) MUST_CHECK; /* at the [ */
uint32_t regex_leaf_escape(RegexParser *parser) MUST_CHECK;  /* at the \, no assertion */
