#include "monitor/latency.h"

#include <pthread.h>

#include "base/nsec.h"
#include "base/test-assert.h"

#define USEC INT64_C(1000)
#define BEGIN (1000000 * NSEC_PER_SEC)

static void note(
    Latency *latency, Verb verb, int64_t read, int64_t evaluate, int64_t write, int64_t now_nsec) {
    const int64_t parts[] = {read, evaluate, write, read + evaluate + write};

    latency_note_request(latency, verb, parts, now_nsec);
}

static void note_decision(Latency *latency, Verb verb, size_t n_in, size_t n_rejected,
    size_t n_unjudged, int64_t now_nsec) {
    const DecisionSummary summary = {
        .n_in = n_in, .n_rejected = n_rejected, .n_unjudged = n_unjudged};

    latency_note_decision(latency, verb, &summary, now_nsec);
}

/* Histograms are off by at most a fifth. */
static void assert_near(const char *name, int64_t got, int64_t want) {
    if (got >= want - want / 5 && got <= want + want / 4)
        return;
    print_error("%s: got %lld ns, want about %lld ns\n", name, (long long)got, (long long)want);
    fail();
}

static void test_no_latencies_without_requests(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    LatencySlot slots[LATENCY_SLOTS];
    LatencyVerb verbs[_VERB_MAX];

    (void)state;
    latency_read(latency, 0, BEGIN, verbs);
    assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].n, 0);
    assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].p99_nsec, 0);
    assert_int_equal(verbs[VERB_FILTER].n_nodes_p50, 0);
    latency_slots(latency, BEGIN, slots);
    assert_int_equal(slots[LATENCY_SLOTS - 1].n[VERB_FILTER], 0);
}

/* Known distributions and their percentiles. */
static const struct {
    const char *name;
    int64_t step_nsec; /* the i-th of 1,000 takes i times this */
    int64_t p50, p90, p99, max;
} distributions[] = {
    {"microseconds", USEC / 10, 50 * USEC, 90 * USEC, 99 * USEC, 100 * USEC},
    {"milliseconds", 100 * USEC, 50000 * USEC, 90000 * USEC, 99000 * USEC, 100000 * USEC},
    {"seconds", 10000 * USEC, 5000000 * USEC, 9000000 * USEC, 9900000 * USEC, 10000000 * USEC},
};

static void test_percentiles(void **state) {
    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(distributions); i++) {
        _cleanup_(latency_freep) Latency *latency = latency_new();
        LatencyVerb verbs[_VERB_MAX];
        const char *name = distributions[i].name;
        const LatencySummary *summary = &verbs[VERB_PRIORITIZE].parts[LATENCY_EVALUATE];

        for (int64_t n = 1; n <= 1000; n++)
            note(latency, VERB_PRIORITIZE, 0, n * distributions[i].step_nsec, 0, BEGIN);
        latency_read(latency, 0, BEGIN, verbs);
        assert_int_equal(summary->n, 1000);
        assert_near(name, summary->p50_nsec, distributions[i].p50);
        assert_near(name, summary->p90_nsec, distributions[i].p90);
        assert_near(name, summary->p99_nsec, distributions[i].p99);
        assert_int_equal(summary->max_nsec, distributions[i].max);
        assert_int_equal(summary->sum_nsec, distributions[i].step_nsec * 1000 * 1001 / 2);
        assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].n, 0);
    }
}

