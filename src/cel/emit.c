/* Turns a graph into instructions: a walk from the root with a stack of open nodes. A node that
 * several places need, or that does not change between iterations of a loop, is a part of its own,
 * which RECALL runs once. A part recalls only earlier ones, whose stack height is known. */

#include <assert.h>
#include <errno.h>

#include "base/vec.h"
#include "cel/code.h"

#define SCRATCH_MAX ((size_t)64 * 1024 * 1024)

#define NOT_SHARED UINT32_MAX

typedef struct Shares {
    uint32_t *number; /* by node of the graph, up to the root: 0, 1, … or NOT_SHARED */
    uint32_t *nodes;  /* by that number, ascending */
    uint32_t n;
    uint32_t *uses; /* by node, up to the root: number of places that need it */
} Shares;

/* A node that is being emitted. */
typedef struct Work {
    uint32_t node;
    uint32_t step;
    uint32_t height;  /* of the stack where it began */
    uint32_t jump;    /* the instruction whose target is still open */
    uint32_t mark;    /* ?: another such instruction; loop: its number */
    uint32_t handler; /* the enclosing one */
    uint32_t owner;
} Work;

typedef struct Emit {
    const CelGraph *graph;
    const CelEmitOptions *options;
    uint32_t root;
    Shares shares;          /* the kept values; empty: none */
    uint32_t *constant_of;  /* by node: the number of its constant + 1 */
    uint32_t *part_heights; /* by part: values it needs on the stack */
    VEC(Work) work;
    uint32_t part;   /* the node whose part is being emitted */
    Arena *arena;    /* for the code */
    Arena *scratch;  /* for temporary tables */
    uint32_t height; /* values on the stack now */
    uint32_t height_max;
    uint32_t n_loops; /* open now, in this part */
    uint32_t handler; /* the innermost that is open, or CEL_NO_HANDLER */
    VEC(CelInstruction) instructions;
    VEC(uint32_t) positions;
    VEC(uint32_t) handler_of;
    VEC(uint32_t) owner_of;
    VEC(CelOwner) owners;
    VEC(CelValue) constants;
    VEC(CelCallee) callees;
    VEC(CelShared) shared;
    VEC(CelLoopCode) loops;
    VEC(CelHandler) handlers;
    VEC(CelSlotName) names;
    VEC(CelOuterLocal) outers;
    bool is_full; /* out of memory: discard all output */
} Emit;

static const CelGraphNode *node_of(const Emit *e, uint32_t number) {
    return cel_graph_node(e->graph, number);
}

/* The assembler (as_…): the instructions and their tables while they grow. */

/* Adds to one of the tables above; returns the index. */
#define APPEND(e, table, ...)                                                                      \
    ({                                                                                             \
        uint32_t _index = (uint32_t)(e)->table.n;                                                  \
        (e)->is_full |= !VEC_ADD(&(e)->table, (e)->scratch, __VA_ARGS__);                          \
        _index;                                                                                    \
    })

/* The number of the next instruction. */
static uint32_t as_here(const Emit *e) {
    return (uint32_t)e->instructions.n;
}

/* Adds an instruction for position @at of the source. Returns its number. */
static uint32_t as_add(Emit *e, CelInstruction instruction, uint32_t at, uint32_t owner) {
    uint32_t pc = APPEND(e, instructions, instruction);

    (void)APPEND(e, positions, at);
    (void)APPEND(e, handler_of, e->handler);
    if (e->options->trace)
        (void)APPEND(e, owner_of, owner);
    return pc;
}

static void as_grow(Emit *e, uint32_t by) {
    e->height += by;
    if (e->height > e->height_max)
        e->height_max = e->height;
}

/* Sets the target of jump @from to the next instruction. */
static void as_land(Emit *e, uint32_t from) {
    if (from < e->instructions.n)
        e->instructions.items[from].b = as_here(e);
}

/* Opens a handler: errors of instructions up to as_close_handler() continue after it, as one more
 * value on top of @height values. Returns the previous handler, which is @outer there. */
static uint32_t as_open_handler(Emit *e, uint32_t height, uint32_t owner) {
    uint32_t outer = e->handler;
    CelHandler handler = {
        .from = as_here(e),
        .height = height,
        .n_loops = e->n_loops,
        .owner = owner,
    };

    e->handler = APPEND(e, handlers, handler);
    return outer;
}

