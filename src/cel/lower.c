/*
 * Lowering: a checked tree becomes nodes of the graph.
 *
 * The tree is in post-order, so one loop with a stack is enough: every node takes its
 * children's numbers from the stack and leaves its own. What the checker found out decides
 * the operation: an overload that has an instruction of its own becomes it, one whose
 * arguments' kinds are certain is called as it is, the others look first.
 *
 * On the way everything constant is computed (fold.h), and && || ?: lose what cannot matter. Never
 * lost is an error that a run could meet.
 */
#include <errno.h>

#include "base/error.h"
#include "cel/fold.h"
#include "cel/graph.h"
#include "cel/limits.h"
#include "cel/parse.h"
#include "cel/set.h"

typedef struct Lower {
    CelGraph *graph;
    const CelChecked *checked;
    const CelTree *tree;
    const CelOptions *options;
    DiagList *diags;
    uint32_t *stack; /* numbers of finished nodes that nobody took yet */
    uint32_t n_stack;
    uint32_t *heights; /* of the stack, before each node of the tree */
    uint32_t *parents; /* of each node of the tree */
    uint32_t *bound;   /* for a BINDER: the node its name stands for */
    uint32_t *nodes;   /* of each node of the tree; may be NULL */
    uint32_t level;    /* loops around */
    int64_t fuel;      /* for folding */
    bool is_folding, is_refused;
} Lower;

/* The tree's node that is lowered, with what its children became. */
typedef struct Part {
    uint32_t i;
    const CelNode *node;
    const CelNote *note;
    uint32_t *args;
    uint32_t n_args;
} Part;

static const CelGraphNode *graph_node(const Lower *l, uint32_t number) {
    return cel_graph_node(l->graph, number);
}

static bool is_constant(const Lower *l, uint32_t number) {
    return graph_node(l, number)->op == OP_CONSTANT;
}

/* The kind its values surely have; CEL_ABSENT: several are possible. */
static uint8_t sure_kind(const Lower *l, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);

    return node->op == OP_CONSTANT ? node->constant.kind : node->type->value_kind;
}

static const CelType *type_of(const Lower *l, uint32_t i) {
    const CelType *type = l->checked->notes[i].type;

    return type ? type : &cel_dyn_type;
}

static CelGraphNode blank(const Lower *l, const Part *part, uint16_t op) {
    return (CelGraphNode){
        .op = op,
        .type = type_of(l, part->i),
        .args = part->args,
        .n_args = part->n_args,
        .from = part->node->from,
        .to = part->node->to,
        .at = part->node->at,
    };
}

static uint32_t add_typed_constant(Lower *l, const Part *part, CelValue v, const CelType *type) {
    CelGraphNode node = blank(l, part, OP_CONSTANT);

    node.args = NULL;
    node.n_args = 0;
    node.type = type;
    node.constant = v;
    return cel_graph_add(l->graph, &node);
}

static uint32_t add_constant(Lower *l, const Part *part, CelValue v) {
    return add_typed_constant(l, part, v, type_of(l, part->i));
}

static uint32_t add_fail(Lower *l, const Part *part, Str text) {
    CelGraphNode node = blank(l, part, OP_FAIL);

    node.args = NULL;
    node.n_args = 0;
    node.constant = cel_string(text);
    return text.ptr ? cel_graph_add(l->graph, &node) : CEL_NO_NODE;
}

/* --- constants ------------------------------------------------------------------------- */

static void refuse(Lower *l, const Part *part, Str text, Str hint) {
    Place place = cel_place(l->tree->file, l->tree->source, part->node->from, part->node->to);

    diag_add(l->diags, DIAG_ERROR, place, l->tree->source, text, hint);
    l->is_refused = true;
}

/* OPT_ELEMENT may be no value at all; only the LIST around it knows what that means. */
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

/* timestamp('x') cannot be meant: it is refused, not left to fail. */
static bool is_bad_literal(const Lower *l, const CelGraphNode *node, CelValue v) {
    return v.kind == CEL_ERROR && is_literal(node) && !l->options->lazy_literals;
}

/* The constant that node @number is, or @number itself. */
static uint32_t fold(Lower *l, const Part *part, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);
    uint32_t constant;
    CelValue v;

    if (node->folded > 0)
        return node->folded - 1;
    if (!can_fold(l, node) || (!l->is_folding && !is_literal(node)) || l->fuel <= 0)
        return number;
    v = cel_fold(l->graph, number, &l->fuel);
    if (is_bad_literal(l, node, v))
        refuse(l, part, v.error->text, v.error->hint);
    if (!l->is_folding || v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return number;
    constant = add_typed_constant(l, part, v, node->type);
    if (constant != CEL_NO_NODE)
        cel_graph_fold(l->graph, number, constant);
    return constant;
}