/* No percentile exceeds a single value. Values beyond the last bucket are counted in it. */
static void test_percentiles_of_single_and_huge_values(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    LatencyVerb verbs[_VERB_MAX];

    (void)state;
    note(latency, VERB_FILTER, 100, 1000 * USEC, 3000 * NSEC_PER_SEC, BEGIN);
    note(latency, VERB_BIND, -5, 0, 0, BEGIN);
    latency_read(latency, 0, BEGIN, verbs);
    assert_true(verbs[VERB_FILTER].parts[LATENCY_READ].p99_nsec <= 100);
    assert_near("one", verbs[VERB_FILTER].parts[LATENCY_EVALUATE].p50_nsec, 1000 * USEC);
    assert_true(verbs[VERB_FILTER].parts[LATENCY_EVALUATE].p99_nsec <= 1000 * USEC);
    assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_WRITE].max_nsec, 3000 * NSEC_PER_SEC);
    assert_true(verbs[VERB_FILTER].parts[LATENCY_WRITE].p99_nsec > 100 * NSEC_PER_SEC);
    assert_int_equal(verbs[VERB_BIND].parts[LATENCY_READ].max_nsec, 0);
}

static void test_reads_windows(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    LatencyVerb verbs[_VERB_MAX];
    const struct {
        unsigned window_sec;
        uint64_t n;
    } cases[] = {{1, 1}, {10, 2}, {300, 31}, {3600, 360}, {7200, 360}, {0, 500}};

    (void)state;
    for (int64_t i = 0; i < 500; i++)
        note(latency, VERB_FILTER, 1, 1, 1, BEGIN + i * LATENCY_SLOT_SEC * NSEC_PER_SEC);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        int64_t now = BEGIN + (499 * LATENCY_SLOT_SEC + 1) * NSEC_PER_SEC;

        latency_read(latency, cases[i].window_sec, now, verbs);
        assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].n, cases[i].n);
    }
    /* after a silent hour old slots must not count, although they were not cleared */
    latency_read(latency, 3600, BEGIN + 9000 * NSEC_PER_SEC, verbs);
    assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].n, 0);
}

static void test_counts_decisions(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    LatencyVerb verbs[_VERB_MAX];

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        note_decision(latency, VERB_FILTER, 5000, 10, i < 3 ? 40 : 0, BEGIN);
    note_decision(latency, VERB_FILTER, 7, 0, 0, BEGIN);
    note_decision(latency, VERB_PRIORITIZE, 3, 0, 0, BEGIN);
    latency_note_error(latency, VERB_BIND, BEGIN);
    for (unsigned window_sec = 0; window_sec <= 300; window_sec += 300) {
        latency_read(latency, window_sec, BEGIN, verbs);
        assert_int_equal(verbs[VERB_FILTER].n_decided, 101);
        assert_int_equal(verbs[VERB_FILTER].n_late, 3);
        assert_int_equal(verbs[VERB_FILTER].n_nodes_max, 5000);
        assert_near("nodes", (int64_t)verbs[VERB_FILTER].n_nodes_p50, 5000);
        assert_int_equal(verbs[VERB_PRIORITIZE].n_nodes_p50, 3);
        assert_int_equal(verbs[VERB_BIND].n_errors, 1);
        assert_int_equal(verbs[VERB_FILTER].n_errors, 0);
    }
}

static void test_reads_slots(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    LatencySlot slots[LATENCY_SLOTS];
    const LatencySlot *last = &slots[LATENCY_SLOTS - 1], *before = &slots[LATENCY_SLOTS - 3];

    (void)state;
    note(latency, VERB_FILTER, USEC, USEC, 998 * USEC, BEGIN);
    note_decision(latency, VERB_FILTER, 100, 40, 1, BEGIN);
    note(latency, VERB_BIND, 1, 1, 1, BEGIN + 25 * NSEC_PER_SEC);
    note_decision(latency, VERB_PRIORITIZE, 9, 0, 0, BEGIN + 25 * NSEC_PER_SEC);
    latency_note_error(latency, VERB_BIND, BEGIN + 25 * NSEC_PER_SEC);
    latency_slots(latency, BEGIN + 26 * NSEC_PER_SEC, slots);
    assert_int_equal(before->n[VERB_FILTER], 1);
    assert_int_equal(before->ago_sec, 16);
    assert_near("p99", before->p99_nsec[VERB_FILTER], 1000 * USEC);
    assert_int_equal(before->n_nodes, 100);
    assert_int_equal(before->n_rejected, 40);
    assert_int_equal(before->n_late, 1);
    assert_int_equal(last->n[VERB_BIND], 1);
    assert_int_equal(last->n_nodes, 0); /* filters only */
    assert_int_equal(last->n_errors, 1);
    assert_int_equal(last->ago_sec, 0);
    assert_int_equal(slots[0].n[VERB_FILTER], 0);
}