static void as_close_handler(Emit *e, uint32_t outer) {
    if (e->handler < e->handlers.n)
        e->handlers.items[e->handler].target = as_here(e);
    e->handler = outer;
}

/* The index of the first callee of a call; its callees are adjacent. */
static uint32_t as_callees(Emit *e, const CelGraphNode *call) {
    uint32_t first = (uint32_t)e->callees.n;

    for (size_t i = 0; i < call->n_overloads; i++) {
        const CelOverload *overload = call->overloads[i];
        CelCallee callee = {
            .fn = overload->spec->fn,
            .prepared = call->prepared,
            .name = overload->spec->name,
            .is_receiver = overload->is_receiver,
            .n_args = overload->n_args,
            .n_candidates = (uint16_t)(call->n_overloads - i),
        };

        for (uint32_t k = 0; k < overload->n_args; k++)
            callee.kinds[k] = cel_param_kind(overload, k);
        (void)APPEND(e, callees, callee);
    }
    return first;
}

/* Stores the name of a VARIABLE node's variable, for error messages. */
static void as_name(Emit *e, const CelGraphNode *variable) {
    Str name;

    for (size_t i = 0; i < e->names.n; i++) {
        if (e->names.items[i].slot == variable->immediate)
            return;
    }
    name = arena_copy(e->arena, cel_str(variable->constant));
    (void)APPEND(e, names, (CelSlotName){variable->immediate, name});
    e->is_full |= !name.ptr;
}

/* Shortens chains of jumps: a false a leaves a && b && c at once, and in (a && b) || c it goes
 * straight to c. */
static void thread_jumps(Emit *e) {
    CelInstruction *code = e->instructions.items;

    for (size_t i = e->instructions.n; i-- > 0;) {
        uint16_t op = code[i].op, other = op == OP_AND_LEFT ? OP_OR_LEFT : OP_AND_LEFT;

        if (op != OP_AND_LEFT && op != OP_OR_LEFT)
            continue;
        if (code[code[i].b].op == op)
            code[i].b = code[code[i].b].b;
        else if (code[code[i].b].op == other)
            code[i].b++;
    }
}

static const void *keep(Emit *e, const void *items, size_t n, size_t size) {
    void *copy = arena_alloc(e->arena, n * size);

    if (!copy)
        e->is_full = true;
    else if (n > 0)
        memcpy(copy, items, n * size);
    return copy;
}

#define KEEP(e, code, table)                                                                       \
    ((code)->table = keep((e), (e)->table.items, (e)->table.n, sizeof((e)->table.items[0])))
#define KEEP_N(e, code, table) (KEEP(e, code, table), (code)->n_##table = (uint32_t)(e)->table.n)

/* NULL: out of memory. */
static CelCode *as_finish(Emit *e, uint32_t entry) {
    CelCode *code = e->is_full ? NULL : ARENA_NEW(e->arena, CelCode);

    if (!code)
        return NULL;
    thread_jumps(e);
    code->entry = entry;
    code->height_max = e->height_max;
    KEEP_N(e, code, instructions);
    KEEP(e, code, positions);
    KEEP(e, code, handler_of);
    KEEP_N(e, code, constants);
    KEEP_N(e, code, callees);
    KEEP_N(e, code, shared);
    KEEP_N(e, code, loops);
    KEEP_N(e, code, handlers);
    KEEP_N(e, code, names);
    KEEP_N(e, code, outers);
    if (e->options->trace) {
        KEEP(e, code, owner_of);
        KEEP(e, code, owners);
    }
    return e->is_full ? NULL : code;
}

/* The parts to compute once and store: parts that several places need and loop invariants (not with
 * tracing), unless computing them is as cheap as storing them. */

/* The slot from which the code loads node @number, or CEL_NO_SLOT. Never for a LOCAL: the machine
 * reads those of outer loops from their slots (CelOuterLocal). */
static uint32_t cut_slot(const Emit *e, uint32_t number) {
    uint16_t op;

    if (number >= e->options->n_known_slots || number == e->root)
        return CEL_NO_SLOT;
    op = node_of(e, number)->op;
    return op != OP_LOCAL && op != OP_OPT_ELEMENT ? e->options->known_slots[number] : CEL_NO_SLOT;
}

