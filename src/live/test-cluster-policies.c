/* ClusterPolicies: mistakes, conflicts, limits and rejected loads leave other objects alone. */

#include "live/cluster-policies.h"

#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"
#include "input/policies.h"

#define READY "filters: [{name: ready, nodeReady: true}]"
#define READY_JSON "\"filters\":[{\"name\":\"ready\",\"nodeReady\":true}]"

typedef struct Fixture {
    PolicyObjects *objects;
    ClusterPolicies *policies;
    Arena *arena;
    Program *of_files;
    PolicySource file;
    const PolicySource *sources;
    size_t n;
    bool is_new;
} Fixture;

static int open_fixture(void **state) {
    static Fixture fixture;
    DiagList diags;

    fixture = (Fixture){.objects = policy_objects_new(), .arena = arena_new(1 << 26)};
    fixture.policies = cluster_policies_new(fixture.objects);
    diags = DIAG_LIST_IN(fixture.arena);
    fixture.file = (PolicySource){.file = STR("f.yaml"),
        .text = STR("apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\n"
                    "metadata: {name: of-file}\nspec: {" READY "}\n")};
    *state = &fixture;
    policy_objects_begin(fixture.objects);
    assert_int_equal(policy_objects_end(fixture.objects), 0);
    return policies_compile(&fixture.file, 1, &diags, &fixture.of_files);
}

static int close_fixture(void **state) {
    Fixture *fixture = *state;

    cluster_policies_free(fixture->policies);
    policy_objects_free(fixture->objects);
    program_unref(fixture->of_files);
    arena_free(fixture->arena);
    return 0;
}

/* @spec: JSON. */
static void apply_spec(
    Fixture *fixture, const char *name, const char *uid, int generation, const char *spec) {
    const ObjectMeta meta = {.name = str_from_c(name)};
    Str object = arena_printf(fixture->arena,
        "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"generation\":%d},\"spec\":%s}", name, uid,
        generation, spec);

    assert_int_equal(policy_objects_apply(fixture->objects, EVENT_MODIFIED, &meta, object), 0);
}

static void apply(Fixture *fixture, const char *name, int generation, bool is_good) {
    apply_spec(fixture, name, "u", generation,
        is_good ? "{\"filters\":[{\"name\":\"r\",\"nodeReady\":true}]}"
                : "{\"filters\":[{\"name\":\"r\",\"nodeRedy\":true}]}");
}

static void delete (Fixture *fixture, const char *name) {
    const ObjectMeta meta = {.name = str_from_c(name)};

    assert_int_equal(policy_objects_apply(fixture->objects, EVENT_DELETED, &meta, STR("{}")), 0);
}

/* Chooses, and checks the files of the program: "f.yaml placementpolicy/a". */
static void choose(Fixture *fixture, const char *expected) {
    _cleanup_(buf_done) Buf names = BUF_INIT(1 << 16);

    assert_int_equal(cluster_policies_choose(fixture->policies, fixture->of_files, &fixture->file,
                         1, fixture->arena, &fixture->sources, &fixture->n, &fixture->is_new),
        0);
    for (size_t i = 0; i < fixture->n; i++)
        buf_printf(&names, "%s%.*s", i > 0 ? " " : "", STR_FMT(fixture->sources[i].file));
    assert_text("sources", buf_str(&names), expected);
}

static void commit(Fixture *fixture, const char *expected) {
    choose(fixture, expected);
    cluster_policies_commit(fixture->policies, 1);
}

/* "a 2/1 error, b 1/1": newest generation, generation in force, and whether there is an error. */
static void assert_states(Fixture *fixture, const char *expected) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 16);
    ClusterPolicy *items;
    size_t n;

    assert_int_equal(cluster_policies_copy(fixture->policies, fixture->arena, &items, &n), 0);
    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%.*s %d/%d%s", i > 0 ? ", " : "", STR_FMT(items[i].newest.name),
            (int)items[i].newest.generation, (int)items[i].in_force,
            str_is_empty(items[i].error) ? "" : " error");
    assert_text("states", buf_str(&text), expected);
}

