/*
 * The machine: a loop over instructions with a stack of values.
 *
 * An instruction that fails leaves the loop for unwind(), which finds its handler (code.h). A part
 * that several places need runs like a subroutine; its value is stored (Memo) with the number of
 * the loop's turn, or iteration, that computed it. Turns are numbered through the whole run.
 * levels[] has the innermost loop of each level; for code made from the inside of a loop, the loops
 * around it are there from the start, in one turn that lasts for the whole run.
 */

#include <stdalign.h>

#include "cel/code.h"
#include "cel/elements.h"
#include "cel/limits.h"
#include "cel/operators.h"
#include "cel/tree.h"

#define ROOM_ON_STACK 2048 /* bytes; more comes from the run's arena */
#define TURN_ALWAYS 1      /* the turn of parts that read no loop's variable */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Not zeroed on every run, to save time: all memory that is read was written before. */
#define UNINITIALISED __attribute__((uninitialized))

typedef struct Memo {
    CelValue value; /* or an error */
    uint64_t turn;  /* 0: no value yet */
} Memo;

/* A part that is being computed, and where to return. */
typedef struct Call {
    uint32_t shared;
    uint32_t n_loops;
    uint64_t turn;
    const CelInstruction *back;
    CelValue *base;
} Call;

typedef struct Loop {
    CelValue locals[2];
    uint64_t turn; /* the number of this turn, in the whole run */
    CelValue range;
    uint32_t i, n;
    uint8_t level;
    bool is_pairs;
    bool is_decided;       /* all(): an element was false; exists(): one was true */
    uint32_t cost;         /* fuel for a turn */
    const CelError *error; /* all(), exists(): the first one */
    union {
        CelValue *items;   /* what map() and filter() build */
        CelEntry *entries; /* what transformMap() builds */
    };
    uint32_t n_built, room;
    struct Loop *below; /* the loop that ran when this one began */
    struct Loop *outer; /* the loop of the same level that this one hides */
} Loop;

typedef struct Machine {
    const CelCode *code;
    CelRun *run;
    CelValue *base;      /* of the stack of the part that runs */
    uint32_t base_loops; /* loops that were open when it began */
    uint32_t n_loops;    /* open now */
    Loop *loop;          /* the innermost */
    Loop *levels[CEL_LOOPS_MAX];
    Loop *loops;
    Memo *memos;
    Call *calls;
    uint32_t n_calls;
    uint64_t turn; /* the last number used */
} Machine;

/* --- errors ---------------------------------------------------------------------------- */

static uint32_t pc_of(const Machine *m, const CelInstruction *at) {
    return (uint32_t)(at - m->code->instructions);
}

/* Gives a new error its position. An error that a variable is bound to may have one already. */
static CelValue place_error(const Machine *m, const CelInstruction *at, CelValue v) {
    CelRun *run = m->run;
    CelError *placed;

    if (v.error == &run->over) {
        run->over.at = m->code->positions[pc_of(m, at)];
        return v;
    }
    if (v.error->is_placed)
        return v;
    placed = cel_alloc(run, sizeof(*placed));
    if (!placed)
        return cel_no_memory(run);
    *placed = *v.error;
    placed->is_placed = true;
    placed->at = m->code->positions[pc_of(m, at)];
    v.error = placed;
    return v;
}

static CelValue no_overload(const Machine *m, const CelInstruction *at) {
    return place_error(m, at, cel_no_overload(m->run));
}

/* Traces @error as the value of all enclosing nodes, up to the one that absorbs it. */
static void trace_error(const Machine *m, uint32_t pc, const CelHandler *handler, CelValue error) {
    uint32_t last = handler ? handler->owner : CEL_NO_OWNER;

    if (!m->run->trace || !m->code->owner_of)
        return;
    for (uint32_t i = m->code->owner_of[pc]; i != last && i != CEL_NO_OWNER;
         i = m->code->owners[i].parent)
        m->run->trace->seen(m->run->trace, m->code->owners[i].node, error);
}

static void close_loops(Machine *m, uint32_t n) {
    for (; m->n_loops > n; m->n_loops--) {
        m->levels[m->loop->level] = m->loop->outer;
        m->loop = m->loop->below;
    }
}

