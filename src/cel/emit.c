/*
 * Emitting: a graph becomes instructions.
 *
 * A walk from the root, with a stack of nodes that are being worked on; each knows its next
 * step (evaluate the left side; jump; evaluate the right side; join). What several places
 * need, or what a loop would compute again on every turn though it does not change, becomes
 * a part of its own: RECALL runs it the first time and remembers the value. So a
 * graph's code is never longer than the graph, and nothing is computed twice.
 *
 * Arguments have lower numbers than the nodes that use them, so parts are emitted by
 * rising numbers: whoever recalls one knows already how much stack it needs.
 */
#include <assert.h>
#include <errno.h>

#include "base/error.h"
#include "base/vec.h"
#include "cel/code.h"
#include "cel/fold.h"
#include "cel/share.h"

#define SCRATCH_MAX ((size_t)64 * 1024 * 1024)

/* A node that is being emitted. */
typedef struct Work {
    uint32_t node;
    uint32_t step;
    uint32_t height;     /* of the stack where it began */
    uint32_t mark, jump; /* places in the code to come back to */
    uint32_t owner;
} Work;

typedef struct Emit {
    const CelGraph *graph;
    const CelEmitOptions *options;
    Arena *arena, *scratch;
    uint32_t root;
    CelShares shares;       /* what is recalled; empty: flat */
    uint32_t *constant_of;  /* by node: which constant + 1 */
    uint32_t *part_heights; /* by part: values it needs on the stack */
    VEC(Work) work;
    VEC(CelInstruction) code;
    VEC(uint32_t) positions;
    VEC(uint32_t) owner_of;
    VEC(CelOwner) owners;
    VEC(CelValue) constants;
    VEC(CelCallee) callees;
    VEC(CelShared) shared;
    VEC(CelLoopCode) loops;
    VEC(CelHandler) handlers;
    VEC(CelSlotName) names;
    uint32_t part;    /* the node whose part is being emitted */
    uint32_t height;  /* values on the stack now */
    uint32_t n_loops; /* loops open now, in this part */
    uint32_t height_max;
    bool is_full; /* out of memory */
} Emit;

/* Adds to one of the tables above; the number it got. */
#define APPEND(e, table, ...)                                                                      \
    ({                                                                                             \
        __typeof__((e)->table.items) _item = VEC_PUSH(&(e)->table, (e)->scratch);                  \
        if (_item)                                                                                 \
            *_item = (__VA_ARGS__);                                                                \
        else                                                                                       \
            (e)->is_full = true;                                                                   \
        (uint32_t)((e)->table.n - (_item ? 1 : 0));                                                \
    })

static const CelGraphNode *node_of(const Emit *e, uint32_t number) {
    return cel_graph_node(e->graph, number);
}

static uint32_t here(const Emit *e) {
    return (uint32_t)e->code.n;
}

static Work *top(Emit *e) {
    return &e->work.items[e->work.n - 1];
}

static uint8_t innermost_level(uint8_t levels) {
    uint8_t level = CEL_SHARED_ALWAYS;

    for (uint8_t l = 0; levels >> l; l++)
        level = l;
    return level;
}

/* --- instructions ---------------------------------------------------------------------- */

static uint32_t emit(Emit *e, uint16_t op, uint32_t a, uint32_t b) {
    const Work *work = top(e);
    uint32_t pc;

    assert(a <= UINT16_MAX);
    pc = APPEND(e, code, (CelInstruction){.op = op, .a = (uint16_t)a, .b = b});
    (void)APPEND(e, positions, node_of(e, work->node)->at);
    if (e->options->trace)
        (void)APPEND(e, owner_of, work->owner);
    return pc;
}

static void grow(Emit *e, uint32_t by) {
    e->height += by;
    if (e->height > e->height_max)
        e->height_max = e->height;
}

static void jump_here(Emit *e, uint32_t pc) {
    if (pc < e->code.n)
        e->code.items[pc].b = here(e);
}

