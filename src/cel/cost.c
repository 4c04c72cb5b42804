/* One walk: a node costs what its children cost plus its own; a loop multiplies its inside by the
 * size of its range. The numbers resemble those of cel-go's estimator, where macros are folds over
 * an accumulator. */

#include "cel/cost.h"

#include <errno.h>
#include <inttypes.h>

#include "cel/cost-internal.h"
#include "cel/report.h"

typedef struct Estimate {
    const CelChecked *checked;
    const CelNode *nodes;
    CelCostPart *parts; /* one a node */
} Estimate;

#define NAME_COST 1
#define LIST_COST 10
#define MAP_COST 30

static CelCostPart part_declared(const CelType *type, uint32_t max_size) {
    CelCostPart part = cel_cost_of_type(type);

    if (max_size > 0 && part.size.min != part.size.max)
        part.size.max = max_size;
    return part;
}

static const CelType *type_at(const Estimate *estimate, uint32_t i) {
    return estimate->checked->infos[i].type;
}

/* With several possible overloads, the most expensive one. */
static void estimate_call(Estimate *estimate, uint32_t i) {
    const CelNodeInfo *info = &estimate->checked->infos[i];
    const CelType *types[CEL_ARGS_MAX] = {NULL};
    CelCostPart args[CEL_ARGS_MAX] = {0}, *part = &estimate->parts[i];
    CelCostRange own = {UINT64_MAX, 0}, arguments = {0};
    uint32_t child = i - 1;
    size_t n = estimate->nodes[i].n_children;

    for (size_t k = n; k-- > 0; child -= estimate->nodes[child].size) {
        size_t at = k - info->is_namespaced;

        if (k < info->is_namespaced)
            break;
        arguments = cost_sum(arguments, estimate->parts[child].cost);
        if (at < CEL_ARGS_MAX) {
            args[at] = estimate->parts[child];
            types[at] = type_at(estimate, child);
        }
    }
    *part = cel_cost_of_type(info->type);
    for (size_t k = 0; k < info->n_overloads; k++) {
        const CelOverload *overload = info->overloads[k];
        CelCostPart called = cel_cost_of_result(overload, info->type, args);

        own = cost_either(own, cel_cost_of_call(overload, types, args));
        *part = k == 0 ? called : cost_part_either(*part, called);
    }
    part->cost = cost_sum(arguments, info->n_overloads > 0 ? own : cost_exactly(1));
}

/* The cost of a fold's own steps: once, and per element. */
typedef struct LoopCost {
    uint64_t init;     /* an empty list or map to start with */
    uint64_t each_min; /* of one turn */
    uint64_t each_max;
    uint64_t result;
    bool can_skip; /* the body may not run: && and || */
} LoopCost;

static const LoopCost loop_costs[CEL_N_NODES] = {
    [CEL_NODE_ALL] = {0, 3, 3, 1, true},
    [CEL_NODE_EXISTS] = {0, 4, 4, 1, true},
    [CEL_NODE_EXISTS_ONE] = {0, 1, 2, 2, false},
    [CEL_NODE_FILTER] = {LIST_COST, 1, 13, 1, false},
    [CEL_NODE_MAP_LIST] = {LIST_COST, 12, 12, 1, false},
    [CEL_NODE_TRANSFORM_MAP] = {MAP_COST, 3, 3, 1, false},
    [CEL_NODE_TRANSFORM_ENTRY] = {MAP_COST, 2, 2, 1, false},
};

/* The range of one turn of loop @i; @children as cel_tree_children() gives them. */
static CelCostRange cost_of_turn(const Estimate *estimate, uint32_t i, const uint32_t *children) {
    const CelNode *macro = &estimate->nodes[i];
    const LoopCost *loop = &loop_costs[macro->kind];
    CelCostRange body = estimate->parts[children[macro->n_children - 1]].cost;
    CelCostRange turn = {cost_add(loop->each_min, loop->can_skip ? 0 : body.min),
        cost_add(loop->each_max, body.max)};

    if (macro->has_predicate) {
        turn.min = 1; /* the accumulated value */
        turn = cost_sum(turn, estimate->parts[children[macro->n_children - 2]].cost);
    }
    return turn;
}

