/* Estimates costs in one walk: a node costs what its children cost plus its own; a loop multiplies
 * its inside by the size of its range. The numbers resemble those of cel-go's estimator, where
 * macros are folds over an accumulator. */

#include "cel/cost.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "cel/report.h"

/* The estimate of one node. */
typedef struct Part {
    CelCostRange cost;
    CelCostRange size;    /* of its value: bytes or elements; 1 if it has none */
    CelCostRange key;     /* of a map's keys */
    CelCostRange element; /* of a list's elements or a map's values */
} Part;

/* Saturating arithmetic. */

static uint64_t cost_add(uint64_t a, uint64_t b) {
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t cost_multiply(uint64_t a, uint64_t b) {
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static CelCostRange cost_exactly(uint64_t n) {
    return (CelCostRange){n, n};
}

static CelCostRange cost_sum(CelCostRange a, CelCostRange b) {
    return (CelCostRange){cost_add(a.min, b.min), cost_add(a.max, b.max)};
}

static CelCostRange cost_product(CelCostRange a, CelCostRange b) {
    return (CelCostRange){cost_multiply(a.min, b.min), cost_multiply(a.max, b.max)};
}

static CelCostRange cost_either(CelCostRange a, CelCostRange b) {
    return (CelCostRange){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

static Part cost_part_either(Part a, Part b) {
    return (Part){
        .cost = cost_either(a.cost, b.cost),
        .size = cost_either(a.size, b.size),
        .key = cost_either(a.key, b.key),
        .element = cost_either(a.element, b.element),
    };
}

/* @a / @by, rounded up. */
static CelCostRange cost_divided(CelCostRange a, uint64_t by) {
    return (CelCostRange){a.min / by + (a.min % by != 0), a.max / by + (a.max % by != 0)};
}

/* An optional is as large as its value. */
static CelCostRange size_of_type(const CelType *type) {
    bool is_small;

    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    is_small = (type->kind >= CEL_T_NULL && type->kind <= CEL_T_DOUBLE) ||
               (type->kind >= CEL_T_DURATION && type->kind <= CEL_T_TYPE) ||
               type->kind == CEL_T_OPAQUE;
    return is_small ? cost_exactly(1) : (CelCostRange){0, CEL_COST_SIZE_UNKNOWN};
}

/* A part of which only the type is known; it costs nothing yet. */
static Part cost_of_type(const CelType *type) {
    Part part = {.size = size_of_type(type)};

    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    part.key = type->kind == CEL_T_MAP ? size_of_type(cel_type_param(type, 0)) : cost_exactly(1);
    part.element = type->kind == CEL_T_LIST || type->kind == CEL_T_MAP
                       ? size_of_type(cel_type_param(type, type->kind == CEL_T_MAP))
                       : size_of_type(&cel_dyn_type);
    return part;
}

static Part cost_inside(CelCostRange size, const CelType *inner) {
    Part part = cost_of_type(inner);

    part.size = size;
    return part;
}

static bool is_text(const CelType *type) {
    assert(type);
    return type->kind == CEL_T_STRING || type->kind == CEL_T_BYTES;
}

/* The cost of reading a whole value: 0.1 per byte, 1 per element. */
static CelCostRange look_at(const CelType *type, CelCostRange size) {
    return is_text(type) ? cost_divided(size, 10) : size;
}

/* 1 per element, plus 0.1 per byte of its text. */
static CelCostRange look_at_elements(const CelType *type, Part part) {
    bool has_text;

    if (is_text(type))
        return cost_divided(part.size, 10);
    has_text = type->kind == CEL_T_LIST && is_text(cel_type_param(type, 0));
    return cost_product(part.size,
        has_text ? cost_sum(cost_exactly(1), cost_divided(part.element, 10)) : cost_exactly(1));
}

/* All bytes of a text, or of a list of texts. */
static CelCostRange bytes_of(const CelType *type, Part part) {
    bool has_text = !is_text(type) && type->kind == CEL_T_LIST && is_text(cel_type_param(type, 0));

    return has_text ? cost_product(part.size, part.element) : part.size;
}

/* Comparing two values reads at most the length of the shorter. */
static CelCostRange compare_both(CelCostRange a, CelCostRange b) {
    uint64_t most = a.max < b.max ? a.max : b.max;

    return cost_divided((CelCostRange){most > 0, most}, 10);
}

/* The cost of calling @overload, without that of its arguments, which are @args of @types. The
 * libraries' tables define how it grows. */
static CelCostRange cost_of_call(
    const CelOverload *overload, const CelType *const *types, const Part *args) {
    uint8_t n = overload->n_args, cost = overload->spec->cost;

    if (n == 0 || (n == 1 && (cost == CEL_COST_BOTH || cost == CEL_COST_REGEX)))
        return cost_exactly(1);
    /* x in list: all of the list, which is the second argument. */
    if (str_is(overload->name, "@in") && overload->args[1]->kind == CEL_T_LIST)
        return args[1].size;
    switch ((CelCost)cost) {
    case CEL_COST_BYTES:
        return cost_divided(bytes_of(types[0], args[0]), 10);
    case CEL_COST_BOTH:
        return overload->result->kind == CEL_T_BOOL
                   ? compare_both(args[0].size, args[1].size)
                   : cost_divided(cost_sum(args[0].size, args[1].size), 10);
    case CEL_COST_PRODUCT:
        if (n < 2)
            return args[0].size;
        return cost_product(look_at(types[0], args[0].size), look_at(types[1], args[1].size));
    case CEL_COST_REGEX:
        return cost_product(cost_divided(cost_sum(args[0].size, cost_exactly(1)), 10),
            cost_divided(args[1].size, 4));
    case CEL_COST_ELEMENTS:
        return look_at_elements(types[0], args[0]);
    case CEL_COST_SQUARE:
        return cost_product(args[0].size, args[0].size);
    case CEL_COST_CALL:
    default:
        return cost_exactly(1);
    }
}

/* join, replace: each piece of the first argument can grow by the size of all the others. */
static Part part_product(const Part *args, size_t n, const CelType *result) {
    uint64_t most = args[0].element.max;
    Part part = cost_of_type(result);

    for (size_t i = 1; i < n; i++)
        most = cost_add(most, args[i].size.max);
    part.size = (CelCostRange){0, cost_multiply(args[0].size.max, most > 0 ? most : 1)};
    return part;
}

/* The size of its result, which has type @result. */
static Part cost_of_result(const CelOverload *overload, const CelType *result, const Part *args) {
    Part part = cost_of_type(result);
    uint8_t n = overload->n_args;

    if (n == 2 && (str_is(overload->name, "_[_]") || str_is(overload->name, "_[?_]")))
        return cost_inside(args[0].element, result);
    if (n == 0 || part.size.min == part.size.max)
        return part;
    switch ((CelResultSize)overload->spec->result_size) {
    case CEL_SIZE_FIRST:
        part = args[0];
        part.size.min = 0;
        return part;
    case CEL_SIZE_SUM:
        part = args[0];
        if (n > 1) {
            part.size = cost_sum(args[0].size, args[1].size);
            part.element = cost_either(args[0].element, args[1].element);
        }
        return part;
    case CEL_SIZE_PRODUCT:
        return part_product(args, n, result);
    case CEL_SIZE_TWICE:
        part.size = cost_sum(cost_product(args[0].size, (CelCostRange){1, 2}), cost_exactly(2));
        return part;
    case CEL_SIZE_TYPE:
    default:
        return part;
    }
}

typedef struct Estimate {
    const CelChecked *checked;
    const CelNode *nodes;
    Part *parts; /* one per node */
} Estimate;

#define NAME_COST 1
#define LIST_COST 10
#define MAP_COST 30

static Part part_declared(const CelType *type, uint32_t max_size) {
    Part part = cost_of_type(type);

    if (max_size > 0 && part.size.min != part.size.max)
        part.size.max = max_size;
    return part;
}

static const CelType *type_at(const Estimate *estimate, uint32_t i) {
    return estimate->checked->infos[i].type;
}

/* Several overloads may be possible: from the cheapest to the most expensive one. */
static void estimate_call(Estimate *estimate, uint32_t i) {
    const CelNodeInfo *info = &estimate->checked->infos[i];
    const CelType *types[CEL_ARGS_MAX] = {NULL};
    Part args[CEL_ARGS_MAX] = {0}, *part = &estimate->parts[i];
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
    *part = cost_of_type(info->type);
    for (size_t k = 0; k < info->n_overloads; k++) {
        const CelOverload *overload = info->overloads[k];
        Part called = cost_of_result(overload, info->type, args);

        own = cost_either(own, cost_of_call(overload, types, args));
        *part = k == 0 ? called : cost_part_either(*part, called);
    }
    part->cost = cost_sum(arguments, info->n_overloads > 0 ? own : cost_exactly(1));
}

/* The cost of a fold's own steps: once, and per element. */
typedef struct LoopCost {
    uint64_t init;     /* an empty list or map to start with */
    uint64_t each_min; /* of one iteration */
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

/* The cost of one iteration of loop @i; @children as cel_tree_children() gives them. */
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
    const Part *range = &estimate->parts[children[0]];
    const Part *body = &estimate->parts[children[macro->n_children - 1]];
    Part *part = &estimate->parts[i];
    bool is_kept_whole = macro->kind != CEL_NODE_FILTER && !macro->has_predicate;

    *part = cost_of_type(type_at(estimate, i));
    if (part->size.min != part->size.max) {
        part->size = (CelCostRange){is_kept_whole ? range->size.min : 0, range->size.max};
        part->element = macro->kind == CEL_NODE_FILTER ? estimate->parts[children[1]].size
                        : macro->kind == CEL_NODE_TRANSFORM_ENTRY ? body->element
                                                                  : body->size;
    }
    /* transformMapEntry can make several entries from one element. */
    if (macro->kind == CEL_NODE_TRANSFORM_ENTRY)
        part->size = (CelCostRange){0, cost_multiply(range->size.max, body->size.max)};
    part->cost = cost_sum(cost_sum(range->cost, cost_exactly(loop->init + loop->result)),
        cost_product(range->size, cost_of_turn(estimate, i, children)));
}

static void estimate_macro(Estimate *estimate, uint32_t i) {
    uint32_t children[CEL_MACRO_CHILDREN_MAX];
    const CelNode *macro = &estimate->nodes[i];
    Part range, body, *part = &estimate->parts[i];

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

/* A macro's variable has the size of one element of the range, and costs nothing by itself. */
static void estimate_binder(Estimate *estimate, uint32_t i) {
    const CelNode *macro = &estimate->nodes[estimate->checked->infos[i].binder];
    uint32_t number = cel_tree_binder_number(estimate->checked->tree, i);
    uint32_t range = i - 1 - number;
    const Part *from = &estimate->parts[range];
    const CelType *type = type_at(estimate, i), *from_type = type_at(estimate, range);
    Part *part = &estimate->parts[i];

    if (macro->kind == CEL_NODE_BIND || macro->kind == CEL_NODE_OPT_MAP ||
        macro->kind == CEL_NODE_OPT_FLAT_MAP)
        *part = *from;
    else if (from_type->kind == CEL_T_LIST && number + 1 == macro->n_binders)
        *part = cost_inside(from->element, type);
    else if (from_type->kind == CEL_T_MAP)
        *part = cost_inside(number == 0 ? from->key : from->element, type);
    else
        *part = cost_of_type(type);
    part->cost = cost_exactly(0);
}

static void estimate_name(Estimate *estimate, uint32_t i) {
    const CelNodeInfo *info = &estimate->checked->infos[i];
    Part *part = &estimate->parts[i];

    if (info->ref == CEL_REF_SKIP) {
        *part = (Part){0};
        return;
    }
    *part = info->ref == CEL_REF_LOCAL      ? estimate->parts[info->binder]
            : info->ref == CEL_REF_VARIABLE ? part_declared(info->type, info->variable->max_size)
                                            : cost_of_type(info->type);
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
    Part operand, *part = &estimate->parts[i];
    uint32_t field;

    if (estimate->checked->infos[i].ref != CEL_REF_NONE) {
        estimate_name(estimate, i);
        return;
    }
    operand = estimate->parts[i - 1];
    record = record_at(estimate, i - 1);
    field = record ? cel_record_find(record, node->name) : UINT32_MAX;
    *part = cost_of_type(type_at(estimate, i));
    if (node->kind != CEL_NODE_TEST && field != UINT32_MAX)
        *part = part_declared(type_at(estimate, i), record->fields[field].max_size);
    else if (node->kind != CEL_NODE_TEST && type_at(estimate, i - 1)->kind == CEL_T_MAP)
        *part = cost_inside(operand.element, type_at(estimate, i));
    part->cost = cost_sum(operand.cost, cost_exactly(NAME_COST));
}

/* Lists and maps: the elements that were written, each as large as the largest. */
static void estimate_literal(Estimate *estimate, uint32_t i) {
    const CelNode *node = &estimate->nodes[i];
    bool is_map = node->kind == CEL_NODE_MAP;
    uint32_t n = node->n_children, child = i - 1;
    CelCostRange inside[2] = {{UINT64_MAX, 0}, {UINT64_MAX, 0}},
                 cost = cost_exactly(is_map ? MAP_COST : LIST_COST);
    Part *part = &estimate->parts[i];

    for (uint32_t k = n; k-- > 0; child -= estimate->nodes[child].size) {
        CelCostRange *which = &inside[is_map && k % 2 == 0];

        *which = cost_either(*which, estimate->parts[child].size);
        cost = cost_sum(cost, estimate->parts[child].cost);
    }
    *part = (Part){.cost = cost,
        .size = cost_exactly(is_map ? n / 2 : n),
        .key = n > 0 && is_map ? inside[1] : cost_exactly(0),
        .element = n > 0 ? inside[0] : cost_exactly(0)};
}

static void estimate_choice(Estimate *estimate, uint32_t i) {
    uint32_t right = i - 1, left = right - estimate->nodes[right].size;
    Part *part = &estimate->parts[i], a = estimate->parts[left], b = estimate->parts[right];

    if (estimate->nodes[i].kind == CEL_NODE_CONDITIONAL) {
        CelCostRange condition = estimate->parts[left - estimate->nodes[left].size].cost;

        *part = cost_part_either(a, b);
        part->cost = cost_sum(condition, part->cost);
        return;
    }
    *part = cost_of_type(&cel_bool_type);
    part->cost = (CelCostRange){a.cost.min, cost_add(a.cost.max, b.cost.max)};
}

static void estimate_constant(Estimate *estimate, uint32_t i) {
    CelValue value = estimate->nodes[i].literal;
    bool is_text = value.kind == CEL_STRING || value.kind == CEL_BYTES;

    estimate->parts[i] =
        (Part){.size = cost_exactly(is_text ? value.len : 1), .element = cost_exactly(1)};
}

static void estimate_optional(Estimate *estimate, uint32_t i) {
    estimate->parts[i] = estimate->parts[i - 1];
}

static void estimate_node(Estimate *estimate, uint32_t i) {
    static void (*const estimators[CEL_N_NODES])(Estimate * estimate, uint32_t i) = {
        [CEL_NODE_LITERAL] = estimate_constant,
        [CEL_NODE_IDENT] = estimate_name,
        [CEL_NODE_SELECT... CEL_NODE_TEST] = estimate_select,
        [CEL_NODE_CALL] = estimate_call,
        [CEL_NODE_AND... CEL_NODE_CONDITIONAL] = estimate_choice,
        [CEL_NODE_LIST... CEL_NODE_MAP] = estimate_literal,
        [CEL_NODE_OPTIONAL] = estimate_optional,
        [CEL_NODE_BINDER] = estimate_binder,
    };

    if (estimators[estimate->nodes[i].kind])
        estimators[estimate->nodes[i].kind](estimate, i);
    else
        estimate_macro(estimate, i);
}

/* @parts is NULL when out of memory. */
static Estimate estimate_all(const CelChecked *checked, Arena *scratch) {
    Estimate estimate = {
        .checked = checked,
        .nodes = checked->tree->nodes,
        .parts = ARENA_ARRAY(scratch, Part, checked->tree->n_nodes),
    };

    for (uint32_t i = 0; estimate.parts && i < checked->tree->n_nodes; i++)
        estimate_node(&estimate, i);
    return estimate;
}

int cel_cost_estimate(const CelChecked *checked, Arena *scratch, CelCostRange *ret) {
    Estimate estimate = estimate_all(checked, scratch);

    if (estimate.parts)
        *ret = estimate.parts[checked->tree->n_nodes - 1].cost;
    return estimate.parts ? 0 : -ENOMEM;
}

/* The first part over the limit. No part inside it is over: children come before their parent. */
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
        "its input can have up to %" PRIu64
        " bytes or elements: a declared size of it makes it cheaper",
        most);
}

void cel_cost_refuse(
    const CelChecked *checked, CelCostRange cost, uint64_t limit, DiagList *diags) {
    const CelTree *tree = checked->tree;
    uint32_t culprit = tree->n_nodes - 1;
    Str text, hint = STR_NULL;
    Estimate estimate = estimate_all(checked, diags->arena);

    if (estimate.parts) {
        culprit = find_culprit(&estimate, limit);
        hint = explain(&estimate, culprit, diags->arena);
    }
    text = arena_printf(diags->arena,
        "the expression could cost %" PRIu64 ", more than the limit of %" PRIu64, cost.max, limit);
    cel_report(diags, tree->file, tree->source, tree->nodes[culprit].from, tree->nodes[culprit].to,
        text.ptr ? text : STR("the expression could cost too much"), hint);
}
