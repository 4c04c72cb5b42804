/* Counts placements, reasons and durations. */

#include "demo/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

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

static PendingStats *find_pending(PlacementStats *stats, const Workload *workload) {
    size_t i = 0;

    while (i < stats->n_pending && stats->pending[i].workload != workload)
        i++;
    if (i == STATS_WORKLOADS_MAX)
        return NULL;
    if (i == stats->n_pending)
        stats->pending[stats->n_pending++].workload = workload;
    return &stats->pending[i];
}

static void add_pending(PlacementStats *stats, const Placement *placement) {
    PendingStats *pending = find_pending(stats, placement->pod->workload);
    _cleanup_(buf_done) Buf why = BUF_INIT((size_t)64 * 1024);

    if (!pending)
        return;
    pending->n += placement->pod->n_attempts == 1;
    if (placement->n_candidates == 0)
        buf_append(&why, STR("no node has enough cpu and memory"));
    else if (!str_is_empty(placement->error))
        buf_append(&why, placement->error);
    else
        placement_print_reasons(placement, STATS_TEXT_MAX, &why);
    (void)snprintf(pending->why, STATS_TEXT_MAX, "%.*s", STR_FMT(buf_str(&why)));
}

void stats_add(PlacementStats *stats, const Placement *placement) {
    bool is_new = placement->pod->n_attempts == 1;

    stats->n_pods += is_new;
    stats->n_retries += !is_new;
    stats->n_errors += !str_is_empty(placement->error);
    add_calls(stats, placement);
    for (size_t i = 0; i < placement->n_reasons; i++)
        add_reason(stats, &placement->reasons[i]);
    if (str_is_empty(placement->node)) {
        add_pending(stats, placement);
        return;
    }
    stats->n_placed++;
    if (!is_new) { /* it was counted as pending before */
        PendingStats *pending = find_pending(stats, placement->pod->workload);

        if (pending && pending->n > 0)
            pending->n--;
    }
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

static int by_pods(const void *a, const void *b) {
    const PendingStats *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return strcmp(x->workload->name, y->workload->name);
}

void stats_sort(PlacementStats *stats) {
    if (stats->n_reasons > 0)
        qsort(stats->reasons, stats->n_reasons, sizeof(stats->reasons[0]), by_nodes);
    if (stats->n_pending > 0)
        qsort(stats->pending, stats->n_pending, sizeof(stats->pending[0]), by_pods);
}
