/*
 * Secrets of pods are removed, but not the fields that policies can read: a replay must give the
 * same decision.
 */

#include "history/decisions.h"

#include <pthread.h>
#include <stdatomic.h>

#include "history/test-random-decisions.h"

#define BYTES_MAX ((size_t)64 << 20)
#define SECRET "hunter2-hunter2"

/* A request of the random cluster with secrets in fields that policies cannot read. */
static Str secret_request(RandomCluster *cluster, unsigned pod, Arena *arena) {
    static const char container[] = "{\"name\":\"c\",";
    Str plain = random_cluster_request(cluster, pod, arena);
    const char *at = memmem(plain.ptr, plain.len, container, sizeof(container) - 1);
    size_t head;

    assert_non_null(at);
    head = (size_t)(at - plain.ptr);
    return arena_printf(arena,
        "%.*s{\"name\":\"c\",\"env\":[{\"name\":\"A\",\"value\":\"" SECRET "\"}],"
        "\"command\":[\"sh\",\"-c\",\"login " SECRET "\"],\"args\":[\"--password=" SECRET "\"],"
        "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/" SECRET "\"}],"
        "\"livenessProbe\":{\"httpGet\":{\"httpHeaders\":[{\"name\":\"Authorization\","
        "\"value\":\"" SECRET "\"}]}},%.*s",
        (int)head, plain.ptr, STR_FMT(str_skip(plain, head + sizeof(container) - 1)));
}

static void note(Decisions *decisions, RandomCluster *cluster, Verb verb, Str body) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    Answer answer;

    decide(decisions, cluster, verb, body, arena, &answer);
}

/* Filters and prioritizes @n pods, each a step later. Returns the number of decisions. */
static size_t run_attempts(
    Decisions *decisions, RandomCluster *cluster, unsigned first, unsigned n) {
    for (unsigned pod = first; pod < first + n; pod++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        Str body = secret_request(cluster, pod, arena);

        note(decisions, cluster, VERB_FILTER, body);
        note(decisions, cluster, VERB_PRIORITIZE, body);
        random_cluster_step(cluster);
    }
    return 2 * (size_t)n;
}

static void remove_all_secrets(Decisions *decisions) {
    size_t n = 0;

    while (!decisions_remove_secrets(decisions))
        assert_true(n++ < 1000);
}

static bool has_secret(Str text) {
    return text.ptr && memmem(text.ptr, text.len, SECRET, sizeof(SECRET) - 1);
}

static size_t count_secrets(Decisions *decisions) {
    FoundDecision found;
    size_t n = 0;

    for (uint64_t below = 0; below != 1 && decisions_read(decisions, below, &found, 1) == 1;) {
        below = found.past->id;
        n += has_secret(pod_text_str(found.pod_text));
        found_done(&found);
    }
    return n;
}

static void assert_replays_equal(Decisions *decisions, Program *program, size_t n) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    Recording recording;
    WhatIfReport report;

    assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
    for (size_t i = 0; i < recording.n; i++)
        assert_false(has_secret(recording.decisions[i].pod_text));
    assert_int_equal(
        what_if_run(&recording, program, &(RestoreOptions){0}, NULL, arena, &report), 0);
    assert_int_equal(report.n, n);
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], n);
    recording_done(&recording);
}

static void test_removes_secrets(void **state) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
        DecisionsFigures before, after;
        RandomCluster cluster;
        size_t n;

        random_cluster_open(&cluster, seed, 80);
        n = run_attempts(decisions, &cluster, 0, 10);
        assert_int_equal(count_secrets(decisions), n);
        decisions_figures(decisions, &before);
        remove_all_secrets(decisions);
        assert_int_equal(count_secrets(decisions), 0);
        decisions_figures(decisions, &after);
        assert_int_equal(after.n_replayable, n);
        assert_true(after.inputs_bytes < before.inputs_bytes);
        assert_true(decisions_remove_secrets(decisions)); /* nothing is left to do */
        assert_replays_equal(decisions, cluster.program, n);
        random_cluster_close(&cluster);
    }
}

