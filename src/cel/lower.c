/* Turns a checked tree into nodes of the graph. The tree is in post-order: each node pops the
 * numbers of its children from a stack and pushes its own. Constants are folded, and && || ?: drop
 * operands that cannot change the result; an error that a run could meet is never dropped. */

#include <errno.h>

#include "base/vec.h"
#include "cel/code.h"
#include "cel/elements.h"
#include "cel/graph.h"
#include "cel/library.h"
#include "cel/limits.h"
#include "cel/report.h"
#include "cel/value.h"

/* A field of a composite, where the tree reads it. */
typedef struct FieldUse {
    uint32_t number; /* of the graph */
    const CelNode *place;
} FieldUse;

typedef struct Lower {
    CelGraph *graph;
    const CelChecked *checked;
    const CelTree *tree;
    const CelOptions *options;
    DiagList *diags;
    uint32_t *stack; /* finished nodes that no parent has taken yet */
    uint32_t n_stack;
    uint32_t *heights; /* of the stack, before each node of the tree */
    uint32_t *bound;   /* by BINDER: its node */
    uint32_t *nodes;   /* by node of the tree: its graph node; may be NULL */
    uint32_t level;    /* number of enclosing loops */
    int64_t fuel;      /* for folding */
    VEC(FieldUse) uses;
    size_t n_failing_before; /* constants of the graph that fail, in other expressions */
    bool is_folding, is_refused;
    bool has_failed; /* out of memory */
} Lower;

/* The tree's node that is being lowered, with the graph nodes of its children. */
typedef struct Part {
    uint32_t i;
    const CelNode *node;
    const CelNodeInfo *info;
    uint32_t *args;
    uint32_t n_args;
} Part;

static inline const CelGraphNode *graph_node(const Lower *l, uint32_t number) {
    return cel_graph_node(l->graph, number);
}

static inline bool is_constant(const Lower *l, uint32_t number) {
    return graph_node(l, number)->op == OP_CONSTANT;
}

#define FOLD_FUEL_MAX 100000 /* units to compute constants, for all nodes of an expression */

#define FOLD_FUEL 20000               /* for one node */
#define FOLD_BYTES_MAX 4096           /* of a value; a larger one is computed when needed */
#define FOLD_LITERAL_MAX (128 * 1024) /* of a list or map that was written out */

/* The kind of all values of a node; CEL_ABSENT: several are possible. */
static uint8_t kind_of(const Lower *l, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);

    return node->op == OP_CONSTANT ? node->constant.kind : node->type->value_kind;
}

/* dyn if the checker was lenient: the types of [null, timestamp(0)][0] may be wrong. */
static const CelType *type_at(const Lower *l, uint32_t i) {
    const CelType *type = l->checked->infos[i].type;

    return type && !l->checked->is_loose ? type : &cel_dyn_type;
}

/* A node for @part with its arguments, not added yet. */
static CelGraphNode blank_node(const Lower *l, const Part *part, uint16_t op) {
    return (CelGraphNode){
        .op = op,
        .type = type_at(l, part->i),
        .args = part->args,
        .n_args = part->n_args,
        .from = part->node->from,
        .to = part->node->to,
        .at = part->node->at,
    };
}

/* Adds a CONSTANT or FAIL. */
static uint32_t add_leaf(Lower *l, const Part *part, uint16_t op, CelValue v, const CelType *type) {
    CelGraphNode node = blank_node(l, part, op);

    node.args = NULL;
    node.n_args = 0;
    node.type = type;
    node.constant = v;
    return cel_graph_add(l->graph, &node);
}

static uint32_t add_constant(Lower *l, const Part *part, CelValue v) {
    return add_leaf(l, part, OP_CONSTANT, v, type_at(l, part->i));
}

/* A node that fails with @text when it is evaluated; STR_NULL: out of memory. */
static uint32_t add_fail(Lower *l, const Part *part, Str text) {
    return text.ptr ? add_leaf(l, part, OP_FAIL, cel_string(text), type_at(l, part->i))
                    : CEL_NO_NODE;
}

/* Reports an error of the expression. */
static void refuse(Lower *l, const CelNode *place, Str text, Str hint) {
    cel_report(l->diags, l->tree->file, l->tree->source, place->from, place->to, text, hint);
    l->is_refused = true;
}

/* Constants that fail, like timestamp(''), are an error of the expression only if every run
 * evaluates them. Behind && || ?: or in a loop CEL may absorb the error: they get a warning. */

