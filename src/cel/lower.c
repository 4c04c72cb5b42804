/* A checked tree becomes nodes of the graph. The tree is in post-order: each node takes its
 * children's numbers from a stack and leaves its own. Constants are computed, and && || ?: lose
 * what cannot matter; an error that a run could meet is never lost. */

#include <errno.h>

#include "cel/limits.h"
#include "cel/lower-internal.h"
#include "cel/report.h"

static uint32_t lower_variable(CelLower *l, const CelPart *part) {
    const CelVariable *variable = part->info->variable;
    CelGraphNode node = cel_lower_blank(l, part, OP_VARIABLE);

    if (variable->expand)
        return variable->expand(l->graph, variable);
    node.n_args = 0;
    node.immediate = variable->slot;
    node.constant = cel_string(variable->name);
    node.groups = (uint8_t)(1u << (variable->group & 7));
    return cel_graph_add(l->graph, &node);
}

/* @info: of the variable's name, which comes right before its SELECT. */
static bool is_composite(const CelLower *l, const CelNodeInfo *info) {
    const CelComposite *composite = l->options->composite;

    return composite && info->ref == CEL_REF_VARIABLE && info->variable->slot == composite->slot;
}

/* Whether a field is taken from the tree's node @i, whose parent is known. */
static bool has_field_taken(const CelLower *l, uint32_t i) {
    uint32_t parent = l->parents[i];

    return i + 1 < l->tree->n_nodes && l->checked->infos[parent].field != UINT32_MAX;
}

/* A composite's name is only ever the way to one of its fields: nothing is computed from this
 * node. */
static uint32_t lower_composite(CelLower *l, const CelPart *part) {
    Str name = part->info->variable->name;
    uint32_t number = lower_variable(l, part);

    if (number == CEL_NO_NODE || has_field_taken(l, part->i))
        return number;
    cel_lower_refuse(l, part,
        arena_printf(l->graph->arena, "'%.*s' has no value of its own", STR_FMT(name)),
        arena_printf(l->graph->arena, "name one of its fields: %.*s.x", STR_FMT(name)));
    return number;
}

/* The expression of the field. */
static uint32_t lower_composite_field(CelLower *l, const CelPart *part) {
    const CelComposite *composite = l->options->composite;
    uint32_t field = part->info->field;
    uint32_t number = field < composite->n ? composite->nodes[field] : CEL_NO_NODE;

    if (part->node->kind == CEL_NODE_TEST)
        return cel_lower_constant(l, part, cel_bool(true));
    if (number == CEL_NO_NODE) {
        l->is_refused = true;
        return part->args[0];
    }
    if (!VEC_ADD(&l->uses, l->graph->arena, (CelFieldUse){number, part->node}))
        return CEL_NO_NODE;
    if (part->node->kind == CEL_NODE_OPT_SELECT)
        return cel_lower_unary(l, part, OP_OPT_OF, number, cel_lower_type(l, part->i));
    return number;
}

/* a.b, a.?b, has(a.b): of a record by number, of everything else by name. */
static uint32_t lower_select(CelLower *l, const CelPart *part) {
    static const uint16_t ops[CEL_N_NODES][2] = {
        [CEL_NODE_SELECT] = {OP_SELECT, OP_FIELD},
        [CEL_NODE_OPT_SELECT] = {OP_OPT_SELECT, OP_OPT_FIELD},
        [CEL_NODE_TEST] = {OP_TEST_SELECT, OP_TEST_FIELD},
    };
    bool is_field = part->info->field != UINT32_MAX;
    CelGraphNode node = cel_lower_blank(l, part, ops[part->node->kind][is_field]);

    if (is_field && is_composite(l, &part->info[-1]))
        return lower_composite_field(l, part);
    node.constant = cel_string(part->node->name);
    node.immediate = is_field ? part->info->field : 0;
    return cel_lower_add(l, part, &node);
}

/* false && x is false, and so is x && false: an error of x is absorbed. true && x is x only if x is
 * certainly a bool: otherwise it is an error. || the same with true and false exchanged. */
