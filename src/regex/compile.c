/*
 * From the tree to instructions, in the order in which they are written down.
 *
 * The code of a node ends where the next one's begins, so a sequence is only one after
 * the other, and a counted repetition is the same node compiled several times. Places that
 * wait for an address that is not yet known are chained through the very field that
 * will hold it.
 *
 * The walk keeps its own stack: a pattern's depth costs memory from the arena, not ours.
 */

#include <errno.h>
#include <string.h>

#include "regex/regex-internal.h"

#define UNKNOWN UINT16_MAX  /* the end of a chain of places to fill in */
#define STEPS_MAX (1 << 20) /* nodes visited: repeated emptiness emits nothing but takes time */

/* A node that is being compiled. */
typedef struct Visit {
    uint32_t node;
    uint32_t child; /* SEQUENCE, CHOICE: the next to compile */
    uint32_t round; /* REPEAT: copies done */
    uint16_t begin; /* where the current child's code begins */
    uint16_t exits; /* chain of instructions that leave the node */
    uint16_t split; /* CHOICE: the SPLIT that waits for the next alternative */
} Visit;

typedef struct Emitter {
    const RegexTree *tree;
    Arena *arena, *scratch;
    size_t max;
    VEC(RegexInstruction) code;
    VEC(RegexSet) sets;
    uint32_t *set_of; /* by node: its set + 1, when it has one already */
    VEC(Visit) visits;
} Emitter;

static uint16_t here(const Emitter *e) {
    return (uint16_t)e->code.n;
}

/* Appends an instruction; after it, in order, comes the next one. */
static int emit(Emitter *e, RegexOp op, uint32_t arg) {
    RegexInstruction *instruction;

    if (e->code.n >= e->max)
        return REGEX_MALFORMED;
    instruction = VEC_PUSH(&e->code, e->scratch);
    if (!instruction)
        return -ENOMEM;
    *instruction = (RegexInstruction){
        .op = (uint8_t)op,
        .arg = arg,
        .next = (uint16_t)e->code.n,
    };
    return 0;
}

/* A SPLIT between what follows it and a way out that is not known yet. */
static int emit_exit_split(Emitter *e, bool is_lazy, uint16_t *exits) {
    uint16_t at = here(e);
    int r = emit(e, REGEX_OP_SPLIT, *exits);

    if (r != 0)
        return r;
    if (is_lazy) {
        e->code.items[at].next = *exits;
        e->code.items[at].arg = at + 1u;
    }
    *exits = at;
    return 0;
}

/* The field of @at through which it leaves its node: a lazy SPLIT leaves first. */
static void fill_exits(Emitter *e, uint16_t exits, uint16_t target) {
    while (exits != UNKNOWN) {
        RegexInstruction *at = &e->code.items[exits];

        if (at->op == REGEX_OP_SPLIT && at->arg != exits + 1u) {
            exits = (uint16_t)at->arg;
            at->arg = target;
        } else {
            exits = at->next;
            at->next = target;
        }
    }
}

static bool is_same_set(const RegexSet *set, const RegexNode *node) {
    return set->n == node->n_ranges &&
           (set->n == 0 || memcmp(set->ranges, node->ranges, set->n * sizeof(*set->ranges)) == 0);
}

/* The set of a class; equal ones are one. */
static int find_set(Emitter *e, uint32_t number, uint32_t *ret) {
    const RegexNode *node = &e->tree->nodes.items[number];
    RegexSet *set;

    for (size_t i = 0; i < e->sets.n && e->set_of[number] == 0; i++)
        if (is_same_set(&e->sets.items[i], node))
            e->set_of[number] = (uint32_t)i + 1;
    if (e->set_of[number] == 0) {
        set = VEC_PUSH(&e->sets, e->scratch);
        if (!set)
            return -ENOMEM;
        set->ranges = node->ranges;
        set->n = node->n_ranges;
        e->set_of[number] = (uint32_t)e->sets.n;
    }
    *ret = e->set_of[number] - 1;
    return 0;
}

static int emit_class(Emitter *e, uint32_t number) {
    const RegexNode *node = &e->tree->nodes.items[number];
    uint32_t set = 0;
    int r;

    if (node->n_ranges == 1 && node->ranges[0].lo == node->ranges[0].hi)
        return emit(e, REGEX_OP_CHAR, node->ranges[0].lo);
    r = find_set(e, number, &set);
    return r != 0 ? r : emit(e, REGEX_OP_SET, set);
}

static int push_visit(Emitter *e, uint32_t node) {
    Visit *visit = VEC_PUSH(&e->visits, e->scratch);

    if (!visit)
        return -ENOMEM;
    *visit = (Visit){
        .node = node,
        .child = e->tree->nodes.items[node].child,
        .begin = here(e),
        .exits = UNKNOWN,
        .split = UNKNOWN,
    };
    return 0;
}

/* Each of these goes on with a node whose last child is done (or that is new): sets @ret_child to
 * what comes next, or leaves it when the node is done. */

static int continue_sequence(Emitter *e, Visit *visit, uint32_t *ret_child) {
    *ret_child = visit->child;
    if (visit->child != REGEX_NONE)
        visit->child = e->tree->nodes.items[visit->child].next;
    return 0;
}