/* Whether part @node uses no name. A name has other values elsewhere, which a condition may guard;
 * without names Kubernetes rejects timestamp('x') anywhere. */
static bool is_written_out(const Lower *l, uint32_t node) {
    for (uint32_t i = node + 1 - l->tree->nodes[node].size; i <= node; i++)
        if (l->checked->infos[i].ref != CEL_REF_NONE && l->checked->infos[i].ref != CEL_REF_SKIP)
            return false;
    return true;
}

/* The arguments are the last children: the function's namespace may come before them. */
static uint32_t argument(const Lower *l, const Part *part, uint32_t arg) {
    uint32_t child = part->i - 1;

    for (uint32_t i = part->n_args - 1; i > arg; i--)
        child -= l->tree->nodes[child].size;
    return child;
}

/* Notes that constant node @number fails because of argument @arg (n_args: all of them).
 * report_failing() reports it when the whole graph is known. */
static void note_failing(
    Lower *l, const Part *part, uint32_t arg, uint32_t number, Str text, Str hint) {
    uint32_t cause = arg < part->n_args ? argument(l, part, arg) : part->i;
    const CelNode *place = &l->tree->nodes[cause];
    CelFailing failing = {.number = number, .text = text, .hint = hint, .place = place};

    if (is_written_out(l, cause))
        refuse(l, place, text, hint);
    else
        l->has_failed |= !VEC_ADD(&l->graph->failing, l->graph->arena, failing);
}

/* An OPT_ELEMENT may have no value; only the LIST or MAP around it handles that. */
static bool can_fold(const Lower *l, const CelGraphNode *node) {
    if (cel_ops[node->op].class != CEL_OP_VALUE || node->op == OP_CONSTANT ||
        node->op == OP_VARIABLE || node->op == OP_LOCAL || node->op == OP_FAIL ||
        node->op == OP_OPT_ELEMENT)
        return false;
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (!is_constant(l, node->args[i]))
            return false;
    }
    return true;
}

static bool is_literal(const CelGraphNode *node) {
    return node->n_overloads == 1 && node->overloads[0]->spec->is_literal;
}

static CelValue run_once(const CelCode *code, Arena *arena, int64_t *fuel) {
    int64_t given = *fuel < FOLD_FUEL ? *fuel : FOLD_FUEL;
    CelRun run = CEL_RUN(arena);
    CelValue v;

    run.fuel = given;
    v = cel_run(code, &run, NULL);
    *fuel -= given - run.fuel;
    return run.limit ? cel_absent() : v;
}

/* The value of node @number, whose arguments are all constants: a value; an error; CEL_ABSENT: not
 * known in advance. Subtracts the used fuel from *@fuel. Values of a library's own kind and records
 * of the host cannot be copied to another arena, so the node runs a second time there. */
