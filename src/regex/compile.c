/* Compiles the tree to instructions, in order: a counted repetition is its node compiled several
 * times. Jumps without a target yet are chained through the field that will hold it. The walk has
 * its own stack, in the arena. */

#include <errno.h>

#include "regex/regex-internal.h"

#define UNKNOWN UINT16_MAX  /* the end of a chain of jumps without a target */
#define STEPS_MAX (1 << 20) /* nodes visited: repeated empty groups emit nothing but take time */

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
    uint32_t *set_of; /* by node: its set + 1; 0: none yet */
    VEC(Visit) visits;
    RegexInstruction spare; /* written to after an error */
    bool is_too_large;
} Emitter;

static uint16_t here(const Emitter *e) {
    return (uint16_t)e->code.n;
}

/* Whether the emitted code must not be used. */
static bool has_failed(const Emitter *e) {
    return e->is_too_large || arena_has_failed(e->scratch) || arena_has_failed(e->arena);
}

/* Appends an instruction that continues at the one after it. Never NULL. */
static RegexInstruction *emit(Emitter *e, RegexOp op, uint32_t arg) {
    RegexInstruction *instruction = e->code.n < e->max ? VEC_PUSH(&e->code, e->scratch) : &e->spare;

    e->is_too_large |= instruction == &e->spare;
    if (!instruction)
        instruction = &e->spare;
    *instruction = (RegexInstruction){.op = (uint8_t)op, .arg = arg, .next = here(e)};
    return instruction;
}

/* Appends a SPLIT between the next instruction and an exit, whose target fill_exits() sets. */
static void emit_exit_split(Emitter *e, bool is_lazy, uint16_t *exits) {
    uint16_t at = here(e);
    RegexInstruction *split = emit(e, REGEX_OP_SPLIT, *exits);

    if (is_lazy) {
        split->next = *exits;
        split->arg = at + 1u;
    }
    *exits = at;
}

/* Sets the target of all exits in the chain. A SPLIT leaves by @arg, a lazy one by @next. */
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

/* The number of the set for a class; equal classes share one. */
static uint32_t find_set(Emitter *e, uint32_t number) {
    const RegexNode *node = &e->tree->nodes.items[number];

    for (size_t i = 0; i < e->sets.n && e->set_of[number] == 0; i++)
        if (is_same_set(&e->sets.items[i], node))
            e->set_of[number] = (uint32_t)i + 1;
    if (e->set_of[number] == 0) {
        RegexSet set = {.ranges = node->ranges, .n = node->n_ranges};

        (void)VEC_ADD(&e->sets, e->scratch, set);
        e->set_of[number] = (uint32_t)e->sets.n;
    }
    return e->set_of[number] - 1;
}

static void emit_class(Emitter *e, uint32_t number) {
    const RegexNode *node = &e->tree->nodes.items[number];

    if (node->n_ranges == 1 && node->ranges[0].lo == node->ranges[0].hi)
        (void)emit(e, REGEX_OP_CHAR, node->ranges[0].lo);
    else
        (void)emit(e, REGEX_OP_SET, find_set(e, number));
}

static void push_visit(Emitter *e, uint32_t node) {
    Visit visit = {
        .node = node,
        .child = e->tree->nodes.items[node].child,
        .begin = here(e),
        .exits = UNKNOWN,
        .split = UNKNOWN,
    };

    (void)VEC_ADD(&e->visits, e->scratch, visit);
}

/* Each of these continues a node (new, or its last child is done), and returns the child to compile
 * next; REGEX_NONE: the node is done. */

/* A SEQUENCE, or the only child of a GROUP. */
static uint32_t continue_children(Emitter *e, Visit *visit) {
    uint32_t child = visit->child;

    if (child != REGEX_NONE)
        visit->child = e->tree->nodes.items[child].next;
    return child;
}

/* split(a, split(b, c)), each alternative but the last leaving with a JUMP. */
static uint32_t continue_choice(Emitter *e, Visit *visit) {
    uint16_t at = here(e);
    uint32_t child = visit->child;

    if (visit->split != UNKNOWN) { /* one alternative is done, and another follows */
        emit(e, REGEX_OP_JUMP, 0)->next = visit->exits;
        visit->exits = at;
        e->code.items[visit->split].arg = here(e);
        visit->split = UNKNOWN;
    }
    if (child == REGEX_NONE)
        return child;
    visit->child = e->tree->nodes.items[child].next;
    if (visit->child != REGEX_NONE) { /* the last needs no SPLIT */
        visit->split = here(e);
        (void)emit(e, REGEX_OP_SPLIT, UNKNOWN);
    }
    return child;
}

