/* Finds the kernel of a node: by its operation, for == != ?: by the lane, for calls by the
 * overload. Only the libraries' overloads have one: a host's function of that name does something
 * else. Rarely used ones have none: the scalar machine runs them. */

#include "columnar/kernel.h"

#include "cel/library.h"
#include "columnar/kernel-internal.h"

#define K(name) kernel_##name

/* A kernel for arguments of @lane; its result has this lane, too, or is a bool. */
typedef struct OpKernel {
    Kernel *kernel;
    ColumnLane lane;
} OpKernel;

static const OpKernel by_op[OP_N] = {
    [OP_ADD_INT] = {K(add_int), LANE_INT},
    [OP_SUB_INT] = {K(sub_int), LANE_INT},
    [OP_MUL_INT] = {K(mul_int), LANE_INT},
    [OP_DIV_INT] = {K(div_int), LANE_INT},
    [OP_MOD_INT] = {K(mod_int), LANE_INT},
    [OP_NEG_INT] = {K(neg_int), LANE_INT},
    [OP_ADD_DOUBLE] = {K(add_double), LANE_DOUBLE},
    [OP_SUB_DOUBLE] = {K(sub_double), LANE_DOUBLE},
    [OP_MUL_DOUBLE] = {K(mul_double), LANE_DOUBLE},
    [OP_DIV_DOUBLE] = {K(div_double), LANE_DOUBLE},
    [OP_NEG_DOUBLE] = {K(neg_double), LANE_DOUBLE},
    [OP_EQ_INT] = {K(eq_int), LANE_INT},
    [OP_NE_INT] = {K(ne_int), LANE_INT},
    [OP_LT_INT] = {K(lt_int), LANE_INT},
    [OP_LE_INT] = {K(le_int), LANE_INT},
    [OP_GT_INT] = {K(gt_int), LANE_INT},
    [OP_GE_INT] = {K(ge_int), LANE_INT},
    [OP_LT_DOUBLE] = {K(lt_double), LANE_DOUBLE},
    [OP_LE_DOUBLE] = {K(le_double), LANE_DOUBLE},
    [OP_GT_DOUBLE] = {K(gt_double), LANE_DOUBLE},
    [OP_GE_DOUBLE] = {K(ge_double), LANE_DOUBLE},
    [OP_NOT] = {K(not ), LANE_BOOL},
    [OP_AND] = {K(and), LANE_BOOL},
    [OP_OR] = {K(or), LANE_BOOL},
};

/* == and !=, of two values of one type. */
static Kernel *const equal[LANE_NONE][2] = {
    [LANE_BOOL] = {K(eq_bool), K(ne_bool)},
    [LANE_INT] = {K(eq_int), K(ne_int)},
    [LANE_DOUBLE] = {K(eq_double), K(ne_double)},
    [LANE_TIME] = {K(eq_int), K(ne_int)},
};

typedef struct CallKernel {
    const CelLibrary *library;
    const char *name, *signature;
    Kernel *kernel;
} CallKernel;