static CelValue fold(CelGraph *graph, uint32_t number, int64_t *fuel) {
    CelEmitOptions options = {.flat = true};
    Arena *arena = graph->arena;
    uint16_t op = cel_graph_node(graph, number)->op;
    bool is_part = op >= OP_FIELD && op <= OP_OPT_INDEX; /* a part of a known constant */
    size_t size_max = is_part || op == OP_LIST || op == OP_MAP ? FOLD_LITERAL_MAX : FOLD_BYTES_MAX;
    CelCode *code;
    bool has_opaque;
    CelValue v;

    if (cel_emit(graph, number, &options, arena, &code) < 0)
        return cel_absent();
    v = run_once(code, arena, fuel);
    if (v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return v;
    if (!cel_value_fits(v, size_max, &has_opaque))
        return cel_absent();
    return has_opaque ? run_once(code, graph->keep, fuel) : v;
}

/* Folds node @number. Returns the constant's number, or @number if it is not constant. */
static uint32_t fold_node(Lower *l, const Part *part, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);
    uint32_t constant;
    CelValue v;

    if (node->folded > 0)
        return node->folded - 1;
    if (!can_fold(l, node) || (!l->is_folding && !is_literal(node)) || l->fuel <= 0)
        return number;
    v = fold(l->graph, number, &l->fuel);
    /* Literals like timestamp('x') are reported now, not by each run. */
    if (v.kind == CEL_ERROR && is_literal(node) && !l->options->is_plain)
        note_failing(
            l, part, part->n_args == 1 ? 0 : part->n_args, number, v.error->text, v.error->hint);
    if (!l->is_folding || v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return number;
    constant = add_leaf(l, part, OP_CONSTANT, v, node->type);
    if (constant != CEL_NO_NODE)
        l->graph->nodes.items[number].folded = constant + 1;
    return constant;
}

/* Adds @node, folded. */
static uint32_t add_node(Lower *l, const Part *part, const CelGraphNode *node) {
    uint32_t number = cel_graph_add(l->graph, node);

    return number != CEL_NO_NODE ? fold_node(l, part, number) : CEL_NO_NODE;
}

/* Whether node @number is the constant @want. */
static bool is_bool(const Lower *l, uint32_t number, bool want) {
    const CelGraphNode *node = graph_node(l, number);

    return node->op == OP_CONSTANT && node->constant.kind == CEL_BOOL &&
           node->constant.boolean == want;
}

/* A CONDITIONAL, or the side it always takes. */
static uint32_t add_choice(Lower *l, const CelGraphNode *node) {
    if (l->is_folding && is_bool(l, node->args[0], true))
        return node->args[1];
    if (l->is_folding && is_bool(l, node->args[0], false))
        return node->args[2];
    return cel_graph_add(l->graph, node);
}

static uint32_t add_unary(
    Lower *l, const Part *part, uint16_t op, uint32_t arg, const CelType *type) {
    CelGraphNode node = blank_node(l, part, op);

    node.args = &arg;
    node.n_args = 1;
    node.type = type;
    return add_node(l, part, &node);
}

/* Whether @overload takes the arguments: 1 surely, 0 surely not, -1 depends on the run. */
static int overload_fits(const Lower *l, const Part *part, const CelOverload *overload) {
    int r = 1;

    if (overload->n_args != part->n_args)
        return 0;
    for (uint32_t i = 0; i < part->n_args; i++) {
        uint8_t want = cel_param_kind(overload, i), have = kind_of(l, part->args[i]);

        if (want == CEL_ABSENT || want == have)
            continue;
        if (have != CEL_ABSENT)
            return 0;
        r = -1;
    }
    return r;
}

/* Equality of two values of one simple kind. Bytes compare as strings do. */
static uint16_t narrow(const Lower *l, const Part *part, uint16_t op) {
    uint8_t kind;

    if (op != OP_EQ && op != OP_NE)
        return op;
    kind = kind_of(l, part->args[0]);
    if (kind != kind_of(l, part->args[1]))
        return op;
    if (kind == CEL_INT || kind == CEL_UINT)
        return op == OP_EQ ? OP_EQ_INT : OP_NE_INT;
    if (kind == CEL_STRING || kind == CEL_BYTES)
        return op == OP_EQ ? OP_EQ_STRING : OP_NE_STRING;
    return op;
}

/* m['k'] is m.k. */
static uint32_t lower_constant_key(Lower *l, const Part *part, uint16_t op) {
    CelGraphNode node = blank_node(l, part, op);

    node.constant = graph_node(l, part->args[1])->constant;
    node.n_args = 1;
    return add_node(l, part, &node);
}

/* x in ['a', 'b']: the elements are copied to the arena of the code. */
static uint32_t lower_in_set(Lower *l, const Part *part, const CelList *list) {
    CelGraphNode node = blank_node(l, part, OP_IN_SET), plain = blank_node(l, part, OP_IN_LIST);
    Arena *keep = l->graph->keep;
    const CelSet *set = NULL;
    uint32_t number;
    CelValue copy;

    node.n_args = 1;
    node.constant = cel_list(list);
    number = cel_graph_add(l->graph, &node);
    if (number == CEL_NO_NODE || graph_node(l, number)->prepared)
        return number;
    if (cel_value_copy(cel_list(list), keep, &copy))
        set = cel_set_new(copy.list, keep);
    if (!set)
        return cel_graph_add(l->graph, &plain);
    l->graph->nodes.items[number].prepared = set;
    return number;
}

static bool has_string_key(const Lower *l, const Part *part) {
    return kind_of(l, part->args[0]) == CEL_MAP && is_constant(l, part->args[1]) &&
           kind_of(l, part->args[1]) == CEL_STRING;
}

static const CelList *constant_set(const Lower *l, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);

    return node->op == OP_CONSTANT && node->constant.kind == CEL_LIST &&
                   cel_set_fits(node->constant.list)
               ? node->constant.list
               : NULL;
}