/* Returns to the caller of this part, and stores the error as its value. The handler that absorbs
 * it closes the loops that are still open. */
static uint32_t leave_part(Machine *m, CelValue error) {
    const Call *call = &m->calls[--m->n_calls];

    m->memos[call->shared] = (Memo){error, call->turn};
    m->base = call->base;
    m->base_loops = call->n_loops;
    return pc_of(m, call->back) - 1;
}

/* Where to continue after an error at @at: cuts the stack below the handler's operand, and pushes
 * the error. NULL: no handler absorbs it. */
static const CelInstruction *unwind(
    Machine *m, const CelInstruction *at, CelValue error, CelValue **sp) {
    uint32_t pc = pc_of(m, at);

    for (;;) {
        uint32_t number = error.error->is_limit ? CEL_NO_HANDLER : m->code->handler_of[pc];
        const CelHandler *handler = number != CEL_NO_HANDLER ? &m->code->handlers[number] : NULL;

        trace_error(m, pc, handler, error);
        if (handler) {
            close_loops(m, m->base_loops + handler->n_loops);
            *sp = m->base + handler->height;
            *(*sp)++ = error;
            return &m->code->instructions[handler->target];
        }
        if (m->n_calls == 0)
            return NULL;
        pc = leave_part(m, error);
    }
}

/* --- values from outside --------------------------------------------------------------- */

static CelValue not_as_declared(const Machine *m, uint8_t declared, CelValue v) {
    Str want =
        declared == CEL_RECORD ? STR("record") : cel_type_of((CelValue){.kind = declared})->name;

    return cel_fail(m->run, "declared as %.*s, but the value is of type %.*s", STR_FMT(want),
        STR_FMT(cel_type_of(v)->name));
}

static CelValue no_value(const Machine *m, uint32_t slot) {
    Str name = STR("?");

    for (uint32_t i = 0; i < m->code->n_names; i++) {
        if (m->code->names[i].slot == slot)
            name = m->code->names[i].name;
    }
    return cel_fail(m->run, "no value for variable '%.*s'", STR_FMT(name));
}

/* --- building -------------------------------------------------------------------------- */

/* Skips CEL_ABSENT elements: optionals without a value. */
static CelValue make_list(CelRun *run, const CelValue *from, uint32_t n) {
    CelValue *items = cel_list_begin(run, n);
    uint32_t n_items = 0;

    if (!items)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < n; i++) {
        if (from[i].kind != CEL_ABSENT)
            items[n_items++] = from[i];
    }
    return cel_list_end(run, items, n_items);
}

static CelValue make_map(CelRun *run, const CelValue *from, uint32_t n) {
    CelEntry *entries = cel_map_begin(run, n / 2);
    uint32_t n_entries = 0;

    if (!entries)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < n; i += 2) {
        if (from[i + 1].kind != CEL_ABSENT)
            entries[n_entries++] = (CelEntry){from[i], from[i + 1]};
    }
    return cel_map_end(run, entries, n_entries);
}

static CelValue opt_element(CelRun *run, CelValue v) {
    if (v.kind != CEL_OPTIONAL)
        return cel_no_overload(run);
    return v.inner ? *v.inner : cel_absent();
}

/* --- calls whose overload depends on the arguments -------------------------------------- */

#define NAMES_MAX 300 /* bytes of a call in "no such overload: …" */

static bool fits(const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    if (callee->n_args != n_args)
        return false;
    for (uint32_t i = 0; i < n_args; i++) {
        if (callee->kinds[i] != CEL_ABSENT && callee->kinds[i] != args[i].kind)
            return false;
    }
    return true;
}

static CelValue no_such_overload(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    _cleanup_(buf_done) Buf out = BUF_INIT(NAMES_MAX);
    Str name = str_from_c(callee->name), types[CEL_ARGS_MAX] = {STR_NULL};

    for (uint32_t i = 0; i < n_args; i++)
        types[i] = cel_type_of(args[i])->name;
    /* m[?k] is shown as m[k]. */
    cel_call_print(
        str_is(name, "_[?_]") ? STR("_[_]") : name, callee->is_receiver, types, n_args, &out);
    return cel_fail(run, "no such overload: %.*s", STR_FMT(buf_str(&out)));
}

