#include "history/asked.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

#define MANY 5000u

static Str numbered(char text[32], const char *word, unsigned i) {
    (void)snprintf(text, 32, "%s-%u", word, i);
    return str_from_c(text);
}

static void test_knows_what_was_asked(void **state) {
    static const struct {
        const char *uid;
        bool is_known;
    } cases[] = {
        {"a", true},
        {"b", true},
        {"c", false},
        {"", false},
        {"A", false},
        {"a ", false},
    };
    _cleanup_(asked_freep) Asked *asked = asked_new(ASKED_MAX);

    assert_non_null(asked);
    assert_false(asked_knows(asked, STR("a")));
    asked_note(asked, STR("a"), STR("one"), 1);
    asked_note(asked, STR("b"), STR("two"), 1);
    asked_note(asked, STR_NULL, STR("three"), 1);
    asked_note(asked, STR("a"), STR_NULL, 1);
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        assert_case(
            cases[i].uid, asked_knows(asked, str_from_c(cases[i].uid)) == cases[i].is_known);
    assert_true(asked_has_scheduler(asked, STR("one"), 0));
    assert_true(asked_has_scheduler(asked, STR("two"), 0));
    assert_true(asked_has_scheduler(asked, STR("three"), 0));
    assert_false(asked_has_scheduler(asked, STR("four"), 0));
    assert_false(asked_has_scheduler(asked, STR_NULL, 0));
    assert_true(asked_has_scheduler(asked, STR("one"), 1));
    assert_false(asked_has_scheduler(asked, STR("one"), 2)); /* not since then */
}

/* The last @max of them, and nothing of those before. */
static void check_latest(size_t max, unsigned n) {
    _cleanup_(asked_freep) Asked *asked = asked_new(max);
    char uid[32];

    for (unsigned i = 0; i < n; i++)
        asked_note(asked, numbered(uid, "pod", i), STR("s"), 1);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(asked_knows(asked, numbered(uid, "pod", i)), i + max >= n);
}

static void test_forgets_the_oldest(void **state) {
    static const size_t sizes[] = {1, 2, 3, 64, 100, MANY - 1, MANY, MANY + 1};

    for (size_t i = 0; i < ELEMENTS_OF(sizes); i++)
        check_latest(sizes[i], MANY);
}

/* Whoever is asked about again is among the latest again, wherever it stood. */
static void test_asked_again(void **state) {
    for (unsigned again = 0; again < 4; again++) {
        _cleanup_(asked_freep) Asked *asked = asked_new(4);
        char uid[32];

        for (unsigned i = 0; i < 4; i++)
            asked_note(asked, numbered(uid, "pod", i), STR("s"), 1);
        asked_note(asked, numbered(uid, "pod", again), STR("s"), 1);
        for (unsigned i = 4; i < 7; i++)
            asked_note(asked, numbered(uid, "pod", i), STR("s"), 1);
        for (unsigned i = 0; i < 7; i++)
            assert_int_equal(asked_knows(asked, numbered(uid, "pod", i)), i >= 4 || i == again);
    }
}

static void test_schedulers_are_bounded(void **state) {
    _cleanup_(asked_freep) Asked *asked = asked_new(4);
    char long_name[ASKED_NAME_MAX + 1], name[32];

    memset(long_name, 'x', sizeof(long_name));
    asked_note(asked, STR("a"), str_of(long_name, sizeof(long_name)), 1);
    assert_false(asked_has_scheduler(asked, str_of(long_name, sizeof(long_name)), 0));
    asked_note(asked, STR("a"), str_of(long_name, ASKED_NAME_MAX), 1);
    assert_true(asked_has_scheduler(asked, str_of(long_name, ASKED_NAME_MAX), 0));
    for (unsigned i = 0; i < 2 * ASKED_SCHEDULERS_MAX; i++) {
        asked_note(asked, STR("a"), numbered(name, "s", i), 1);
        asked_note(asked, STR("a"), numbered(name, "s", i), 1);
    }
    for (unsigned i = 0; i < 2 * ASKED_SCHEDULERS_MAX; i++) /* the long one is one of them */
        assert_int_equal(
            asked_has_scheduler(asked, numbered(name, "s", i), 0), i < ASKED_SCHEDULERS_MAX - 1);
    assert_true(asked_knows(asked, STR("a")));
}

typedef struct Part {
    Asked *asked;
    unsigned from;
} Part;

static void *note_part(void *context) {
    const Part *part = context;
    char uid[32], name[32];

    for (unsigned i = part->from; i < part->from + MANY; i++) {
        asked_note(part->asked, numbered(uid, "pod", i), numbered(name, "s", i % 8), 1);
        if (!asked_knows(part->asked, numbered(uid, "pod", i)) ||
            !asked_has_scheduler(part->asked, numbered(name, "s", i % 8), 0))
            return context;
    }
    return NULL;
}

static void test_threads(void **state) {
    /* Some are forgotten, but never the newest of a thread, however long it is held up. */
    const size_t max = 3 * MANY + 1;
    _cleanup_(asked_freep) Asked *asked = asked_new(max);
    Part parts[4];
    pthread_t threads[4];
    char uid[32];
    size_t n_known = 0;

    for (unsigned i = 0; i < 4; i++) {
        parts[i] = (Part){.asked = asked, .from = i * MANY};
        assert_int_equal(pthread_create(&threads[i], NULL, note_part, &parts[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        void *problem = NULL;

        (void)pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    for (unsigned i = 0; i < 4 * MANY; i++)
        n_known += asked_knows(asked, numbered(uid, "pod", i));
    assert_int_equal(n_known, max);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_knows_what_was_asked),
        cmocka_unit_test(test_forgets_the_oldest),
        cmocka_unit_test(test_asked_again),
        cmocka_unit_test(test_schedulers_are_bounded),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
