/* The reflector with an API server that fails at random (test-reflector-server.h). */

#include "base/test-assert.h"
#include "kube/test-reflector-server.h"

static void test_reaches_the_true_state_despite_faults(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        Rng rng = {seed};

        run_server((Choices){.rng = &rng}, seed, 300);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reaches_the_true_state_despite_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
