#include "kube/backoff.h"

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/test-assert.h"

#define ROUNDS 20000
#define LEAST (BACKOFF_LEAST_MSEC * NSEC_PER_MSEC)
#define MOST (BACKOFF_MOST_MSEC * NSEC_PER_MSEC)

/* Measures the delay after failure @n, over many seeds; failures are far apart in time. */
static void measure_delays(unsigned n, int64_t *ret_least, int64_t *ret_most, double *ret_mean) {
    double sum = 0;

    *ret_least = INT64_MAX;
    *ret_most = 0;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        Backoff backoff = BACKOFF_INIT(seed);
        int64_t delay = 0;

        for (unsigned i = 0; i <= n; i++)
            delay = backoff_next(&backoff, (int64_t)i * 1000 * NSEC_PER_SEC, -1);
        sum += (double)delay;
        *ret_least = delay < *ret_least ? delay : *ret_least;
        *ret_most = delay > *ret_most ? delay : *ret_most;
    }
    *ret_mean = sum / ROUNDS;
}

/* Full jitter: uniform from zero to the limit. */
static void test_delays_are_spread_up_to_a_limit_that_doubles(void **state) {
    for (unsigned n = 0; n < 12; n++) {
        int64_t limit = LEAST << n < MOST ? LEAST << n : MOST, least, most;
        double mean;

        measure_delays(n, &least, &most, &mean);
        assert_true(least >= 0 && least < limit / 100);
        assert_true(most <= limit && most > limit - limit / 100);
        assert_true(mean > 0.48 * (double)limit && mean < 0.52 * (double)limit);
    }
}

static void test_success_starts_over(void **state) {
    Backoff backoff = BACKOFF_INIT(7);

    for (int i = 0; i < 20; i++)
        (void)backoff_next(&backoff, i * 1000 * NSEC_PER_SEC, -1);
    for (int i = 20; i < 1000; i++) {
        backoff_reset(&backoff);
        assert_true(backoff_next(&backoff, i * 1000 * NSEC_PER_SEC, -1) <= LEAST);
    }
}

static void test_waits_at_least_retry_after(void **state) {
    static const struct {
        int requested;
        int64_t least;
    } cases[] = {
        {-1, 0},
        {0, 0},
        {1, 1},
        {30, 30},
        {BACKOFF_RETRY_AFTER_MAX_SEC, BACKOFF_RETRY_AFTER_MAX_SEC},
        {BACKOFF_RETRY_AFTER_MAX_SEC + 1, BACKOFF_RETRY_AFTER_MAX_SEC},
        {INT32_MAX, BACKOFF_RETRY_AFTER_MAX_SEC},
    };

    for (size_t i = 0; i < ELEMENTS_OF(cases); i++)
        for (uint64_t seed = 0; seed < 1000; seed++) {
            Backoff backoff = BACKOFF_INIT(seed);
            int64_t delay = backoff_next(&backoff, 0, cases[i].requested);

            assert_true(delay >= cases[i].least * NSEC_PER_SEC);
            assert_true(delay <= cases[i].least * NSEC_PER_SEC + LEAST);
        }
}

/* A server that answers and breaks at once must not be called in a loop. */
static void test_one_try_a_second_on_average(void **state) {
    for (uint64_t seed = 0; seed < 100; seed++) {
        Backoff backoff = BACKOFF_INIT(seed);
        int64_t now = 5 * NSEC_PER_SEC, began = now;

        for (int n = 1; n <= 1000; n++) {
            now += backoff_next(&backoff, now, -1);
            backoff_reset(&backoff);
            assert_true(now - began >= (n - BACKOFF_BURST) * NSEC_PER_SEC);
        }
        assert_true(now - began <= 1001 * NSEC_PER_SEC);
    }
}

/* A quiet period allows quick tries again. */
static void test_quiet_period_restores_the_burst(void **state) {
    Backoff backoff = BACKOFF_INIT(1);
    int64_t now = 0;

    for (int n = 0; n < 100; n++) {
        now += backoff_next(&backoff, now, -1);
        backoff_reset(&backoff);
    }
    now += 60 * NSEC_PER_SEC;
    for (int n = 0; n < BACKOFF_BURST; n++) {
        int64_t delay = backoff_next(&backoff, now, -1);

        assert_true(delay <= LEAST);
        backoff_reset(&backoff);
        now += delay;
    }
    assert_true(backoff_next(&backoff, now, -1) > 0);
}

static void test_delays_depend_on_the_seed(void **state) {
    Backoff a = BACKOFF_INIT(1), b = BACKOFF_INIT(1), c = BACKOFF_INIT(2);
    int n_same = 0;

    for (int i = 0; i < 50; i++) {
        int64_t delay = backoff_next(&a, i * 100 * NSEC_PER_SEC, -1);

        assert_int_equal(delay, backoff_next(&b, i * 100 * NSEC_PER_SEC, -1));
        n_same += delay == backoff_next(&c, i * 100 * NSEC_PER_SEC, -1);
    }
    assert_true(n_same < 5);
}

static void test_picks_every_number_of_the_range(void **state) {
    Backoff backoff = BACKOFF_INIT(3);
    bool seen[4] = {false};

    for (int i = 0; i < 1000; i++) {
        int64_t picked = backoff_pick(&backoff, 300, 303);

        assert_in_range(picked, 300, 303);
        seen[picked - 300] = true;
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3]);
    assert_int_equal(backoff_pick(&backoff, 5, 5), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delays_are_spread_up_to_a_limit_that_doubles),
        cmocka_unit_test(test_success_starts_over),
        cmocka_unit_test(test_waits_at_least_retry_after),
        cmocka_unit_test(test_one_try_a_second_on_average),
        cmocka_unit_test(test_quiet_period_restores_the_burst),
        cmocka_unit_test(test_delays_depend_on_the_seed),
        cmocka_unit_test(test_picks_every_number_of_the_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
