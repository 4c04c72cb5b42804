/* Pod sizes of `berth simulate`: parsing, printing, typical ones. */

#include "commands/simulate-report.h"

#include <errno.h>

#define WANTED "--shape takes amounts like cpu=2,memory=8Gi"

const char *shape_parse(const char *text, Arena *arena, Resources *ret) {
    Str rest = str_from_c(text), part;

    *ret = (Resources){.items = ARENA_ARRAY(arena, Resource, RESOURCES_MAX)};
    while (ret->items && str_split(&rest, ',', &part)) {
        size_t equals = str_find(part, '=');
        Resource *resource;

        if (equals == SIZE_MAX || equals == 0 || ret->n == RESOURCES_MAX)
            return WANTED;
        resource = &ret->items[ret->n++];
        resource->name = str_take(part, equals);
        if (!resource_amount_parse(resource->name, str_skip(part, equals + 1), &resource->amount) ||
            resource->amount <= 0)
            return WANTED ", more than 0";
    }
    return ret->n > 0 ? NULL : WANTED;
}

void shape_print(const Resources *shape, Buf *out) {
    for (size_t i = 0; i < shape->n; i++) {
        buf_printf(out, "%s%.*s=", i > 0 ? "," : "", STR_FMT(shape->items[i].name));
        resource_amount_print(shape->items[i].name, shape->items[i].amount, out);
    }
}

/* The request that this fraction of all pods does not exceed. */
static int find_quantile(
    const SimulationInput *input, double quantile, Arena *arena, Resources *ret) {
    static const Str names[] = {STR("cpu"), STR("memory")};

    *ret = (Resources){.items = ARENA_ARRAY(arena, Resource, ELEMENTS_OF(names))};
    if (!ret->items)
        return -ENOMEM;
    for (size_t i = 0; i < ELEMENTS_OF(names); i++) {
        int64_t amount = simulation_input_quantile(input, names[i], quantile, arena);

        if (amount > 0)
            ret->items[ret->n++] = (Resource){.name = names[i], .amount = amount};
    }
    return 0;
}

/* Half of the pods, nine of ten, all of them are no larger. */
int shapes_find_typical(const SimulationInput *input, Arena *arena, Resources *ret, size_t *ret_n) {
    static const double quantiles[SHAPES_TYPICAL_MAX] = {0.5, 0.9, 1};

    *ret_n = 0;
    for (size_t i = 0; i < ELEMENTS_OF(quantiles); i++) {
        Resources *shape = &ret[*ret_n];
        int r = find_quantile(input, quantiles[i], arena, shape);

        if (r < 0)
            return r;
        if (shape->n > 0 && (*ret_n == 0 || !resources_equal(shape, shape - 1)))
            ++*ret_n;
    }
    return 0;
}
