#include "history/changes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

#define READ_MAX (CHANGES_MAX + 10)

typedef struct Fixture {
    Changes *changes;
    Arena *arena;
    Change read[READ_MAX];
} Fixture;

static int setup(void **state) {
    Fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->changes = changes_new();
    fixture->arena = arena_new((size_t)64 << 20);
    assert_true(fixture->changes && fixture->arena);
    *state = fixture;
    return 0;
}

static int teardown(void **state) {
    Fixture *fixture = *state;

    changes_free(fixture->changes);
    arena_free(fixture->arena);
    free(fixture);
    return 0;
}

static size_t read_all(Fixture *fixture) {
    return changes_read(fixture->changes, fixture->arena, fixture->read, READ_MAX);
}

static Digest note_policy(Fixture *fixture, int64_t at_nsec, const char *file, const char *text) {
    PolicySource source = {str_from_c(file), str_from_c(text)};
    Digest digest = digest_chain(digest_of(source.file), source.text);

    changes_note_policies(fixture->changes, at_nsec, digest, &source, 1);
    return digest;
}

static void test_kinds_have_names(void **state) {
    (void)state;
    for (size_t i = 0; i < _CHANGE_MAX; i++)
        assert_non_null(change_kinds[i].name);
    assert_string_equal(change_kinds[CHANGE_POLICY_REJECTED].name, "policy-rejected");
    assert_true(change_kinds[CHANGE_WATCH_LOST].is_bad);
    assert_false(change_kinds[CHANGE_POLICY].is_bad);
}

static void test_reads_the_newest_first(void **state) {
    Fixture *fixture = *state;

    assert_int_equal(read_all(fixture), 0);
    changes_note(fixture->changes, CHANGE_STARTED, 10, STR("berth"), STR_NULL);
    changes_note(fixture->changes, CHANGE_WATCH_LOST, 20, STR_NULL, STR("refused\nmore"));
    assert_int_equal(read_all(fixture), 2);
    assert_int_equal(fixture->read[0].id, 2);
    assert_int_equal(fixture->read[0].kind, CHANGE_WATCH_LOST);
    assert_int_equal(fixture->read[0].at_nsec, 20);
    assert_text("what", fixture->read[0].what, "");
    assert_text("text", fixture->read[0].text, "refused");
    assert_text("what", fixture->read[1].what, "berth");
    assert_false(fixture->read[0].has_diff);
    assert_int_equal(changes_last(fixture->changes, CHANGE_STARTED), 10);
    assert_int_equal(changes_last(fixture->changes, CHANGE_RELIST), 0);
    assert_int_equal(changes_read(fixture->changes, fixture->arena, fixture->read, 1), 1);
    assert_int_equal(fixture->read[0].id, 2);
}

static void test_keeps_the_last_changes(void **state) {
    Fixture *fixture = *state;
    char text[2 * CHANGES_TEXT_MAX];

    memset(text, 'x', sizeof(text));
    memcpy(text + CHANGES_TEXT_MAX - 1, "\xc3\xa4",
        2); /* a character across the limit must be dropped */
    for (int64_t i = 1; i <= (int64_t)CHANGES_MAX + 5; i++)
        changes_note(fixture->changes, CHANGE_RELIST, i, STR_NULL, str_of(text, sizeof(text)));
    assert_int_equal(read_all(fixture), CHANGES_MAX);
    assert_int_equal(fixture->read[0].id, CHANGES_MAX + 5);
    assert_int_equal(fixture->read[CHANGES_MAX - 1].id, 6);
    assert_int_equal(fixture->read[0].text.len, CHANGES_TEXT_MAX - 1);
}

static void test_compares_versions(void **state) {
    Fixture *fixture = *state;
    _cleanup_(buf_done) Buf diff = BUF_INIT(65536);
    const PolicySource *sources;
    Digest first, second;
    size_t n;

    first = note_policy(fixture, 1, "a.yaml", "mode: Observe\n");
    assert_int_equal(read_all(fixture), 0); /* the first version is not a change */
    assert_false(changes_diff(fixture->changes, first, &diff));
    (void)note_policy(fixture, 2, "a.yaml", "mode: Observe\n");
    assert_int_equal(read_all(fixture), 0); /* nor is an equal one */
    second = note_policy(fixture, 3, "a.yaml", "mode: Enforce\nx: 1\n");
    assert_int_equal(read_all(fixture), 1);
    assert_int_equal(fixture->read[0].kind, CHANGE_POLICY);
    assert_true(fixture->read[0].has_diff);
    assert_text("text", fixture->read[0].text, "2 lines added, 1 removed");
    assert_true(changes_diff(fixture->changes, second, &diff));
    assert_text("diff", buf_str(&diff),
        "--- a.yaml\n+++ a.yaml\n@@ -1 +1,2 @@\n-mode: Observe\n+mode: Enforce\n+x: 1\n");
    assert_true(changes_sources(fixture->changes, first, fixture->arena, &sources, &n));
    assert_int_equal(n, 1);
    assert_text("source", sources[0].text, "mode: Observe\n");
    assert_false(changes_sources(fixture->changes, DIGEST_NONE, fixture->arena, &sources, &n));
}