#define ORDER(sign, name)                                                                          \
    {&cel_operators_library, sign, "(int, double) -> bool", K(name##_int_double)},                 \
        {&cel_operators_library, sign, "(double, int) -> bool", K(name##_double_int)}, {           \
        &cel_operators_library, sign, "(timestamp, timestamp) -> bool", K(name##_int)              \
    }

static const CallKernel by_call[] = {
    ORDER("_<_", lt),
    ORDER("_<=_", le),
    ORDER("_>_", gt),
    ORDER("_>=_", ge),
    {&cel_conversions_library, "bool", "(bool) -> bool", K(copy)},
    {&cel_conversions_library, "int", "(int) -> int", K(copy)},
    {&cel_conversions_library, "int", "(double) -> int", K(int_of_double)},
    {&cel_conversions_library, "double", "(double) -> double", K(copy)},
    {&cel_conversions_library, "double", "(int) -> double", K(double_of_int)},
    {&cel_time_library, "timestamp", "(timestamp) -> timestamp", K(copy)},
    {&cel_time_library, "timestamp", "(int) -> timestamp", K(time_of_int)},
    {&cel_time_library, "duration", "(duration) -> duration", K(copy)},
    {&cel_time_library, "int", "(timestamp) -> int", K(int_of_time)},
    {&cel_time_library, "int", "(duration) -> int", K(copy)},
    {&cel_time_library, "_+_", "(duration, duration) -> duration", K(add_int)},
    {&cel_time_library, "_+_", "(duration, timestamp) -> timestamp", K(add_time_duration)},
    {&cel_time_library, "_+_", "(timestamp, duration) -> timestamp", K(add_time_duration)},
    {&cel_time_library, "_-_", "(duration, duration) -> duration", K(sub_int)},
    {&cel_time_library, "_-_", "(timestamp, duration) -> timestamp", K(sub_time_duration)},
    {&cel_time_library, "_-_", "(timestamp, timestamp) -> duration", K(sub_int)},
    {&cel_time_library, "getHours", "duration.() -> int", K(duration_hours)},
    {&cel_time_library, "getMinutes", "duration.() -> int", K(duration_minutes)},
    {&cel_time_library, "getSeconds", "duration.() -> int", K(duration_seconds)},
    {&cel_math_library, "math.least", "(int) -> int", K(copy)},
    {&cel_math_library, "math.least", "(double) -> double", K(copy)},
    {&cel_math_library, "math.least", "(int, int) -> int", K(least_int)},
    {&cel_math_library, "math.least", "(double, double) -> double", K(least_double)},
    {&cel_math_library, "math.greatest", "(int) -> int", K(copy)},
    {&cel_math_library, "math.greatest", "(double) -> double", K(copy)},
    {&cel_math_library, "math.greatest", "(int, int) -> int", K(greatest_int)},
    {&cel_math_library, "math.greatest", "(double, double) -> double", K(greatest_double)},
    {&cel_math_library, "math.ceil", "(double) -> double", K(ceil_double)},
    {&cel_math_library, "math.floor", "(double) -> double", K(floor_double)},
    {&cel_math_library, "math.round", "(double) -> double", K(round_double)},
    {&cel_math_library, "math.trunc", "(double) -> double", K(trunc_double)},
    {&cel_math_library, "math.isNaN", "(double) -> bool", K(is_nan)},
    {&cel_math_library, "math.abs", "(double) -> double", K(abs_double)},
    {&cel_math_library, "math.abs", "(int) -> int", K(abs_int)},
    {&cel_math_library, "math.sqrt", "(double) -> double", K(sqrt_double)},
};

/* Calls with a list; the kernel runs element by element. */
static const CallKernel by_list[] = {
    {&cel_math_library, "math.least", "(list(int)) -> int", K(least_int)},
    {&cel_math_library, "math.least", "(list(double)) -> double", K(least_double)},
    {&cel_math_library, "math.greatest", "(list(int)) -> int", K(greatest_int)},
    {&cel_math_library, "math.greatest", "(list(double)) -> double", K(greatest_double)},
};

static Kernel *find_call(const CallKernel *calls, size_t n, const CelOverloadSpec *spec) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(calls[i].name, spec->name) == 0 &&
            strcmp(calls[i].signature, spec->signature) == 0 &&
            cel_library_has(calls[i].library, spec))
            return calls[i].kernel;
    }
    return NULL;
}

Kernel *kernel_for_call(const CelOverload *overload) {
    return find_call(by_call, ELEMENTS_OF(by_call), overload->spec);
}

static const CelType *type_of(const CelGraph *graph, const CelGraphNode *node, uint32_t arg) {
    return cel_graph_node(graph, node->args[arg])->type;
}

static bool are_of_lane(const CelGraph *graph, const CelGraphNode *node, ColumnLane lane) {
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (column_lane_of(type_of(graph, node, i)) != lane)
            return false;
    }
    return true;
}

/* An int and a duration share a lane, and are never equal. */
static Kernel *find_equal(const CelGraph *graph, const CelGraphNode *node) {
    const CelType *type = type_of(graph, node, 0);
    ColumnLane lane = column_lane_of(type);

    if (lane == LANE_NONE || type->kind != type_of(graph, node, 1)->kind)
        return NULL;
    return equal[lane][node->op == OP_NE];
}

static Kernel *find_choice(const CelGraph *graph, const CelGraphNode *node) {
    CelTypeKind kind = node->type->kind;
    ColumnLane lane = column_lane_of(node->type);

    if (column_lane_of(type_of(graph, node, 0)) != LANE_BOOL || lane == LANE_TEXT ||
        lane == LANE_NONE || type_of(graph, node, 1)->kind != kind ||
        type_of(graph, node, 2)->kind != kind)
        return NULL;
    return kernel_choose;
}

/* The kernel of a call whose arguments have the types that the overload declares; else NULL. */
static Kernel *find_called(const CelGraph *graph, const CelGraphNode *node) {
    const CelOverload *overload = node->overloads[0];

    if (node->n_overloads != 1 || node->n_args != overload->n_args)
        return NULL;
    for (uint32_t i = 0; i < node->n_args; i++) {
        if (type_of(graph, node, i)->kind != overload->args[i]->kind)
            return NULL;
    }
    return kernel_for_call(overload);
}

Kernel *kernel_find(const CelGraph *graph, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    switch (node->op) {
    case OP_EQ:
    case OP_NE:
        return find_equal(graph, node);
    case OP_CONDITIONAL:
        return find_choice(graph, node);
    case OP_CALL:
        return find_called(graph, node);
    default:
        return by_op[node->op].kernel && are_of_lane(graph, node, by_op[node->op].lane)
                   ? by_op[node->op].kernel
                   : NULL;
    }
}

/* Whether @list is written out, with two elements or more that are all of @type. */
static bool is_list_of(const CelGraph *graph, const CelGraphNode *list, const CelType *type) {
    if (list->op != OP_LIST || list->n_args < 2)
        return false;
    for (uint32_t i = 0; i < list->n_args; i++) {
        if (cel_graph_node(graph, list->args[i])->op == OP_OPT_ELEMENT ||
            type_of(graph, list, i)->kind != type->kind)
            return false;
    }
    return true;
}

Kernel *kernel_find_fold(const CelGraph *graph, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    if (node->op != OP_CALL || node->n_overloads != 1 || node->n_args != 1 ||
        !is_list_of(graph, cel_graph_node(graph, node->args[0]), node->type))
        return NULL;
    return find_call(by_list, ELEMENTS_OF(by_list), node->overloads[0]->spec);
}
