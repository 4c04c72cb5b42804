#include "load/join-total.h"

#include <errno.h>

#include "base/error.h"
#include "model/workload.h"

#define KEY_MAX 512u /* an API server lets names be 253 bytes long, kinds and namespaces 63 */

void total_add(Total *total, double value, int64_t lag_nsec) {
    total->sum += value;
    if (total->n == 0 || value > total->max)
        total->max = value;
    if (lag_nsec > total->lag_nsec)
        total->lag_nsec = lag_nsec;
    total->n++;
}

double total_value(const Total *total, GaugeAggregate aggregate) {
    switch (aggregate) {
    case GAUGE_SUM:
        return total->sum;
    case GAUGE_MAX:
        return total->max;
    case GAUGE_AVG:
        return total->sum / total->n;
    }
    return total->sum;
}

/* --- workloads ------------------------------------------------------------- */

WorkloadTotals workload_totals_in(Arena *arena) {
    return (WorkloadTotals){.map = MAP_INIT_IN(arena), .arena = arena};
}

/* A new one, which has its text from now on. NULL: out of memory. */
static WorkloadTotal *add_key(WorkloadTotals *totals, Str key) {
    WorkloadTotal *item = VEC_PUSH(&totals->items, totals->arena);

    if (!item)
        return NULL;
    item->key = arena_copy(totals->arena, key);
    if (!item->key.ptr || map_add(&totals->map, item->key, (uint32_t)totals->items.n - 1) < 0)
        return NULL;
    return item;
}

int workload_totals_add(WorkloadTotals *totals, const Pod *pod, double value, int64_t lag_nsec) {
    char text[KEY_MAX];
    WorkloadTotal *item;
    WorkloadName workload;
    uint32_t place;
    size_t len;

    if (!workload_find(pod, &workload))
        return 0;
    len = workload_print(&workload, text, sizeof(text));
    if (len > sizeof(text))
        return 0;
    place = map_find(&totals->map, str_of(text, len));
    item = place == MAP_NONE ? add_key(totals, str_of(text, len)) : &totals->items.items[place];
    if (!item)
        return error_origin(-ENOMEM);
    total_add(&item->total, value, lag_nsec);
    return 0;
}

int workload_totals_store(
    const WorkloadTotals *totals, GaugeAggregate aggregate, Sampling *sampling) {
    int r = sampling_reserve_workloads(sampling, totals->items.n);

    for (size_t i = 0; i < totals->items.n && r == 0; i++) {
        const WorkloadTotal *item = &totals->items.items[i];

        r = sampling_set_workload(sampling, item->key, total_value(&item->total, aggregate));
    }
    return error_trace(r);
}