/* A recording must have no secrets. */
static void test_recording_has_no_secrets(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    RandomCluster cluster;
    size_t n;

    random_cluster_open(&cluster, 11, 80);
    n = run_attempts(decisions, &cluster, 0, 5);
    assert_replays_equal(decisions, cluster.program, n);
    assert_int_equal(count_secrets(decisions), 0);
    random_cluster_close(&cluster);
}

static PodText *text_of(Decisions *decisions, uint64_t id) {
    FoundDecision found;
    PodText *text;

    assert_true(decisions_find(decisions, id, &found));
    text = pod_text_ref(found.pod_text);
    found_done(&found);
    return text;
}

/* Filter, prioritize and the next attempt share one text. */
static void test_attempts_share_one_text(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    RandomCluster cluster;

    random_cluster_open(&cluster, 12, 80);
    (void)run_attempts(decisions, &cluster, 3, 1);
    remove_all_secrets(decisions);
    (void)run_attempts(decisions, &cluster, 3, 1);
    remove_all_secrets(decisions);
    text = text_of(decisions, 1);
    assert_false(text->is_raw);
    assert_int_equal(text->n_users, 4);
    for (uint64_t id = 2; id <= 4; id++) {
        _cleanup_(pod_text_unrefp) PodText *other = text_of(decisions, id);

        assert_ptr_equal(other, text);
    }
    random_cluster_close(&cluster);
}

/* A reader with a reference keeps the old text. */
static void test_reader_keeps_old_text(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    _cleanup_(pod_text_unrefp) PodText *text = NULL;
    RandomCluster cluster;

    random_cluster_open(&cluster, 13, 80);
    (void)run_attempts(decisions, &cluster, 0, 1);
    text = text_of(decisions, 1);
    remove_all_secrets(decisions);
    assert_true(has_secret(pod_text_str(text)));
    assert_int_equal(text->n_users, 0);
    assert_int_equal(count_secrets(decisions), 0);
    random_cluster_close(&cluster);
}

/* A text without secrets is kept unchanged, and shared. */
static void test_text_without_secrets_is_kept(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(pod_text_unrefp) PodText *first = NULL, *second = NULL, *third = NULL;
    RandomCluster cluster;
    Str body;

    random_cluster_open(&cluster, 14, 80);
    (void)run_attempts(decisions, &cluster, 0, 1);
    remove_all_secrets(decisions);
    first = text_of(decisions, 1);
    body =
        arena_printf(arena, "{\"Pod\":%.*s,\"NodeNames\":[\"n1\"]}", STR_FMT(pod_text_str(first)));
    note(decisions, &cluster, VERB_FILTER, body);
    second = text_of(decisions, 3);
    assert_ptr_equal(second, first);
    remove_all_secrets(decisions);
    third = text_of(decisions, 3);
    assert_ptr_equal(third, first);
    random_cluster_close(&cluster);
}

/* A text that is not a pod is dropped, and the decision reports why it cannot be replayed. */
static void test_text_that_is_no_pod_is_dropped(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    DecisionsFigures figures;
    Recording recording;
    Answer answer;
    RandomCluster cluster;

    random_cluster_open(&cluster, 15, 80);
    random_request_answer(cluster.view, VERB_FILTER, random_cluster_now(&cluster),
        secret_request(&cluster, 0, arena), arena, &answer);
    answer.decision.pod_text = STR("{\"metadata\":7,\"a\":\"" SECRET "\"}");
    decisions_note(decisions, cluster.view, VERB_FILTER, &answer.decision, (PastTimes){0});
    assert_int_equal(count_secrets(decisions), 1);
    remove_all_secrets(decisions);
    assert_int_equal(count_secrets(decisions), 0);
    decisions_figures(decisions, &figures);
    assert_int_equal(figures.n_replayable, 0);
    assert_int_equal(figures.n_saved_views, 0);
    assert_int_equal(decisions_record(decisions, 0, 10, arena, &recording), 0);
    assert_string_equal(recorded_obstacle(&recording.decisions[0]), "its pod is not kept any more");
    recording_done(&recording);
    random_cluster_close(&cluster);
}