static uint32_t add(Lower *l, const Part *part, const CelGraphNode *node) {
    uint32_t number = cel_graph_add(l->graph, node);

    return number != CEL_NO_NODE ? fold(l, part, number) : CEL_NO_NODE;
}

static bool is_constant_bool(const Lower *l, uint32_t number, bool want) {
    const CelGraphNode *node = graph_node(l, number);

    return node->op == OP_CONSTANT && node->constant.kind == CEL_BOOL &&
           node->constant.boolean == want;
}

/* A CONDITIONAL, or the side it always takes. */
static uint32_t lower_choice(Lower *l, const CelGraphNode *node) {
    if (l->is_folding && is_constant_bool(l, node->args[0], true))
        return node->args[1];
    if (l->is_folding && is_constant_bool(l, node->args[0], false))
        return node->args[2];
    return cel_graph_add(l->graph, node);
}

static uint32_t add_unary(
    Lower *l, const Part *part, uint16_t op, uint32_t arg, const CelType *type) {
    CelGraphNode node = blank(l, part, op);

    node.args = &arg;
    node.n_args = 1;
    node.type = type;
    return add(l, part, &node);
}

/* --- names and parts ------------------------------------------------------------------- */

static uint32_t lower_variable(Lower *l, const Part *part) {
    const CelVariable *variable = part->note->variable;
    CelGraphNode node = blank(l, part, OP_VARIABLE);

    if (variable->is_constant)
        return add_constant(l, part, variable->value);
    node.n_args = 0;
    node.immediate = variable->slot;
    node.constant = cel_string(variable->name);
    node.groups = (uint8_t)(1u << (variable->group & 7));
    return cel_graph_add(l->graph, &node);
}

static uint32_t lower_unknown(Lower *l, const Part *part) {
    Str name = part->note->name;

    return add_fail(l,
        part,
        arena_printf(cel_graph_arena(l->graph), "undeclared reference to '%.*s'", STR_FMT(name)));
}

/* a.b, a.?b, has(a.b): of a record by number, of everything else by name. */
static uint32_t lower_select(Lower *l, const Part *part) {
    static const uint16_t ops[CEL_N_NODES][2] = {
        [CEL_NODE_SELECT] = {OP_SELECT, OP_FIELD},
        [CEL_NODE_OPT_SELECT] = {OP_OPT_SELECT, OP_OPT_FIELD},
        [CEL_NODE_TEST] = {OP_TEST_SELECT, OP_TEST_FIELD},
    };
    bool is_field = part->note->field != UINT32_MAX;
    CelGraphNode node = blank(l, part, ops[part->node->kind][is_field]);

    node.constant = cel_string(part->node->name);
    node.immediate = is_field ? part->note->field : 0;
    return add(l, part, &node);
}

/* --- calls ----------------------------------------------------------------------------- */

/* Whether @overload takes the arguments: 1 surely, 0 surely not, -1 depends on the run. */
static int overload_fits(const Lower *l, const Part *part, const CelOverload *overload) {
    int r = 1;

    if (overload->n_args != part->n_args)
        return 0;
    for (uint32_t i = 0; i < part->n_args; i++) {
        uint8_t want = cel_param_kind(overload, i), have = sure_kind(l, part->args[i]);

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
    kind = sure_kind(l, part->args[0]);
    if (kind != sure_kind(l, part->args[1]))
        return op;
    if (kind == CEL_INT || kind == CEL_UINT)
        return op == OP_EQ ? OP_EQ_INT : OP_NE_INT;
    if (kind == CEL_STRING || kind == CEL_BYTES)
        return op == OP_EQ ? OP_EQ_STRING : OP_NE_STRING;
    return op;
}

/* m['k'] is m.k. */
static uint32_t lower_constant_key(Lower *l, const Part *part, uint16_t op) {
    CelGraphNode node = blank(l, part, op);

    node.constant = graph_node(l, part->args[1])->constant;
    node.n_args = 1;
    return add(l, part, &node);
}

/* x in ['a', 'b']. The elements move to where the code will find them. */
static uint32_t lower_in_set(Lower *l, const Part *part, const CelList *list) {
    CelGraphNode node = blank(l, part, OP_IN_SET), plain = blank(l, part, OP_IN_LIST);
    Arena *keep = cel_graph_keep(l->graph);
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
    cel_graph_prepare(l->graph, number, set);
    return number;
}

static bool has_string_key(const Lower *l, const Part *part) {
    return sure_kind(l, part->args[0]) == CEL_MAP && is_constant(l, part->args[1]) &&
           sure_kind(l, part->args[1]) == CEL_STRING;
}

static const CelList *constant_set(const Lower *l, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);

    return node->op == OP_CONSTANT && node->constant.kind == CEL_LIST &&
                   cel_set_fits(node->constant.list)
               ? node->constant.list
               : NULL;
}