static uint32_t lower_operator(Lower *l, const Part *part, uint16_t op) {
    CelGraphNode node = blank_node(l, part, narrow(l, part, op));
    const CelList *set;

    if (op == OP_INDEX_MAP && has_string_key(l, part))
        return lower_constant_key(l, part, OP_SELECT);
    if (op == OP_OPT_INDEX && has_string_key(l, part))
        return lower_constant_key(l, part, OP_OPT_SELECT);
    set = op == OP_IN_LIST && l->is_folding ? constant_set(l, part->args[1]) : NULL;
    if (set && !is_constant(l, part->args[0]))
        return lower_in_set(l, part, set);
    return add_node(l, part, &node);
}

/* Works on a constant argument in advance: a pattern is compiled once. False: out of memory. */
static bool prepare(Lower *l, const Part *part, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);
    const CelOverloadSpec *spec = node->overloads[0]->spec;
    Arena *keep = l->graph->keep;
    uint8_t number_of_arg = spec->prepare_arg;
    const CelGraphNode *arg;
    Str error = STR_NULL;
    const void *prepared;

    if (node->n_overloads != 1 || !spec->prepare || node->prepared || number_of_arg >= node->n_args)
        return true;
    arg = graph_node(l, node->args[number_of_arg]);
    if (arg->op != OP_CONSTANT ||
        arg->constant.kind != node->overloads[0]->args[number_of_arg]->value_kind)
        return true;
    prepared = spec->prepare(arg->constant, keep, &error);
    if (!prepared && arena_has_failed(keep))
        return false;
    if (!prepared && error.len > 0 && !l->options->is_plain)
        note_failing(l, part, number_of_arg, number, error, STR_NULL);
    l->graph->nodes.items[number].prepared = prepared;
    return true;
}

static uint32_t add_call(Lower *l, const Part *part, uint16_t op,
    const CelOverload *const *overloads, size_t n_overloads) {
    CelGraphNode node = blank_node(l, part, op);
    size_t n_errors = l->diags->n_errors, n_failing = l->graph->failing.n;
    uint32_t number;

    node.overloads = overloads;
    node.n_overloads = n_overloads;
    number = cel_graph_add(l->graph, &node);
    if (number == CEL_NO_NODE || !prepare(l, part, number))
        return CEL_NO_NODE;
    if (l->diags->n_errors > n_errors || l->graph->failing.n > n_failing)
        return number; /* reported already */
    return fold_node(l, part, number);
}

/* x.or(y) and x.orValue(y): y is evaluated only when x holds nothing, as in cel-go. */
static bool is_alternative(const Part *part) {
    const CelNodeInfo *info = part->info;

    return part->n_args == 2 && info->n_overloads == 1 &&
           info->overloads[0]->args[0]->value_kind == CEL_OPTIONAL &&
           (str_is(info->overloads[0]->name, "or") || str_is(info->overloads[0]->name, "orValue"));
}

static uint32_t lower_alternative(Lower *l, const Part *part) {
    CelGraphNode node = blank_node(l, part, OP_CONDITIONAL);
    bool is_value = str_is(part->info->overloads[0]->name, "orValue");
    uint32_t args[3] = {CEL_NO_NODE, part->args[0], part->args[1]};

    args[0] = add_unary(l, part, OP_OPT_HAS, part->args[0], &cel_bool_type);
    if (is_value)
        args[1] = add_unary(l, part, OP_OPT_GET, part->args[0], node.type);
    node.args = args;
    node.n_args = 3;
    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return add_choice(l, &node);
}

/* Skips overloads that do not fit the kinds known here. One that surely fits is called directly; if
 * one or several may fit, the run decides. If none fits, the call fails when it runs. */
static uint32_t lower_call(Lower *l, const Part *part) {
    const CelNodeInfo *info = part->info;
    const CelOverload **left = ARENA_RAW(l->graph->arena, const CelOverload *, info->n_overloads);
    size_t n_left = 0;
    int fits = 0;

    if (!left)
        return CEL_NO_NODE;
    if (info->n_overloads == 0)
        return add_fail(l, part,
            arena_printf(l->graph->arena, "no such overload: %.*s with %u arguments",
                STR_FMT(part->node->name), part->n_args));
    for (size_t i = 0; i < info->n_overloads && fits != 1; i++) {
        fits = overload_fits(l, part, info->overloads[i]);
        if (fits != 0)
            left[n_left++] = info->overloads[i];
    }
    if (is_alternative(part))
        return lower_alternative(l, part);
    if (n_left == 0)
        return add_call(l, part, OP_DISPATCH, info->overloads, info->n_overloads);
    if (n_left > 1)
        return add_call(l, part, OP_DISPATCH, left, n_left);
    if (fits != 1)
        return add_call(l, part, OP_CALL_CHECKED, left, 1);
    if (left[0]->spec->op != OP_NONE)
        return lower_operator(l, part, left[0]->spec->op);
    return add_call(l, part, OP_CALL, left, 1);
}

