/*
 * A store whose allocations fail now and then, against the model: what returns -ENOMEM has
 * changed nothing. Linked with --wrap, so that every allocation passes here.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cluster/test-model.h"

static unsigned countdown; /* to the allocation that fails; 0: none does */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool is_due(void) {
    return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size) {
    return is_due() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    return is_due() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return is_due() ? NULL : __real_realloc(old, size);
}

/* An event makes a few allocations, a list or a snapshot many. */
static void arm(unsigned dice) {
    countdown = dice < 16 ? dice % 4 + 1 : dice < 48 ? dice - 15 : 0;
}

static void disarm(void) {
    countdown = 0;
}

static void test_failing(void **state) {
    static const ModelOptions options[] = {
        {4, 12, 3, 10, 3, 8, 40000, arm, disarm},
        {40, 120, 40, 110, 16, 20, 40000, arm, disarm},
        {140, 300, 140, 300, 200, 40, 20000, arm, disarm},
    };

    (void)state;
    for (size_t i = 0; i < ELEMENTS_OF(options); i++) {
        Dice dice = {.seed = 10 + i};
        ModelTally tally;
        const char *problem = model_run(&options[i], &dice, &tally);

        disarm();
        if (problem)
            print_error("seed %zu: %s\n", 10 + i, problem);
        assert_null(problem);
        assert_true(tally.n_failed > 1000);
        assert_true(tally.n_published > 100 && tally.n_lists > 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