/* A slot has the maximum of its samples; an hour later it is reused. */
static void test_slots_keep_most_pending_pods(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    LatencySlot slots[LATENCY_SLOTS];
    int64_t hour = (int64_t)LATENCY_SLOTS * LATENCY_SLOT_SEC * NSEC_PER_SEC;

    (void)state;
    latency_note_pending(latency, 3, BEGIN);
    latency_note_pending(latency, 7, BEGIN + NSEC_PER_SEC);
    latency_note_pending(latency, 2, BEGIN + 2 * NSEC_PER_SEC);
    latency_note_pending(latency, 0, BEGIN + 20 * NSEC_PER_SEC);
    latency_slots(latency, BEGIN + 20 * NSEC_PER_SEC, slots);
    assert_int_equal(slots[LATENCY_SLOTS - 3].n_pending, 7);
    assert_int_equal(slots[LATENCY_SLOTS - 2].n_pending, -1);
    assert_int_equal(slots[LATENCY_SLOTS - 1].n_pending, 0);
    assert_int_equal(slots[0].n_pending, -1);
    latency_note_pending(latency, 1, BEGIN + hour);
    latency_slots(latency, BEGIN + hour, slots);
    assert_int_equal(slots[LATENCY_SLOTS - 1].n_pending, 1);
    assert_int_equal(slots[1].n_pending, 0); /* the sample at 20 s */
}

/* --- threads ------------------------------------------------------------------------------ */

#define THREADS 4
#define ROUNDS 20000

static void *count_many(void *context) {
    Latency *latency = context;

    for (int64_t i = 0; i < ROUNDS; i++) { /* two hours: every slot is reused once */
        int64_t now = BEGIN + i * 2 * LATENCY_SLOTS * LATENCY_SLOT_SEC * NSEC_PER_SEC / ROUNDS;

        note(latency, VERB_FILTER, USEC, USEC, USEC, now);
        note_decision(latency, VERB_FILTER, 10, 1, 1, now);
    }
    return NULL;
}

/* No sample may be lost while slots are reused. */
static void test_counts_from_several_threads(void **state) {
    _cleanup_(latency_freep) Latency *latency = latency_new();
    int64_t end = BEGIN + (2 * LATENCY_SLOTS * LATENCY_SLOT_SEC - 1) * NSEC_PER_SEC;
    LatencyVerb verbs[_VERB_MAX];
    pthread_t threads[THREADS];

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, latency), 0);
    for (size_t i = 0; i < 50; i++)
        latency_read(latency, 300, end, verbs);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    latency_read(latency, 0, end, verbs);
    assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].n, THREADS * ROUNDS);
    assert_int_equal(verbs[VERB_FILTER].n_late, THREADS * ROUNDS);
    assert_int_equal(verbs[VERB_FILTER].n_decided, THREADS * ROUNDS);
    assert_int_equal(verbs[VERB_FILTER].parts[LATENCY_TOTAL].sum_nsec, 3 * USEC * THREADS * ROUNDS);
    latency_read(latency, 3600, end, verbs);
    assert_in_range(verbs[VERB_FILTER].parts[LATENCY_TOTAL].n, ROUNDS / 2, THREADS * ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_latencies_without_requests),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_percentiles_of_single_and_huge_values),
        cmocka_unit_test(test_reads_windows),
        cmocka_unit_test(test_counts_decisions),
        cmocka_unit_test(test_reads_slots),
        cmocka_unit_test(test_slots_keep_most_pending_pods),
        cmocka_unit_test(test_counts_from_several_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