static uint32_t lower_variable(Lower *l, const Part *part) {
    const CelVariable *variable = part->info->variable;
    CelGraphNode node = blank_node(l, part, OP_VARIABLE);

    if (variable->expand)
        return variable->expand(l->graph, variable);
    node.n_args = 0;
    node.immediate = variable->slot;
    node.constant = cel_string(variable->name);
    node.groups = (uint8_t)(1u << (variable->group & 7));
    return cel_graph_add(l->graph, &node);
}

/* @info is that of an IDENT. */
static bool is_composite(const Lower *l, const CelNodeInfo *info) {
    const CelComposite *composite = l->options->composite;

    return composite && info->ref == CEL_REF_VARIABLE && info->variable->slot == composite->slot;
}

/* A composite has fields and no value: nothing reads this node, its SELECT replaces it. */
static uint32_t lower_composite(Lower *l, const Part *part) {
    Str name = part->info->variable->name;
    uint32_t number = lower_variable(l, part);
    bool is_last = part->i + 1 == l->tree->n_nodes;

    if (number == CEL_NO_NODE || (!is_last && part->info[1].field != UINT32_MAX))
        return number;
    refuse(l, part->node,
        arena_printf(l->graph->arena, "'%.*s' has no value of its own", STR_FMT(name)),
        arena_printf(l->graph->arena, "name one of its fields: %.*s.x", STR_FMT(name)));
    return number;
}

/* The node of the field's expression. */
static uint32_t lower_composite_field(Lower *l, const Part *part) {
    const CelComposite *composite = l->options->composite;
    uint32_t field = part->info->field;
    uint32_t number = field < composite->n ? composite->nodes[field] : CEL_NO_NODE;

    if (part->node->kind == CEL_NODE_TEST)
        return add_constant(l, part, cel_bool(true));
    if (number == CEL_NO_NODE) {
        l->is_refused = true;
        return part->args[0];
    }
    if (!VEC_ADD(&l->uses, l->graph->arena, (FieldUse){number, part->node}))
        return CEL_NO_NODE;
    if (part->node->kind == CEL_NODE_OPT_SELECT)
        return add_unary(l, part, OP_OPT_OF, number, type_at(l, part->i));
    return number;
}

/* a.b, a.?b, has(a.b): by number in a record, by name in everything else. */
static uint32_t lower_select(Lower *l, const Part *part) {
    static const uint16_t ops[CEL_N_NODES][2] = {
        [CEL_NODE_SELECT] = {OP_SELECT, OP_FIELD},
        [CEL_NODE_OPT_SELECT] = {OP_OPT_SELECT, OP_OPT_FIELD},
        [CEL_NODE_TEST] = {OP_TEST_SELECT, OP_TEST_FIELD},
    };
    bool is_field = part->info->field != UINT32_MAX;
    CelGraphNode node = blank_node(l, part, ops[part->node->kind][is_field]);

    if (is_field && is_composite(l, &part->info[-1])) /* the IDENT comes right before its SELECT */
        return lower_composite_field(l, part);
    node.constant = cel_string(part->node->name);
    node.immediate = is_field ? part->info->field : 0;
    return add_node(l, part, &node);
}

/* false && x is false, and so is x && false: an error of x is absorbed. true && x is x only if x is
 * certainly a bool: otherwise it is an error. || is the same with true and false exchanged. */
static uint32_t lower_logic(Lower *l, const Part *part, uint16_t op) {
    CelGraphNode node = blank_node(l, part, op);
    bool absorbing = op == OP_OR;

    for (int side = 0; l->is_folding && side < 2; side++) {
        uint32_t this = part->args[side], other = part->args[1 - side];

        if (is_bool(l, this, absorbing))
            return this;
        if (is_bool(l, this, !absorbing) && kind_of(l, other) == CEL_BOOL)
            return other;
    }
    return cel_graph_add(l->graph, &node);
}

static const uint16_t loop_ops[CEL_N_NODES] = {
    [CEL_NODE_ALL] = OP_ALL,
    [CEL_NODE_EXISTS] = OP_EXISTS,
    [CEL_NODE_EXISTS_ONE] = OP_EXISTS_ONE,
    [CEL_NODE_FILTER] = OP_FILTER,
    [CEL_NODE_MAP_LIST] = OP_MAP_LIST,
    [CEL_NODE_TRANSFORM_MAP] = OP_TRANSFORM_MAP,
    [CEL_NODE_TRANSFORM_ENTRY] = OP_TRANSFORM_ENTRY,
};