static void estimate_loop(Estimate *estimate, uint32_t i, const uint32_t *children) {
    const CelNode *macro = &estimate->nodes[i];
    const LoopCost *loop = &loop_costs[macro->kind];
    const CelCostPart *range = &estimate->parts[children[0]];
    const CelCostPart *body = &estimate->parts[children[macro->n_children - 1]];
    CelCostPart *part = &estimate->parts[i];
    bool is_kept_whole = macro->kind != CEL_NODE_FILTER && !macro->has_predicate;

    *part = cel_cost_of_type(type_at(estimate, i));
    if (part->size.min != part->size.max) {
        part->size = (CelCostRange){is_kept_whole ? range->size.min : 0, range->size.max};
        part->element = macro->kind == CEL_NODE_FILTER ? estimate->parts[children[1]].size
                        : macro->kind == CEL_NODE_TRANSFORM_ENTRY ? body->element
                                                                  : body->size;
    }
    /* transformMapEntry can make more than one entry of one. */
    if (macro->kind == CEL_NODE_TRANSFORM_ENTRY)
        part->size = (CelCostRange){0, cost_multiply(range->size.max, body->size.max)};
    part->cost = cost_sum(cost_sum(range->cost, cost_exactly(loop->init + loop->result)),
        cost_product(range->size, cost_of_turn(estimate, i, children)));
}

static void estimate_macro(Estimate *estimate, uint32_t i) {
    uint32_t children[CEL_MACRO_CHILDREN_MAX];
    const CelNode *macro = &estimate->nodes[i];
    CelCostPart range, body, *part = &estimate->parts[i];

    cel_tree_children(estimate->checked->tree, i, children);
    range = estimate->parts[children[0]];
    body = estimate->parts[children[macro->n_children - 1]];
    switch ((CelNodeKind)macro->kind) {
    case CEL_NODE_BIND:
        *part = body;
        part->cost = cost_sum(cost_sum(range.cost, body.cost), cost_exactly(LIST_COST));
        break;
    case CEL_NODE_OPT_MAP:
    case CEL_NODE_OPT_FLAT_MAP:
        *part = body;
        part->cost = cost_sum(range.cost, (CelCostRange){2, cost_add(body.cost.max, 3)});
        break;
    default:
        estimate_loop(estimate, i, children);
        break;
    }
}

/* A macro's variable: what one element of the range is. */
static void estimate_binder(Estimate *estimate, uint32_t i) {
    const CelNode *macro = &estimate->nodes[estimate->checked->infos[i].binder];
    uint32_t number = cel_tree_binder_number(estimate->checked->tree, i);
    uint32_t range = i - 1 - number;
    const CelCostPart *from = &estimate->parts[range];
    const CelType *type = type_at(estimate, i), *from_type = type_at(estimate, range);
    CelCostPart *part = &estimate->parts[i];

    if (macro->kind == CEL_NODE_BIND || macro->kind == CEL_NODE_OPT_MAP ||
        macro->kind == CEL_NODE_OPT_FLAT_MAP)
        *part = *from;
    else if (from_type->kind == CEL_T_LIST && number + 1 == macro->n_binders)
        *part = cel_cost_inside(from->element, type);
    else if (from_type->kind == CEL_T_MAP)
        *part = cel_cost_inside(number == 0 ? from->key : from->element, type);
    else
        *part = cel_cost_of_type(type);
    part->cost = cost_exactly(0);
}

static void estimate_name(Estimate *estimate, uint32_t i) {
    const CelNodeInfo *info = &estimate->checked->infos[i];
    CelCostPart *part = &estimate->parts[i];

    if (info->ref == CEL_REF_SKIP) {
        *part = (CelCostPart){0};
        return;
    }
    *part = info->ref == CEL_REF_LOCAL      ? estimate->parts[info->binder]
            : info->ref == CEL_REF_VARIABLE ? part_declared(info->type, info->variable->max_size)
                                            : cel_cost_of_type(info->type);
    part->cost = cost_exactly(NAME_COST);
}

