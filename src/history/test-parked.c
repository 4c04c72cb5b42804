#include "history/parked.h"

#include <pthread.h>
#include <stdio.h>

#include "base/nsec.h"
#include "base/test-assert.h"

/* When it is no longer doubtful whether somebody waits since before the start. */
#define LATE (2 * PARKED_SEC)

static int64_t at(int64_t sec) {
    return sec * NSEC_PER_SEC;
}

static bool has(Parked *parked, int64_t sec) {
    return parked_has(parked, at(sec));
}

static void reject(Parked *parked, const char *uid, int64_t sec) {
    parked_note_filter(parked, str_from_c(uid), true, at(sec));
}

static void test_doubtful_at_the_start(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(at(100));

    (void)state;
    assert_non_null(parked);
    assert_true(has(parked, 100));
    assert_true(has(parked, 100 + PARKED_SEC - 1));
    assert_false(has(parked, 100 + PARKED_SEC));
}

static void test_until_it_is_bound(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);

    (void)state;
    reject(parked, "a", LATE);
    reject(parked, "b", LATE);
    reject(parked, "a", LATE + 1);
    assert_true(has(parked, LATE + 1));
    parked_note_bound(parked, STR("c"));
    parked_note_bound(parked, STR("a"));
    assert_true(has(parked, LATE + 1));
    parked_note_bound(parked, STR("b"));
    assert_false(has(parked, LATE + 1));
}

static void test_until_a_filter_rejects_nothing(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);

    (void)state;
    reject(parked, "a", LATE);
    parked_note_filter(parked, STR("b"), false, at(LATE));
    assert_true(has(parked, LATE));
    parked_note_filter(parked, STR("a"), false, at(LATE));
    assert_false(has(parked, LATE));
}

static void test_until_it_is_over(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);

    (void)state;
    reject(parked, "a", LATE);
    reject(parked, "b", LATE + 100);
    assert_true(has(parked, LATE + 99 + PARKED_SEC));
    assert_false(has(parked, LATE + 100 + PARKED_SEC));
    reject(parked, "a", LATE + 500);
    reject(parked, "a", LATE + 800); /* tried again: it waits */
    assert_true(has(parked, LATE + 799 + PARKED_SEC));
    assert_false(has(parked, LATE + 800 + PARKED_SEC));
}

/* One pod without a UID is not another. */
static void test_without_uid(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);

    (void)state;
    reject(parked, "", LATE);
    parked_note_filter(parked, STR_NULL, false, at(LATE));
    parked_note_bound(parked, STR_NULL);
    assert_true(has(parked, LATE));
    assert_false(has(parked, LATE + PARKED_SEC));
}

static void test_while_a_filter_is_answered(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);

    (void)state;
    parked_begin_filter(parked);
    parked_begin_filter(parked);
    assert_true(has(parked, LATE));
    parked_end_filter(parked);
    assert_true(has(parked, LATE));
    parked_end_filter(parked);
    assert_false(has(parked, LATE));
}

/* Of more than there is room for, those that were forgotten count for their whole time. */
static void test_crowd(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);
    char uid[32];

    (void)state;
    for (unsigned i = 0; i < PARKED_MAX + 3; i++) {
        (void)snprintf(uid, sizeof(uid), "pod-%u", i);
        reject(parked, uid, LATE + i);
    }
    for (unsigned i = 3; i < PARKED_MAX + 3; i++) {
        (void)snprintf(uid, sizeof(uid), "pod-%u", i);
        parked_note_bound(parked, str_from_c(uid));
    }
    assert_true(has(parked, LATE + 2 + PARKED_SEC - 1)); /* pod-2 */
    assert_false(has(parked, LATE + 2 + PARKED_SEC));
}

typedef struct Asker {
    Parked *parked;
    unsigned number;
} Asker;

static void *ask(void *context) {
    Asker *asker = context;
    char uid[32];

    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(uid, sizeof(uid), "%u-%u", asker->number, i % 10);
        parked_begin_filter(asker->parked);
        reject(asker->parked, uid, LATE);
        parked_end_filter(asker->parked);
        (void)has(asker->parked, LATE);
        parked_note_bound(asker->parked, str_from_c(uid));
    }
    return NULL;
}

static void test_threads(void **state) {
    _cleanup_(parked_freep) Parked *parked = parked_new(0);
    pthread_t threads[4];
    Asker askers[4];

    (void)state;
    for (unsigned i = 0; i < ELEMENTS_OF(threads); i++) {
        askers[i] = (Asker){.parked = parked, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    }
    for (unsigned i = 0; i < ELEMENTS_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_false(has(parked, LATE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubtful_at_the_start),
        cmocka_unit_test(test_until_it_is_bound),
        cmocka_unit_test(test_until_a_filter_rejects_nothing),
        cmocka_unit_test(test_until_it_is_over),
        cmocka_unit_test(test_without_uid),
        cmocka_unit_test(test_while_a_filter_is_answered),
        cmocka_unit_test(test_crowd),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