_Static_assert(CEL_LOOPS_MAX <= 8, "CelGraphNode.levels has a bit for each");

/* The level of the innermost loop. Deeper loops are an error, and then the level does not
 * matter. */
static uint32_t innermost_level(const Lower *l) {
    return (l->level < CEL_LOOPS_MAX ? l->level : CEL_LOOPS_MAX) - 1;
}

static void enter_loop(Lower *l, uint32_t macro) {
    if (l->level++ == CEL_LOOPS_MAX)
        refuse(l, &l->tree->nodes[macro],
            arena_printf(l->graph->arena, "more than %d loops inside each other", CEL_LOOPS_MAX),
            STR("give the result of an inner one a name with cel.bind(), outside of the others"));
}

/* A loop's variable is a LOCAL; that of cel.bind is the value itself, and that of optMap the value
 * of the optional. */
static uint32_t lower_binder(Lower *l, const Part *part) {
    const CelNode *nodes = l->tree->nodes;
    uint32_t parent = part->info->binder, value = l->stack[l->n_stack - 1];
    uint32_t number = cel_tree_binder_number(l->tree, part->i);
    CelGraphNode node = blank_node(l, part, OP_LOCAL);

    if (nodes[parent].kind == CEL_NODE_BIND)
        return value;
    if (nodes[parent].kind == CEL_NODE_OPT_MAP || nodes[parent].kind == CEL_NODE_OPT_FLAT_MAP)
        return add_unary(l, part, OP_OPT_GET, value, type_at(l, part->i));
    if (number == 0)
        enter_loop(l, parent);
    node.n_args = 0;
    node.immediate = 2 * innermost_level(l) + number;
    return cel_graph_add(l->graph, &node);
}

static uint32_t lower_loop(Lower *l, const Part *part) {
    CelGraphNode node = blank_node(l, part, loop_ops[part->node->kind]);

    node.immediate = innermost_level(l) | (part->node->n_binders == 2 ? CEL_LOOP_PAIRS : 0);
    l->level--;
    return cel_graph_add(l->graph, &node);
}

/* x.optMap(v, t) is x has a value ? optional.of(t) : none, with v for the value. */
static uint32_t lower_opt_map(Lower *l, const Part *part, bool is_flat) {
    CelGraphNode node = blank_node(l, part, OP_CONDITIONAL);
    uint32_t args[3];

    args[0] = add_unary(l, part, OP_OPT_HAS, part->args[0], &cel_bool_type);
    args[1] =
        is_flat ? part->args[1] : add_unary(l, part, OP_OPT_OF, part->args[1], type_at(l, part->i));
    args[2] = add_constant(l, part, cel_none());
    node.args = args;
    node.n_args = 3;
    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE || args[2] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return add_choice(l, &node);
}

static uint32_t lower_by_kind(Lower *l, const Part *part) {
    CelGraphNode node;

    switch (part->node->kind) {
    case CEL_NODE_LITERAL:
        return add_constant(l, part, part->node->literal);
    case CEL_NODE_SELECT:
    case CEL_NODE_OPT_SELECT:
    case CEL_NODE_TEST:
        return lower_select(l, part);
    case CEL_NODE_CALL:
        return lower_call(l, part);
    case CEL_NODE_AND:
        return lower_logic(l, part, OP_AND);
    case CEL_NODE_OR:
        return lower_logic(l, part, OP_OR);
    case CEL_NODE_CONDITIONAL:
        node = blank_node(l, part, OP_CONDITIONAL);
        return add_choice(l, &node);
    case CEL_NODE_OPTIONAL:
        return add_unary(l, part, OP_OPT_ELEMENT, part->args[0], type_at(l, part->i));
    case CEL_NODE_LIST:
    case CEL_NODE_MAP:
        node = blank_node(l, part, part->node->kind == CEL_NODE_LIST ? OP_LIST : OP_MAP);
        return add_node(l, part, &node);
    case CEL_NODE_BIND:
        return part->args[1];
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        return lower_opt_map(l, part, part->node->kind == CEL_NODE_OPT_FLAT_MAP);
    default: /* a loop: an IDENT has a ref, and T{…} was rejected */
        return lower_loop(l, part);
    }
}