/* The end of x+, after x: jumps back to @begin or leaves. */
static void emit_loop(Emitter *e, const Visit *visit, bool is_lazy) {
    uint32_t after = here(e) + 1u;
    RegexInstruction *split = emit(e, REGEX_OP_SPLIT, is_lazy ? visit->begin : after);

    split->next = is_lazy ? (uint16_t)after : visit->begin;
}

/* x* of an x that could be empty is compiled as (x+)?, for the priorities of Perl. */
static uint32_t continue_star(
    Emitter *e, const RegexNode *node, const RegexNode *child, Visit *visit) {
    if (visit->round++ == 0) {
        emit_exit_split(e, node->is_lazy, &visit->exits);
        visit->begin = here(e);
        return node->child;
    }
    if (child->is_nullable)
        emit_loop(e, visit, node->is_lazy);
    else
        emit(e, REGEX_OP_JUMP, 0)->next = (uint16_t)(visit->begin - 1);
    return REGEX_NONE;
}

/* x{2,} is xx+, x{2,4} is xx(x(x)?)? */
static uint32_t continue_repeat(Emitter *e, Visit *visit) {
    const RegexNode *node = &e->tree->nodes.items[visit->node];
    const RegexNode *child = &e->tree->nodes.items[node->child];
    uint32_t round = visit->round;

    if (node->min == 0 && node->max == REGEX_UNBOUNDED)
        return continue_star(e, node, child, visit);
    if (node->max == REGEX_UNBOUNDED && round == node->min) {
        emit_loop(e, visit, node->is_lazy);
        return REGEX_NONE;
    }
    if (round == node->max)
        return REGEX_NONE;
    visit->round++;
    visit->begin = here(e);
    if (round >= node->min)
        emit_exit_split(e, node->is_lazy, &visit->exits);
    return node->child;
}

static uint32_t continue_visit(Emitter *e, Visit *visit) {
    const RegexNode *node = &e->tree->nodes.items[visit->node];

    switch ((RegexNodeKind)node->kind) {
    case REGEX_NODE_EMPTY:
        break;
    case REGEX_NODE_CLASS:
        emit_class(e, visit->node);
        break;
    case REGEX_NODE_ASSERT:
        (void)emit(e, REGEX_OP_ASSERT, node->assert);
        break;
    case REGEX_NODE_GROUP:
        (void)emit(e, REGEX_OP_SAVE, node->group * 2 + (visit->child == REGEX_NONE));
        return continue_children(e, visit);
    case REGEX_NODE_REPEAT:
        return continue_repeat(e, visit);
    case REGEX_NODE_SEQUENCE:
        return continue_children(e, visit);
    case REGEX_NODE_CHOICE:
        return continue_choice(e, visit);
    }
    return REGEX_NONE;
}

static void emit_tree(Emitter *e) {
    push_visit(e, e->tree->root);
    for (size_t step = 0; !has_failed(e) && e->visits.n > 0; step++) {
        Visit *visit = &e->visits.items[e->visits.n - 1];
        uint32_t child = continue_visit(e, visit);

        e->is_too_large |= step >= STEPS_MAX;
        if (has_failed(e))
            return;
        if (child != REGEX_NONE) {
            push_visit(e, child);
            continue;
        }
        fill_exits(e, visit->exits, here(e));
        e->visits.n--;
    }
    (void)emit(e, REGEX_OP_MATCH, 0);
}

/* The first instruction from @at on that is no JUMP. */
static uint16_t skip_jumps(const RegexInstruction *code, uint16_t at) {
    while (code[at].op == REGEX_OP_JUMP)
        at = code[at].next;
    return at;
}

/* Bypasses all jumps; @map has new positions of the other instructions. Returns their number. */
static size_t drop_jumps(RegexInstruction *code, size_t n, uint16_t *map) {
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++) {
        code[i].next = skip_jumps(code, code[i].op == REGEX_OP_MATCH ? (uint16_t)i : code[i].next);
        if (code[i].op == REGEX_OP_SPLIT)
            code[i].arg = skip_jumps(code, (uint16_t)code[i].arg);
    }
    for (size_t i = 0; i < n; i++) {
        map[i] = (uint16_t)n_left;
        n_left += code[i].op != REGEX_OP_JUMP;
    }
    return n_left;
}

