/* Counts placements, reasons and durations. */

#include "demo/stats.h"

#include <stdio.h>
#include <stdlib.h>

static void add_calls(PlacementStats *stats, const Placement *placement) {
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        CallStats *calls = &stats->calls[verb];

        if (placement->nsec[verb] > 0)
            calls->samples[calls->n++ % STATS_SAMPLES] = placement->nsec[verb];
    }
}

static void add_reason(PlacementStats *stats, const NodeReason *reason) {
    size_t i = 0;

    while (i < stats->n_reasons && !str_is(reason->text, stats->reasons[i].text))
        i++;
    if (i == STATS_REASONS_MAX)
        i--;
    else if (i == stats->n_reasons)
        (void)snprintf(
            stats->reasons[stats->n_reasons++].text, STATS_TEXT_MAX, "%.*s", STR_FMT(reason->text));
    stats->reasons[i].n_nodes += reason->n_nodes;
}

static void keep_reasons(PlacementStats *stats, const Placement *placement) {
    _cleanup_(buf_done) Buf why = BUF_INIT((size_t)64 * 1024);

    placement_print_why(placement, STATS_TEXT_MAX, &why);
    (void)snprintf(stats->pending[placement->pod->workload - workloads], STATS_TEXT_MAX, "%.*s",
        STR_FMT(buf_str(&why)));
}

void stats_add(PlacementStats *stats, const Placement *placement) {
    bool is_new = placement->pod->n_attempts == 1, is_placed = !str_is_empty(placement->node);

    stats->n_pods += is_new;
    stats->n_retries += !is_new;
    stats->n_placed += is_placed;
    stats->n_errors += !str_is_empty(placement->error);
    add_calls(stats, placement);
    for (size_t i = 0; i < placement->n_reasons; i++)
        add_reason(stats, &placement->reasons[i]);
    if (!is_placed)
        keep_reasons(stats, placement);
}

static int by_duration(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t stats_quantile(const PlacementStats *stats, Verb verb, unsigned permille) {
    const CallStats *calls = &stats->calls[verb];
    size_t n = calls->n < STATS_SAMPLES ? (size_t)calls->n : STATS_SAMPLES;
    int64_t sorted[STATS_SAMPLES];

    if (n == 0)
        return 0;
    memcpy(sorted, calls->samples, n * sizeof(sorted[0]));
    qsort(sorted, n, sizeof(sorted[0]), by_duration);
    return sorted[(n - 1) * permille / 1000];
}

static int by_nodes(const void *a, const void *b) {
    const ReasonStats *x = a, *y = b;

    if (x->n_nodes != y->n_nodes)
        return x->n_nodes > y->n_nodes ? -1 : 1;
    return strcmp(x->text, y->text);
}

void stats_sort(PlacementStats *stats) {
    if (stats->n_reasons > 0)
        qsort(stats->reasons, stats->n_reasons, sizeof(stats->reasons[0]), by_nodes);
}