static uint32_t lower_logic(CelLower *l, const CelPart *part, uint16_t op) {
    CelGraphNode node = cel_lower_blank(l, part, op);
    bool absorbing = op == OP_OR;

    for (int side = 0; l->is_folding && side < 2; side++) {
        uint32_t this = part->args[side], other = part->args[1 - side];

        if (cel_lower_is_bool(l, this, absorbing))
            return this;
        if (cel_lower_is_bool(l, this, !absorbing) && cel_lower_kind(l, other) == CEL_BOOL)
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
static uint32_t innermost_level(const CelLower *l) {
    return (l->level < CEL_LOOPS_MAX ? l->level : CEL_LOOPS_MAX) - 1;
}

static void enter_loop(CelLower *l, uint32_t macro) {
    const CelPart part = {.i = macro, .node = &l->tree->nodes[macro]};

    if (l->level++ == CEL_LOOPS_MAX)
        cel_lower_refuse(l, &part,
            arena_printf(l->graph->arena, "more than %d loops inside each other", CEL_LOOPS_MAX),
            STR("give the result of an inner one a name with cel.bind(), outside of the others"));
}

/* A loop's variable is a LOCAL; that of cel.bind is the value itself, and that of optMap the value
 * of the optional. */
static uint32_t lower_binder(CelLower *l, const CelPart *part) {
    const CelNode *nodes = l->tree->nodes;
    uint32_t parent = l->parents[part->i], value = l->stack[l->n_stack - 1];
    uint32_t number = cel_tree_binder_number(l->tree, part->i);
    CelGraphNode node = cel_lower_blank(l, part, OP_LOCAL);

    if (nodes[parent].kind == CEL_NODE_BIND)
        return value;
    if (nodes[parent].kind == CEL_NODE_OPT_MAP || nodes[parent].kind == CEL_NODE_OPT_FLAT_MAP)
        return cel_lower_unary(l, part, OP_OPT_GET, value, cel_lower_type(l, part->i));
    if (number == 0)
        enter_loop(l, parent);
    node.n_args = 0;
    node.immediate = 2 * innermost_level(l) + number;
    return cel_graph_add(l->graph, &node);
}

static uint32_t lower_loop(CelLower *l, const CelPart *part) {
    CelGraphNode node = cel_lower_blank(l, part, loop_ops[part->node->kind]);

    node.immediate = innermost_level(l) | (part->node->n_binders == 2 ? CEL_LOOP_PAIRS : 0);
    l->level--;
    return cel_graph_add(l->graph, &node);
}

/* x.optMap(v, t) is x has a value ? optional.of(t) : none, with v for the value. */
static uint32_t lower_opt_map(CelLower *l, const CelPart *part, bool is_flat) {
    CelGraphNode node = cel_lower_blank(l, part, OP_CONDITIONAL);
    uint32_t args[3];

    args[0] = cel_lower_unary(l, part, OP_OPT_HAS, part->args[0], &cel_bool_type);
    args[1] = is_flat
                  ? part->args[1]
                  : cel_lower_unary(l, part, OP_OPT_OF, part->args[1], cel_lower_type(l, part->i));
    args[2] = cel_lower_constant(l, part, cel_none());
    node.args = args;
    node.n_args = 3;
    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE || args[2] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return cel_lower_choice(l, &node);
}

static uint32_t lower_by_kind(CelLower *l, const CelPart *part) {
    CelGraphNode node;

    switch (part->node->kind) {
    case CEL_NODE_LITERAL:
        return cel_lower_constant(l, part, part->node->literal);
    case CEL_NODE_SELECT:
    case CEL_NODE_OPT_SELECT:
    case CEL_NODE_TEST:
        return lower_select(l, part);
    case CEL_NODE_CALL:
        return cel_lower_call(l, part);
    case CEL_NODE_AND:
        return lower_logic(l, part, OP_AND);
    case CEL_NODE_OR:
        return lower_logic(l, part, OP_OR);
    case CEL_NODE_CONDITIONAL:
        node = cel_lower_blank(l, part, OP_CONDITIONAL);
        return cel_lower_choice(l, &node);
    case CEL_NODE_OPTIONAL:
        return cel_lower_unary(l, part, OP_OPT_ELEMENT, part->args[0], cel_lower_type(l, part->i));
    case CEL_NODE_LIST:
    case CEL_NODE_MAP:
        node = cel_lower_blank(l, part, part->node->kind == CEL_NODE_LIST ? OP_LIST : OP_MAP);
        return cel_lower_add(l, part, &node);
    case CEL_NODE_BIND:
        return part->args[1];
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        return lower_opt_map(l, part, part->node->kind == CEL_NODE_OPT_FLAT_MAP);
    default: /* an IDENT has a ref, and T{…} was refused */
        return lower_loop(l, part);
    }
}

static uint32_t lower_part(CelLower *l, const CelPart *part) {
    switch (part->info->ref) {
    case CEL_REF_VARIABLE:
        return is_composite(l, part->info) ? lower_composite(l, part) : lower_variable(l, part);
    case CEL_REF_LOCAL:
        return l->bound[part->info->binder];
    case CEL_REF_CONSTANT:
        return cel_lower_constant(l, part, part->info->constant);
    case CEL_REF_UNKNOWN:
        return cel_lower_fail(l, part,
            arena_printf(
                l->graph->arena, "undeclared reference to '%.*s'", STR_FMT(part->info->name)));
    default:
        return lower_by_kind(l, part);
    }
}

static int lower_node(CelLower *l, uint32_t i) {
    const CelNode *node = &l->tree->nodes[i];
    uint32_t base, number;
    CelPart part;

    l->heights[i] = l->n_stack;
    base = l->heights[i + 1 - node->size];
    part = (CelPart){i, node, &l->checked->infos[i], &l->stack[base], l->n_stack - base};
    if (part.info->ref == CEL_REF_SKIP) {
        l->n_stack = base;
        return 0;
    }
    if (node->kind == CEL_NODE_BINDER) {
        l->bound[i] = lower_binder(l, &part);
        if (l->nodes)
            l->nodes[i] = l->bound[i];
        return l->bound[i] != CEL_NO_NODE ? 0 : -ENOMEM;
    }
    number = lower_part(l, &part);
    if (number == CEL_NO_NODE)
        return -ENOMEM;
    if (l->nodes)
        l->nodes[i] = number;
    l->n_stack = base;
    l->stack[l->n_stack++] = number;
    return 0;
}

/* The parent of each node. The stack holds nodes without a parent yet. */
static void find_parents(CelLower *l) {
    uint32_t n = 0;

    for (uint32_t i = 0; i < l->tree->n_nodes; i++) {
        uint32_t from = i + 1 - l->tree->nodes[i].size;

        while (n > 0 && l->stack[n - 1] >= from)
            l->parents[l->stack[--n]] = i;
        l->stack[n++] = i;
    }
}

static int lower_tree(CelLower *l, uint32_t *ret_root) {
    uint32_t n = l->tree->n_nodes;
    Arena *arena = l->graph->arena;
    size_t first = l->diags->diags.n;

    l->stack = ARENA_ARRAY(arena, uint32_t, n + 1);
    l->heights = ARENA_ARRAY(arena, uint32_t, n + 1);
    l->parents = ARENA_ARRAY(arena, uint32_t, n + 1);
    l->bound = ARENA_ARRAY(arena, uint32_t, n + 1);
    if (!l->stack || !l->heights || !l->parents || !l->bound)
        return -ENOMEM;
    find_parents(l);
    for (uint32_t i = 0; i < n; i++) {
        int r = lower_node(l, i);

        if (r < 0)
            return r;
    }
    *ret_root = l->is_refused || l->nodes ? l->stack[0] : cel_lower_expected(l, l->stack[0]);
    if (*ret_root == CEL_NO_NODE)
        return -ENOMEM;
    if (!l->is_refused)
        cel_lower_judge_failing(l, *ret_root);
    cel_sort_errors(l->diags, first);
    if (l->is_refused)
        return CEL_LOWER_REFUSED;
    if (l->has_failed)
        return -ENOMEM;
    l->graph->nodes.items[*ret_root].uses++;
    return 0;
}

static CelLower lower_of(
    CelGraph *graph, const CelChecked *checked, const CelOptions *options, DiagList *diags) {
    return (CelLower){
        .graph = graph,
        .checked = checked,
        .tree = checked->tree,
        .options = options,
        .diags = diags,
        .fuel = CEL_FOLD_FUEL_MAX,
        .n_failing_before = graph->failing.n,
    };
}

int cel_lower(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_root) {
    CelLower l = lower_of(graph, checked, options, diags);

    l.is_folding = !options->no_fold;
    return lower_tree(&l, ret_root);
}

int cel_lower_each(CelGraph *graph, const CelChecked *checked, const CelOptions *options,
    DiagList *diags, uint32_t *ret_nodes) {
    CelLower l = lower_of(graph, checked, options, diags);
    uint32_t root;
    int r;

    l.nodes = ret_nodes;
    for (uint32_t i = 0; i < checked->tree->n_nodes; i++)
        ret_nodes[i] = CEL_NO_NODE;
    graph->is_apart = true;
    r = lower_tree(&l, &root);
    graph->is_apart = false;
    return r;
}
