/* The reflector with an API server that misbehaves at random. */

#include "base/test-assert.h"
#include "kube/test-reflector-server.h"

static void test_random_servers(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        Rng rng = {seed};

        run_server((Choices){.rng = &rng}, seed, 300);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_servers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