static const CelRecordType *record_at(const Estimate *estimate, uint32_t i) {
    const CelType *type = type_at(estimate, i);

    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    return type->kind == CEL_T_RECORD ? type->record : NULL;
}

static void estimate_select(Estimate *estimate, uint32_t i) {
    const CelNode *node = &estimate->nodes[i];
    const CelRecordType *record;
    CelCostPart operand, *part = &estimate->parts[i];
    uint32_t field;

    if (estimate->checked->infos[i].ref != CEL_REF_NONE) {
        estimate_name(estimate, i);
        return;
    }
    operand = estimate->parts[i - 1];
    record = record_at(estimate, i - 1);
    field = record ? cel_record_find(record, node->name) : UINT32_MAX;
    *part = cel_cost_of_type(type_at(estimate, i));
    if (node->kind != CEL_NODE_TEST && field != UINT32_MAX)
        *part = part_declared(type_at(estimate, i), record->fields[field].max_size);
    else if (node->kind != CEL_NODE_TEST && type_at(estimate, i - 1)->kind == CEL_T_MAP)
        *part = cel_cost_inside(operand.element, type_at(estimate, i));
    part->cost = cost_sum(operand.cost, cost_exactly(NAME_COST));
}

/* Lists and maps: as many as were written, each as large as the largest. */
static void estimate_literal(Estimate *estimate, uint32_t i) {
    const CelNode *node = &estimate->nodes[i];
    bool is_map = node->kind == CEL_NODE_MAP;
    uint32_t n = node->n_children, child = i - 1;
    CelCostRange inside[2] = {{UINT64_MAX, 0}, {UINT64_MAX, 0}},
                 cost = cost_exactly(is_map ? MAP_COST : LIST_COST);
    CelCostPart *part = &estimate->parts[i];

    for (uint32_t k = n; k-- > 0; child -= estimate->nodes[child].size) {
        CelCostRange *which = &inside[is_map && k % 2 == 0];

        *which = cost_either(*which, estimate->parts[child].size);
        cost = cost_sum(cost, estimate->parts[child].cost);
    }
    *part = (CelCostPart){.cost = cost,
        .size = cost_exactly(is_map ? n / 2 : n),
        .key = n > 0 && is_map ? inside[1] : cost_exactly(0),
        .element = n > 0 ? inside[0] : cost_exactly(0)};
}

static void estimate_choice(Estimate *estimate, uint32_t i) {
    uint32_t right = i - 1, left = right - estimate->nodes[right].size;
    CelCostPart *part = &estimate->parts[i], a = estimate->parts[left], b = estimate->parts[right];

    if (estimate->nodes[i].kind == CEL_NODE_CONDITIONAL) {
        CelCostRange condition = estimate->parts[left - estimate->nodes[left].size].cost;

        *part = cost_part_either(a, b);
        part->cost = cost_sum(condition, part->cost);
        return;
    }
    *part = cel_cost_of_type(&cel_bool_type);
    part->cost = (CelCostRange){a.cost.min, cost_add(a.cost.max, b.cost.max)};
}

static void estimate_constant(Estimate *estimate, uint32_t i) {
    CelValue value = estimate->nodes[i].literal;
    bool is_text = value.kind == CEL_STRING || value.kind == CEL_BYTES;

    estimate->parts[i] =
        (CelCostPart){.size = cost_exactly(is_text ? value.len : 1), .element = cost_exactly(1)};
}

static void estimate_optional(Estimate *estimate, uint32_t i) {
    estimate->parts[i] = estimate->parts[i - 1];
}