static uint32_t add_constant(Emit *e, uint32_t number) {
    CelValue v = node_of(e, number)->constant;

    if (e->constant_of && e->constant_of[number] > 0)
        return e->constant_of[number] - 1;
    if (!e->options->flat && !cel_value_copy(v, e->arena, &v))
        e->is_full = true;
    if (e->constant_of)
        e->constant_of[number] = (uint32_t)e->constants.n + 1;
    return APPEND(e, constants, v);
}

static void add_name(Emit *e, const CelGraphNode *node) {
    Str name;

    for (size_t i = 0; i < e->names.n; i++) {
        if (e->names.items[i].slot == node->immediate)
            return;
    }
    name = arena_copy(e->arena, cel_str(node->constant));
    (void)APPEND(e, names, (CelSlotName){node->immediate, name});
    e->is_full |= !name.ptr;
}

/* The callees of one node stand in a row; the number of the first. */
static uint32_t add_callees(Emit *e, const CelGraphNode *node) {
    uint32_t first = (uint32_t)e->callees.n;

    for (size_t i = 0; i < node->n_overloads; i++) {
        const CelOverload *overload = node->overloads[i];
        CelCallee callee = {
            .fn = overload->spec->fn,
            .prepared = node->prepared,
            .name = overload->spec->name,
            .is_receiver = overload->is_receiver,
            .n_args = overload->n_args,
            .n_candidates = (uint16_t)(node->n_overloads - i),
        };

        for (uint32_t k = 0; k < overload->n_args; k++)
            callee.kinds[k] = cel_param_kind(overload, k);
        (void)APPEND(e, callees, callee);
    }
    return first;
}

static void open_handler(Emit *e, Work *work) {
    work->mark = here(e);
}

/* What failed since open_handler() goes on here, with the error as one more value. */
static void close_handler(Emit *e, const Work *work, uint32_t height) {
    (void)APPEND(e,
        handlers,
        (CelHandler){
            .from = work->mark,
            .to = here(e),
            .target = here(e),
            .height = height,
            .n_loops = e->n_loops,
            .owner = work->owner,
        });
}

/* --- nodes, step by step ---------------------------------------------------------------- */

static void recall(Emit *e, uint32_t shared) {
    uint32_t need = e->part_heights[shared];

    (void)emit(e, OP_RECALL, 0, shared);
    if (e->height + need > e->height_max)
        e->height_max = e->height + need;
    grow(e, 1);
}

static void visit(Emit *e, uint32_t number) {
    uint32_t shared = e->shares.number ? e->shares.number[number] : CEL_NOT_SHARED;
    uint32_t owner = CEL_NO_OWNER, parent = e->work.n > 0 ? top(e)->owner : CEL_NO_OWNER;

    if (shared != CEL_NOT_SHARED && number != e->part) {
        recall(e, shared);
        return;
    }
    if (e->options->trace)
        owner = APPEND(e, owners, (CelOwner){number, parent});
    (void)APPEND(e, work, (Work){.node = number, .height = e->height, .owner = owner});
}

static uint8_t kind_of(const CelGraphNode *node) {
    return node->type->value_kind;
}

/* Whether every overload returns the kind that the node's type says. That of a generic function
 * (T) has it only if the data were what they were said to be. */
static bool is_result_sure(const CelGraphNode *node) {
    for (size_t i = 0; i < node->n_overloads; i++) {
        if (node->overloads[i]->result->value_kind != kind_of(node))
            return false;
    }
    return true;
}

static void emit_call(Emit *e, const CelGraphNode *node) {
    (void)emit(e, node->op, node->n_args, add_callees(e, node));
    if (kind_of(node) != CEL_ABSENT && !is_result_sure(node))
        (void)emit(e, OP_EXPECT, kind_of(node), 0);
}

static void emit_set(Emit *e, const CelGraphNode *node) {
    CelCallee callee = {.prepared = node->prepared, .name = "@in", .n_args = 1};

    (void)emit(e, OP_IN_SET, 0, APPEND(e, callees, callee));
}