static uint32_t lower_operator(Lower *l, const Part *part, uint16_t op) {
    CelGraphNode node = blank(l, part, narrow(l, part, op));
    const CelList *set;

    if (op == OP_INDEX_MAP && has_string_key(l, part))
        return lower_constant_key(l, part, OP_SELECT);
    if (op == OP_OPT_INDEX && has_string_key(l, part))
        return lower_constant_key(l, part, OP_OPT_SELECT);
    set = op == OP_IN_LIST && l->is_folding ? constant_set(l, part->args[1]) : NULL;
    if (set && !is_constant(l, part->args[0]))
        return lower_in_set(l, part, set);
    return add(l, part, &node);
}

/* Works on a constant argument in advance: a pattern is compiled once. False: out of memory. */
static bool prepare(Lower *l, const Part *part, uint32_t number) {
    const CelGraphNode *node = graph_node(l, number);
    const CelOverloadSpec *spec = node->overloads[0]->spec;
    Arena *keep = cel_graph_keep(l->graph);
    Str error = STR_NULL;
    const void *prepared;

    if (node->n_overloads != 1 || !spec->prepare || node->prepared ||
        spec->prepare_arg >= node->n_args || !is_constant(l, node->args[spec->prepare_arg]))
        return true;
    if (sure_kind(l, node->args[spec->prepare_arg]) !=
        node->overloads[0]->args[spec->prepare_arg]->value_kind)
        return true;
    prepared = spec->prepare(graph_node(l, node->args[spec->prepare_arg])->constant, keep, &error);
    if (!prepared && arena_has_failed(keep))
        return false;
    if (!prepared && error.len > 0 && !l->options->lazy_literals)
        refuse(l, part, error, STR_NULL);
    cel_graph_prepare(l->graph, number, prepared);
    return true;
}

static uint32_t add_call(Lower *l, const Part *part, uint16_t op,
    const CelOverload *const *overloads, size_t n_overloads) {
    CelGraphNode node = blank(l, part, op);
    uint32_t number;

    node.overloads = overloads;
    node.n_overloads = n_overloads;
    number = cel_graph_add(l->graph, &node);
    if (number == CEL_NO_NODE || !prepare(l, part, number))
        return CEL_NO_NODE;
    return l->is_refused ? number : fold(l, part, number);
}

/* x.or(y) and x.orValue(y): y is evaluated only when x holds nothing, as in cel-go. */
static bool is_alternative(const Part *part) {
    const CelNote *note = part->note;

    return part->n_args == 2 && note->n_overloads == 1 &&
           note->overloads[0]->args[0]->value_kind == CEL_OPTIONAL &&
           (str_is(note->overloads[0]->name, "or") || str_is(note->overloads[0]->name, "orValue"));
}

static uint32_t lower_alternative(Lower *l, const Part *part) {
    CelGraphNode node = blank(l, part, OP_CONDITIONAL);
    bool is_value = str_is(part->note->overloads[0]->name, "orValue");
    uint32_t args[3] = {CEL_NO_NODE, part->args[0], part->args[1]};

    args[0] = add_unary(l, part, OP_OPT_HAS, part->args[0], &cel_bool_type);
    if (is_value)
        args[1] = add_unary(l, part, OP_OPT_GET, part->args[0], node.type);
    node.args = args;
    node.n_args = 3;
    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return lower_choice(l, &node);
}

/* Candidates that the kinds known here rule out are passed over. What is left: one that
 * surely fits, one that may, or several; when none is left, all, to fail at their turn. */