static bool is_cut(const Emit *e, uint32_t number) {
    return cut_slot(e, number) != CEL_NO_SLOT;
}

static bool is_leaf(const CelGraphNode *node) {
    return node->op == OP_CONSTANT || node->op == OP_VARIABLE || node->op == OP_LOCAL ||
           node->op == OP_FAIL;
}

/* Whether computing it again costs no more than storing it. */
static bool is_cheap(const Emit *e, uint32_t number) {
    const CelGraphNode *node = node_of(e, number);

    if (is_leaf(node) || is_cut(e, number))
        return true;
    return (node->op == OP_FIELD || node->op == OP_TEST_FIELD) &&
           (is_leaf(node_of(e, node->args[0])) || is_cut(e, node->args[0]));
}

/* Whether argument @i of @node keeps its value for several iterations of a loop in this code that
 * encloses it. */
static bool is_steady(const Emit *e, const CelGraphNode *node, uint32_t i) {
    uint8_t around = node->levels, steady = node_of(e, node->args[i])->levels;

    if (i > 0 && cel_op_is_loop(node->op))
        around |= (uint8_t)(1u << (node->immediate & CEL_LOOP_LEVEL));
    return !e->options->trace && (around & ~steady & ~node_of(e, e->root)->levels) != 0;
}

/* From the root down: the users of a node have higher numbers, so all of them come before it. */
static void count_uses(const Emit *e) {
    uint32_t *uses = e->shares.uses;

    uses[e->root] = 1;
    for (uint32_t i = e->root + 1; i-- > 0;) {
        const CelGraphNode *node = node_of(e, i);
        /* OPT_ELEMENT may be absent, which cannot be kept: every place that needs it computes it,
         * so its operand is needed as often. */
        bool is_repeated = node->op == OP_OPT_ELEMENT && uses[i] > 1;

        for (uint32_t k = 0; uses[i] > 0 && !is_cut(e, i) && k < node->n_args; k++)
            uses[node->args[k]] += is_repeated || is_steady(e, node, k) ? 2 : 1;
    }
}

/* Returns false if out of memory. */
static bool find_shares(Emit *e) {
    size_t n = (size_t)e->root + 1;
    Shares *shares = &e->shares;

    shares->number = ARENA_RAW(e->scratch, uint32_t, n);
    shares->nodes = ARENA_RAW(e->scratch, uint32_t, n);
    shares->uses = ARENA_ARRAY(e->scratch, uint32_t, n);
    if (!shares->uses || !shares->number || !shares->nodes)
        return false;
    count_uses(e);
    for (uint32_t i = 0; i <= e->root; i++) {
        bool is_one = shares->uses[i] > 1 && i < e->root && !is_cheap(e, i) &&
                      node_of(e, i)->op != OP_OPT_ELEMENT;

        shares->number[i] = is_one ? shares->n : NOT_SHARED;
        if (is_one)
            shares->nodes[shares->n++] = i;
    }
    return true;
}

static Work *top(Emit *e) {
    return &e->work.items[e->work.n - 1];
}

static uint32_t emit(Emit *e, uint16_t op, uint32_t a, uint32_t b) {
    const Work *work = top(e);

    assert(a <= UINT16_MAX);
    return as_add(e, (CelInstruction){op, (uint16_t)a, b}, node_of(e, work->node)->at, work->owner);
}

static uint8_t kind_of(const CelGraphNode *node) {
    return node->type->value_kind;
}

/* Emits a load of a known or shared value, or pushes the node on the stack of open ones. */
static void visit(Emit *e, uint32_t number) {
    uint32_t slot = cut_slot(e, number);
    uint32_t shared = e->shares.number ? e->shares.number[number] : NOT_SHARED;
    uint32_t owner = CEL_NO_OWNER, parent = e->work.n > 0 ? top(e)->owner : CEL_NO_OWNER;
    const CelGraphNode *node = node_of(e, number);

    if (slot != CEL_NO_SLOT) {
        (void)as_add(e, (CelInstruction){OP_VARIABLE, kind_of(node), slot}, node->at, parent);
        as_grow(e, 1);
        return;
    }
    if (shared != NOT_SHARED && number != e->part) {
        uint32_t height = e->height;

        (void)emit(e, OP_RECALL, 0, shared);
        as_grow(e, e->part_heights[shared]);
        e->height = height + 1; /* only the part needed more */
        return;
    }
    if (e->options->trace)
        owner = APPEND(e, owners, (CelOwner){number, parent});
    e->is_full |=
        !VEC_ADD(&e->work, e->scratch, (Work){.node = number, .height = e->height, .owner = owner});
}

