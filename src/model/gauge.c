/* Definitions of metrics: comparing and copying them. */

#include "model/gauge.h"

static bool strs_equal(const Str *a, size_t n_a, const Str *b, size_t n_b) {
    if (n_a != n_b)
        return false;
    for (size_t i = 0; i < n_a; i++)
        if (!str_eq(a[i], b[i]))
            return false;
    return true;
}

static bool selector_equal(const Selector *a, const Selector *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const Requirement *x = &a->items[i], *y = &b->items[i];

        if (x->op != y->op || x->bound != y->bound || !str_eq(x->key, y->key) ||
            !strs_equal(x->values, x->n_values, y->values, y->n_values))
            return false;
    }
    return true;
}

static bool origin_equal(const Gauge *a, const Gauge *b) {
    return a->source == b->source && str_eq(a->from, b->from) && str_eq(a->query, b->query) &&
           str_eq(a->resource, b->resource) && str_eq(a->annotation, b->annotation) &&
           str_eq(a->zone, b->zone);
}

static bool join_equal(const Gauge *a, const Gauge *b) {
    return a->identity == b->identity && str_eq(a->node_label, b->node_label) &&
           str_eq(a->node_pattern, b->node_pattern) && labels_equal(&a->mapping, &b->mapping);
}

static bool pods_equal(const Gauge *a, const Gauge *b) {
    return a->is_of_pods == b->is_of_pods && a->aggregate == b->aggregate &&
           a->workload_aggregate == b->workload_aggregate &&
           str_eq(a->namespace_label, b->namespace_label) && str_eq(a->pod_label, b->pod_label) &&
           selector_equal(&a->selector, &b->selector) &&
           strs_equal(a->namespaces, a->n_namespaces, b->namespaces, b->n_namespaces);
}

static uint32_t by_gauge(const GaugePlacements *placements) {
    return str_is_empty(placements->by) ? GAUGE_NONE : placements->by_gauge;
}

/* Settings of placements that are not counted do not matter. */
static bool placements_equal(const GaugePlacements *a, const GaugePlacements *b) {
    if (a->is_counted != b->is_counted)
        return false;
    return !a->is_counted || (a->unit == b->unit && a->settle_nsec == b->settle_nsec &&
                                 str_eq(a->resource, b->resource) && by_gauge(a) == by_gauge(b));
}

bool gauge_equal(const Gauge *a, const Gauge *b) {
    return a->interval_nsec == b->interval_nsec && a->max_age_nsec == b->max_age_nsec &&
           origin_equal(a, b) && join_equal(a, b) && pods_equal(a, b) &&
           placements_equal(&a->placements, &b->placements);
}

/* --- copies: arrays first, then every string of them in place ------------------------------ */

/* Empty ones need no memory. */
static bool copy_str(Str *str, Arena *arena) {
    if (str_is_empty(*str)) {
        *str = STR_NULL;
        return true;
    }
    *str = arena_copy(arena, *str);
    return str->ptr;
}

static bool copy_strs(const Str **strs, size_t n, Arena *arena) {
    Str *copies = ARENA_RAW(arena, Str, n);

    for (size_t i = 0; copies && i < n; i++) {
        copies[i] = (*strs)[i];
        if (!copy_str(&copies[i], arena))
            return false;
    }
    *strs = copies;
    return copies;
}

static bool copy_labels(Labels *labels, Arena *arena) {
    Label *copies = ARENA_RAW(arena, Label, labels->n);

    for (size_t i = 0; copies && i < labels->n; i++) {
        copies[i] = labels->items[i];
        if (!copy_str(&copies[i].key, arena) || !copy_str(&copies[i].value, arena))
            return false;
    }
    labels->items = copies;
    return copies;
}

static bool copy_selector(Selector *selector, Arena *arena) {
    Requirement *copies = ARENA_RAW(arena, Requirement, selector->n);

    for (size_t i = 0; copies && i < selector->n; i++) {
        copies[i] = selector->items[i];
        if (!copy_str(&copies[i].key, arena) ||
            !copy_strs(&copies[i].values, copies[i].n_values, arena))
            return false;
    }
    selector->items = copies;
    return copies;
}

bool gauge_copy(const Gauge *gauge, Arena *arena, Gauge *ret) {
    Str *const strs[] = {
        &ret->name,
        &ret->from,
        &ret->query,
        &ret->resource,
        &ret->annotation,
        &ret->zone,
        &ret->node_label,
        &ret->node_pattern,
        &ret->namespace_label,
        &ret->pod_label,
        &ret->placements.resource,
        &ret->placements.by,
    };

    *ret = *gauge;
    for (size_t i = 0; i < ELEMENTS_OF(strs); i++)
        if (!copy_str(strs[i], arena))
            return false;
    return copy_labels(&ret->mapping, arena) && copy_selector(&ret->selector, arena) &&
           copy_strs(&ret->namespaces, ret->n_namespaces, arena);
}
