/* A checked tree becomes nodes of the graph. The tree is in post-order: each node takes its
 * children's numbers from a stack and leaves its own. Constants are computed, and && || ?: lose
 * what cannot matter; an error that a run could meet is never lost. */

#include <errno.h>

#include "cel/library.h"
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

/* A composite's name is only ever the way to one of its fields: nothing is computed from this
 * node. */
static uint32_t lower_composite(CelLower *l, const CelPart *part) {
    Str name = part->info->variable->name;
    uint32_t number = lower_variable(l, part), parent = l->parents[part->i];
    bool has_parent = part->i + 1 < l->tree->n_nodes;

    if (number == CEL_NO_NODE || (has_parent && l->checked->infos[parent].field != UINT32_MAX))
        return number;
    cel_lower_refuse(l, part->node,
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
    if (l->level++ == CEL_LOOPS_MAX)
        cel_lower_refuse(l, &l->tree->nodes[macro],
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

/* The check lets dyn pass for any type, as CEL does. Where the kind of an expression's value is not
 * certain, a call around it checks it in the run, so that its users can rely on the type. */

static CelValue wrong_type(CelRun *run, const char *wanted, CelValue v) {
    return cel_fail(
        run, "the result must be %s, it is %.*s", wanted, STR_FMT(cel_type_of(v)->name));
}

CEL_RETURNS(expect_bool, args[0].kind == CEL_BOOL ? args[0] : wrong_type(run, "bool", args[0]))
CEL_RETURNS(
    expect_string, args[0].kind == CEL_STRING ? args[0] : wrong_type(run, "string", args[0]))

CEL_FUNCTION(expect_number) {
    switch (args[0].kind) {
    case CEL_INT:
        return cel_double((double)args[0].i);
    case CEL_UINT:
        return cel_double((double)args[0].u);
    case CEL_DOUBLE:
        return args[0];
    default:
        return wrong_type(run, "a number", args[0]);
    }
}

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

/* A constant's type may say less than its kind. */
static bool is_certain(const CelLower *l, uint32_t root, const CelType *want) {
    const CelGraphNode *node = cel_lower_node(l, root);
    bool is_int = l->options->expect_number && node->type->kind == CEL_T_INT;

    return (node->type->kind == want->kind || is_int) &&
           cel_lower_kind(l, root) == node->type->value_kind;
}

/* @root, the whole expression, as the type that CelOptions expects. */
static uint32_t lower_expected(CelLower *l, uint32_t root) {
    const CelOverload *const *check = find_check(l->options);
    uint32_t whole = l->tree->n_nodes - 1;
    const CelPart part = {
        .i = whole, .node = &l->tree->nodes[whole], .info = &l->checked->infos[whole]};
    CelGraphNode node = cel_lower_blank(l, &part, OP_CALL);

    if (!check || is_certain(l, root, check[0]->result))
        return root;
    node.type = check[0]->result;
    node.args = &root;
    node.n_args = 1;
    node.overloads = check;
    node.n_overloads = 1;
    return cel_lower_add(l, &part, &node);
}

/* The nodes that every run of @root evaluates, without && or || around them (@all: those that some
 * run may); NULL: out of memory. */
static bool *find_nodes(const CelLower *l, uint32_t root, bool all) {
    bool *found = ARENA_ARRAY(l->graph->arena, bool, (size_t)root + 1);

    if (!found)
        return NULL;
    found[root] = true;
    for (uint32_t i = root + 1; i-- > 0;) {
        const CelGraphNode *node = cel_lower_node(l, i);
        uint32_t n = all || cel_ops[node->op].class == CEL_OP_VALUE ? node->n_args
                     : node->op == OP_AND || node->op == OP_OR      ? 0
                                                                    : 1; /* condition or range */

        for (uint32_t k = 0; found[i] && k < n; k++)
            found[node->args[k]] = true;
    }
    return found;
}

static bool is_found(const bool *found, uint32_t root, uint32_t number) {
    return found && number <= root && found[number];
}

static void warn(const CelLower *l, const CelFailing *failing) {
    Str text = arena_printf(
        l->graph->arena, "this fails whenever it is evaluated: %.*s", STR_FMT(failing->text));

    if (text.ptr)
        diag_add(l->diags, DIAG_WARNING,
            cel_place(l->tree->file, l->tree->source, failing->place->from, failing->place->to),
            l->tree->source, text, failing->hint);
}

/* A field of a composite that fails whenever it is read: an error here, if it is always read. */
static void refuse_field(CelLower *l, const CelFieldUse *use, size_t n_failing) {
    const bool *certain = find_nodes(l, use->number, /* all= */ false);

    for (size_t i = 0; i < n_failing; i++) {
        const CelFailing *failing = &l->graph->failing.items[i];

        if (!is_found(certain, use->number, failing->number))
            continue;
        cel_lower_refuse(l, use->place, failing->text, failing->hint);
        return;
    }
}

static void judge_failing(CelLower *l, uint32_t root) {
    size_t n = l->graph->failing.n;
    const bool *certain, *possible;

    if (n == 0)
        return;
    certain = l->options->may_be_unused ? NULL : find_nodes(l, root, /* all= */ false);
    possible = find_nodes(l, root, /* all= */ true);
    if (!possible || (!certain && !l->options->may_be_unused))
        l->has_failed = true;
    for (size_t i = l->n_failing_before; i < n; i++) {
        const CelFailing *failing = &l->graph->failing.items[i];

        if (is_found(certain, root, failing->number))
            cel_lower_refuse(l, failing->place, failing->text, failing->hint);
        else if (is_found(possible, root, failing->number))
            warn(l, failing);
    }
    for (size_t i = 0; i < l->uses.n; i++)
        if (is_found(certain, root, l->uses.items[i].number))
            refuse_field(l, &l->uses.items[i], l->n_failing_before);
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
    *ret_root = l->is_refused || l->nodes ? l->stack[0] : lower_expected(l, l->stack[0]);
    if (*ret_root == CEL_NO_NODE)
        return -ENOMEM;
    if (!l->is_refused)
        judge_failing(l, *ret_root);
    diag_list_sort(l->diags, first);
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
