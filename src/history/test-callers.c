#include "history/callers.h"

#include <pthread.h>
#include <stdio.h>

#include "base/test-assert.h"

#define THREADS 4u
#define ROUNDS 20000u

static void test_counts_by_name(void **state) {
    _cleanup_(callers_freep) Callers *callers = callers_new();
    Caller list[CALLERS_MAX + 1];

    (void)state;
    assert_int_equal(callers_list(callers, list), 0);
    callers_note(callers, STR("berth"), 10);
    callers_note(callers, STR("default-scheduler"), 20);
    callers_note(callers, STR("berth"), 30);
    callers_note(callers, STR_NULL, 40);
    assert_int_equal(callers_list(callers, list), 2);
    assert_true(str_is(list[0].name, "berth"));
    assert_int_equal(list[0].n_asked, 2);
    assert_int_equal(list[0].asked_at_nsec, 30);
    assert_true(str_is(list[1].name, "default-scheduler"));
    assert_int_equal(list[1].n_asked, 1);
}

/* Who comes too late, or with a name nobody may have, is counted without one. */
static void test_is_bounded(void **state) {
    _cleanup_(callers_freep) Callers *callers = callers_new();
    char name[CALLER_NAME_MAX + 1];
    Caller list[CALLERS_MAX + 1];

    (void)state;
    memset(name, 'x', sizeof(name));
    callers_note(callers, str_of(name, sizeof(name)), 1);
    for (unsigned i = 0; i < 2 * CALLERS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "scheduler-%u", i);
        callers_note(callers, str_from_c(name), i);
    }
    assert_int_equal(callers_list(callers, list), CALLERS_MAX + 1);
    assert_true(str_is(list[CALLERS_MAX - 1].name, "scheduler-15"));
    assert_true(str_is_empty(list[CALLERS_MAX].name));
    assert_int_equal(list[CALLERS_MAX].n_asked, CALLERS_MAX + 1);
}

static void *note_many(void *context) {
    char name[32];

    for (unsigned i = 0; i < ROUNDS; i++) {
        (void)snprintf(name, sizeof(name), "s%u", i % 8);
        callers_note(context, str_from_c(name), i + 1);
    }
    return NULL;
}

static void test_nothing_is_lost_between_threads(void **state) {
    _cleanup_(callers_freep) Callers *callers = callers_new();
    Caller list[CALLERS_MAX + 1];
    pthread_t threads[THREADS];
    uint64_t sum = 0;

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, note_many, callers), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(callers_list(callers, list), 8);
    for (size_t i = 0; i < 8; i++)
        sum += list[i].n_asked;
    assert_int_equal(sum, THREADS * ROUNDS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_by_name),
        cmocka_unit_test(test_is_bounded),
        cmocka_unit_test(test_nothing_is_lost_between_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
