/* PolicyObjects: texts, lists, versions, and which changes count. */

#include "kube/policy-objects.h"
#include "kube/reflector.h"

#include "base/test-assert.h"

#define TEXT(name, rest)                                                                           \
    "apiVersion: berth.dev/v1alpha1\nkind: PlacementPolicy\nmetadata:\n  name: " name "\n" rest
#define OBJECT(name, uid, generation, rest)                                                        \
    "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"PlacementPolicy\",\"metadata\":{"           \
    "\"annotations\":{\"a\":\"b\"},\"generation\":" generation                                     \
    ",\"managedFields\":[{}],\"name\":\"" name "\",\"uid\":\"" uid "\"}" rest "}"
#define SPEC_JSON "{\"filters\":[{\"name\":\"ready\",\"nodeReady\":true}]}"
#define SPEC ",\"spec\":" SPEC_JSON
#define SPEC_TEXT "spec:\n  filters:\n  - name: ready\n    nodeReady: true\n"

typedef struct Fixture {
    PolicyObjects *objects;
    Arena *arena;
    PolicyObject *copies;
    size_t n;
    uint64_t version;
} Fixture;

static void copy_all(Fixture *fixture) {
    assert_int_equal(policy_objects_copy(fixture->objects, fixture->arena, &fixture->copies,
                         &fixture->n, &fixture->version),
        0);
}

static void list(Fixture *fixture, const char *const *items, size_t n) {
    policy_objects_begin(fixture->objects);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(policy_objects_item(fixture->objects, str_from_c(items[i])), 0);
    assert_int_equal(policy_objects_end(fixture->objects), 0);
    copy_all(fixture);
}

static int apply(Fixture *fixture, WatchEventType type, const char *name, const char *object) {
    const ObjectMeta meta = {.name = str_from_c(name)};
    int r = policy_objects_apply(fixture->objects, type, &meta, str_from_c(object));

    copy_all(fixture);
    return r;
}

static int open_fixture(void **state) {
    static Fixture fixture;

    fixture = (Fixture){.objects = policy_objects_new(), .arena = arena_new(1 << 20)};
    *state = &fixture;
    return fixture.objects && fixture.arena ? 0 : -1;
}

static int close_fixture(void **state) {
    Fixture *fixture = *state;

    policy_objects_free(fixture->objects);
    arena_free(fixture->arena);
    return 0;
}

static void test_keeps_what_users_write_sorted_by_name(void **state) {
    Fixture *fixture = *state;
    const char *const items[] = {OBJECT("b", "2", "7", SPEC ",\"status\":{\"pods\":1}"),
        OBJECT("a", "1", "1", SPEC), OBJECT("c", "3", "1", "")};

    assert_int_equal(policy_objects_version(fixture->objects), 0);
    list(fixture, items, 3);
    assert_int_equal(fixture->n, 3);
    assert_true(str_is(fixture->copies[0].spec, SPEC_JSON));
    assert_true(str_is(fixture->copies[1].name, "b"));
    assert_true(str_is(fixture->copies[1].uid, "2"));
    assert_int_equal(fixture->copies[1].generation, 7);
    assert_int_equal(fixture->copies[2].spec.len, 0);
    assert_int_equal(policy_objects_count(fixture->objects), 3);
}

static void test_status_and_same_list_are_no_change(void **state) {
    Fixture *fixture = *state;
    const char *const items[] = {OBJECT("a", "1", "1", SPEC)};
    uint64_t version;

    list(fixture, items, 1);
    version = fixture->version;
    assert_int_equal(
        apply(fixture, EVENT_MODIFIED, "a", OBJECT("a", "1", "1", SPEC ",\"status\":{}")), 0);
    list(fixture, items, 1);
    assert_int_equal(fixture->version, version);
    assert_int_equal(apply(fixture, EVENT_MODIFIED, "a", OBJECT("a", "1", "2", SPEC)), 0);
    assert_true(fixture->version > version);
}

static void test_empty_list_counts_as_listed(void **state) {
    Fixture *fixture = *state;

    list(fixture, NULL, 0);
    assert_int_equal(fixture->n, 0);
    assert_true(fixture->version > 0);
}

static void test_events_add_and_remove(void **state) {
    Fixture *fixture = *state;
    uint64_t version;

    list(fixture, NULL, 0);
    assert_int_equal(apply(fixture, EVENT_ADDED, "a", OBJECT("a", "1", "1", SPEC)), 0);
    assert_int_equal(fixture->n, 1);
    assert_int_equal(apply(fixture, EVENT_DELETED, "a", "{}"), 0);
    assert_int_equal(fixture->n, 0);
    version = fixture->version;
    assert_int_equal(apply(fixture, EVENT_DELETED, "a", "{}"), 0);
    assert_int_equal(fixture->version, version);
}