/* Calls the first overload whose kinds fit, from @callees on. */
static CelValue call_dispatch(
    CelRun *run, const CelCallee *callees, const CelValue *args, uint32_t n_args) {
    for (uint32_t i = 0; i < callees->n_candidates; i++) {
        if (fits(&callees[i], args, n_args) && callees[i].fn)
            return callees[i].fn(run, args, callees[i].prepared);
    }
    return no_such_overload(run, callees, args, n_args);
}

/* --- loops ----------------------------------------------------------------------------- */

/* Functions of loops return an error, or any other value for success. */

#define ROOM_FIRST 8 /* elements */

/* Puts the next element into the variables: a list's element, with its index before it if there are
 * two; a map's key, and its value. The caller checked that there is one. */
static CelValue loop_next(Loop *loop, CelRun *run) {
    if (!cel_charge(run, loop->cost))
        return cel_exhausted(run);
    if (loop->range.kind == CEL_LIST) {
        loop->locals[loop->is_pairs] = cel_list_at(loop->range.list, loop->i, run);
        if (loop->is_pairs)
            loop->locals[0] = cel_int(loop->i);
    } else {
        CelEntry entry = cel_map_at(loop->range.map, loop->i, run);

        loop->locals[0] = entry.key;
        loop->locals[1] = entry.value;
    }
    loop->i++;
    if (loop->locals[0].kind == CEL_ERROR)
        return loop->locals[0];
    return loop->is_pairs ? loop->locals[1] : cel_null();
}

/* Room for one more element of @size bytes. */
static bool grow(Loop *loop, size_t size, CelRun *run) {
    uint32_t room = loop->room ? loop->room * 2 : ROOM_FIRST;
    void *items;

    if (loop->n_built < loop->room)
        return true;
    if (loop->n_built >= UINT32_MAX / 2)
        return false;
    items = cel_alloc(run, room * size);
    if (!items)
        return false;
    if (loop->n_built > 0)
        memcpy(items, loop->items, loop->n_built * size);
    loop->items = items;
    loop->room = room;
    return true;
}

static CelValue loop_add_item(Loop *loop, CelValue v, CelRun *run) {
    if (!grow(loop, sizeof(CelValue), run))
        return cel_no_memory(run);
    loop->items[loop->n_built++] = v;
    return cel_null();
}

static CelValue loop_add_entry(Loop *loop, CelEntry entry, CelRun *run) {
    if (!grow(loop, sizeof(CelEntry), run))
        return cel_no_memory(run);
    loop->entries[loop->n_built++] = entry;
    return cel_null();
}

static CelValue loop_add_entries(Loop *loop, CelValue v, CelRun *run) {
    if (v.kind != CEL_MAP)
        return cel_no_overload(run);
    if (!cel_charge(run, v.map->n))
        return cel_exhausted(run);
    for (uint32_t i = 0; i < v.map->n; i++) {
        CelEntry entry = cel_map_at(v.map, i, run);
        CelValue r = entry.value;

        if (r.kind != CEL_ERROR)
            r = loop_add_entry(loop, entry, run);
        if (r.kind == CEL_ERROR)
            return r;
    }
    return cel_null();
}

/* The final result of all() or exists(). A decided one ignores errors. */
static CelValue loop_verdict(const Loop *loop, bool is_all) {
    if (!loop->is_decided && loop->error)
        return (CelValue){.kind = CEL_ERROR, .error = loop->error};
    return cel_bool(loop->is_decided != is_all);
}

