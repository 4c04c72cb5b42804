#include "monitor/watch-changes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/test-assert.h"

#define BEGIN (1000 * NSEC_PER_SEC)

typedef struct Fixture {
    Changes *changes;
    Arena *arena;
    WatchChanges watch;
    LiveStatus live;
    int64_t now_nsec;
    Change read[16];
} Fixture;

static int setup(void **state) {
    Fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    fixture->changes = changes_new();
    fixture->arena = arena_new(1 << 20);
    fixture->now_nsec = BEGIN;
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        fixture->live.watcher.kinds[i] = (WatcherKindStatus){
            .is_synced = true, .is_connected = true, .n_lists = 1, .updated_at_nsec = BEGIN};
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

/* Moves the clock by @sec without events. Returns the number of changes so far. */
static size_t look(Fixture *fixture, int64_t sec) {
    fixture->now_nsec += sec * NSEC_PER_SEC;
    watch_changes_look(
        &fixture->watch, &fixture->live, fixture->changes, fixture->now_nsec, fixture->now_nsec);
    return changes_read(
        fixture->changes, fixture->arena, fixture->read, ELEMENTS_OF(fixture->read));
}

static void assert_newest(
    const Fixture *fixture, ChangeKind kind, const char *what, const char *text) {
    assert_string_equal(change_kinds[fixture->read[0].kind].name, change_kinds[kind].name);
    assert_text("what", fixture->read[0].what, what);
    assert_text("text", fixture->read[0].text, text);
}

static void test_reports_lost_and_restored_connection(void **state) {
    Fixture *fixture = *state;
    WatcherKindStatus *pods = &fixture->live.watcher.kinds[WATCHER_PODS];

    assert_int_equal(look(fixture, 0), 0);
    assert_int_equal(look(fixture, 60), 0); /* without events a bookmark comes every minute */
    fixture->live.watcher.kinds[WATCHER_NODES].updated_at_nsec = fixture->now_nsec;
    pods->updated_at_nsec = fixture->now_nsec;
    pods->is_connected = false;
    (void)snprintf(pods->last_error, sizeof(pods->last_error), "connection refused");
    assert_int_equal(look(fixture, WATCH_LOST_SEC), 0); /* too short to report */
    assert_int_equal(look(fixture, 1), 1);
    assert_newest(fixture, CHANGE_WATCH_LOST, "API server", "connection refused");
    assert_int_equal(look(fixture, 20), 1);
    pods->is_connected = true;
    pods->updated_at_nsec = fixture->now_nsec;
    assert_int_equal(look(fixture, 1), 2);
    assert_newest(fixture, CHANGE_WATCH_BACK, "API server", "after 26 s");
}

static void test_reports_silent_connection(void **state) {
    Fixture *fixture = *state;

    assert_int_equal(look(fixture, WATCHER_SILENCE_SEC), 0);
    assert_int_equal(look(fixture, 1), 1);
    assert_int_equal(fixture->read[0].kind, CHANGE_WATCH_LOST);
}

static void test_reports_relists(void **state) {
    Fixture *fixture = *state;
    WatcherKindStatus *nodes = &fixture->live.watcher.kinds[WATCHER_NODES];

    nodes->is_synced = false;
    nodes->n_lists = 0;
    assert_int_equal(look(fixture, 1), 0);
    nodes->n_lists = 3; /* the third is the first complete list */
    nodes->is_synced = true;
    assert_int_equal(look(fixture, 1), 0);
    nodes->n_lists = 4;
    assert_int_equal(look(fixture, 1), 1);
    assert_newest(fixture, CHANGE_RELIST, "nodes", "listed again");
    assert_int_equal(look(fixture, 1), 1);
}

static void test_reports_lease(void **state) {
    Fixture *fixture = *state;

    fixture->live.watcher.has_lease = true;
    assert_int_equal(look(fixture, 1), 0);
    fixture->live.watcher.lease.is_held = true;
    assert_int_equal(look(fixture, 1), 1);
    assert_newest(fixture, CHANGE_LEASE_TAKEN, "lease", "this replica binds");
    fixture->live.watcher.lease.is_held = false;
    assert_int_equal(look(fixture, 1), 2);
    assert_newest(fixture, CHANGE_LEASE_LOST, "lease", "another replica binds");
}

static void test_reports_bypasses_at_intervals(void **state) {
    Fixture *fixture = *state;

    fixture->live.n_bypassed = 1;
    assert_int_equal(look(fixture, 1), 1);
    assert_newest(fixture, CHANGE_BYPASSED, "pods", "1 pod bypassed berth");
    fixture->live.n_bypassed = 4;
    assert_int_equal(look(fixture, 1), 1); /* too soon */
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        fixture->live.watcher.kinds[i].updated_at_nsec = BEGIN + 60 * NSEC_PER_SEC;
    assert_int_equal(look(fixture, 60), 2);
    assert_newest(fixture, CHANGE_BYPASSED, "pods", "3 pods bypassed berth");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reports_lost_and_restored_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reports_silent_connection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reports_relists, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reports_lease, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reports_bypasses_at_intervals, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