static void assert_text_of(Str name, Str spec, const char *expected) {
    _cleanup_(buf_done) Buf text = BUF_INIT(1 << 16);

    assert_int_equal(policy_object_text(name, spec, &text), 0);
    assert_text("text", buf_str(&text), expected);
}

/* The object is kept with an invalid text, so that its last good version stays in force. */
static void test_too_deep_spec_is_an_empty_text(void **state) {
    Fixture *fixture = *state;
    char deep[512] = "{\"metadata\":{\"name\":\"a\"},\"spec\":";
    size_t at = strlen(deep);

    memset(deep + at, '[', 100);
    memset(deep + at + 100, ']', 100);
    deep[at + 200] = '}';
    deep[at + 201] = '\0';
    assert_int_equal(apply(fixture, EVENT_ADDED, "a", deep), 0);
    assert_int_equal(fixture->n, 1);
    assert_text_of(STR("a"), fixture->copies[0].spec, "");
    assert_text_of(STR("a"), STR(SPEC_JSON), TEXT("a", SPEC_TEXT));
    assert_text_of(STR("a"), STR_NULL, TEXT("a", ""));
}

#define WITH_VERSIONS(versions)                                                                    \
    OBJECT("a", "1", "5", SPEC ",\"status\":{\"versions\":" versions "}")
#define VERSION(generation, since)                                                                 \
    "{\"generation\":" generation ",\"since\":\"" since "\",\"spec\":{}}"

static void test_reads_versions_of_the_status(void **state) {
    Fixture *fixture = *state;
    PolicyVersion versions[POLICY_VERSIONS_MAX];
    const char *const items[] = {WITH_VERSIONS(
        "[" VERSION("4", "1970-01-01T00:00:02Z") "," VERSION("3", "never") "," VERSION(
            "2", "9000-01-01T00:00:00Z") "," VERSION("1", "1970-01-01T00:00:01Z") "]")};

    list(fixture, items, 1);
    assert_int_equal(
        policy_objects_versions(fixture->objects, STR("a"), fixture->arena, versions), 2);
    assert_int_equal(versions[0].generation, 4);
    assert_int_equal(versions[0].since_nsec, 2 * INT64_C(1000000000));
    assert_true(str_is(versions[0].spec, "{}"));
    assert_int_equal(versions[1].generation, 1);
    assert_int_equal(
        policy_objects_versions(fixture->objects, STR("b"), fixture->arena, versions), 0);
}

/* Users can write the status; the object must be kept. */
static void test_invalid_status_has_no_versions(void **state) {
    Fixture *fixture = *state;
    static const char *const objects[] = {
        OBJECT("a", "1", "1", SPEC),
        OBJECT("a", "1", "1", SPEC ",\"status\":7"),
        OBJECT("a", "1", "1", SPEC ",\"status\":null"),
        WITH_VERSIONS("{}"),
        WITH_VERSIONS("[7]"),
        WITH_VERSIONS("[{\"generation\":\"x\",\"since\":\"1970-01-01T00:00:02Z\"}]"),
    };
    PolicyVersion versions[POLICY_VERSIONS_MAX];

    for (size_t i = 0; i < ELEMENTS_OF(objects); i++) {
        list(fixture, &objects[i], 1);
        assert_int_equal(fixture->n, 1);
        assert_int_equal(
            policy_objects_versions(fixture->objects, STR("a"), fixture->arena, versions), 0);
    }
}

static void test_rejects_invalid_objects(void **state) {
    Fixture *fixture = *state;

    list(fixture, NULL, 0);
    assert_int_equal(apply(fixture, EVENT_ADDED, "a", "{\"metadata\":{}}"), SINK_UNFIT);
    assert_int_equal(apply(fixture, EVENT_ADDED, "a", "{\"metadata\":[]}"), SINK_UNFIT);
    assert_int_equal(apply(fixture, EVENT_ADDED, "a", "{\"metadata\":"), SINK_MALFORMED);
    assert_int_equal(fixture->n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_keeps_what_users_write_sorted_by_name, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(
            test_status_and_same_list_are_no_change, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(
            test_empty_list_counts_as_listed, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_events_add_and_remove, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(
            test_too_deep_spec_is_an_empty_text, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(
            test_reads_versions_of_the_status, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(
            test_invalid_status_has_no_versions, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_rejects_invalid_objects, open_fixture, close_fixture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
