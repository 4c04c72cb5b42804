#include "cluster/assumed-pods.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/record.h"

static const Pod *pod_of(const char *uid) {
    const Pod *pod = pod_record_new(NULL, &(Pod){.uid = str_from_c(uid)}, &pod_parts_all);

    assert_non_null(pod);
    return pod;
}

static void add(AssumedPods *assumed, const char *uid, int64_t until) {
    assert_int_equal(assumed_pods_add(assumed, pod_of(uid), until), 0);
}

static void test_find_and_take(void **state) {
    _cleanup_(assumed_pods_done) AssumedPods assumed = {0};
    const Pod *pod;

    (void)state;
    assert_null(assumed_pods_find(&assumed, STR("a")));
    assert_null(assumed_pods_take(&assumed, STR("a")));
    add(&assumed, "a", 5);
    add(&assumed, "b", 7);
    assert_int_equal(assumed_pods_count(&assumed), 2);
    assert_int_equal(assumed_pods_find(&assumed, STR("b"))->until_nsec, 7);
    pod = assumed_pods_take(&assumed, STR("a"));
    assert_text("taken", pod->uid, "a");
    pod_record_unref(pod);
    assert_null(assumed_pods_find(&assumed, STR("a")));
    assert_int_equal(assumed_pods_count(&assumed), 1);
}

/* An entry expires at its time, not later. */
static void test_times(void **state) {
    static const struct {
        int64_t now;
        size_t n_over;
        int64_t next;
    } cases[] = {{9, 0, 10}, {10, 1, 20}, {25, 1, 30}, {1000, 98, INT64_MAX}, {1001, 0, INT64_MAX}};
    _cleanup_(assumed_pods_done) AssumedPods assumed = {0};

    (void)state;
    assert_true(assumed_pods_next(&assumed) == INT64_MAX);
    for (int i = 1; i <= 100; i++) {
        char uid[16];

        (void)snprintf(uid, sizeof(uid), "%d", i);
        add(&assumed, uid, i * 10);
    }
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        size_t n = 0, at = 0;
        const Pod *pod;

        while ((pod = assumed_pods_take_expired(&assumed, cases[i].now, &at))) {
            pod_record_unref(pod);
            n++;
        }
        assert_int_equal(n, cases[i].n_over);
        assert_true(assumed_pods_next(&assumed) == cases[i].next);
    }
    assert_int_equal(assumed_pods_count(&assumed), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_and_take),
        cmocka_unit_test(test_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