static uint32_t lower_part(Lower *l, const Part *part) {
    switch (part->info->ref) {
    case CEL_REF_VARIABLE:
        return is_composite(l, part->info) ? lower_composite(l, part) : lower_variable(l, part);
    case CEL_REF_LOCAL:
        return l->bound[part->info->binder];
    case CEL_REF_CONSTANT:
        return add_constant(l, part, part->info->constant);
    case CEL_REF_UNKNOWN:
        return add_fail(l, part,
            arena_printf(
                l->graph->arena, "undeclared reference to '%.*s'", STR_FMT(part->node->name)));
    default:
        return lower_by_kind(l, part);
    }
}

/* Returns false if out of memory. */
static bool lower_node(Lower *l, uint32_t i) {
    const CelNode *node = &l->tree->nodes[i];
    bool is_binder = node->kind == CEL_NODE_BINDER;
    uint32_t base, number;
    Part part;

    l->heights[i] = l->n_stack;
    base = l->heights[i + 1 - node->size];
    part = (Part){i, node, &l->checked->infos[i], &l->stack[base], l->n_stack - base};
    if (part.info->ref == CEL_REF_SKIP) {
        l->n_stack = base;
        return true;
    }
    number = is_binder ? lower_binder(l, &part) : lower_part(l, &part);
    if (l->nodes)
        l->nodes[i] = number;
    if (is_binder) {
        l->bound[i] = number;
    } else {
        l->n_stack = base;
        l->stack[l->n_stack++] = number;
    }
    return number != CEL_NO_NODE;
}

/* The checker accepts dyn for any type, as CEL does. If the kind of an expression's value is not
 * certain, a call around it checks the kind in the run, so that callers can rely on the type. */

static CelValue wrong_type(CelRun *run, const char *wanted, CelValue v) {
    return cel_fail(
        run, "the result must be %s, it is %.*s", wanted, STR_FMT(cel_type_of(v)->name));
}

CEL_RETURNS(expect_bool, args[0].kind == CEL_BOOL ? args[0] : wrong_type(run, "bool", args[0]))
CEL_RETURNS(
    expect_string, args[0].kind == CEL_STRING ? args[0] : wrong_type(run, "string", args[0]))

CEL_RETURNS(expect_number, cel_is_number(args[0]) ? cel_double(cel_as_double(args[0]))
                                                  : wrong_type(run, "a number", args[0]))