/* Whether every overload returns the kind of the node's type. A generic function (T) does so only
 * if the data have their declared types. */
static bool is_result_sure(const CelGraphNode *node) {
    for (size_t i = 0; i < node->n_overloads; i++) {
        if (node->overloads[i]->result->value_kind != kind_of(node))
            return false;
    }
    return true;
}

static uint32_t add_constant(Emit *e, uint32_t number) {
    CelValue v = node_of(e, number)->constant;

    if (e->options->flat)
        return APPEND(e, constants, v);
    if (e->constant_of[number] == 0) {
        e->is_full |= !cel_value_copy(v, e->arena, &v);
        e->constant_of[number] = APPEND(e, constants, v) + 1;
    }
    return e->constant_of[number] - 1;
}

/* Emits the instruction; its arguments are on the stack. */
static void emit_operation(Emit *e, uint32_t number, const CelGraphNode *node) {
    CelCallee set = {.prepared = node->prepared, .name = "@in", .n_args = 1};

    switch (cel_ops[node->op].immediate) {
    case CEL_IMM_CONSTANT:
        (void)emit(e, node->op, kind_of(node), add_constant(e, number));
        break;
    case CEL_IMM_SLOT:
        as_name(e, node);
        (void)emit(e, node->op, kind_of(node), node->immediate);
        break;
    case CEL_IMM_OVERLOAD:
    case CEL_IMM_FUNCTION:
        (void)emit(e, node->op, node->n_args, as_callees(e, node));
        if (kind_of(node) != CEL_ABSENT && !is_result_sure(node))
            (void)emit(e, OP_EXPECT, kind_of(node), 0);
        break;
    case CEL_IMM_SET:
        (void)emit(e, OP_IN_SET, 0, APPEND(e, callees, set));
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
        node->immediate >= 1u << 24 || cut_slot(e, node->args[0]) != CEL_NO_SLOT)
        return false;
    as_name(e, arg);
    (void)emit(e, node->op == OP_FIELD ? OP_VARIABLE_FIELD : OP_TEST_VARIABLE_FIELD, arg->immediate,
        node->immediate << 8 | kind_of(node));
    as_grow(e, 1);
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
    as_grow(e, 1);
    return true;
}

