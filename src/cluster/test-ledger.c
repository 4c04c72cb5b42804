#include "cluster/ledger.h"

#include <stdio.h>

#include "base/test-assert.h"
#include "cluster/record.h"

static const Pod *pod_of(const char *uid) {
    const Pod *pod = pod_record_new(NULL, &(Pod){.uid = str_from_c(uid)});

    assert_non_null(pod);
    return pod;
}

static void add(Ledger *ledger, const char *uid, int64_t until) {
    assert_int_equal(ledger_add(ledger, pod_of(uid), until), 0);
}

static void test_find_and_take(void **state) {
    _cleanup_(ledger_done) Ledger ledger = {0};
    const Pod *pod;

    (void)state;
    assert_null(ledger_find(&ledger, STR("a")));
    assert_null(ledger_take(&ledger, STR("a")));
    add(&ledger, "a", 5);
    add(&ledger, "b", 7);
    assert_int_equal(ledger_count(&ledger), 2);
    assert_int_equal(ledger_find(&ledger, STR("b"))->until_nsec, 7);
    pod = ledger_take(&ledger, STR("a"));
    assert_text("taken", pod->uid, "a");
    pod_record_unref(pod);
    assert_null(ledger_find(&ledger, STR("a")));
    assert_int_equal(ledger_count(&ledger), 1);
}

/* An entry is over at its time, not only after it. */
static void test_times(void **state) {
    static const struct {
        int64_t now;
        size_t n_over;
        int64_t next;
    } cases[] = {{9, 0, 10}, {10, 1, 20}, {25, 1, 30}, {1000, 98, INT64_MAX}, {1001, 0, INT64_MAX}};
    _cleanup_(ledger_done) Ledger ledger = {0};

    (void)state;
    assert_true(ledger_next(&ledger) == INT64_MAX);
    for (int i = 1; i <= 100; i++) {
        char uid[16];

        (void)snprintf(uid, sizeof(uid), "%d", i);
        add(&ledger, uid, i * 10);
    }
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        size_t n = 0, at = 0;
        const Pod *pod;

        while ((pod = ledger_take_expired(&ledger, cases[i].now, &at))) {
            pod_record_unref(pod);
            n++;
        }
        assert_int_equal(n, cases[i].n_over);
        assert_true(ledger_next(&ledger) == cases[i].next);
    }
    assert_int_equal(ledger_count(&ledger), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_and_take),
        cmocka_unit_test(test_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
