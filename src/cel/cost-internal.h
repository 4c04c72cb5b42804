#pragma once

/* Shared by the files of the cost estimate: the cost and size of one node. */

#include "cel/cost.h"

/* The estimate of one node. */
typedef struct CelCostPart {
    CelCostRange cost;
    CelCostRange size;    /* of its value: bytes or elements; 1 if it has none */
    CelCostRange key;     /* of a map's keys */
    CelCostRange element; /* of a list's elements or a map's values */
} CelCostPart;

/* --- saturating arithmetic --- */

static inline uint64_t cost_add(uint64_t a, uint64_t b) {
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t cost_multiply(uint64_t a, uint64_t b) {
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline CelCostRange cost_exactly(uint64_t n) {
    return (CelCostRange){n, n};
}

static inline CelCostRange cost_sum(CelCostRange a, CelCostRange b) {
    return (CelCostRange){cost_add(a.min, b.min), cost_add(a.max, b.max)};
}

static inline CelCostRange cost_product(CelCostRange a, CelCostRange b) {
    return (CelCostRange){cost_multiply(a.min, b.min), cost_multiply(a.max, b.max)};
}

static inline CelCostRange cost_either(CelCostRange a, CelCostRange b) {
    return (CelCostRange){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

static inline CelCostPart cost_part_either(CelCostPart a, CelCostPart b) {
    return (CelCostPart){
        .cost = cost_either(a.cost, b.cost),
        .size = cost_either(a.size, b.size),
        .key = cost_either(a.key, b.key),
        .element = cost_either(a.element, b.element),
    };
}

/* A part of @a, rounded up. */
static inline CelCostRange cost_divided(CelCostRange a, uint64_t by) {
    return (CelCostRange){a.min / by + (a.min % by != 0), a.max / by + (a.max % by != 0)};
}

/* --- cost-call.c --- */

/* A part of which only the type is known; it costs nothing yet. */
CelCostPart cel_cost_of_type(const CelType *type);

/* A part with @size and @type. */
CelCostPart cel_cost_inside(CelCostRange size, const CelType *type);

/* The cost of calling @overload, without that of its arguments, which are @args of @types. */
CelCostRange cel_cost_of_call(
    const CelOverload *overload, const CelType *const *types, const CelCostPart *args);

/* How large its result, of type @result, can be. */
CelCostPart cel_cost_of_result(
    const CelOverload *overload, const CelType *result, const CelCostPart *args);