static bool step_logic(Emit *e, Work *work, const CelGraphNode *node) {
    bool is_and = node->op == OP_AND;

    switch (work->step++) {
    case 0:
        work->handler = as_open_handler(e, work->height, work->owner);
        visit(e, node->args[0]);
        return false;
    case 1:
        as_close_handler(e, work->handler);
        work->jump = emit(e, is_and ? OP_AND_LEFT : OP_OR_LEFT, 0, 0);
        work->handler = as_open_handler(e, work->height + 1, work->owner);
        visit(e, node->args[1]);
        return false;
    default:
        as_close_handler(e, work->handler);
        (void)emit(e, is_and ? OP_AND_RIGHT : OP_OR_RIGHT, 0, 0);
        as_land(e, work->jump);
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
        as_land(e, work->jump);
        e->height = work->height;
        visit(e, node->args[2]);
        return false;
    default:
        as_land(e, work->mark);
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

    work->mark = APPEND(e, loops, loop);
    (void)emit(e, OP_LOOP, 0, work->mark);
    e->height = work->height;
    e->n_loops++;
    work->jump = emit(e, OP_NEXT, 0, 0);
}

static void end_loop(Emit *e, Work *work, const CelGraphNode *node) {
    if (loop_ops[node->op].absorbs)
        as_close_handler(e, work->handler);
    (void)emit(e, loop_ops[node->op].step, 0, work->jump);
    as_land(e, work->jump);
    if (work->mark < e->loops.n) /* else: out of memory */
        e->loops.items[work->mark].cost = as_here(e) - work->jump;
    (void)emit(e, loop_ops[node->op].end, 0, 0);
    e->n_loops--;
    e->height = work->height;
    as_grow(e, 1);
}

/* LOOP takes the range off the stack, where the loop has nothing while its body runs. At the end of
 * the range, NEXT jumps behind the body. */
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
        if (loop_ops[node->op].absorbs)
            work->handler = as_open_handler(e, work->height, work->owner);
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

/* Emits the part of the root, or a shared one; @last is its last instruction. Returns its entry. */
static uint32_t emit_part(Emit *e, uint32_t number, uint16_t last) {
    uint32_t entry = as_here(e);

    e->height = e->height_max = e->n_loops = 0;
    e->handler = CEL_NO_HANDLER;
    e->part = number;
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

static uint8_t innermost_level(uint8_t levels) {
    uint8_t level = CEL_SHARED_ALWAYS;

    for (uint8_t l = 0; levels >> l; l++)
        level = l;
    return level;
}

/* Emits the shared parts, then the expression. Returns the entry of the latter. */
static uint32_t emit_all(Emit *e) {
    for (uint32_t i = 0; i < e->shares.n && !e->is_full; i++) {
        uint32_t node = e->shares.nodes[i], entry = emit_part(e, node, OP_KEEP);

        e->part_heights[i] = e->height_max;
        (void)APPEND(e, shared,
            (CelShared){
                .entry = entry,
                .n_instructions = as_here(e) - entry,
                .node = node,
                .level = innermost_level(node_of(e, node)->levels),
            });
    }
    return e->is_full ? 0 : emit_part(e, e->root, OP_RETURN);
}

/* Notes the slot of an outer loop's LOCAL. False: a LOCAL of its level has another one. */
static bool add_outer(Emit *e, uint32_t local, uint32_t slot) {
    for (size_t i = 0; i < e->outers.n; i++) {
        if (e->outers.items[i].local == local)
            return e->outers.items[i].slot == slot;
    }
    (void)APPEND(e, outers, (CelOuterLocal){local, slot});
    return true;
}

/* Finds the LOCALs of outer loops. Returns false if a cut is ambiguous (CEL_EMIT_UNCLEAR). */
static bool find_outers(Emit *e) {
    const CelEmitOptions *options = e->options;
    uint8_t inner = 0, read = 0;

    for (uint32_t i = 0; i <= e->root; i++) {
        const CelGraphNode *node = e->shares.uses[i] > 0 ? node_of(e, i) : NULL;

        if (!node)
            continue;
        if (cut_slot(e, i) != CEL_NO_SLOT)
            read |= node->levels;
        else if (cel_op_is_loop(node->op))
            inner |= (uint8_t)(1u << (node->immediate & CEL_LOOP_LEVEL));
        else if (node->op == OP_LOCAL && i < options->n_known_slots &&
                 options->known_slots[i] != CEL_NO_SLOT &&
                 !add_outer(e, node->immediate, options->known_slots[i]))
            return false;
    }
    return (inner & read) == 0;
}

static int prepare_tables(Emit *e) {
    if (e->options->flat)
        return 0;
    if (!find_shares(e))
        return -ENOMEM;
    if (e->options->n_known_slots > 0 && !find_outers(e))
        return CEL_EMIT_UNCLEAR;
    e->constant_of = ARENA_ARRAY(e->scratch, uint32_t, (size_t)e->root + 1);
    e->part_heights = ARENA_ARRAY(e->scratch, uint32_t, e->shares.n);
    return e->constant_of && e->part_heights ? 0 : -ENOMEM;
}

int cel_emit(const CelGraph *graph, uint32_t root, const CelEmitOptions *options, Arena *arena,
    CelCode **ret) {
    static const CelEmitOptions plain = {0};
    _cleanup_(arena_freep) Arena *own = NULL;
    Emit e = {.graph = graph, .root = root, .options = options ? options : &plain};
    size_t used = arena_used(arena);
    CelCode *code;
    int r;

    e.arena = arena;
    e.scratch = e.options->flat ? arena : e.options->scratch;
    if (!e.scratch) {
        own = arena_new(SCRATCH_MAX);
        e.scratch = own;
    }
    if (!e.scratch)
        return -ENOMEM;
    r = prepare_tables(&e);
    if (r != 0)
        return r;
    code = as_finish(&e, emit_all(&e));
    if (!code)
        return -ENOMEM;
    code->outer_levels = node_of(&e, root)->levels;
    code->size = arena_used(arena) - used;
    *ret = code;
    return 0;
}