static void estimate_node(Estimate *estimate, uint32_t i) {
    static void (*const estimators[CEL_N_NODES])(Estimate * estimate, uint32_t i) = {
        [CEL_NODE_LITERAL] = estimate_constant,
        [CEL_NODE_IDENT] = estimate_name,
        [CEL_NODE_SELECT] = estimate_select,
        [CEL_NODE_OPT_SELECT] = estimate_select,
        [CEL_NODE_TEST] = estimate_select,
        [CEL_NODE_CALL] = estimate_call,
        [CEL_NODE_AND] = estimate_choice,
        [CEL_NODE_OR] = estimate_choice,
        [CEL_NODE_CONDITIONAL] = estimate_choice,
        [CEL_NODE_LIST] = estimate_literal,
        [CEL_NODE_MAP] = estimate_literal,
        [CEL_NODE_OPTIONAL] = estimate_optional,
        [CEL_NODE_BINDER] = estimate_binder,
    };

    if (estimators[estimate->nodes[i].kind])
        estimators[estimate->nodes[i].kind](estimate, i);
    else
        estimate_macro(estimate, i);
}

static int estimate_all(Estimate *estimate, const CelChecked *checked, Arena *scratch) {
    *estimate = (Estimate){.checked = checked, .nodes = checked->tree->nodes};
    estimate->parts = ARENA_ARRAY(scratch, CelCostPart, checked->tree->n_nodes);
    if (!estimate->parts)
        return -ENOMEM;
    for (uint32_t i = 0; i < checked->tree->n_nodes; i++)
        estimate_node(estimate, i);
    return 0;
}

int cel_cost_estimate(const CelChecked *checked, Arena *scratch, CelCostRange *ret) {
    Estimate estimate;
    int r = estimate_all(&estimate, checked, scratch);

    if (r < 0)
        return r;
    *ret = estimate.parts[checked->tree->n_nodes - 1].cost;
    return 0;
}

/* The first part over the limit has no smaller part that is: children come before their parent. */
static uint32_t find_culprit(const Estimate *estimate, uint64_t limit) {
    uint32_t root = estimate->checked->tree->n_nodes - 1;

    for (uint32_t i = 0; i < root; i++)
        if (estimate->parts[i].cost.max > limit)
            return i;
    return root;
}

static Str explain(const Estimate *estimate, uint32_t i, Arena *arena) {
    const CelNode *node = &estimate->nodes[i];
    uint32_t children[CEL_MACRO_CHILDREN_MAX];
    uint64_t most = 0;

    if (loop_costs[node->kind].result > 0) {
        cel_tree_children(estimate->checked->tree, i, children);
        return arena_printf(arena,
            "it runs up to %" PRIu64 " times, at %" PRIu64
            " each: a smaller range, or a declared size of it, makes it cheaper",
            estimate->parts[children[0]].size.max, cost_of_turn(estimate, i, children).max);
    }
    for (uint32_t k = node->n_children, child = i - 1; k-- > 0;
         child -= estimate->nodes[child].size)
        if (estimate->parts[child].size.max > most)
            most = estimate->parts[child].size.max;
    if (node->kind != CEL_NODE_CALL || most <= 1)
        return STR("split it into several expressions");
    return arena_printf(arena,
        "what it works on can have up to %" PRIu64
        " bytes or elements: a declared size of it makes it cheaper",
        most);
}

void cel_cost_refuse(
    const CelChecked *checked, CelCostRange cost, uint64_t limit, DiagList *diags) {
    const CelTree *tree = checked->tree;
    uint32_t culprit = tree->n_nodes - 1;
    Str text, hint = STR_NULL;
    Estimate estimate;

    if (estimate_all(&estimate, checked, diags->arena) >= 0) {
        culprit = find_culprit(&estimate, limit);
        hint = explain(&estimate, culprit, diags->arena);
    }
    text = arena_printf(diags->arena,
        "the expression could cost %" PRIu64 ", more than the limit of %" PRIu64, cost.max, limit);
    cel_report(diags, tree->file, tree->source, tree->nodes[culprit].from, tree->nodes[culprit].to,
        text.ptr ? text : STR("the expression could cost too much"), hint);
}