static int continue_group(Emitter *e, Visit *visit, uint32_t *ret_child) {
    uint32_t group = e->tree->nodes.items[visit->node].group;
    uint32_t slot = group * 2 + (visit->child == REGEX_NONE);

    *ret_child = visit->child;
    visit->child = REGEX_NONE;
    return emit(e, REGEX_OP_SAVE, slot);
}

/* split(a, split(b, c)), each alternative but the last leaving with a JUMP. */
static int continue_choice(Emitter *e, Visit *visit, uint32_t *ret_child) {
    uint16_t at = here(e);
    int r;

    *ret_child = visit->child;
    if (visit->split != UNKNOWN) { /* one is done, and there is another */
        r = emit(e, REGEX_OP_JUMP, 0);
        if (r != 0)
            return r;
        e->code.items[at].next = visit->exits;
        visit->exits = at;
        e->code.items[visit->split].arg = here(e);
        visit->split = UNKNOWN;
    }
    if (visit->child == REGEX_NONE)
        return 0;
    visit->child = e->tree->nodes.items[visit->child].next;
    if (visit->child == REGEX_NONE)
        return 0; /* the last needs no SPLIT */
    visit->split = here(e);
    return emit(e, REGEX_OP_SPLIT, UNKNOWN);
}

/* x+ after x: back to @begin or out. */
static int emit_loop(Emitter *e, const Visit *visit, bool is_lazy) {
    uint16_t at = here(e);
    int r = emit(e, REGEX_OP_SPLIT, at + 1u);

    if (r != 0)
        return r;
    e->code.items[at].next = visit->begin;
    if (is_lazy) {
        e->code.items[at].next = (uint16_t)(at + 1);
        e->code.items[at].arg = visit->begin;
    }
    return 0;
}

/* x* of an x that could be empty is (x+)?: only so the priorities come out as in Perl. */
static int continue_star(
    Emitter *e, const RegexNode *node, const RegexNode *child, Visit *visit, uint32_t *ret_child) {
    int r;

    if (visit->round++ == 0) {
        *ret_child = node->child;
        r = emit_exit_split(e, node->is_lazy, &visit->exits);
        visit->begin = here(e);
        return r;
    }
    if (child->is_nullable)
        return emit_loop(e, visit, node->is_lazy);
    r = emit(e, REGEX_OP_JUMP, 0);
    if (r == 0)
        e->code.items[e->code.n - 1].next = (uint16_t)(visit->begin - 1);
    return r;
}

/* x{2,} is xx+, x{2,4} is xx(x(x)?)? */
static int continue_repeat(Emitter *e, Visit *visit, uint32_t *ret_child) {
    const RegexNode *node = &e->tree->nodes.items[visit->node];
    const RegexNode *child = &e->tree->nodes.items[node->child];
    uint32_t round = visit->round;

    if (node->min == 0 && node->max == REGEX_UNBOUNDED)
        return continue_star(e, node, child, visit, ret_child);
    if (node->max == REGEX_UNBOUNDED && round == node->min)
        return emit_loop(e, visit, node->is_lazy);
    if (round == node->max)
        return 0;
    visit->round++;
    *ret_child = node->child;
    visit->begin = here(e);
    return round < node->min ? 0 : emit_exit_split(e, node->is_lazy, &visit->exits);
}

/* A step of the innermost node: @ret_child is what to compile next, REGEX_NONE: it is done. */
static int continue_visit(Emitter *e, Visit *visit, uint32_t *ret_child) {
    const RegexNode *node = &e->tree->nodes.items[visit->node];

    *ret_child = REGEX_NONE;
    switch ((RegexNodeKind)node->kind) {
    case REGEX_NODE_EMPTY:
        return 0;
    case REGEX_NODE_CLASS:
        return emit_class(e, visit->node);
    case REGEX_NODE_ASSERT:
        return emit(e, REGEX_OP_ASSERT, node->assert);
    case REGEX_NODE_GROUP:
        return continue_group(e, visit, ret_child);
    case REGEX_NODE_REPEAT:
        return continue_repeat(e, visit, ret_child);
    case REGEX_NODE_SEQUENCE:
        return continue_sequence(e, visit, ret_child);
    case REGEX_NODE_CHOICE:
        return continue_choice(e, visit, ret_child);
    }
    return 0;
}

static int emit_tree(Emitter *e) {
    int r = push_visit(e, e->tree->root);

    for (size_t step = 0; r == 0 && e->visits.n > 0; step++) {
        uint32_t child = REGEX_NONE;
        Visit *visit = &e->visits.items[e->visits.n - 1];

        r = step < STEPS_MAX ? continue_visit(e, visit, &child) : REGEX_MALFORMED;
        if (r != 0)
            break;
        if (child != REGEX_NONE) {
            r = push_visit(e, child);
            continue;
        }
        fill_exits(e, visit->exits, here(e));
        e->visits.n--;
    }
    return r != 0 ? r : emit(e, REGEX_OP_MATCH, 0);
}