static CelValue open_loop(Machine *m, uint32_t number, CelValue range) {
    const CelLoopCode *code = &m->code->loops[number];
    Loop *loop = &m->loops[number];

    if (range.kind != CEL_LIST && range.kind != CEL_MAP)
        return cel_fail(m->run, "no such overload: %.*s is neither a list nor a map",
            STR_FMT(cel_type_of(range)->name));
    *loop = (Loop){
        .range = range,
        .n = range.kind == CEL_LIST ? range.list->n : range.map->n,
        .level = code->level,
        .is_pairs = code->is_pairs,
        .cost = code->cost,
        .below = m->loop,
        .outer = m->levels[code->level],
    };
    m->loop = m->levels[code->level] = loop;
    m->n_loops++;
    return cel_null();
}

/* --- instructions ---------------------------------------------------------------------- */

/* Each instruction has its code, which ends with a jump to the next one's: gcc and clang have
 * labels as values. */
#define ON(name) on_##name:
#define GO                                                                                         \
    do {                                                                                           \
        at = pc++;                                                                                 \
        goto *labels[at->op];                                                                      \
    } while (0)

/* Operations that exist only in the graph are not instructions. */
#define LABEL_VALUE(name) &&on_##name
#define LABEL_FLOW(name) &&on_##name
#define LABEL_NODE(name) &&on_NONE

#define TOP sp[-1]
#define FOLLOW pc = &instructions[at->b]

/* The result of an operation that may have failed is on top. */
#define CHECKED                                                                                    \
    do {                                                                                           \
        if (UNLIKELY(TOP.kind == CEL_ERROR))                                                       \
            goto failed;                                                                           \
        GO;                                                                                        \
    } while (0)

/* A value from the host is on top; fails if it is not of the declared kind. */
#define FETCHED(declared)                                                                          \
    do {                                                                                           \
        if (UNLIKELY(TOP.kind != (declared) && (declared) != CEL_ABSENT)) {                        \
            if (TOP.kind != CEL_ERROR)                                                             \
                TOP = not_as_declared(m, (declared), TOP);                                         \
            goto failed;                                                                           \
        }                                                                                          \
        CHECKED;                                                                                   \
    } while (0)

/* A step of a loop has ended; it failed if @v is an error. */
#define STEPPED                                                                                    \
    do {                                                                                           \
        if (UNLIKELY(v.kind == CEL_ERROR))                                                         \
            goto step_failed;                                                                      \
        GO;                                                                                        \
    } while (0)

#define UNARY(name, result)                                                                        \
    ON(name) {                                                                                     \
        TOP = (result);                                                                            \
        CHECKED;                                                                                   \
    }

#define BINARY(X, name, op)                                                                        \
    ON(name) {                                                                                     \
        sp--;                                                                                      \
        TOP = cel_op_##op(run, TOP, sp[0]);                                                        \
        CHECKED;                                                                                   \
    }

#define OF_SEVERAL(name, n, result)                                                                \
    ON(name) {                                                                                     \
        sp -= (n);                                                                                 \
        sp[0] = (result);                                                                          \
        sp++;                                                                                      \
        CHECKED;                                                                                   \
    }

/*
 * The loop. @at is the instruction that runs, @pc the next one, @sp the first free place of the
 * stack.
 *
 * It is one long function for speed: @pc, @sp and @at stay in registers, and each instruction has
 * its own jump to the next, which the processor predicts separately. Failures go to the labels at
 * the end. operators.h has the code of most operations.
 */
