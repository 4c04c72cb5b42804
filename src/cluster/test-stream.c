/* A store compared with the model over long random streams (cluster/test-model.h). */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cluster/test-model.h"

typedef struct Case {
    const char *name;
    uint64_t seed;
    ModelOptions options;
} Case;

static const Case cases[] = {
    {"tiny", 1, {4, 12, 3, 10, 3, 6, 60000}},
    {"small", 2, {20, 120, 18, 110, 16, 12, 60000}},
    {"several chunks", 3, {150, 300, 150, 300, 1000, 60, 60000}},
    {"boundary", 4, {66, 90, 65, 90, 20, 10, 40000}},
    {"large", 5, {250, 1000, 240, 900, 64, 250, 60000}},
};

static void test_streams(void **state) {
    const char *again = getenv("BERTH_TEST_SEED"); /* added to the seeds of the cases */
    uint64_t more = again ? strtoull(again, NULL, 10) : 0;
    size_t n_over = 0, n_published = 0;

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(cases); i++) {
        ModelRng rng = {.rng = {cases[i].seed + more}};
        ModelTally tally;
        const char *problem = model_run(&cases[i].options, &rng, &tally);

        if (problem)
            print_error(
                "%s, seed %ju: %s\n", cases[i].name, (uintmax_t)(cases[i].seed + more), problem);
        assert_null(problem);
        assert_true(tally.n_published > 100); /* and every kind of event occurred */
        assert_true(tally.n_bound > 0 && tally.n_lists > 0 && tally.n_expired > 0);
        n_over += tally.n_over;
        n_published += tally.n_published;
    }
    assert_true(n_over > 100 && n_over < n_published - 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
