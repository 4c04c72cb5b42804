/* Definitions of metrics: comparing, naming and copying them. */

#include "model/gauge.h"

/* Texts of a gauge: first those that gauge_digest() covers, then three others. */
static const size_t texts[] = {
    offsetof(Gauge, from),
    offsetof(Gauge, query),
    offsetof(Gauge, resource),
    offsetof(Gauge, annotation),
    offsetof(Gauge, zone),
    offsetof(Gauge, node_label),
    offsetof(Gauge, node_pattern),
    offsetof(Gauge, namespace_label),
    offsetof(Gauge, pod_label),
    offsetof(Gauge, name),
    offsetof(Gauge, placements.resource),
    offsetof(Gauge, placements.by),
};
#define TEXTS_COMPARED (ELEMENTS_OF(texts) - 3)

static Str *text_of(const Gauge *gauge, size_t i) {
    return (Str *)(void *)((char *)(uintptr_t)gauge + texts[i]);
}

static bool texts_equal(const Gauge *a, const Gauge *b) {
    for (size_t i = 0; i < TEXTS_COMPARED; i++)
        if (!str_eq(*text_of(a, i), *text_of(b, i)))
            return false;
    return true;
}

static uint32_t by_gauge(const GaugePlacements *placements) {
    return str_is_empty(placements->by) ? GAUGE_NONE : placements->by_gauge;
}

/* If placements are not counted, their other settings do not matter. */
static bool placements_equal(const GaugePlacements *a, const GaugePlacements *b) {
    if (a->is_counted != b->is_counted)
        return false;
    return !a->is_counted || (a->unit == b->unit && a->settle_nsec == b->settle_nsec &&
                                 str_eq(a->resource, b->resource) && by_gauge(a) == by_gauge(b));
}

static Digest chain_numbers(Digest digest, const int64_t *numbers, size_t n) {
    return digest_chain(digest, str_of((const char *)numbers, n * sizeof(*numbers)));
}

static Digest chain_texts(Digest digest, const Str *texts_of, size_t n) {
    for (size_t i = 0; i < n; i++)
        digest = digest_chain(digest, texts_of[i]);
    return digest;
}

/* Bundles contain digests: the numbers of sources, identities and aggregates must never change. */
Digest gauge_digest(const Gauge *gauge) {
    const int64_t numbers[] = {gauge->source, gauge->identity, gauge->is_of_pods, gauge->aggregate,
        gauge->workload_aggregate, (int64_t)gauge->mapping.n, (int64_t)gauge->selector.n};
    Digest digest = chain_numbers(DIGEST_NONE, numbers, ELEMENTS_OF(numbers));

    for (size_t i = 0; i < TEXTS_COMPARED; i++)
        digest = digest_chain(digest, *text_of(gauge, i));
    for (size_t i = 0; i < gauge->mapping.n; i++)
        digest = digest_chain(
            digest_chain(digest, gauge->mapping.items[i].key), gauge->mapping.items[i].value);
    for (size_t i = 0; i < gauge->selector.n; i++) {
        const Requirement *item = &gauge->selector.items[i];
        const int64_t parts[] = {item->op, item->bound, (int64_t)item->n_values};

        digest = chain_numbers(digest_chain(digest, item->key), parts, ELEMENTS_OF(parts));
        digest = chain_texts(digest, item->values, item->n_values);
    }
    return chain_texts(digest, gauge->namespaces, gauge->n_namespaces);
}

/* Texts are compared first: most gauges differ there. */
bool gauge_equal(const Gauge *a, const Gauge *b) {
    return a->interval_nsec == b->interval_nsec && a->max_age_nsec == b->max_age_nsec &&
           texts_equal(a, b) && placements_equal(&a->placements, &b->placements) &&
           digest_equal(gauge_digest(a), gauge_digest(b));
}

/* An array is copied first, then each of its strings in place. Empty strings need no memory. */
static void copy_str(Str *str, Arena *arena) {
    *str = str_is_empty(*str) ? STR_NULL : arena_copy(arena, *str);
}

static void copy_strs(const Str **strs, size_t n, Arena *arena) {
    Str *copies = ARENA_RAW(arena, Str, n);

    for (size_t i = 0; copies && i < n; i++) {
        copies[i] = (*strs)[i];
        copy_str(&copies[i], arena);
    }
    *strs = copies;
}

static void copy_labels(Labels *labels, Arena *arena) {
    Label *copies = ARENA_RAW(arena, Label, labels->n);

    for (size_t i = 0; copies && i < labels->n; i++) {
        copies[i] = labels->items[i];
        copy_str(&copies[i].key, arena);
        copy_str(&copies[i].value, arena);
    }
    labels->items = copies;
}

static void copy_selector(Selector *selector, Arena *arena) {
    Requirement *copies = ARENA_RAW(arena, Requirement, selector->n);

    for (size_t i = 0; copies && i < selector->n; i++) {
        copies[i] = selector->items[i];
        copy_str(&copies[i].key, arena);
        copy_strs(&copies[i].values, copies[i].n_values, arena);
    }
    selector->items = copies;
}

bool gauge_copy(const Gauge *gauge, Arena *arena, Gauge *ret) {
    *ret = *gauge;
    for (size_t i = 0; i < ELEMENTS_OF(texts); i++)
        copy_str(text_of(ret, i), arena);
    copy_labels(&ret->mapping, arena);
    copy_selector(&ret->selector, arena);
    copy_strs(&ret->namespaces, ret->n_namespaces, arena);
    return !arena_has_failed(arena);
}