/* The arguments are on the stack: the instruction itself. */
static void emit_operation(Emit *e, uint32_t number, const CelGraphNode *node) {
    switch (cel_ops[node->op].immediate) {
    case CEL_IMM_CONSTANT:
        (void)emit(e, node->op, kind_of(node), add_constant(e, number));
        break;
    case CEL_IMM_SLOT:
        add_name(e, node);
        (void)emit(e, node->op, kind_of(node), node->immediate);
        break;
    case CEL_IMM_OVERLOAD:
    case CEL_IMM_FUNCTION:
        emit_call(e, node);
        break;
    case CEL_IMM_SET:
        emit_set(e, node);
        break;
    case CEL_IMM_COUNT:
        (void)emit(e, node->op, 0, node->n_args);
        break;
    default:
        (void)emit(e, node->op, kind_of(node), node->immediate);
    }
}

/* A record's field read from a variable is one instruction instead of two. */
static bool emit_variable_field(Emit *e, const CelGraphNode *node) {
    const CelGraphNode *arg;

    if (e->options->trace || (node->op != OP_FIELD && node->op != OP_TEST_FIELD))
        return false;
    arg = node_of(e, node->args[0]);
    if (arg->op != OP_VARIABLE || kind_of(arg) != CEL_RECORD || arg->immediate > UINT16_MAX ||
        node->immediate >= 1u << 24)
        return false;
    add_name(e, arg);
    (void)emit(e,
        node->op == OP_FIELD ? OP_VARIABLE_FIELD : OP_TEST_VARIABLE_FIELD,
        arg->immediate,
        node->immediate << 8 | kind_of(node));
    grow(e, 1);
    return true;
}

static bool step_value(Emit *e, Work *work, const CelGraphNode *node) {
    if (work->step == 0 && emit_variable_field(e, node))
        return true;
    if (work->step < node->n_args) {
        visit(e, node->args[work->step++]);
        return false;
    }
    emit_operation(e, work->node, node);
    e->height = work->height;
    grow(e, 1);
    return true;
}

static bool step_logic(Emit *e, Work *work, const CelGraphNode *node) {
    bool is_and = node->op == OP_AND;

    switch (work->step++) {
    case 0:
        open_handler(e, work);
        visit(e, node->args[0]);
        return false;
    case 1:
        close_handler(e, work, work->height);
        work->jump = emit(e, is_and ? OP_AND_LEFT : OP_OR_LEFT, 0, 0);
        open_handler(e, work);
        visit(e, node->args[1]);
        return false;
    default:
        close_handler(e, work, work->height + 1);
        (void)emit(e, is_and ? OP_AND_RIGHT : OP_OR_RIGHT, 0, 0);
        jump_here(e, work->jump);
        e->height = work->height + 1;
        return true;
    }
}

static bool step_conditional(Emit *e, Work *work, const CelGraphNode *node) {
    switch (work->step++) {
    case 0:
        visit(e, node->args[0]);
        return false;
    case 1:
        work->jump = emit(e, OP_JUMP_UNLESS, 0, 0);
        e->height = work->height;
        visit(e, node->args[1]);
        return false;
    case 2:
        work->mark = emit(e, OP_JUMP, 0, 0);
        jump_here(e, work->jump);
        e->height = work->height;
        visit(e, node->args[2]);
        return false;
    default:
        jump_here(e, work->mark);
        return true;
    }
}

static const struct {
    uint16_t step, end;
    bool absorbs;
} loop_ops[OP_N] = {
    [OP_ALL] = {OP_ALL_STEP, OP_ALL_END, true},
    [OP_EXISTS] = {OP_EXISTS_STEP, OP_EXISTS_END, true},
    [OP_EXISTS_ONE] = {OP_COUNT_STEP, OP_COUNT_END, false},
    [OP_FILTER] = {OP_FILTER_STEP, OP_LIST_END, false},
    [OP_MAP_LIST] = {OP_LIST_STEP, OP_LIST_END, false},
    [OP_TRANSFORM_MAP] = {OP_MAP_STEP, OP_MAP_END, false},
    [OP_TRANSFORM_ENTRY] = {OP_ENTRY_STEP, OP_MAP_END, false},
};

