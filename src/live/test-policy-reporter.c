/* PolicyReporter: when it writes a status, and with which content. */

#include "live/policy-reporter.h"

#include <stdio.h>
#include <string.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "input/policies.h"

#define GOOD "{\"filters\":[{\"name\":\"r\",\"nodeReady\":true}]}"
#define BAD "{\"filters\":[{\"name\":\"r\",\"nodeRedy\":true}]}"

typedef struct Fixture {
    PolicyObjects *objects;
    ClusterPolicies *policies;
    PolicyReporter reporter;
    Arena *arena;
    Program *no_files;
    int64_t now_nsec;
    uint64_t n_pods;
    bool is_deaf;
    char error[64];
    size_t n_written, n_rejected;
    char body[4096];
} Fixture;

static void fill(void *context, Arena *arena, PolicyStatus *status) {
    Fixture *fixture = context;

    (void)arena;
    status->counts.n_pods = fixture->n_pods;
}

static bool take_write(void *context, Buf *path, Buf *body) {
    Fixture *fixture = context;

    if (fixture->is_deaf)
        return false;
    assert_text("path", buf_str(path), "/apis/berth.dev/v1alpha1/placementpolicies/a/status");
    (void)snprintf(fixture->body, sizeof(fixture->body), "%.*s", STR_FMT(buf_str(body)));
    fixture->n_written++;
    return true;
}

static void take_rejected(void *context, const ClusterPolicy *policy) {
    Fixture *fixture = context;

    (void)policy;
    fixture->n_rejected++;
}

static int open_fixture(void **state) {
    static Fixture fixture;
    DiagList diags;

    fixture = (Fixture){.objects = policy_objects_new(),
        .reporter = {&fixture, take_write, take_rejected},
        .arena = arena_new(1 << 26),
        .now_nsec = NSEC_PER_SEC};
    fixture.policies = cluster_policies_new(fixture.objects);
    diags = DIAG_LIST_IN(fixture.arena);
    *state = &fixture;
    policy_objects_begin(fixture.objects);
    assert_int_equal(policy_objects_end(fixture.objects), 0);
    return policies_compile(NULL, 0, &diags, &fixture.no_files);
}

static int close_fixture(void **state) {
    Fixture *fixture = *state;

    policy_reporter_reset(&fixture->reporter);
    cluster_policies_free(fixture->policies);
    policy_objects_free(fixture->objects);
    program_unref(fixture->no_files);
    arena_free(fixture->arena);
    return 0;
}

static void choose(Fixture *fixture) {
    const PolicySource *sources;
    bool is_new;
    size_t n;

    assert_int_equal(cluster_policies_choose(fixture->policies, fixture->no_files, NULL, 0,
                         fixture->arena, &sources, &n, &is_new),
        0);
}

static void load(Fixture *fixture, int generation, const char *spec) {
    const ObjectMeta meta = {.name = STR("a")};
    Str object = arena_printf(fixture->arena,
        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"generation\":%d},\"spec\":%s}", generation,
        spec);

    assert_int_equal(policy_objects_apply(fixture->objects, EVENT_MODIFIED, &meta, object), 0);
    choose(fixture);
    cluster_policies_commit(fixture->policies, 60 * NSEC_PER_SEC);
}

/* Runs the reporter, and checks the numbers of writes and rejections so far. */
static void run(Fixture *fixture, size_t n_written, size_t n_rejected) {
    policy_reporter_run(&fixture->reporter,
        &(PolicyReport){.policies = fixture->policies,
            .replica = STR("berth-0"),
            .error = str_from_c(fixture->error),
            .context = fixture,
            .fill = fill},
        fixture->now_nsec, 120 * NSEC_PER_SEC);
    assert_int_equal(fixture->n_written, n_written);
    assert_int_equal(fixture->n_rejected, n_rejected);
    fixture->now_nsec += NSEC_PER_SEC;
}

static void test_writes_versions_at_once_and_nothing_twice(void **state) {
    Fixture *fixture = *state;

    load(fixture, 1, GOOD);
    run(fixture, 1, 0);
    assert_string_equal(fixture->body,
        "{\"status\":{\"observedGeneration\":1,\"conditions\":[{\"type\":\"Accepted\",\"status\":"
        "\"True\",\"reason\":\"Valid\",\"message\":\"no mistakes\",\"observedGeneration\":1,"
        "\"lastTransitionTime\":\"1970-01-01T00:01:00Z\"},{\"type\":\"InForce\",\"status\":"
        "\"True\","
        "\"reason\":\"InForce\",\"message\":\"generation 1 is in force, by replica berth-0\","
        "\"observedGeneration\":1,\"lastTransitionTime\":\"1970-01-01T00:01:00Z\"}],"
        "\"inForceGeneration\":1,\"mode\":\"Enforce\",\"versions\":[{\"generation\":1,\"since\":"
        "\"1970-01-01T00:01:00Z\",\"spec\":" GOOD "}],\"pods\":0,\"rejected\":0,\"pending\":0,"
        "\"errors\":0}}");
    run(fixture, 1, 0);
    load(fixture, 2, BAD);
    run(fixture, 2, 1);
    assert_non_null(strstr(fixture->body, "spec.filters[0].nodeRedy: unknown field"));
    assert_non_null(strstr(fixture->body, "\"reason\":\"LastGoodVersion\""));
    assert_non_null(strstr(fixture->body, "\"inForceGeneration\":1"));
    run(fixture, 2, 1);
    load(fixture, 3, GOOD);
    run(fixture, 3, 1);
}

static void test_writes_counts_at_intervals(void **state) {
    Fixture *fixture = *state;

    load(fixture, 1, GOOD);
    run(fixture, 1, 0);
    fixture->n_pods = 5;
    run(fixture, 1, 0);
    fixture->now_nsec += (POLICY_REPORT_SEC - 3) * NSEC_PER_SEC;
    run(fixture, 1, 0);
    run(fixture, 2, 0);
    assert_non_null(strstr(fixture->body, "\"pods\":5"));
    assert_null(strstr(fixture->body, "\"versions\"")); /* they have not changed */
    fixture->now_nsec += POLICY_REPORT_SEC * NSEC_PER_SEC;
    run(fixture, 2, 0);
}

static void test_waits_while_a_version_is_loaded(void **state) {
    Fixture *fixture = *state;
    const ObjectMeta meta = {.name = STR("a")};

    assert_int_equal(policy_objects_apply(fixture->objects, EVENT_ADDED, &meta,
                         STR("{\"metadata\":{\"name\":\"a\",\"generation\":1},\"spec\":" GOOD "}")),
        0);
    choose(fixture);
    run(fixture, 0, 0);
    (void)snprintf(fixture->error, sizeof(fixture->error), "a file is broken");
    run(fixture, 1, 0);
    assert_non_null(strstr(fixture->body, "a file is broken"));
    assert_non_null(strstr(fixture->body, "\"inForceGeneration\":null"));
}

static void test_writes_again_what_was_not_taken(void **state) {
    Fixture *fixture = *state;

    fixture->is_deaf = true;
    load(fixture, 1, GOOD);
    run(fixture, 0, 0);
    fixture->is_deaf = false;
    run(fixture, 1, 0);
    policy_reporter_reset(&fixture->reporter);
    run(fixture, 2, 0);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(test_writes_versions_at_once_and_nothing_twice),
        TEST(test_writes_counts_at_intervals),
        TEST(test_waits_while_a_version_is_loaded),
        TEST(test_writes_again_what_was_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