static uint32_t lower_call(Lower *l, const Part *part) {
    const CelNote *note = part->note;
    const CelOverload **left =
        ARENA_RAW(cel_graph_arena(l->graph), const CelOverload *, note->n_overloads);
    size_t n_left = 0;
    int fits = 0;

    if (!left)
        return CEL_NO_NODE;
    if (note->n_overloads == 0)
        return add_fail(l,
            part,
            arena_printf(cel_graph_arena(l->graph),
                "no such overload: %.*s with %u arguments",
                STR_FMT(part->node->name),
                part->n_args));
    for (size_t i = 0; i < note->n_overloads && fits != 1; i++) {
        fits = overload_fits(l, part, note->overloads[i]);
        if (fits != 0)
            left[n_left++] = note->overloads[i];
    }
    if (is_alternative(part))
        return lower_alternative(l, part);
    if (n_left == 0)
        return add_call(l, part, OP_DISPATCH, note->overloads, note->n_overloads);
    if (n_left > 1)
        return add_call(l, part, OP_DISPATCH, left, n_left);
    if (fits != 1 && !note->is_exact)
        return add_call(l, part, OP_CALL_CHECKED, left, 1);
    if (left[0]->spec->op != OP_NONE)
        return lower_operator(l, part, left[0]->spec->op);
    return add_call(l, part, OP_CALL, left, 1);
}

/* --- what does not evaluate everything ------------------------------------------------- */

/* false && x is false, and so is x && false: an error of x is absorbed. true && x is x, when x is
 * surely a bool: otherwise it would be an error. || the same with true and false exchanged. */
static uint32_t lower_logic(Lower *l, const Part *part, uint16_t op) {
    CelGraphNode node = blank(l, part, op);
    bool absorbing = op == OP_OR;

    for (int side = 0; l->is_folding && side < 2; side++) {
        uint32_t this = part->args[side], other = part->args[1 - side];

        if (is_constant_bool(l, this, absorbing))
            return this;
        if (is_constant_bool(l, this, !absorbing) && sure_kind(l, other) == CEL_BOOL)
            return other;
    }
    return cel_graph_add(l->graph, &node);
}

static uint32_t lower_conditional(Lower *l, const Part *part) {
    CelGraphNode node = blank(l, part, OP_CONDITIONAL);

    return lower_choice(l, &node);
}

/* --- macros ---------------------------------------------------------------------------- */

static const uint16_t loop_ops[CEL_N_NODES] = {
    [CEL_NODE_ALL] = OP_ALL,
    [CEL_NODE_EXISTS] = OP_EXISTS,
    [CEL_NODE_EXISTS_ONE] = OP_EXISTS_ONE,
    [CEL_NODE_FILTER] = OP_FILTER,
    [CEL_NODE_MAP_LIST] = OP_MAP_LIST,
    [CEL_NODE_TRANSFORM_MAP] = OP_TRANSFORM_MAP,
    [CEL_NODE_TRANSFORM_ENTRY] = OP_TRANSFORM_ENTRY,
};

/* A loop's variable is a LOCAL; that of cel.bind is the value itself, and that of optMap what
 * the optional holds. */
static uint32_t lower_binder(Lower *l, const Part *part) {
    const CelNode *nodes = l->tree->nodes;
    uint32_t parent = l->parents[part->i], value = l->stack[l->n_stack - 1];
    bool is_second =
        nodes[part->i - 1].kind == CEL_NODE_BINDER && l->parents[part->i - 1] == parent;
    CelGraphNode node = blank(l, part, OP_LOCAL);

    if (nodes[parent].kind == CEL_NODE_BIND)
        return value;
    if (nodes[parent].kind == CEL_NODE_OPT_MAP || nodes[parent].kind == CEL_NODE_OPT_FLAT_MAP)
        return add_unary(l, part, OP_OPT_GET, value, type_of(l, part->i));
    l->level += !is_second;
    node.n_args = 0;
    node.immediate = 2 * (l->level - 1) + is_second;
    return cel_graph_add(l->graph, &node);
}

static uint32_t lower_loop(Lower *l, const Part *part) {
    CelGraphNode node = blank(l, part, loop_ops[part->node->kind]);

    l->level--;
    node.immediate = l->level | (part->node->n_binders == 2 ? CEL_LOOP_PAIRS : 0) |
                     (part->node->has_predicate ? CEL_LOOP_PREDICATE : 0);
    return cel_graph_add(l->graph, &node);
}

/* x.optMap(v, t) is x has a value ? optional.of(t) : none, with v for the value. */
static uint32_t lower_opt_map(Lower *l, const Part *part, bool is_flat) {
    CelGraphNode node = blank(l, part, OP_CONDITIONAL);
    uint32_t args[3];

    args[0] = add_unary(l, part, OP_OPT_HAS, part->args[0], &cel_bool_type);
    args[1] =
        is_flat ? part->args[1] : add_unary(l, part, OP_OPT_OF, part->args[1], type_of(l, part->i));
    args[2] = add_constant(l, part, cel_none());
    node.args = args;
    node.n_args = 3;
    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE || args[2] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return lower_choice(l, &node);
}