static void begin_loop(Emit *e, Work *work, const CelGraphNode *node) {
    CelLoopCode loop = {
        .level = (uint8_t)(node->immediate & CEL_LOOP_LEVEL),
        .is_pairs = (node->immediate & CEL_LOOP_PAIRS) != 0,
    };

    (void)emit(e, OP_LOOP, 0, APPEND(e, loops, loop));
    e->height = work->height;
    e->n_loops++;
    work->jump = emit(e, OP_NEXT, 0, 0);
}

static void end_loop(Emit *e, Work *work, const CelGraphNode *node) {
    uint32_t loop;

    if (loop_ops[node->op].absorbs)
        close_handler(e, work, work->height);
    (void)emit(e, loop_ops[node->op].step, 0, work->jump);
    jump_here(e, work->jump);
    loop = work->jump > 0 && work->jump <= e->code.n ? e->code.items[work->jump - 1].b : 0;
    if (loop < e->loops.n)
        e->loops.items[loop].cost = here(e) - work->jump;
    (void)emit(e, loop_ops[node->op].end, 0, 0);
    e->n_loops--;
    e->height = work->height;
    grow(e, 1);
}

/* LOOP takes the range off the stack and keeps it; nothing of it is there while the body
 * runs. NEXT leaves for the end. */
static bool step_loop(Emit *e, Work *work, const CelGraphNode *node) {
    uint32_t step = work->step++;
    bool has_predicate = node->n_args == 3;

    if (step == 0) {
        visit(e, node->args[0]);
        return false;
    }
    if (step == 1)
        begin_loop(e, work, node);
    if (step == 2 && has_predicate) {
        (void)emit(e, OP_SKIP_UNLESS, 0, work->jump);
        e->height = work->height;
    }
    if (step < node->n_args) {
        open_handler(e, work);
        visit(e, node->args[step]);
        return false;
    }
    end_loop(e, work, node);
    return true;
}

static bool step(Emit *e, Work *work) {
    const CelGraphNode *node = node_of(e, work->node);

    switch (node->op) {
    case OP_AND:
    case OP_OR:
        return step_logic(e, work, node);
    case OP_CONDITIONAL:
        return step_conditional(e, work, node);
    default:
        return cel_op_is_loop(node->op) ? step_loop(e, work, node) : step_value(e, work, node);
    }
}

/* One part: the root's, or a shared one's. */
static uint32_t emit_part(Emit *e, uint32_t number, uint16_t last) {
    uint32_t entry = here(e);

    e->part = number;
    e->height = e->height_max = e->n_loops = 0;
    visit(e, number);
    while (e->work.n > 0 && !e->is_full) {
        Work *work = top(e);
        Work copy = *work; /* visit() may move the stack */
        size_t n = e->work.n;
        bool is_done = step(e, &copy);

        e->work.items[n - 1] = copy;
        if (!is_done)
            continue;
        if (e->options->trace && node_of(e, copy.node)->op != OP_CONSTANT)
            (void)emit(e, OP_TRACE, 0, copy.node);
        if (n == 1)
            (void)emit(e, last, 0, 0);
        e->work.n--;
    }
    return entry;
}

/* false && … && …: the first false is the answer to all of them, and a || that waits behind
 * has to look at its right side. */
static void thread_jumps(Emit *e) {
    CelInstruction *code = e->code.items;

    for (size_t i = e->code.n; i-- > 0;) {
        uint16_t op = code[i].op, other = op == OP_AND_LEFT ? OP_OR_LEFT : OP_AND_LEFT;

        if (op != OP_AND_LEFT && op != OP_OR_LEFT)
            continue;
        if (code[code[i].b].op == op)
            code[i].b = code[code[i].b].b;
        else if (code[code[i].b].op == other)
            code[i].b++;
    }
}

