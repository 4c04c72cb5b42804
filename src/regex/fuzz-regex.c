/*
 * A pattern and a text from the input (a NUL between them): all ways to match must agree with each
 * other and with a slow matcher that is easy to verify.
 *
 * The slow matcher walks the tree and backtracks: it tries the way with priority first and undoes
 * it if the rest does not match. It has no instructions and no states. It recurses, and gives up
 * without a result after STEPS_MAX steps or at DEPTH_MAX.
 */

#include <string.h>

#include "base/fuzz.h"
#include "regex/parse-internal.h"
#include "regex/regex-internal.h"

#define PATTERN_MAX 200
#define TEXT_MAX 100
#define MAX_INSTRUCTIONS 2000
#define STEPS_MAX 50000
#define DEPTH_MAX 1500
#define GROUPS_MAX 32

/* The rest to match after a node. */
typedef struct Rest {
    enum { REST_SEQUENCE, REST_GROUP, REST_LOOP } kind;
    uint32_t node;  /* SEQUENCE: the next, or REGEX_NONE; GROUP, LOOP: the node itself */
    uint32_t round; /* LOOP: rounds done */
    size_t from;    /* LOOP: where the last round began */
    const struct Rest *then;
} Rest;

typedef struct Slow {
    const RegexTree *tree;
    Str text;
    size_t opened[GROUPS_MAX]; /* where a group that is being matched began */
    RegexSpan spans[GROUPS_MAX];
    size_t end;
    unsigned steps, depth;
    bool gave_up;
} Slow;

static bool match(Slow *s, uint32_t number, size_t at, const Rest *rest);
static bool resume(Slow *s, size_t at, const Rest *rest);

/* @done iterations of a repetition are complete: another one, or the rest. */
static bool repeat(Slow *s, uint32_t number, uint32_t done, size_t at, const Rest *then) {
    const RegexNode *node = &s->tree->nodes.items[number];
    Rest again = {.kind = REST_LOOP, .node = number, .round = done + 1, .from = at, .then = then};

    if (done < node->min)
        return match(s, node->child, at, &again);
    if (done >= node->max)
        return resume(s, at, then);
    if (node->is_lazy)
        return resume(s, at, then) || match(s, node->child, at, &again);
    return match(s, node->child, at, &again) || resume(s, at, then);
}

static bool end_round(Slow *s, size_t at, const Rest *rest) {
    const RegexNode *node = &s->tree->nodes.items[rest->node];

    /* More empty rounds would change nothing. The first round of an endless loop may be empty and
     * is then the last; a later one may not: the loop ends before it. */
    if (node->max == REGEX_UNBOUNDED && rest->round >= node->min && at == rest->from)
        return rest->round == (node->min > 0 ? node->min : 1) && resume(s, at, rest->then);
    return repeat(s, rest->node, rest->round, at, rest->then);
}

static bool end_group(Slow *s, size_t at, const Rest *rest) {
    uint32_t group = s->tree->nodes.items[rest->node].group;
    RegexSpan before = s->spans[group];

    s->spans[group] = (RegexSpan){s->opened[group], at};
    if (resume(s, at, rest->then))
        return true;
    s->spans[group] = before;
    return false;
}

static bool resume(Slow *s, size_t at, const Rest *rest) {
    if (!rest) {
        s->end = at;
        return true;
    }
    if (rest->kind == REST_LOOP)
        return end_round(s, at, rest);
    if (rest->kind == REST_GROUP)
        return end_group(s, at, rest);
    if (rest->node == REGEX_NONE)
        return resume(s, at, rest->then);
    return match(s, rest->node, at,
        &(Rest){.kind = REST_SEQUENCE,
            .node = s->tree->nodes.items[rest->node].next,
            .then = rest->then});
}

static bool match_class(Slow *s, const RegexNode *node, size_t at, const Rest *rest) {
    uint32_t c;
    size_t n;

    if (at == s->text.len)
        return false;
    n = regex_decode(s->text, at, &c);
    for (uint32_t i = 0; i < node->n_ranges; i++)
        if (c >= node->ranges[i].lo && c <= node->ranges[i].hi)
            return resume(s, at + n, rest);
    return false;
}

static bool match_group(Slow *s, uint32_t number, size_t at, const Rest *rest) {
    const RegexNode *node = &s->tree->nodes.items[number];
    size_t before = s->opened[node->group];

    s->opened[node->group] = at;
    if (match(s, node->child, at, &(Rest){.kind = REST_GROUP, .node = number, .then = rest}))
        return true;
    s->opened[node->group] = before;
    return false;
}

static bool match_choice(Slow *s, const RegexNode *node, size_t at, const Rest *rest) {
    for (uint32_t i = node->child; i != REGEX_NONE; i = s->tree->nodes.items[i].next)
        if (match(s, i, at, rest))
            return true;
    return false;
}