static CelValue execute(Machine *m, CelValue *sp, const CelValue *variables) {
    static const void *const labels[OP_N] = {
#define X(name, class, arguments, immediate) [OP_##name] = LABEL_##class(name),
        CEL_OPCODES(X)
#undef X
    };
    CelRun *run = m->run;
    const CelCode *code = m->code;
    const CelInstruction *const instructions = code->instructions;
    const CelValue *const constants = code->constants;
    const CelInstruction *pc = &instructions[code->entry], *at;
    CelValue v;

    GO;

    ON(CONSTANT) {
        *sp++ = constants[at->b];
        GO;
    }
    ON(VARIABLE) {
        v = variables[at->b];
        *sp++ = LIKELY(v.kind != CEL_ABSENT) ? v : no_value(m, at->b);
        FETCHED(at->a);
    }
    ON(LOCAL) {
        *sp++ = m->levels[at->b >> 1]->locals[at->b & 1];
        FETCHED(at->a);
    }
    ON(FAIL) {
        *sp++ = cel_fail(run, "%.*s", STR_FMT(cel_str(constants[at->b])));
        goto failed;
    }
    ON(VARIABLE_FIELD) {
        v = variables[at->a];
        *sp++ = LIKELY(v.kind != CEL_ABSENT) ? cel_field(run, v, at->b >> 8) : no_value(m, at->a);
        FETCHED((uint8_t)at->b);
    }
    ON(TEST_VARIABLE_FIELD) {
        v = variables[at->a];
        *sp++ =
            LIKELY(v.kind != CEL_ABSENT) ? cel_test_field(run, v, at->b >> 8) : no_value(m, at->a);
        CHECKED;
    }
    ON(FIELD) {
        TOP = cel_field(run, TOP, at->b);
        FETCHED(at->a);
    }
    ON(SELECT) {
        TOP = cel_select(run, TOP, constants[at->b]);
        FETCHED(at->a);
    }
    ON(INDEX_LIST) {
        sp--;
        TOP = cel_op_index_list(run, TOP, sp[0]);
        FETCHED(at->a);
    }
    ON(INDEX_MAP) {
        sp--;
        TOP = cel_op_index_map(run, TOP, sp[0]);
        FETCHED(at->a);
    }
    ON(OPT_GET) {
        TOP = TOP.kind == CEL_OPTIONAL ? cel_op_opt_get(run, TOP) : cel_no_overload(run);
        FETCHED(at->a);
    }
    ON(EXPECT) {
        FETCHED(at->a);
    }
    UNARY(TEST_FIELD, cel_test_field(run, TOP, at->b))
    UNARY(OPT_FIELD, cel_opt_field(run, TOP, at->b))
    UNARY(TEST_SELECT, cel_test_select(run, TOP, constants[at->b]))
    UNARY(OPT_SELECT, cel_opt_select(run, TOP, constants[at->b]))
    UNARY(OPT_HAS, TOP.kind == CEL_OPTIONAL ? cel_op_opt_has(run, TOP) : cel_no_overload(run))
    UNARY(OPT_OF, cel_op_opt_of(run, TOP))
    UNARY(OPT_ELEMENT, opt_element(run, TOP))
    UNARY(NEG_INT, cel_op_neg_int(run, TOP))
    UNARY(NEG_DOUBLE, cel_op_neg_double(run, TOP))
    UNARY(NOT, cel_op_not(run, TOP))
    UNARY(IN_SET, cel_set_has(code->callees[at->b].prepared, TOP, run))
    BINARY(, OPT_INDEX, index_optional)
    CEL_BINARY_OPCODES(BINARY, )

    ON(CALL) {
        const CelCallee *callee = &code->callees[at->b];

        sp -= at->a;
        sp[0] = LIKELY(callee->fn != NULL) ? callee->fn(run, sp, callee->prepared)
                                           : cel_no_overload(run);
        sp++;
        CHECKED;
    }
    OF_SEVERAL(CALL_CHECKED, at->a, call_dispatch(run, &code->callees[at->b], sp, at->a))
    OF_SEVERAL(DISPATCH, at->a, call_dispatch(run, &code->callees[at->b], sp, at->a))
    OF_SEVERAL(LIST, at->b, make_list(run, sp, at->b))
    OF_SEVERAL(MAP, at->b, make_map(run, sp, at->b))

    ON(JUMP) {
        FOLLOW;
        GO;
    }
    ON(SKIP_UNLESS)
    ON(JUMP_UNLESS) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL))
            goto not_a_bool;
        if (!v.boolean)
            FOLLOW;
        GO;
    }

    /* A value that is not a bool is an error, and may be absorbed by the other side. */
    ON(AND_LEFT) {
        if (UNLIKELY(TOP.kind != CEL_BOOL))
            goto not_bool_side;
        if (!TOP.boolean)
            FOLLOW;
        GO;
    }
    ON(OR_LEFT) {
        if (UNLIKELY(TOP.kind != CEL_BOOL))
            goto not_bool_side;
        if (TOP.boolean)
            FOLLOW;
        GO;
    }