/* The parts that are recalled, then the expression itself. */
static int emit_all(Emit *e, uint32_t *ret_entry) {
    for (uint32_t i = 0; i < e->shares.n && !e->is_full; i++) {
        uint32_t node = e->shares.nodes[i], entry = emit_part(e, node, OP_KEEP);

        e->part_heights[i] = e->height_max;
        (void)APPEND(e,
            shared,
            (CelShared){
                .entry = entry,
                .n_instructions = here(e) - entry,
                .node = node,
                .level = innermost_level(node_of(e, node)->levels),
            });
    }
    *ret_entry = emit_part(e, e->root, OP_RETURN);
    if (e->is_full)
        return error_origin(-ENOMEM);
    thread_jumps(e);
    return 0;
}

/* --- the result ------------------------------------------------------------------------ */

static const void *keep(Emit *e, const void *items, size_t n, size_t size) {
    void *copy = arena_alloc(e->arena, n * size);

    if (!copy)
        e->is_full = true;
    else if (n > 0)
        memcpy(copy, items, n * size);
    return copy;
}

#define KEEP(e, code, table)                                                                       \
    do {                                                                                           \
        (code)->table = keep((e), (e)->table.items, (e)->table.n, sizeof((e)->table.items[0]));    \
        (code)->n_##table = (uint32_t)(e)->table.n;                                                \
    } while (0)

static int make_code(Emit *e, uint32_t entry, CelCode **ret) {
    CelCode *code = ARENA_NEW(e->arena, CelCode);

    if (!code)
        return error_origin(-ENOMEM);
    code->entry = entry;
    code->height_max = e->height_max;
    code->n_instructions = here(e);
    code->instructions = keep(e, e->code.items, e->code.n, sizeof(CelInstruction));
    code->positions = keep(e, e->positions.items, e->positions.n, sizeof(uint32_t));
    KEEP(e, code, constants);
    KEEP(e, code, callees);
    KEEP(e, code, shared);
    KEEP(e, code, loops);
    KEEP(e, code, handlers);
    KEEP(e, code, names);
    if (e->options->trace) {
        code->owner_of = keep(e, e->owner_of.items, e->owner_of.n, sizeof(uint32_t));
        code->owners = keep(e, e->owners.items, e->owners.n, sizeof(CelOwner));
    }
    if (e->is_full)
        return error_origin(-ENOMEM);
    *ret = code;
    return 0;
}

static int prepare_tables(Emit *e) {
    int r;

    r = cel_find_shares(e->graph, e->root, e->options->trace, e->scratch, &e->shares);
    if (r < 0)
        return error_trace(r);
    e->constant_of = ARENA_ARRAY(e->scratch, uint32_t, (size_t)e->root + 1);
    e->part_heights = ARENA_ARRAY(e->scratch, uint32_t, e->shares.n);
    return e->constant_of && e->part_heights ? 0 : error_origin(-ENOMEM);
}

int cel_emit(const CelGraph *graph, uint32_t root, const CelEmitOptions *options, Arena *arena,
    CelCode **ret) {
    static const CelEmitOptions plain = {0};
    _cleanup_(arena_freep) Arena *own = NULL;
    Emit e = {.graph = graph, .root = root, .arena = arena, .options = options ? options : &plain};
    size_t used = arena_used(arena);
    uint32_t entry = 0;
    int r;

    e.scratch = e.options->flat ? arena : e.options->scratch;
    if (!e.scratch) {
        own = arena_new(SCRATCH_MAX);
        e.scratch = own;
    }
    if (!e.scratch)
        return error_origin(-ENOMEM);
    r = e.options->flat ? 0 : prepare_tables(&e);
    if (r == 0)
        r = emit_all(&e, &entry);
    if (r == 0)
        r = make_code(&e, entry, ret);
    if (r == 0)
        (*ret)->size = arena_used(arena) - used;
    return error_trace(r);
}

size_t cel_code_size(const CelCode *code) {
    return code->size;
}