/* More decisions than one call handles. Returns their number. */
static size_t run_many(Decisions *decisions, RandomCluster *cluster, Arena *arena) {
    size_t n = REMOVE_SECRETS_MAX + 100;
    Answer answer;

    random_cluster_open(cluster, 16, 4);
    random_request_answer(cluster->view, VERB_FILTER, random_cluster_now(cluster),
        secret_request(cluster, 0, arena), arena, &answer);
    for (size_t i = 0; i < n; i++)
        decisions_note(decisions, cluster->view, VERB_FILTER, &answer.decision, (PastTimes){0});
    return n;
}

/* One call handles a limited number, because its thread has other work; repeated calls finish. */
static void test_one_call_is_limited(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions =
        decisions_new(3 * REMOVE_SECRETS_MAX, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    unsigned n_calls = 1;
    RandomCluster cluster;

    (void)run_many(decisions, &cluster, arena);
    for (; !decisions_remove_secrets(decisions); n_calls++)
        assert_true(n_calls < 10000);
    assert_true(n_calls > 1);
    assert_int_equal(count_secrets(decisions), 0);
    random_cluster_close(&cluster);
}

/* A recording begins with one call, and leaves out the pods that this call did not handle. */
static void test_recording_leaves_out_raw_pods(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions =
        decisions_new(3 * REMOVE_SECRETS_MAX, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    size_t n, n_pods = 0;
    Recording recording;
    RandomCluster cluster;

    n = run_many(decisions, &cluster, arena);
    assert_int_equal(decisions_record(decisions, 0, n, arena, &recording), 0);
    assert_int_equal(recording.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_false(has_secret(recording.decisions[i].pod_text));
        n_pods += recording.decisions[i].pod_text.ptr != NULL;
    }
    assert_true(n_pods > 0 && n_pods < n);
    recording_done(&recording);
    random_cluster_close(&cluster);
}

static void test_null_history(void **state) {
    assert_true(decisions_remove_secrets(NULL));
}

/* --- threads ---------------------------------------------------------------------------------- */

typedef struct Removal {
    Decisions *decisions;
    atomic_bool is_over;
} Removal;

static void *remove_secrets_until_over(void *context) {
    Removal *removal = context;

    while (!atomic_load(&removal->is_over))
        (void)decisions_remove_secrets(removal->decisions);
    return NULL;
}

/* The ring is so small that decisions are dropped while their texts are replaced. */
static void test_removes_secrets_beside_new_decisions(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(16, BYTES_MAX);
    Removal removal = {.decisions = decisions};
    pthread_t threads[2];
    RandomCluster cluster;

    random_cluster_open(&cluster, 17, 40);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, remove_secrets_until_over, &removal), 0);
    (void)run_attempts(decisions, &cluster, 0, 100);
    atomic_store(&removal.is_over, true);
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_replays_equal(decisions, cluster.program, 16);
    assert_int_equal(count_secrets(decisions), 0);
    random_cluster_close(&cluster);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_removes_secrets),
        cmocka_unit_test(test_recording_has_no_secrets),
        cmocka_unit_test(test_attempts_share_one_text),
        cmocka_unit_test(test_reader_keeps_old_text),
        cmocka_unit_test(test_text_without_secrets_is_kept),
        cmocka_unit_test(test_text_that_is_no_pod_is_dropped),
        cmocka_unit_test(test_one_call_is_limited),
        cmocka_unit_test(test_recording_leaves_out_raw_pods),
        cmocka_unit_test(test_null_history),
        cmocka_unit_test(test_removes_secrets_beside_new_decisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
