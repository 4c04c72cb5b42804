#include "demo/demo-scheduler.h"

#include <stdio.h>

#include "base/test-assert.h"

static void test_reasons(void **state) {
    static const Placement placement = {
        .n_reasons = 3,
        .reasons = {{STR("too far"), 87}, {STR("too small"), 12}, {STR("too new"), 1}},
    };
    static const struct {
        const char *name;
        size_t width;
        const char *text;
    } cases[] = {
        {"all of them", 100, "87 too far, 12 too small, 1 too new"},
        {"exactly", 35, "87 too far, 12 too small, 1 too new"},
        {"two", 34, "87 too far, 12 too small, +1 more"},
        {"one", 30, "87 too far, +2 more"},
        {"one at least", 0, "87 too far, +2 more"},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Buf out = BUF_INIT(1024);

        placement_print_reasons(&placement, cases[i].width, &out);
        assert_text(cases[i].name, buf_str(&out), cases[i].text);
        buf_done(&out);
    }
}

/* Nobody listens there: that is said, and told apart from a refusal. */
static void test_no_reply(void **state) {
    DemoScheduler *scheduler = NULL;
    DemoCluster *cluster = NULL;
    Snapshot *snapshot = NULL;
    const DemoPod *pod;
    Placement placement;

    (void)state;
    assert_int_equal(demo_scheduler_new("http://127.0.0.1:1", 1, NULL, &scheduler), 0);
    assert_int_equal(demo_cluster_new(20, 1, /* now_sec= */ 0, &cluster), 0);
    assert_int_equal(demo_cluster_next_pod(cluster, /* now_sec= */ 0, &pod), 0);
    assert_int_equal(demo_cluster_snapshot(cluster, &snapshot), 0);
    assert_int_equal(demo_scheduler_place(scheduler, pod, snapshot_table(snapshot), &placement), 0);
    assert_true(placement.is_cut_off);
    assert_true(placement.n_candidates > 0);
    assert_true(str_is_empty(placement.node));
    assert_false(str_is_empty(placement.error));
    snapshot_unref(snapshot);
    demo_cluster_free(cluster);
    demo_scheduler_free(scheduler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_no_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