not_bool_side:
    if (TOP.kind != CEL_ERROR)
        TOP = no_overload(m, at);
    GO;

    /* The left side was true (or false, for ||) or is an error: then only a false (a true) on
     * the right saves it, and of two errors the left one is reported. */
    ON(AND_RIGHT) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL || (TOP.kind != CEL_BOOL && v.boolean)))
            goto no_side;
        TOP = v;
        GO;
    }
    ON(OR_RIGHT) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL || (TOP.kind != CEL_BOOL && !v.boolean)))
            goto no_side;
        TOP = v;
        GO;
    }
no_side:
    if (TOP.kind != CEL_ERROR)
        TOP = v.kind == CEL_ERROR ? v : no_overload(m, at);
    goto failed_before;

    ON(RECALL) {
        const CelShared *shared = &code->shared[at->b];
        const Memo *memo = &m->memos[at->b];
        uint64_t turn =
            shared->level == CEL_SHARED_ALWAYS ? TURN_ALWAYS : m->levels[shared->level]->turn;

        if (memo->turn == turn) {
            *sp++ = memo->value;
            if (UNLIKELY(run->trace != NULL))
                run->trace->again(run->trace, shared->node, TOP);
            if (UNLIKELY(TOP.kind == CEL_ERROR))
                goto failed_before;
            GO;
        }
        if (UNLIKELY(!cel_charge(run, shared->n_instructions))) {
            *sp++ = cel_exhausted(run);
            goto failed;
        }
        m->calls[m->n_calls++] = (Call){at->b, m->base_loops, turn, pc, m->base};
        m->base = sp;
        m->base_loops = m->n_loops;
        pc = &instructions[shared->entry];
        GO;
    }
    ON(KEEP) {
        const Call *call = &m->calls[--m->n_calls];

        m->memos[call->shared] = (Memo){TOP, call->turn};
        m->base = call->base;
        m->base_loops = call->n_loops;
        pc = call->back;
        GO;
    }

    ON(LOOP) {
        TOP = open_loop(m, at->b, TOP);
        if (UNLIKELY(TOP.kind == CEL_ERROR))
            goto failed;
        sp--;
        GO;
    }
    ON(NEXT) {
        if (m->loop->i == m->loop->n) {
            FOLLOW;
            GO;
        }
        m->loop->turn = ++m->turn;
        v = loop_next(m->loop, run);
        STEPPED;
    }
    ON(ALL_STEP) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL))
            goto absorb;
        if (v.boolean)
            FOLLOW;
        else
            m->loop->is_decided = true;
        GO;
    }
    ON(EXISTS_STEP) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL))
            goto absorb;
        if (!v.boolean)
            FOLLOW;
        else
            m->loop->is_decided = true;
        GO;
    }
absorb:
    if (v.kind != CEL_ERROR)
        v = no_overload(m, at);
    if (!m->loop->error)
        m->loop->error = v.error;
    FOLLOW;
    GO;

    ON(COUNT_STEP) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL))
            goto not_a_bool;
        m->loop->n_built += v.boolean;
        FOLLOW;
        GO;
    }
    ON(FILTER_STEP) {
        v = *--sp;
        if (UNLIKELY(v.kind != CEL_BOOL))
            goto not_a_bool;
        if (v.boolean)
            v = loop_add_item(m->loop, m->loop->locals[0], run);
        FOLLOW;
        STEPPED;
    }
    ON(LIST_STEP) {
        v = loop_add_item(m->loop, *--sp, run);
        FOLLOW;
        STEPPED;
    }
    ON(MAP_STEP) {
        v = loop_add_entry(m->loop, (CelEntry){m->loop->locals[0], *--sp}, run);
        FOLLOW;
        STEPPED;
    }
    ON(ENTRY_STEP) {
        v = loop_add_entries(m->loop, *--sp, run);
        FOLLOW;
        STEPPED;
    }
    ON(ALL_END)
    ON(EXISTS_END) {
        *sp++ = loop_verdict(m->loop, at->op == OP_ALL_END);
        close_loops(m, m->n_loops - 1);
        if (UNLIKELY(TOP.kind == CEL_ERROR))
            goto failed_before;
        GO;
    }
    ON(COUNT_END) {
        *sp++ = cel_bool(m->loop->n_built == 1);
        close_loops(m, m->n_loops - 1);
        GO;
    }
    ON(LIST_END) {
        *sp++ = cel_list_end(run, m->loop->items, m->loop->n_built);
        close_loops(m, m->n_loops - 1);
        CHECKED;
    }
    ON(MAP_END) {
        *sp++ = cel_map_end(run, m->loop->entries, m->loop->n_built);
        close_loops(m, m->n_loops - 1);
        CHECKED;
    }

    ON(TRACE) {
        if (run->trace)
            run->trace->seen(run->trace, at->b, TOP);
        GO;
    }
    ON(RETURN) {
        return TOP;
    }
    ON(NONE) {
        *sp++ = cel_fail(run, "no such instruction");
        goto failed;
    }