#define ALL "f.yaml placementpolicy/a placementpolicy/b"

static void test_objects_follow_files_by_name(void **state) {
    Fixture *fixture = *state;

    apply(fixture, "b", 1, true);
    apply(fixture, "a", 1, true);
    choose(fixture, ALL);
    assert_true(fixture->is_new);
    assert_states(fixture, "a 1/0, b 1/0");
    cluster_policies_commit(fixture->policies, 1);
    assert_states(fixture, "a 1/1, b 1/1");
    choose(fixture, ALL);
    assert_false(fixture->is_new);
    delete (fixture, "a");
    commit(fixture, "f.yaml placementpolicy/b");
    assert_states(fixture, "b 1/1");
}

static void test_broken_object_keeps_its_last_good_version(void **state) {
    Fixture *fixture = *state;
    char text[256];

    apply(fixture, "a", 1, true);
    commit(fixture, "f.yaml placementpolicy/a");
    apply(fixture, "a", 2, false);
    apply(fixture, "b", 1, true);
    apply(fixture, "c", 1, false);
    commit(fixture, ALL);
    assert_states(fixture, "a 2/1 error, b 1/1, c 1/0 error");
    commit(fixture, ALL);
    assert_states(fixture, "a 2/1 error, b 1/1, c 1/0 error");
    cluster_policies_describe(fixture->policies, text, sizeof(text));
    assert_non_null(strstr(text, "placementpolicy/a: spec.filters[0]"));
    assert_non_null(strstr(text, "did you mean \"nodeReady\"?"));
    assert_non_null(strstr(text, " (and 1 more policies)"));
    apply(fixture, "a", 3, true);
    delete (fixture, "c");
    commit(fixture, ALL);
    assert_states(fixture, "a 3/3, b 1/1");
    cluster_policies_describe(fixture->policies, text, sizeof(text));
    assert_string_equal(text, "");
}

static void test_object_made_anew_inherits_no_version(void **state) {
    Fixture *fixture = *state;

    apply(fixture, "a", 1, true);
    commit(fixture, "f.yaml placementpolicy/a");
    apply_spec(fixture, "a", "another", 1, "{\"filters\":[{\"name\":\"r\",\"nodeRedy\":true}]}");
    commit(fixture, "f.yaml");
    assert_states(fixture, "a 1/0 error");
}

static void test_name_of_a_file_is_an_error_of_the_object(void **state) {
    Fixture *fixture = *state;
    char text[256];

    apply(fixture, "of-file", 1, true);
    apply(fixture, "a", 1, true);
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 1/1, of-file 1/0 error");
    cluster_policies_describe(fixture->policies, text, sizeof(text));
    assert_string_equal(text, "placementpolicy/of-file: a policy file has a policy of this name, "
                              "f.yaml:3; rename one of them");
}

static void test_rejected_versions_are_tried_again_after_a_change(void **state) {
    Fixture *fixture = *state;

    apply(fixture, "a", 1, true);
    commit(fixture, "f.yaml placementpolicy/a");
    apply(fixture, "a", 2, true);
    apply(fixture, "b", 1, true);
    choose(fixture, ALL);
    cluster_policies_reject(fixture->policies, STR("too slow"));
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 2/1 error, b 1/0 error");
    delete (fixture, "b");
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 2/2");
}

static void test_a_change_during_a_load_that_fails_counts(void **state) {
    Fixture *fixture = *state;

    apply(fixture, "a", 1, true);
    apply(fixture, "b", 1, true);
    choose(fixture, ALL);
    delete (fixture, "b");
    cluster_policies_reject(fixture->policies, STR("too slow"));
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 1/1");
}