#define EXPECT(what, type)                                                                         \
    static const CelOverloadSpec what##_spec = {                                                   \
        .name = "@" #what, .signature = "(dyn) -> " #type, .fn = what, .is_literal = true};        \
    static const CelOverload what##_overload = {.spec = &what##_spec,                              \
        .name = STR("@" #what),                                                                    \
        .n_args = 1,                                                                               \
        .args = {&cel_dyn_type},                                                                   \
        .result = &cel_##type##_type};                                                             \
    static const CelOverload *const what##_overloads[] = {&what##_overload}

EXPECT(expect_bool, bool);
EXPECT(expect_string, string);
EXPECT(expect_number, double);

static const CelOverload *const *find_check(const CelOptions *options) {
    if (options->expect_number)
        return expect_number_overloads;
    if (!options->expect)
        return NULL;
    return options->expect->kind == CEL_T_BOOL     ? expect_bool_overloads
           : options->expect->kind == CEL_T_STRING ? expect_string_overloads
                                                   : NULL;
}

/* Whether every value of @root has type @want. A constant may have another kind than its type. */
static bool is_certain(const Lower *l, uint32_t root, const CelType *want) {
    const CelGraphNode *node = graph_node(l, root);
    bool is_int = l->options->expect_number && node->type->kind == CEL_T_INT;

    return (node->type->kind == want->kind || is_int) && kind_of(l, root) == node->type->value_kind;
}

/* @root, the whole expression, or a call that checks for the type that CelOptions expects. */
static uint32_t lower_expected(Lower *l, uint32_t root) {
    const CelOverload *const *check = find_check(l->options);
    uint32_t whole = l->tree->n_nodes - 1;
    const Part part = {
        .i = whole, .node = &l->tree->nodes[whole], .info = &l->checked->infos[whole]};
    CelGraphNode node = blank_node(l, &part, OP_CALL);

    if (!check || is_certain(l, root, check[0]->result))
        return root;
    node.type = check[0]->result;
    node.args = &root;
    node.n_args = 1;
    node.overloads = check;
    node.n_overloads = 1;
    return add_node(l, &part, &node);
}

/* By node: whether every run of @root evaluates it, without && or || around it. NULL: out of
 * memory. */
static bool *find_certain(const Lower *l, uint32_t root) {
    bool *found = ARENA_ARRAY(l->graph->arena, bool, (size_t)root + 1);

    if (!found)
        return NULL;
    found[root] = true;
    for (uint32_t i = root + 1; i-- > 0;) {
        const CelGraphNode *node = graph_node(l, i);
        uint32_t n = cel_ops[node->op].class == CEL_OP_VALUE   ? node->n_args
                     : node->op == OP_AND || node->op == OP_OR ? 0
                                                               : 1; /* condition or range */

        for (uint32_t k = 0; found[i] && k < n; k++)
            found[node->args[k]] = true;
    }
    return found;
}

static bool is_found(const bool *found, uint32_t root, uint32_t number) {
    return found && number <= root && found[number];
}

static void warn(const Lower *l, const CelFailing *failing) {
    Str text = arena_printf(
        l->graph->arena, "this fails whenever it is evaluated: %.*s", STR_FMT(failing->text));

    if (text.ptr)
        diag_add(l->diags, DIAG_WARNING,
            cel_place(l->tree->file, l->tree->source, failing->place->from, failing->place->to),
            l->tree->source, text, failing->hint);
}

/* Reports a field of a composite that always fails, at the place that always reads it. */
static void refuse_field(Lower *l, const FieldUse *use, size_t n_failing) {
    const bool *certain = find_certain(l, use->number);

    for (size_t i = 0; i < n_failing; i++) {
        const CelFailing *failing = &l->graph->failing.items[i];

        if (!is_found(certain, use->number, failing->number))
            continue;
        refuse(l, use->place, failing->text, failing->hint);
        return;
    }
}

static void report_failing(Lower *l, uint32_t root) {
    size_t n = l->graph->failing.n;
    const bool *certain, *possible;

    if (n == 0)
        return;
    certain = l->options->may_be_unused ? NULL : find_certain(l, root);
    possible = cel_graph_mark(l->graph, &root, 1, l->graph->arena);
    if (!possible || (!certain && !l->options->may_be_unused))
        l->has_failed = true;
    for (size_t i = l->n_failing_before; i < n; i++) {
        const CelFailing *failing = &l->graph->failing.items[i];

        if (is_found(certain, root, failing->number))
            refuse(l, failing->place, failing->text, failing->hint);
        else if (is_found(possible, root, failing->number))
            warn(l, failing);
    }
    for (size_t i = 0; i < l->uses.n; i++)
        if (is_found(certain, root, l->uses.items[i].number))
            refuse_field(l, &l->uses.items[i], l->n_failing_before);
}

static int lower_tree(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *nodes, uint32_t *ret_root) {
    uint32_t n = checked->tree->n_nodes, root;
    size_t first = diags->diags.n;
    Lower l = {
        .graph = graph,
        .checked = checked,
        .tree = checked->tree,
        .options = options,
        .diags = diags,
        .nodes = nodes,
        .is_folding = !nodes && !options->no_fold,
        .fuel = FOLD_FUEL_MAX,
        .n_failing_before = graph->failing.n,
        .stack = ARENA_ARRAY(graph->arena, uint32_t, n + 1),
        .heights = ARENA_ARRAY(graph->arena, uint32_t, n + 1),
        .bound = ARENA_ARRAY(graph->arena, uint32_t, n + 1),
    };

    if (!l.stack || !l.heights || !l.bound)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        if (!lower_node(&l, i))
            return -ENOMEM;
    root = l.is_refused || nodes ? l.stack[0] : lower_expected(&l, l.stack[0]);
    if (root == CEL_NO_NODE)
        return -ENOMEM;
    if (!l.is_refused)
        report_failing(&l, root);
    diag_list_sort(diags, first);
    if (l.is_refused)
        return CEL_REFUSED;
    if (l.has_failed)
        return -ENOMEM;
    graph->nodes.items[root].uses++;
    *ret_root = root;
    return 0;
}

int cel_lower(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_root) {
    return lower_tree(graph, checked, options, diags, /* nodes= */ NULL, ret_root);
}

int cel_lower_each(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_nodes) {
    uint32_t root;
    int r;

    for (uint32_t i = 0; i < checked->tree->n_nodes; i++)
        ret_nodes[i] = CEL_NO_NODE;
    graph->is_apart = true;
    r = lower_tree(graph, checked, options, diags, ret_nodes, &root);
    graph->is_apart = false;
    return r;
}
