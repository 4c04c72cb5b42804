#include "http/arena-pool.h"

#include "base/test-assert.h"

#define BUDGET ((size_t)4 * 1024 * 1024)
#define KEEP_MAX ((size_t)1024 * 1024)

static void test_keeps_up_to_max(void **state) {
    _cleanup_(arena_pool_freep) ArenaPool *pool = arena_pool_new(2, BUDGET, KEEP_MAX);
    Arena *arenas[3];

    (void)state;
    assert_null(arena_pool_take(pool)); /* nothing is kept yet */
    for (size_t i = 0; i < 3; i++)
        arenas[i] = arena_pool_make(pool);
    for (size_t i = 0; i < 3; i++)
        arena_pool_give(pool, arenas[i]);
    assert_ptr_equal(arena_pool_take(pool), arenas[1]);
    assert_ptr_equal(arena_pool_take(pool), arenas[0]);
    assert_null(arena_pool_take(pool));
    arena_pool_give(pool, arenas[0]);
    arena_pool_give(pool, arenas[1]);
}

/* An arena from the pool is empty, has its whole budget, and is not large. */
static void test_large_arenas_are_not_kept(void **state) {
    _cleanup_(arena_pool_freep) ArenaPool *pool = arena_pool_new(2, BUDGET, KEEP_MAX);
    Arena *arena = arena_pool_make(pool);

    (void)state;
    assert_non_null(arena_alloc(arena, KEEP_MAX / 2));
    assert_null(arena_alloc(arena, BUDGET));
    arena_pool_give(pool, arena);
    assert_ptr_equal(arena_pool_take(pool), arena);
    assert_false(arena_has_failed(arena));
    assert_non_null(arena_alloc(arena, 2 * KEEP_MAX));
    arena_pool_give(pool, arena);
    arena = arena_pool_take(pool);
    assert_true(!arena || arena_size(arena) <= KEEP_MAX);
    arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_up_to_max),
        cmocka_unit_test(test_large_arenas_are_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
