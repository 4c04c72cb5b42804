#include "demo/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

static void add_calls(Tally *tally, const Placement *placement) {
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        CallTally *calls = &tally->calls[verb];

        if (placement->nsec[verb] > 0)
            calls->samples[calls->n++ % TALLY_SAMPLES] = placement->nsec[verb];
    }
}

static void add_reason(Tally *tally, const Reason *reason) {
    size_t i = 0;

    while (i < tally->n_reasons && !str_is(reason->text, tally->reasons[i].text))
        i++;
    if (i == TALLY_REASONS_MAX)
        i--;
    else if (i == tally->n_reasons)
        (void)snprintf(
            tally->reasons[tally->n_reasons++].text, TALLY_TEXT_MAX, "%.*s", STR_FMT(reason->text));
    tally->reasons[i].n_nodes += reason->n_nodes;
}

static PendingTally *find_pending(Tally *tally, const Workload *workload) {
    size_t i = 0;

    while (i < tally->n_pending && tally->pending[i].workload != workload)
        i++;
    if (i == TALLY_WORKLOADS_MAX)
        return NULL;
    if (i == tally->n_pending)
        tally->pending[tally->n_pending++].workload = workload;
    return &tally->pending[i];
}

static void add_pending(Tally *tally, const Placement *placement) {
    PendingTally *pending = find_pending(tally, placement->pod->workload);
    _cleanup_(buf_done) Buf why = BUF_INIT((size_t)64 * 1024);

    if (!pending)
        return;
    pending->n += placement->pod->n_attempts == 1;
    if (placement->n_offered == 0)
        buf_append(&why, STR("no node has enough cpu and memory left"));
    else if (!str_is_empty(placement->error))
        buf_append(&why, placement->error);
    else
        placement_print_reasons(placement, TALLY_TEXT_MAX, &why);
    (void)snprintf(pending->why, TALLY_TEXT_MAX, "%.*s", STR_FMT(buf_str(&why)));
}

void tally_add(Tally *tally, const Placement *placement) {
    bool is_new = placement->pod->n_attempts == 1;

    tally->n_pods += is_new;
    tally->n_retries += !is_new;
    tally->n_errors += !str_is_empty(placement->error);
    add_calls(tally, placement);
    for (size_t i = 0; i < placement->n_reasons; i++)
        add_reason(tally, &placement->reasons[i]);
    if (str_is_empty(placement->node)) {
        add_pending(tally, placement);
        return;
    }
    tally->n_placed++;
    if (!is_new) { /* it was pending before */
        PendingTally *pending = find_pending(tally, placement->pod->workload);

        if (pending && pending->n > 0)
            pending->n--;
    }
}

static int by_duration(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t tally_quantile(const Tally *tally, Verb verb, unsigned permille) {
    const CallTally *calls = &tally->calls[verb];
    size_t n = calls->n < TALLY_SAMPLES ? (size_t)calls->n : TALLY_SAMPLES;
    int64_t sorted[TALLY_SAMPLES];

    if (n == 0)
        return 0;
    memcpy(sorted, calls->samples, n * sizeof(sorted[0]));
    qsort(sorted, n, sizeof(sorted[0]), by_duration);
    return sorted[(n - 1) * permille / 1000];
}

static int by_nodes(const void *a, const void *b) {
    const ReasonTally *x = a, *y = b;

    if (x->n_nodes != y->n_nodes)
        return x->n_nodes > y->n_nodes ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int by_pods(const void *a, const void *b) {
    const PendingTally *x = a, *y = b;

    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return strcmp(x->workload->name, y->workload->name);
}

void tally_sort(Tally *tally) {
    if (tally->n_reasons > 0)
        qsort(tally->reasons, tally->n_reasons, sizeof(tally->reasons[0]), by_nodes);
    if (tally->n_pending > 0)
        qsort(tally->pending, tally->n_pending, sizeof(tally->pending[0]), by_pods);
}
