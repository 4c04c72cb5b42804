#pragma once

/*
 * Patterns, parsed: the tree between parse.c and compile.c.
 *
 * Nodes are in one array and refer to each other by number; a list of children is chained through
 * @next. A leaf is a class of code points, even a single letter: case folding, negation and
 * properties are already applied. Repetitions keep their counts; the compiler writes them out.
 */

#include "base/vec.h"
#include "regex/class.h"
#include "regex/regex.h"

#define REGEX_NONE UINT32_MAX
#define REGEX_UNBOUNDED UINT32_MAX /* the max of x{2,} */
#define REGEX_REPEAT_MAX 1000      /* a count, and the product of nested ones */
#define REGEX_HEIGHT_MAX 1000      /* nesting of nodes */
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
    uint16_t copies;          /* the largest product of nested counts; at most REGEX_REPEAT_MAX */
    uint32_t next;            /* sibling, or REGEX_NONE */
    uint32_t child;           /* the first */
    uint32_t min, max;        /* REPEAT */
    uint32_t group;           /* GROUP: from 1 */
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
