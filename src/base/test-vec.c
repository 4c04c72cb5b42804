#include "base/vec.h"

#include "base/test-assert.h"

typedef struct Pair {
    int a, b;
} Pair;

static void test_push(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    VEC(Pair) pairs = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        Pair *pair = VEC_PUSH(&pairs, arena);

        assert_non_null(pair);
        assert_int_equal(pair->a, 0); /* zeroed */
        *pair = (Pair){.a = i, .b = -i};
    }
    assert_int_equal(pairs.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_true(pairs.items[i].a == i && pairs.items[i].b == -i);
}

static void test_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(1000);
    VEC(Pair) pairs = {0};
    Pair *pair;
    size_t n = 0;

    (void)state;
    while ((pair = VEC_PUSH(&pairs, arena))) {
        pair->a = (int)n;
        n++;
    }
    assert_true(n > 0);
    assert_int_equal(pairs.n, n); /* the failed push is not counted */
    for (size_t i = 0; i < n; i++)
        assert_int_equal(pairs.items[i].a, i);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_push),
        cmocka_unit_test(test_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