#define GOOD_SPEC "{\"filters\":[{\"name\":\"r\",\"nodeReady\":true}]}"
#define BAD_SPEC "{\"filters\":[{\"name\":\"r\",\"nodeRedy\":true}]}"

/* "4 at 9, 3 at 1": generations and seconds of policy a. */
static void assert_versions(Fixture *fixture, const char *expected) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 16);
    PolicyVersion versions[POLICY_VERSIONS_MAX];
    size_t n = cluster_policies_versions(fixture->policies, STR("a"), fixture->arena, versions);

    for (size_t i = 0; i < n; i++)
        buf_printf(&text, "%s%d at %d", i > 0 ? ", " : "", (int)versions[i].generation,
            (int)(versions[i].since_nsec / NSEC_PER_SEC));
    assert_text("versions", buf_str(&text), expected);
}

/* Policy a with @versions in its status, as a berth that has just started finds it. */
static void apply_with_versions(
    Fixture *fixture, int generation, const char *spec, const char *versions) {
    const ObjectMeta meta = {.name = STR("a")};
    Str object = arena_printf(fixture->arena,
        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"generation\":%d},\"spec\":%s,"
        "\"status\":{\"versions\":[%s]}}",
        generation, spec, versions);

    assert_int_equal(policy_objects_apply(fixture->objects, EVENT_ADDED, &meta, object), 0);
}

#define STORED(generation, spec)                                                                   \
    "{\"generation\":" #generation ",\"since\":\"1970-01-01T00:00:0" #generation                   \
    "Z\",\"spec\":" spec "}"

static void test_keeps_the_last_versions(void **state) {
    Fixture *fixture = *state;

    for (int i = 1; i <= 5; i++) {
        apply(fixture, "a", i, i != 3);
        choose(fixture, "f.yaml placementpolicy/a");
        cluster_policies_commit(fixture->policies, (10 + i) * NSEC_PER_SEC);
    }
    assert_versions(fixture, "5 at 15, 4 at 14, 2 at 12");
}

static void test_start_takes_the_last_good_version_of_the_status(void **state) {
    Fixture *fixture = *state;

    apply_with_versions(fixture, 9, BAD_SPEC,
        STORED(4, BAD_SPEC) "," STORED(3, GOOD_SPEC) "," STORED(2, GOOD_SPEC));
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 9/3 error");
    assert_versions(fixture, "3 at 0, 4 at 4, 2 at 2");
    choose(fixture, "f.yaml placementpolicy/a");
    assert_false(fixture->is_new);
}

/* A load that is cancelled after the choice must not lose it. */
static void test_version_of_the_status_stays_the_choice(void **state) {
    Fixture *fixture = *state;

    apply_with_versions(fixture, 9, BAD_SPEC, STORED(4, GOOD_SPEC));
    choose(fixture, "f.yaml placementpolicy/a");
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 9/4 error");
    assert_versions(fixture, "4 at 4");
}

static void test_good_newest_version_keeps_its_time(void **state) {
    Fixture *fixture = *state;

    apply_with_versions(fixture, 4, GOOD_SPEC, STORED(4, GOOD_SPEC) "," STORED(3, BAD_SPEC));
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 4/4");
    assert_versions(fixture, "4 at 4, 3 at 3");
}

/* Such a status was restored with the object, or written by a user. */
static void test_versions_that_cannot_be_are_not_used(void **state) {
    Fixture *fixture = *state;

    apply_with_versions(fixture, 4, BAD_SPEC, STORED(5, GOOD_SPEC) "," STORED(4, GOOD_SPEC));
    commit(fixture, "f.yaml");
    assert_states(fixture, "a 4/0 error");
    assert_versions(fixture, "");
}