static bool match_node(Slow *s, uint32_t number, size_t at, const Rest *rest) {
    const RegexNode *node = &s->tree->nodes.items[number];

    switch ((RegexNodeKind)node->kind) {
    case REGEX_NODE_EMPTY:
        return resume(s, at, rest);
    case REGEX_NODE_CLASS:
        return match_class(s, node, at, rest);
    case REGEX_NODE_ASSERT:
        return regex_holds((RegexAssert)node->assert, s->text, at) && resume(s, at, rest);
    case REGEX_NODE_GROUP:
        return match_group(s, number, at, rest);
    case REGEX_NODE_REPEAT:
        return repeat(s, number, 0, at, rest);
    case REGEX_NODE_SEQUENCE:
        return match(s, node->child, at,
            &(Rest){.kind = REST_SEQUENCE,
                .node = s->tree->nodes.items[node->child].next,
                .then = rest});
    case REGEX_NODE_CHOICE:
        return match_choice(s, node, at, rest);
    }
    return false;
}

static bool match(Slow *s, uint32_t number, size_t at, const Rest *rest) {
    bool found;

    if (s->gave_up || ++s->steps > STEPS_MAX || s->depth > DEPTH_MAX) {
        s->gave_up = true;
        return false;
    }
    s->depth++;
    found = match_node(s, number, at, rest);
    s->depth--;
    return found;
}

/* The leftmost match; false: none, or it gave up. */
static bool find_slowly(Slow *s) {
    size_t at = 0;
    uint32_t c;

    while (!s->gave_up) {
        for (size_t i = 0; i < GROUPS_MAX; i++)
            s->spans[i] = (RegexSpan){SIZE_MAX, SIZE_MAX};
        if (match(s, s->tree->root, at, NULL)) {
            s->spans[0] = (RegexSpan){at, s->end};
            return true;
        }
        if (at == s->text.len)
            return false;
        at += regex_decode(s->text, at, &c);
    }
    return false;
}

/* Whether a lazy endless loop is inside an endless one, in @number or a later sibling. There the
 * slow matcher may find another end and other groups, since it tries states twice at one place of
 * the text; regex.c does not, as in Go. */
static bool has_lazy_inside(const RegexTree *tree, uint32_t number, bool is_inside) {
    for (; number != REGEX_NONE; number = tree->nodes.items[number].next) {
        const RegexNode *node = &tree->nodes.items[number];
        bool is_endless = node->kind == REGEX_NODE_REPEAT && node->max == REGEX_UNBOUNDED;
        bool has_children = node->kind == REGEX_NODE_REPEAT || node->kind == REGEX_NODE_GROUP ||
                            node->kind == REGEX_NODE_SEQUENCE || node->kind == REGEX_NODE_CHOICE;

        if (is_inside && is_endless && node->is_lazy)
            return true;
        if (has_children && has_lazy_inside(tree, node->child, is_inside || is_endless))
            return true;
    }
    return false;
}

static void check_against_slow(Str pattern, Str text, int found, const RegexSpan *spans, size_t n) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 26);
    RegexTree tree;
    RegexError error;
    Slow slow = {.text = text, .tree = &tree};
    bool slowly;

    require(arena && regex_parse(pattern, arena, &tree, &error) == 0);
    slowly = find_slowly(&slow);
    if (slow.gave_up)
        return;
    require(slowly == (found == 1));
    require(!slowly || spans[0].from == slow.spans[0].from);
    if (has_lazy_inside(&tree, tree.root, false))
        return;
    require(!slowly || memcmp(spans, slow.spans, n * sizeof(*spans)) == 0);
}

/* Checks that each match is after the one before. Returns whether there is one; @ret_spans is the
 * first. */
static int check_scan(const Regex *regex, Str text, RegexSpan *ret_spans, size_t n) {
    _cleanup_(regex_scan_freep) RegexScan *scan = regex_scan_new(regex, text, n);
    uint64_t work = UINT64_MAX;
    RegexSpan spans[GROUPS_MAX];
    size_t end = 0;
    int r, found = 0;

    require(scan);
    while ((r = regex_scan_next(scan, &work, spans)) == 1) {
        require(spans[0].from >= end && spans[0].to >= spans[0].from && spans[0].to <= text.len);
        end = spans[0].to;
        if (!found)
            memcpy(ret_spans, spans, n * sizeof(*spans));
        found = 1;
    }
    require(r == 0);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1 << 26);
    Str input = str_of((const char *)data, size), pattern, text;
    size_t split = str_find(input, '\0'), n;
    RegexSpan spans[GROUPS_MAX];
    RegexError error = {0};
    const Regex *regex;
    int found;

    pattern = str_take(input, split);
    text = split == SIZE_MAX ? STR_NULL : str_skip(input, split + 1);
    if (pattern.len > PATTERN_MAX || text.len > TEXT_MAX)
        return 0;
    require(arena);
    regex = regex_compile(pattern, MAX_INSTRUCTIONS, arena, &error);
    if (!regex) {
        require(error.text.len > 0 && error.offset <= pattern.len);
        return 0;
    }
    n = regex_n_groups(regex) + 1;
    n = n < GROUPS_MAX ? n : 1;
    found = check_scan(regex, text, spans, n);
    require(regex_size(regex) <= MAX_INSTRUCTIONS);
    require(regex_matches(regex, text) == found);
    if (n > 1 || regex_n_groups(regex) == 0)
        check_against_slow(pattern, text, found, spans, n);
    return 0;
}
