/*
 * A bundle end to end: decisions on random clusters are recorded, written to a file, read again and
 * replayed with the policies of the file. All decisions must be equal, also with hashed names.
 */

#include "bundle/archive.h"
#include "bundle/bundle.h"
#include "history/test-random-decisions.h"

#define BYTES_MAX ((size_t)64 << 20)
#define SEEDS 6u
#define STEPS 12u
#define N_DAMAGED 400u

/* Compares names only for equality, so that hashed names work too. */
static const char policy_text[] =
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: cool}\nspec:\n"
    "  metrics:\n"
    "    - {name: load, prometheus: {query: load}, maxAge: 30s, placements: {resource: cpu, "
    "unit: fraction, settle: 60s, by: podCpu}}\n"
    "    - {name: podCpu, resourceMetrics: cpu, pods: {}, maxAge: 90s}\n"
    "    - {name: noted, annotation: {key: load}, maxAge: 40s}\n"
    "  filters:\n"
    "    - {name: hot, expression: 'metrics.load < 0.7', onMissing: allow}\n"
    "    - {name: noted, expression: 'metrics.noted < 0.9', onMissing: allow}\n"
    "    - {name: full, maxPods: 5, reason: too many pods}\n"
    "    - {name: zone, expression: 'node.metadata.labels[?\"zone\"] == "
    "pod.metadata.labels[?\"zone\"]'}\n"
    "  scores:\n"
    "    - {name: idle, expression: 'node.free.cpu * 10.0', normalize: minMax}\n"
    "    - {name: cold, expression: '100.0 - metrics.load * 100.0', onMissing: 20, weight: 3}\n"
    "    - {name: crowd, expression: "
    "'double(node.pods.filter(p, p.metadata.namespace == pod.metadata.namespace).size())'}\n";

/* Mostly equal scores, so that the order decides. */
static const char ties_text[] =
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata: {name: ties}\nspec:\n"
    "  narrow: {to: 7}\n"
    "  filters:\n"
    "    - {name: ready, nodeReady: true}\n"
    "  scores:\n"
    "    - {name: even, expression: 'node.metadata.labels[?\"zone\"] == "
    "pod.metadata.labels[?\"zone\"] ? 100 : 50'}\n";

static const PolicySource policies[] = {
    {.file = STR("/etc/berth/cool.yaml"), .text = STR(policy_text)},
    {.file = STR("ties.yaml"), .text = STR(ties_text)},
};
static PolicySource policy;

static Program *compile(const PolicySource *sources, size_t n) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    _cleanup_(buf_done) Buf messages = BUF_INIT(1 << 16);
    DiagList diags = DIAG_LIST_IN(arena);
    Program *program = NULL;

    if (program_compile(sources, n, &diags, &program) != 0) {
        diag_list_print(&diags, /* colour= */ false, &messages);
        fail_msg("%.*s", STR_FMT(buf_str(&messages)));
    }
    return program;
}

static void note(Decisions *decisions, RandomCluster *cluster, Verb verb, Str body) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    Answer answer;

    decide(decisions, cluster, verb, body, arena, &answer);
}

static void play(Decisions *decisions, RandomCluster *cluster) {
    for (unsigned step = 0; step < STEPS; step++) {
        _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
        Str body = random_cluster_request(cluster, step / 2, arena);

        note(decisions, cluster, VERB_FILTER, body);
        note(decisions, cluster, VERB_PRIORITIZE, body);
        for (unsigned i = random_pick(cluster, 4); i > 0; i--)
            random_cluster_step(cluster);
    }
}

static void open_world(RandomCluster *cluster, uint64_t seed) {
    policy = policies[seed % 2];
    random_cluster_open(cluster, seed, 40 + 30 * (unsigned)seed);
    program_unref(cluster->program);
    cluster->program = compile(&policy, 1);
    random_cluster_publish(cluster, /* is_measured= */ true);
}

static void assert_equal_again(const Bundle *bundle, size_t n) {
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(program_unrefp) Program *program = compile(bundle->policies, bundle->n_policies);
    RestoreOptions setting = {.exemptions = &bundle->exemptions};
    WhatIfReport report;

    assert_int_equal(what_if_run(&bundle->recording, program, &setting, NULL, arena, &report), 0);
    assert_int_equal(report.n, n);
    if (report.skipped_why)
        print_error("%s\n", report.skipped_why);
    for (size_t i = 0; i < report.n_cases; i++)
        print_error("%s: %s\n", what_if_change_name(report.cases[i].change),
            verb_name(report.cases[i].decision->verb));
    assert_int_equal(report.n_changes[WHAT_IF_EQUAL], n);
}

static void write_bundle(const Recording *recording, bool is_anonymous, Buf *out) {
    _cleanup_(program_unrefp) Program *program = compile(&policy, 1);
    BundleParts parts = {
        .version = STR("test"),
        .made_at_nsec = RANDOM_NOW_SEC * RANDOM_SEC,
        .policies = &policy,
        .n_policies = 1,
        .program = program,
        .recording = recording,
        .is_anonymous = is_anonymous,
        .salt = {1, 2},
    };

    assert_int_equal(bundle_write(&parts, out), 0);
}

