/* Compares requests with the amounts of a row. */

#include "cluster/pod-fit.h"

static void add(PodFit *fit, Str name, size_t column, int64_t amount) {
    fit->requests[fit->n].name = name;
    fit->requests[fit->n].column = column;
    fit->requests[fit->n++].amount = amount;
}

void pod_fit_init(PodFit *fit, const NodeTable *table, const Pod *pod) {
    size_t slots = table_find_resource(table, STR("pods"));

    fit->n = 0;
    for (size_t i = 0; i < pod->requests.n && i < RESOURCES_MAX; i++) {
        const Resource *item = &pod->requests.items[i];

        if (item->amount > 0 && !str_is(item->name, "pods"))
            add(fit, item->name, table_find_resource(table, item->name), item->amount);
    }
    if (slots != SIZE_MAX)
        add(fit, STR("pods"), slots, 1);
}

size_t pod_fit_lacking(const PodFit *fit, const NodeTable *table, uint32_t row, AmountKind kind) {
    if (table_amount(table, row, TABLE_CPU, AMOUNT_ALLOCATABLE) == 0 &&
        table_amount(table, row, TABLE_MEMORY, AMOUNT_ALLOCATABLE) == 0)
        return SIZE_MAX;
    for (size_t i = 0; i < fit->n; i++) {
        size_t column = fit->requests[i].column;

        if (column == SIZE_MAX || fit->requests[i].amount > table_amount(table, row, column, kind))
            return i;
    }
    return SIZE_MAX;
}