/* --- the loop -------------------------------------------------------------------------- */

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
        return lower_conditional(l, part);
    case CEL_NODE_OPTIONAL:
        return add_unary(l, part, OP_OPT_ELEMENT, part->args[0], type_of(l, part->i));
    case CEL_NODE_LIST:
        node = blank(l, part, OP_LIST);
        return add(l, part, &node);
    case CEL_NODE_MAP:
        node = blank(l, part, OP_MAP);
        return add(l, part, &node);
    case CEL_NODE_BIND:
        return part->args[1];
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        return lower_opt_map(l, part, part->node->kind == CEL_NODE_OPT_FLAT_MAP);
    case CEL_NODE_FIELD:
        return part->args[0];
    case CEL_NODE_IDENT:
    case CEL_NODE_STRUCT: /* records come from the host only */
        return lower_unknown(l, part);
    default:
        return lower_loop(l, part);
    }
}

static uint32_t lower_part(Lower *l, const Part *part) {
    switch (part->note->ref) {
    case CEL_REF_VARIABLE:
        return lower_variable(l, part);
    case CEL_REF_LOCAL:
        return l->bound[part->note->binder];
    case CEL_REF_CONSTANT:
        return add_constant(l, part, part->note->constant);
    case CEL_REF_UNKNOWN:
        return lower_unknown(l, part);
    default:
        return lower_by_kind(l, part);
    }
}

static int lower_node(Lower *l, uint32_t i) {
    const CelNode *node = &l->tree->nodes[i];
    uint32_t base, number;
    Part part;

    l->heights[i] = l->n_stack;
    base = l->heights[i + 1 - node->size];
    part = (Part){i, node, &l->checked->notes[i], &l->stack[base], l->n_stack - base};
    if (part.note->ref == CEL_REF_SKIP) {
        l->n_stack = base;
        return 0;
    }
    if (node->kind == CEL_NODE_BINDER) {
        l->bound[i] = lower_binder(l, &part);
        return l->bound[i] != CEL_NO_NODE ? 0 : error_origin(-ENOMEM);
    }
    number = lower_part(l, &part);
    if (number == CEL_NO_NODE)
        return error_origin(-ENOMEM);
    if (l->nodes)
        l->nodes[i] = number;
    l->n_stack = base;
    l->stack[l->n_stack++] = number;
    return 0;
}

/* Whose child each node is. The stack is that of nodes without a parent yet. */
static void find_parents(Lower *l) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->tree->n_nodes; i++) {
        uint32_t from = i + 1 - l->tree->nodes[i].size;

        while (n > 0 && l->stack[n - 1] >= from)
            l->parents[l->stack[--n]] = i;
        l->stack[n++] = i;
    }
}

static int lower_tree(Lower *l, uint32_t *ret_root) {
    uint32_t n = l->tree->n_nodes;
    Arena *arena = cel_graph_arena(l->graph);

    l->stack = ARENA_ARRAY(arena, uint32_t, n + 1);
    l->heights = ARENA_ARRAY(arena, uint32_t, n + 1);
    l->parents = ARENA_ARRAY(arena, uint32_t, n + 1);
    l->bound = ARENA_ARRAY(arena, uint32_t, n + 1);
    if (!l->stack || !l->heights || !l->parents || !l->bound)
        return error_origin(-ENOMEM);
    find_parents(l);
    for (uint32_t i = 0; i < n; i++) {
        int r = lower_node(l, i);

        if (r < 0)
            return error_trace(r);
    }
    if (l->is_refused)
        return CEL_LOWER_REFUSED;
    *ret_root = l->stack[0];
    cel_graph_use(l->graph, *ret_root);
    return 0;
}

int cel_lower(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_root) {
    Lower l = {
        .graph = graph,
        .checked = checked,
        .tree = checked->tree,
        .options = options,
        .diags = diags,
        .fuel = CEL_FOLD_FUEL_MAX,
        .is_folding = !options->no_fold,
    };

    return lower_tree(&l, ret_root);
}

int cel_lower_each(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_nodes) {
    Lower l = {
        .graph = graph,
        .checked = checked,
        .tree = checked->tree,
        .options = options,
        .diags = diags,
        .nodes = ret_nodes,
        .fuel = CEL_FOLD_FUEL_MAX,
    };
    uint32_t root;
    int r;

    for (uint32_t i = 0; i < checked->tree->n_nodes; i++)
        ret_nodes[i] = CEL_NO_NODE;
    cel_graph_keep_apart(graph, true);
    r = lower_tree(&l, &root);
    cel_graph_keep_apart(graph, false);
    return r;
}
