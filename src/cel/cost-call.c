/* Sizes and calls: the largest size of a value of a type, the cost of a call with arguments of some
 * size, and the size of its result. The libraries' tables define how they grow. */

#include "cel/cost-internal.h"

/* An optional is as large as its value. */
static CelCostRange size_of_type(const CelType *type) {
    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    switch (type->kind) {
    case CEL_T_NULL:
    case CEL_T_BOOL:
    case CEL_T_INT:
    case CEL_T_UINT:
    case CEL_T_DOUBLE:
    case CEL_T_DURATION:
    case CEL_T_TIMESTAMP:
    case CEL_T_TYPE:
    case CEL_T_OPAQUE:
        return cost_exactly(1);
    default:
        return (CelCostRange){0, CEL_COST_SIZE_UNKNOWN};
    }
}

CelCostPart cel_cost_of_type(const CelType *type) {
    CelCostPart part = {.size = size_of_type(type)};

    while (type->kind == CEL_T_OPTIONAL)
        type = cel_type_param(type, 0);
    part.key = type->kind == CEL_T_MAP ? size_of_type(cel_type_param(type, 0)) : cost_exactly(1);
    part.element = type->kind == CEL_T_LIST || type->kind == CEL_T_MAP
                       ? size_of_type(cel_type_param(type, type->kind == CEL_T_MAP))
                       : size_of_type(&cel_dyn_type);
    return part;
}

CelCostPart cel_cost_inside(CelCostRange size, const CelType *inner) {
    CelCostPart part = cel_cost_of_type(inner);

    part.size = size;
    return part;
}

static bool is_text(const CelType *type) {
    return type->kind == CEL_T_STRING || type->kind == CEL_T_BYTES;
}

/* Looking at all of a value: 0.1 a byte, 1 an element. */
static CelCostRange look_at(const CelType *type, CelCostRange size) {
    return is_text(type) ? cost_divided(size, 10) : size;
}

/* 1 for an element, and what its text takes. */
static CelCostRange look_at_elements(const CelType *type, CelCostPart part) {
    bool has_text = type->kind == CEL_T_LIST && is_text(cel_type_param(type, 0));

    if (is_text(type))
        return cost_divided(part.size, 10);
    return cost_product(part.size,
        has_text ? cost_sum(cost_exactly(1), cost_divided(part.element, 10)) : cost_exactly(1));
}

/* All bytes of a text, or of a list of texts. */
static CelCostRange bytes_of(const CelType *type, CelCostPart part) {
    bool has_text = type->kind == CEL_T_LIST && is_text(cel_type_param(type, 0));

    return has_text ? cost_product(part.size, part.element) : part.size;
}

/* Comparing two values reads at most the length of the shorter. */
static CelCostRange compare_both(CelCostRange a, CelCostRange b) {
    uint64_t most = a.max < b.max ? a.max : b.max;

    return cost_divided((CelCostRange){most > 0, most}, 10);
}

CelCostRange cel_cost_of_call(
    const CelOverload *overload, const CelType *const *types, const CelCostPart *args) {
    uint8_t n = overload->n_args;

    /* x in list: all of the list, which is the second argument. */
    if (str_is(overload->name, "@in") && overload->args[1]->kind == CEL_T_LIST)
        return args[1].size;
    switch ((CelCost)overload->spec->cost) {
    case CEL_COST_BYTES:
        return n > 0 ? cost_divided(bytes_of(types[0], args[0]), 10) : cost_exactly(1);
    case CEL_COST_BOTH:
        if (n < 2)
            return cost_exactly(1);
        return overload->result->kind == CEL_T_BOOL
                   ? compare_both(args[0].size, args[1].size)
                   : cost_divided(cost_sum(args[0].size, args[1].size), 10);
    case CEL_COST_PRODUCT:
        if (n < 2)
            return n > 0 ? args[0].size : cost_exactly(1);
        return cost_product(look_at(types[0], args[0].size), look_at(types[1], args[1].size));
    case CEL_COST_REGEX:
        if (n < 2)
            return cost_exactly(1);
        return cost_product(cost_divided(cost_sum(args[0].size, cost_exactly(1)), 10),
            cost_divided(args[1].size, 4));
    case CEL_COST_ELEMENTS:
        return n > 0 ? look_at_elements(types[0], args[0]) : cost_exactly(1);
    case CEL_COST_SQUARE:
        return n > 0 ? cost_product(args[0].size, args[0].size) : cost_exactly(1);
    case CEL_COST_CALL:
    default:
        return cost_exactly(1);
    }
}

/* join, replace: every piece of the first can become as large as the others are. */
static CelCostPart part_product(const CelCostPart *args, size_t n, const CelType *result) {
    uint64_t most = args[0].element.max;
    CelCostPart part = cel_cost_of_type(result);

    for (size_t i = 1; i < n; i++)
        most = cost_add(most, args[i].size.max);
    part.size = (CelCostRange){0, cost_multiply(args[0].size.max, most > 0 ? most : 1)};
    return part;
}

CelCostPart cel_cost_of_result(
    const CelOverload *overload, const CelType *result, const CelCostPart *args) {
    CelCostPart part = cel_cost_of_type(result);
    uint8_t n = overload->n_args;

    if (n == 2 && (str_is(overload->name, "_[_]") || str_is(overload->name, "_[?_]")))
        return cel_cost_inside(args[0].element, result);
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