static void finish_code(Emitter *e, Regex *ret) {
    uint16_t *map = ARENA_RAW(e->scratch, uint16_t, e->code.n);
    uint16_t start = skip_jumps(e->code.items, 0);
    RegexInstruction *code = NULL;
    size_t n = 0;

    if (map) {
        ret->n_instructions = drop_jumps(e->code.items, e->code.n, map);
        code = ARENA_RAW(e->arena, RegexInstruction, ret->n_instructions);
    }
    for (size_t i = 0; code && i < e->code.n; i++) {
        if (e->code.items[i].op == REGEX_OP_JUMP)
            continue;
        code[n] = e->code.items[i];
        code[n].next = map[code[n].next];
        if (code[n].op == REGEX_OP_SPLIT)
            code[n].arg = map[code[n].arg];
        n++;
    }
    ret->instructions = code;
    ret->start = map ? map[start] : 0;
}

static void mark_ascii(RegexSet *set) {
    for (uint32_t i = 0; i < set->n && set->ranges[i].lo < 128; i++)
        for (uint32_t c = set->ranges[i].lo; c <= set->ranges[i].hi && c < 128; c++)
            set->ascii[c / 64] |= UINT64_C(1) << (c % 64);
}

/* Copies the sets to the final arena, without ranges that the bits for ASCII cover. */
static void finish_sets(Emitter *e, Regex *ret) {
    RegexSet *sets = ARENA_ARRAY(e->arena, RegexSet, e->sets.n);

    for (size_t i = 0; sets && i < e->sets.n; i++) {
        RegexSet *set = &e->sets.items[i];
        RegexRange *ranges;
        uint32_t first = 0;

        mark_ascii(set);
        while (first < set->n && set->ranges[first].hi < 128)
            first++;
        ranges = ARENA_RAW(e->arena, RegexRange, set->n - first);
        if (ranges && set->n > first)
            memcpy(ranges, set->ranges + first, (set->n - first) * sizeof(*ranges));
        sets[i] = *set;
        sets[i].ranges = ranges;
        sets[i].n = set->n - first;
    }
    ret->sets = sets;
}

/* Finds the text that every match begins with, and whether the pattern is only that text. */
static void find_prefix(Emitter *e, Regex *regex) {
    char bytes[REGEX_PREFIX_MAX];
    size_t n = 0;
    const RegexInstruction *at = &regex->instructions[regex->start];

    regex->is_anchored = at->op == REGEX_OP_ASSERT && at->arg == REGEX_BEGIN_TEXT;
    /* U+FFFD also matches bytes that are not UTF-8. A surrogate is not a character. */
    while (at->op == REGEX_OP_CHAR && at->arg != REGEX_REPLACEMENT &&
           (at->arg < 0xD800 || at->arg > 0xDFFF) && n + 4 <= sizeof(bytes)) {
        n += utf8_encode(at->arg, bytes + n);
        at = &regex->instructions[at->next];
    }
    regex->is_literal = n > 0 && at->op == REGEX_OP_MATCH;
    regex->prefix = arena_copy(e->arena, str_of(bytes, n));
}

int regex_emit(
    const RegexTree *tree, size_t max_instructions, Arena *arena, Arena *scratch, Regex *ret) {
    Emitter e = {
        .tree = tree,
        .arena = arena,
        .scratch = scratch,
        .max = max_instructions < UINT16_MAX ? max_instructions : UINT16_MAX - 1,
        .set_of = ARENA_ARRAY(scratch, uint32_t, tree->nodes.n),
    };

    if (!e.set_of)
        return -ENOMEM;
    emit_tree(&e);
    if (e.is_too_large)
        return REGEX_MALFORMED;
    if (!has_failed(&e)) {
        finish_code(&e, ret);
        finish_sets(&e, ret);
    }
    if (!has_failed(&e) && ret->instructions)
        find_prefix(&e, ret);
    ret->n_groups = tree->n_groups;
    return has_failed(&e) ? -ENOMEM : 0;
}
