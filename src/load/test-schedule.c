#include "load/poll-job.h"

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/test-assert.h"

#define SEC NSEC_PER_SEC
#define NOW (1000 * SEC)

static void test_first_poll_is_due_at_once(void **state) {
    Schedule schedule = schedule_new(15 * SEC, 1);

    (void)state;
    assert_true(schedule.due_nsec == INT64_MIN);
    assert_true(schedule.interval_nsec == 15 * SEC);
    assert_true(schedule_new(-1, 1).interval_nsec == SCHEDULE_INTERVAL_MIN_MSEC * NSEC_PER_MSEC);
}

/* Up to a tenth before the interval ends, never later, and random. */
static void test_jitter(void **state) {
    Schedule schedule = schedule_new(10 * SEC, 7);
    int64_t least = INT64_MAX, most = INT64_MIN;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t delay;

        schedule_answered(&schedule, NOW, NOW + SEC / 10);
        delay = schedule.due_nsec - NOW;
        assert_true(delay >= 9 * SEC && delay <= 10 * SEC);
        least = delay < least ? delay : least;
        most = delay > most ? delay : most;
    }
    assert_true(least < 9 * SEC + SEC / 20 && most > 10 * SEC - SEC / 20);
}

static void test_slow_answer(void **state) {
    Schedule schedule = schedule_new(10 * SEC, 7);

    (void)state;
    schedule_answered(&schedule, NOW, NOW + 30 * SEC);
    assert_true(schedule.due_nsec == NOW + 31 * SEC);
}

static void test_backoff(void **state) {
    static const struct {
        int64_t interval_sec, ceilings_sec[10];
    } cases[] = {
        {15, {1, 2, 4, 8, 16, 32, 60, 60, 60, 60}},
        {300, {1, 2, 4, 8, 16, 32, 64, 128, 256, 300}},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Schedule schedule = schedule_new(cases[i].interval_sec * SEC, 3);

        for (size_t k = 0; k < ELEMENTS_OF(cases[i].ceilings_sec); k++) {
            int64_t ceiling = cases[i].ceilings_sec[k] * SEC;

            schedule_failed(&schedule, NOW, -1);
            assert_true(schedule.due_nsec >= NOW + ceiling / 2);
            assert_true(schedule.due_nsec <= NOW + ceiling);
        }
        schedule_answered(&schedule, NOW, NOW);
        schedule_failed(&schedule, NOW, -1);
        assert_true(schedule.due_nsec <= NOW + SEC);
    }
}

static void test_retry_after(void **state) {
    static const struct {
        int retry_after_sec;
        int64_t least_sec, most_sec;
    } cases[] = {
        {-1, 0, 1},
        {0, 0, 1},
        {20, 20, 21},
        {100000, SCHEDULE_RETRY_AFTER_MAX_SEC, SCHEDULE_RETRY_AFTER_MAX_SEC + 1},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        Schedule schedule = schedule_new(15 * SEC, 3);

        schedule_failed(&schedule, NOW, cases[i].retry_after_sec);
        assert_true(schedule.due_nsec >= NOW + cases[i].least_sec * SEC);
        assert_true(schedule.due_nsec <= NOW + cases[i].most_sec * SEC);
    }
}

/* schedule_hasten() makes the next poll due at once, but not while the server fails. */
static void test_hasten(void **state) {
    Schedule schedule = schedule_new(600 * SEC, 3);
    int64_t due;

    (void)state;
    schedule_answered(&schedule, NOW, NOW);
    schedule_hasten(&schedule);
    assert_true(schedule.due_nsec == INT64_MIN);
    schedule_failed(&schedule, NOW, -1);
    due = schedule.due_nsec;
    schedule_hasten(&schedule);
    assert_true(schedule.due_nsec == due);
    schedule_restart(&schedule);
    assert_true(schedule.due_nsec == INT64_MIN);
}

/* When its server recovers, a failed job gets one attempt until it is answered. */
static void test_retry(void **state) {
    Schedule schedule = schedule_new(600 * SEC, 3);
    int64_t due;

    (void)state;
    schedule_answered(&schedule, NOW, NOW);
    due = schedule.due_nsec;
    schedule_retry(&schedule);
    assert_true(schedule.due_nsec == due);
    for (size_t i = 0; i < 2; i++) {
        schedule_failed(&schedule, NOW, -1);
        schedule_retry(&schedule);
        assert_true(schedule.due_nsec == INT64_MIN);
        schedule_failed(&schedule, NOW, -1);
        due = schedule.due_nsec;
        assert_true(due >= NOW + SEC); /* the second failure in a row */
        schedule_retry(&schedule);
        assert_true(schedule.due_nsec == due);
        schedule_answered(&schedule, NOW, NOW);
    }
}

static void test_interval(void **state) {
    Schedule schedule = schedule_new(600 * SEC, 3);
    int64_t due;

    (void)state;
    schedule_answered(&schedule, NOW, NOW);
    schedule_set_interval(&schedule, 30 * SEC, NOW + 10 * SEC);
    assert_true(schedule.due_nsec == NOW + 40 * SEC);
    schedule_set_interval(&schedule, 900 * SEC, NOW + 10 * SEC);
    assert_true(schedule.due_nsec == NOW + 40 * SEC);
    schedule_failed(&schedule, NOW, 100);
    due = schedule.due_nsec;
    schedule_set_interval(&schedule, SEC, NOW);
    assert_true(schedule.due_nsec == due);
}

static void test_extremes(void **state) {
    Schedule schedule = schedule_new(INT64_MAX, 3);

    (void)state;
    schedule_answered(&schedule, NOW, NOW);
    assert_true(schedule.due_nsec > NOW);
    for (int i = 0; i < 200; i++)
        schedule_failed(&schedule, INT64_MAX - 5, INT32_MAX);
    assert_true(schedule.due_nsec == INT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_poll_is_due_at_once),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_slow_answer),
        cmocka_unit_test(test_backoff),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_hasten),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_extremes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