/* Where control really gets to from @at. */
static uint16_t behind_jumps(const RegexInstruction *code, uint16_t at) {
    while (code[at].op == REGEX_OP_JUMP)
        at = code[at].next;
    return at;
}

/* Jumps to jumps become one, and the jumps themselves go: @map is where what is left went. */
static size_t drop_jumps(RegexInstruction *code, size_t n, uint16_t *map) {
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++) {
        code[i].next =
            behind_jumps(code, code[i].op == REGEX_OP_MATCH ? (uint16_t)i : code[i].next);
        if (code[i].op == REGEX_OP_SPLIT)
            code[i].arg = behind_jumps(code, (uint16_t)code[i].arg);
    }
    for (size_t i = 0; i < n; i++) {
        map[i] = (uint16_t)n_left;
        n_left += code[i].op != REGEX_OP_JUMP;
    }
    return n_left;
}

static int finish_code(Emitter *e, Regex *ret) {
    uint16_t *map = ARENA_RAW(e->scratch, uint16_t, e->code.n);
    uint16_t start = behind_jumps(e->code.items, 0);
    RegexInstruction *code;
    size_t n = 0;

    if (!map)
        return -ENOMEM;
    ret->n_instructions = drop_jumps(e->code.items, e->code.n, map);
    code = ARENA_RAW(e->arena, RegexInstruction, ret->n_instructions);
    if (!code)
        return -ENOMEM;
    for (size_t i = 0; i < e->code.n; i++) {
        if (e->code.items[i].op == REGEX_OP_JUMP)
            continue;
        code[n] = e->code.items[i];
        code[n].next = map[code[n].next];
        if (code[n].op == REGEX_OP_SPLIT)
            code[n].arg = map[code[n].arg];
        ret->sees_lines |= code[n].op == REGEX_OP_ASSERT && code[n].arg == REGEX_BEGIN_LINE;
        n++;
    }
    ret->instructions = code;
    ret->start = map[start];
    return 0;
}

static void mark_ascii(RegexSet *set) {
    for (uint32_t i = 0; i < set->n && set->ranges[i].lo < 128; i++)
        for (uint32_t c = set->ranges[i].lo; c <= set->ranges[i].hi && c < 128; c++)
            set->ascii[c / 64] |= UINT64_C(1) << (c % 64);
}

/* To the arena that stays, without what the bits say already. */
static int finish_sets(Emitter *e, Regex *ret) {
    RegexSet *sets = ARENA_ARRAY(e->arena, RegexSet, e->sets.n);

    if (!sets)
        return -ENOMEM;
    for (size_t i = 0; i < e->sets.n; i++) {
        RegexSet *set = &e->sets.items[i];
        RegexRange *ranges;
        uint32_t first = 0;

        mark_ascii(set);
        while (first < set->n && set->ranges[first].hi < 128)
            first++;
        ranges = ARENA_RAW(e->arena, RegexRange, set->n - first);
        if (!ranges)
            return -ENOMEM;
        if (set->n > first)
            memcpy(ranges, set->ranges + first, (set->n - first) * sizeof(*ranges));
        sets[i] = *set;
        sets[i].ranges = ranges;
        sets[i].n = set->n - first;
    }
    ret->sets = sets;
    ret->n_sets = e->sets.n;
    return 0;
}

/* The characters a match must begin with, and whether that is all there is. */
static int find_prefix(Regex *regex, Arena *arena) {
    char bytes[REGEX_PREFIX_MAX];
    size_t n = 0;
    const RegexInstruction *at = &regex->instructions[regex->start];

    regex->is_anchored = at->op == REGEX_OP_ASSERT && at->arg == REGEX_BEGIN_TEXT;
    /* U+FFFD stands for bytes that are not UTF-8, too. A surrogate is no character. */
    while (at->op == REGEX_OP_CHAR && at->arg != REGEX_REPLACEMENT &&
           (at->arg < 0xD800 || at->arg > 0xDFFF) && n + 4 <= sizeof(bytes)) {
        n += utf8_encode(at->arg, bytes + n);
        at = &regex->instructions[at->next];
    }
    regex->is_literal = n > 0 && at->op == REGEX_OP_MATCH;
    regex->prefix = arena_copy(arena, str_of(bytes, n));
    return regex->prefix.ptr ? 0 : -ENOMEM;
}

int regex_emit(
    const RegexTree *tree, size_t max_instructions, Arena *arena, Arena *scratch, Regex *ret) {
    Emitter e = {
        .tree = tree,
        .arena = arena,
        .scratch = scratch,
        .max = max_instructions < UINT16_MAX ? max_instructions : UINT16_MAX - 1,
    };
    int r;

    e.set_of = ARENA_ARRAY(scratch, uint32_t, tree->nodes.n);
    if (!e.set_of)
        return -ENOMEM;
    r = emit_tree(&e);
    if (r == 0)
        r = finish_code(&e, ret);
    if (r == 0)
        r = finish_sets(&e, ret);
    if (r == 0)
        r = find_prefix(ret, arena);
    ret->n_groups = tree->n_groups;
    return r < 0 ? r : r;
}