static void test_replayed_bundle_is_equal(void **state) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
        _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
        Recording recording;
        RandomCluster cluster;

        open_world(&cluster, seed);
        play(decisions, &cluster);
        random_cluster_close(&cluster);
        assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
        for (unsigned is_anonymous = 0; is_anonymous < 2; is_anonymous++) {
            _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX), again = BUF_INIT(BYTES_MAX);
            _cleanup_(bundle_done) Bundle bundle = {0};
            char error[BUNDLE_ERROR_MAX] = "";
            int r;

            write_bundle(&recording, is_anonymous, &file);
            write_bundle(&recording, is_anonymous, &again);
            assert_true(str_eq(buf_str(&file), buf_str(&again)));
            r = bundle_read(buf_str(&file), &bundle, error);
            assert_string_equal(error, "");
            assert_int_equal(r, 0);
            assert_int_equal(bundle.is_anonymous, is_anonymous);
            assert_int_equal(bundle.recording.n, recording.n);
            assert_int_equal(bundle.recording.n_saved_views, recording.n_saved_views);
            assert_equal_again(&bundle, 2 * STEPS);
        }
        recording_done(&recording);
    }
}

/* --- damage ------------------------------------------------------------------------------ */

/* Changes, removes or repeats a few bytes, except in the archive's headers. */
static void damage(RandomCluster *rng, Str text, Buf *out) {
    static const char bytes[] = "0129\"{}[],:-.x\\n\n\0";

    buf_append(out, text);
    for (unsigned n = 1 + random_pick(rng, 4); n > 0; n--) {
        size_t block = 1 + random_pick(rng, (unsigned)(text.len / TAR_BLOCK) - 1);
        size_t at = block * TAR_BLOCK + random_pick(rng, TAR_BLOCK);

        if (memcmp(out->data + block * TAR_BLOCK + 257, "ustar", 5) != 0)
            out->data[at] = bytes[random_pick(rng, sizeof(bytes))];
    }
}

/* Replays a damaged bundle that can still be read, and compares it with itself. */
static void try_damaged(RandomCluster *rng, Str text, size_t *n_refused) {
    _cleanup_(buf_done) Buf damaged = BUF_INIT(BYTES_MAX), file = BUF_INIT(BYTES_MAX);
    _cleanup_(gzip_freep) Gzip *gzip = gzip_new();
    _cleanup_(bundle_done) Bundle bundle = {0};
    char error[BUNDLE_ERROR_MAX] = "";
    int r;

    damage(rng, text, &damaged);
    assert_int_equal(gzip_write(gzip, buf_str(&damaged), &file), 0);
    assert_int_equal(gzip_end(gzip, &file), 0);
    r = bundle_read(buf_str(&file), &bundle, error);
    assert_true(r == 0 || (r == BUNDLE_E_MALFORMED && error[0]));
    *n_refused += r != 0;
    if (r == 0) {
        _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
        _cleanup_(program_unrefp) Program *program = compile(&policy, 1);
        WhatIfReport report;

        assert_int_equal(
            what_if_run(&bundle.recording, program, &(RestoreOptions){0}, NULL, arena, &report), 0);
    }
}

static void test_damaged_bundles_are_refused_or_replayed(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX), text = BUF_INIT(BYTES_MAX);
    RandomCluster rng = {.rng = {.state = 3}}, cluster;
    size_t n_refused = 0;
    Recording recording;

    open_world(&cluster, 0);
    play(decisions, &cluster);
    random_cluster_close(&cluster);
    assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
    write_bundle(&recording, false, &file);
    recording_done(&recording);
    assert_int_equal(gunzip(buf_str(&file), &text), 0);
    for (unsigned i = 0; i < N_DAMAGED; i++)
        try_damaged(&rng, buf_str(&text), &n_refused);
    assert_true(n_refused > N_DAMAGED / 4 && n_refused < N_DAMAGED);
}

/* An unchanged snapshot is written only once. */
static void test_unchanged_snapshot_is_written_once(void **state) {
    _cleanup_(decisions_freep) Decisions *decisions = decisions_new(1000, BYTES_MAX);
    _cleanup_(arena_freep) Arena *arena = arena_new(BYTES_MAX);
    _cleanup_(buf_done) Buf file = BUF_INIT(BYTES_MAX);
    _cleanup_(bundle_done) Bundle bundle = {0};
    char error[BUNDLE_ERROR_MAX];
    Recording recording;
    size_t n_shared = 0;
    RandomCluster cluster;

    open_world(&cluster, 20);
    play(decisions, &cluster);
    random_cluster_close(&cluster);
    assert_int_equal(decisions_record(decisions, 0, 1000, arena, &recording), 0);
    write_bundle(&recording, false, &file);
    recording_done(&recording);
    assert_int_equal(bundle_read(buf_str(&file), &bundle, error), 0);
    for (size_t i = 1; i < bundle.recording.n_saved_views; i++) {
        const NodeTable *a = snapshot_table(bundle.recording.saved_views[i - 1]->snapshot);
        const NodeTable *b = snapshot_table(bundle.recording.saved_views[i]->snapshot);

        n_shared += a->chunks[0] == b->chunks[0];
    }
    assert_true(n_shared > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replayed_bundle_is_equal),
        cmocka_unit_test(test_damaged_bundles_are_refused_or_replayed),
        cmocka_unit_test(test_unchanged_snapshot_is_written_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