not_a_bool:
    v = cel_no_overload(run);
step_failed:
    *sp++ = v;
failed: /* an error that was just made is on top */
    TOP = place_error(m, at, TOP);
failed_before: /* an error that has its position is on top */
    v = TOP;
    pc = unwind(m, at, v, &sp);
    if (!pc)
        return v;
    GO;
}

/* --- a run ----------------------------------------------------------------------------- */

static size_t n_outer_loops(const CelCode *code) {
    return (size_t)__builtin_popcount(code->outer_levels);
}

/* Opens the loops around the code's root whose variables it reads. */
static void enter_outer_loops(Machine *m, Loop *loops, const CelValue *variables) {
    static const CelError unbound = {.text = STR("no value for the variable of a loop")};
    const CelCode *code = m->code;

    for (uint8_t level = 0; code->outer_levels >> level; level++) {
        if (!(code->outer_levels & 1u << level))
            continue;
        loops->turn = TURN_ALWAYS;
        for (size_t i = 0; i < ELEMENTS_OF(loops->locals); i++)
            loops->locals[i] = (CelValue){.kind = CEL_ERROR, .error = &unbound};
        m->levels[level] = loops++;
    }
    for (uint32_t i = 0; i < code->n_outers; i++) {
        uint32_t local = code->outers[i].local;
        CelValue v = variables[code->outers[i].slot];

        if (v.kind != CEL_ABSENT && m->levels[local >> 1])
            m->levels[local >> 1]->locals[local & 1] = v;
    }
}

/* Divides @room into the stack, which is returned, and memory for loops and shared parts. */
static CelValue *divide_room(Machine *m, void *room) {
    CelValue *stack = room;

    m->base = stack;
    m->loops = (void *)(stack + m->code->height_max);
    m->memos = (void *)(m->loops + m->code->n_loops + n_outer_loops(m->code));
    m->calls = (void *)(m->memos + m->code->n_shared);
    for (uint32_t i = 0; i < m->code->n_shared; i++)
        m->memos[i].turn = 0;
    return stack;
}

CelValue cel_run(const CelCode *code, CelRun *run, const CelValue *variables) {
    alignas(max_align_t) UNINITIALISED unsigned char small[ROOM_ON_STACK];
    Machine m = {.code = code, .run = run, .turn = TURN_ALWAYS};
    size_t size = code->height_max * sizeof(CelValue) +
                  (code->n_loops + n_outer_loops(code)) * sizeof(Loop) +
                  code->n_shared * (sizeof(Memo) + sizeof(Call));
    void *room = small;
    CelValue v, *stack;

    if (!cel_charge(run, code->n_instructions))
        return cel_exhausted(run);
    if (size > sizeof(small))
        room = cel_alloc(run, size);
    if (!room)
        return cel_no_memory(run);
    stack = divide_room(&m, room);
    if (UNLIKELY(code->outer_levels != 0))
        enter_outer_loops(&m, m.loops + code->n_loops, variables);
    v = execute(&m, stack, variables);
    /* A comparison that ran out of fuel returned false and let the run go on: its result, a value
     * or an error, is not the answer. */
    return LIKELY(!run->limit) ? v : cel_limit(run);
}
