/* Calls: an overload that has an instruction of its own becomes it where the kinds of the arguments
 * are certain; otherwise it is called, and looks first. */

#include "cel/elements.h"
#include "cel/lower-internal.h"
#include "cel/value.h"

/* Whether @overload takes the arguments: 1 surely, 0 surely not, -1 depends on the run. */
static int overload_fits(const CelLower *l, const CelPart *part, const CelOverload *overload) {
    int r = 1;

    if (overload->n_args != part->n_args)
        return 0;
    for (uint32_t i = 0; i < part->n_args; i++) {
        uint8_t want = cel_param_kind(overload, i), have = cel_lower_kind(l, part->args[i]);

        if (want == CEL_ABSENT || want == have)
            continue;
        if (have != CEL_ABSENT)
            return 0;
        r = -1;
    }
    return r;
}

/* Equality of two values of one simple kind. Bytes compare as strings do. */
static uint16_t narrow(const CelLower *l, const CelPart *part, uint16_t op) {
    uint8_t kind;

    if (op != OP_EQ && op != OP_NE)
        return op;
    kind = cel_lower_kind(l, part->args[0]);
    if (kind != cel_lower_kind(l, part->args[1]))
        return op;
    if (kind == CEL_INT || kind == CEL_UINT)
        return op == OP_EQ ? OP_EQ_INT : OP_NE_INT;
    if (kind == CEL_STRING || kind == CEL_BYTES)
        return op == OP_EQ ? OP_EQ_STRING : OP_NE_STRING;
    return op;
}

/* m['k'] is m.k. */
static uint32_t lower_constant_key(CelLower *l, const CelPart *part, uint16_t op) {
    CelGraphNode node = cel_lower_blank(l, part, op);

    node.constant = cel_lower_node(l, part->args[1])->constant;
    node.n_args = 1;
    return cel_lower_add(l, part, &node);
}

/* x in ['a', 'b']. The elements move to where the code will find them. */
static uint32_t lower_in_set(CelLower *l, const CelPart *part, const CelList *list) {
    CelGraphNode node = cel_lower_blank(l, part, OP_IN_SET),
                 plain = cel_lower_blank(l, part, OP_IN_LIST);
    Arena *keep = l->graph->keep;
    const CelSet *set = NULL;
    uint32_t number;
    CelValue copy;

    node.n_args = 1;
    node.constant = cel_list(list);
    number = cel_graph_add(l->graph, &node);
    if (number == CEL_NO_NODE || cel_lower_node(l, number)->prepared)
        return number;
    if (cel_value_copy(cel_list(list), keep, &copy))
        set = cel_set_new(copy.list, keep);
    if (!set)
        return cel_graph_add(l->graph, &plain);
    l->graph->nodes.items[number].prepared = set;
    return number;
}

static bool has_string_key(const CelLower *l, const CelPart *part) {
    return cel_lower_kind(l, part->args[0]) == CEL_MAP && cel_lower_is_constant(l, part->args[1]) &&
           cel_lower_kind(l, part->args[1]) == CEL_STRING;
}

static const CelList *constant_set(const CelLower *l, uint32_t number) {
    const CelGraphNode *node = cel_lower_node(l, number);

    return node->op == OP_CONSTANT && node->constant.kind == CEL_LIST &&
                   cel_set_fits(node->constant.list)
               ? node->constant.list
               : NULL;
}

static uint32_t lower_operator(CelLower *l, const CelPart *part, uint16_t op) {
    CelGraphNode node = cel_lower_blank(l, part, narrow(l, part, op));
    const CelList *set;

    if (op == OP_INDEX_MAP && has_string_key(l, part))
        return lower_constant_key(l, part, OP_SELECT);
    if (op == OP_OPT_INDEX && has_string_key(l, part))
        return lower_constant_key(l, part, OP_OPT_SELECT);
    set = op == OP_IN_LIST && l->is_folding ? constant_set(l, part->args[1]) : NULL;
    if (set && !cel_lower_is_constant(l, part->args[0]))
        return lower_in_set(l, part, set);
    return cel_lower_add(l, part, &node);
}

/* Works on a constant argument in advance: a pattern is compiled once. False: out of memory. */
static bool prepare(CelLower *l, const CelPart *part, uint32_t number) {
    const CelGraphNode *node = cel_lower_node(l, number);
    const CelOverloadSpec *spec = node->overloads[0]->spec;
    Arena *keep = l->graph->keep;
    uint8_t number_of_arg = spec->prepare_arg;
    const CelGraphNode *arg;
    Str error = STR_NULL;
    const void *prepared;

    if (node->n_overloads != 1 || !spec->prepare || node->prepared || number_of_arg >= node->n_args)
        return true;
    arg = cel_lower_node(l, node->args[number_of_arg]);
    if (arg->op != OP_CONSTANT ||
        arg->constant.kind != node->overloads[0]->args[number_of_arg]->value_kind)
        return true;
    prepared = spec->prepare(arg->constant, keep, &error);
    if (!prepared && arena_has_failed(keep))
        return false;
    if (!prepared && error.len > 0 && !l->options->lazy_literals)
        cel_lower_failing(l, part, number_of_arg, number, error, STR_NULL);
    l->graph->nodes.items[number].prepared = prepared;
    return true;
}

static uint32_t add_call(CelLower *l, const CelPart *part, uint16_t op,
    const CelOverload *const *overloads, size_t n_overloads) {
    CelGraphNode node = cel_lower_blank(l, part, op);
    size_t n_errors = l->diags->n_errors, n_failing = l->graph->failing.n;
    uint32_t number;

    node.overloads = overloads;
    node.n_overloads = n_overloads;
    number = cel_graph_add(l->graph, &node);
    if (number == CEL_NO_NODE || !prepare(l, part, number))
        return CEL_NO_NODE;
    if (l->diags->n_errors > n_errors || l->graph->failing.n > n_failing)
        return number; /* once is enough */
    return cel_lower_fold(l, part, number);
}

/* x.or(y) and x.orValue(y): y is evaluated only when x holds nothing, as in cel-go. */
static bool is_alternative(const CelPart *part) {
    const CelNodeInfo *info = part->info;

    return part->n_args == 2 && info->n_overloads == 1 &&
           info->overloads[0]->args[0]->value_kind == CEL_OPTIONAL &&
           (str_is(info->overloads[0]->name, "or") || str_is(info->overloads[0]->name, "orValue"));
}

static uint32_t lower_alternative(CelLower *l, const CelPart *part) {
    CelGraphNode node = cel_lower_blank(l, part, OP_CONDITIONAL);
    bool is_value = str_is(part->info->overloads[0]->name, "orValue");
    uint32_t args[3] = {CEL_NO_NODE, part->args[0], part->args[1]};

    args[0] = cel_lower_unary(l, part, OP_OPT_HAS, part->args[0], &cel_bool_type);
    if (is_value)
        args[1] = cel_lower_unary(l, part, OP_OPT_GET, part->args[0], node.type);
    node.args = args;
    node.n_args = 3;
    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return cel_lower_choice(l, &node);
}

/* Candidates that the kinds known here rule out are passed over. What is left: one that
 * surely fits, one that may, or several; when none is left, all, to fail at their turn. */
uint32_t cel_lower_call(CelLower *l, const CelPart *part) {
    const CelNodeInfo *info = part->info;
    const CelOverload **left = ARENA_RAW(l->graph->arena, const CelOverload *, info->n_overloads);
    size_t n_left = 0;
    int fits = 0;

    if (!left)
        return CEL_NO_NODE;
    if (info->n_overloads == 0)
        return cel_lower_fail(l, part,
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