/* The version is in force, but the status has only its generation. */
static void test_large_spec_is_not_kept(void **state) {
    Fixture *fixture = *state;
    PolicyVersion versions[POLICY_VERSIONS_MAX];
    _cleanup_(buf_done) Buf spec = BUF_INIT(1 << 20);

    buf_append(&spec, STR("{\"filters\":[{\"name\":\"r\",\"nodeReady\":true}]"));
    buf_append_repeat(&spec, ' ', POLICY_VERSION_SPEC_MAX);
    buf_append(&spec, STR("}"));
    buf_append_char(&spec, '\0');
    apply_spec(fixture, "a", "u", 1, spec.data);
    commit(fixture, "f.yaml placementpolicy/a");
    assert_int_equal(
        cluster_policies_versions(fixture->policies, STR("a"), fixture->arena, versions), 1);
    assert_int_equal(versions[0].spec.len, 0);
}

static void test_version_without_a_spec_is_not_used(void **state) {
    Fixture *fixture = *state;

    apply_with_versions(
        fixture, 2, BAD_SPEC, "{\"generation\":1,\"since\":\"1970-01-01T00:00:01Z\"}");
    commit(fixture, "f.yaml");
    assert_versions(fixture, "1 at 1");
}

/* Checks the review of another version of @name with one filter. @expected: the mistakes. */
static void assert_review(Fixture *fixture, const char *name, const char *expected) {
    _cleanup_(buf_done) Buf mistakes = BUF_INIT(1 << 16), warnings = BUF_INIT(1 << 16);
    Str json = arena_printf(
        fixture->arena, "{\"metadata\":{\"name\":\"%s\"},\"spec\":{" READY_JSON "}}", name);
    PolicyObject object;

    assert_int_equal(policy_object_read(json, fixture->arena, &object), 0);
    assert_int_equal(cluster_policies_review(fixture->policies, &object, &mistakes, &warnings),
        expected[0] != '\0' ? POLICIES_E_INVALID : 0);
    assert_text("mistakes", buf_str(&mistakes), expected);
}

/* The file has one filter: a policy with 999 fits, but no further one. */
static void test_object_over_a_limit_leaves_others_alone(void **state) {
    Fixture *fixture = *state;
    _cleanup_(buf_done) Buf spec = BUF_INIT(1 << 20);

    buf_append(&spec, STR("{\"filters\":["));
    for (int i = 0; i < 999; i++)
        buf_printf(&spec, "%s{\"name\":\"r%d\",\"nodeReady\":true}", i > 0 ? "," : "", i);
    buf_append(&spec, STR("]}"));
    buf_append_char(&spec, '\0');
    apply_spec(fixture, "b", "u", 1, spec.data);
    commit(fixture, "f.yaml placementpolicy/b");
    apply(fixture, "a", 1, true);
    commit(fixture, "f.yaml placementpolicy/b");
    assert_states(fixture, "a 1/0 error, b 1/1");
    assert_review(fixture, "c",
        "with it, all policies together would have 1001 filters and 0 scores; the limit is 1000 of "
        "each");
    assert_review(fixture, "b", ""); /* instead of the 999 */
    delete (fixture, "b");
    commit(fixture, "f.yaml placementpolicy/a");
    assert_states(fixture, "a 1/1");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(test_objects_follow_files_by_name),
        TEST(test_broken_object_keeps_its_last_good_version),
        TEST(test_object_made_anew_inherits_no_version),
        TEST(test_name_of_a_file_is_an_error_of_the_object),
        TEST(test_rejected_versions_are_tried_again_after_a_change),
        TEST(test_a_change_during_a_load_that_fails_counts),
        TEST(test_keeps_the_last_versions),
        TEST(test_start_takes_the_last_good_version_of_the_status),
        TEST(test_version_of_the_status_stays_the_choice),
        TEST(test_good_newest_version_keeps_its_time),
        TEST(test_versions_that_cannot_be_are_not_used),
        TEST(test_large_spec_is_not_kept),
        TEST(test_version_without_a_spec_is_not_used),
        TEST(test_object_over_a_limit_leaves_others_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