static void test_diff_of_added_and_removed_files(void **state) {
    Fixture *fixture = *state;
    _cleanup_(buf_done) Buf diff = BUF_INIT(65536);
    const PolicySource before[] = {{STR("a"), STR("1\n")}, {STR("b"), STR("2\n")}};
    const PolicySource after[] = {{STR("c"), STR("3\n")}, {STR("b"), STR("2\n")}};

    changes_note_policies(fixture->changes, 1, digest_of(STR("x")), before, 2);
    changes_note_policies(fixture->changes, 2, digest_of(STR("y")), after, 2);
    assert_true(changes_diff(fixture->changes, digest_of(STR("y")), &diff));
    assert_text("diff", buf_str(&diff),
        "--- /dev/null\n+++ c\n@@ -0,0 +1 @@\n+3\n--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n");
}

/* After a return to an older version each version is kept once, and the diff is of the last
 * change. */
static void test_returns_to_an_older_version(void **state) {
    Fixture *fixture = *state;
    _cleanup_(buf_done) Buf diff = BUF_INIT(65536);
    Digest b;

    (void)note_policy(fixture, 1, "f", "a\n");
    (void)note_policy(fixture, 2, "f", "b\n");
    (void)note_policy(fixture, 3, "f", "c\n");
    b = note_policy(fixture, 4, "f", "b\n");
    assert_int_equal(read_all(fixture), 3);
    assert_true(fixture->read[0].has_diff);
    assert_true(fixture->read[1].has_diff);
    assert_false(fixture->read[2].has_diff);
    assert_true(changes_diff(fixture->changes, b, &diff));
    assert_text("diff", buf_str(&diff), "--- f\n+++ f\n@@ -1 +1 @@\n-c\n+b\n");
}

static void test_versions_are_bounded(void **state) {
    Fixture *fixture = *state;
    size_t size = CHANGES_VERSIONS_BYTES / 3;
    char *text = malloc(size + 1);
    char number[32];

    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = '\0';
    for (int i = 0; i < 5; i++) { /* two versions fit */
        text[0] = (char)('a' + i);
        (void)note_policy(fixture, i, "f", text);
    }
    assert_int_equal(read_all(fixture), 4);
    assert_true(fixture->read[0].has_diff);
    assert_false(fixture->read[1].has_diff);
    free(text);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(number, sizeof(number), "%d\n", i);
        (void)note_policy(fixture, i, "f", number);
    }
    assert_int_equal(read_all(fixture), 44);
    assert_true(fixture->read[CHANGES_VERSIONS_MAX - 2].has_diff);
    assert_false(fixture->read[CHANGES_VERSIONS_MAX - 1].has_diff);
}

/* Too large texts are not kept, but the change is recorded. */
static void test_large_texts_are_not_kept(void **state) {
    Fixture *fixture = *state;
    char *text = malloc(CHANGES_VERSIONS_BYTES + 1);

    assert_non_null(text);
    memset(text, 'x', CHANGES_VERSIONS_BYTES);
    text[CHANGES_VERSIONS_BYTES] = '\0';
    (void)note_policy(fixture, 1, "f", "small\n");
    (void)note_policy(fixture, 2, "f", text);
    (void)note_policy(fixture, 3, "f", "small\n");
    free(text);
    assert_int_equal(read_all(fixture), 2);
    assert_false(fixture->read[0].has_diff);
    assert_false(fixture->read[1].has_diff);
}

static void *note_many(void *context) {
    Fixture *fixture = context;

    for (int i = 0; i < 300; i++) {
        changes_note(fixture->changes, CHANGE_RELIST, i, STR("nodes"), STR("again"));
        (void)note_policy(fixture, i, "f", i % 2 ? "odd\n" : "even\n");
    }
    return NULL;
}

static void test_notes_and_reads_from_several_threads(void **state) {
    Fixture *fixture = *state;
    pthread_t threads[3];

    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_many, fixture), 0);
    for (int i = 0; i < 20; i++) {
        _cleanup_(buf_done) Buf diff = BUF_INIT(65536);

        (void)read_all(fixture);
        (void)changes_diff(fixture->changes, fixture->read[0].digest, &diff);
    }
    for (size_t i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(read_all(fixture), CHANGES_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_have_names),
        cmocka_unit_test_setup_teardown(test_reads_the_newest_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keeps_the_last_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_compares_versions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_diff_of_added_and_removed_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_returns_to_an_older_version, setup, teardown),
        cmocka_unit_test_setup_teardown(test_versions_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_texts_are_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_notes_and_reads_from_several_threads, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
