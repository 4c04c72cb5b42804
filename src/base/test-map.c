#include "base/map.h"

#include <errno.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/test-assert.h"

#define N_KEYS 5000

static char names[N_KEYS][16];

static Str name_of(size_t i) {
    return str_from_c(names[i]);
}

static int make_names(void **state) {
    (void)state;
    hash_set_key(1);
    for (size_t i = 0; i < N_KEYS; i++)
        (void)snprintf(names[i], sizeof(names[i]), "node-%zu", i);
    return 0;
}

static void test_empty(void **state) {
    Map map = MAP_INIT;

    (void)state;
    assert_true(map_find(&map, STR("a")) == MAP_NONE);
    map_done(&map);
    map_done(&map);
}

static void test_growth(void **state) {
    _cleanup_(map_done) Map map = MAP_INIT;

    (void)state;
    for (uint32_t i = 0; i < N_KEYS; i++) {
        assert_true(map_find(&map, name_of(i)) == MAP_NONE);
        assert_int_equal(map_add(&map, name_of(i), i), 0);
        assert_true(map.n_used <= map.n_slots / 4 * 3);
    }
    for (uint32_t i = 0; i < N_KEYS; i++)
        assert_int_equal(map_find(&map, name_of(i)), i);
    assert_true(map_find(&map, STR("node-")) == MAP_NONE);
    assert_true(map_find(&map, STR("")) == MAP_NONE);
}

static void test_empty_key(void **state) {
    _cleanup_(map_done) Map map = MAP_INIT;

    (void)state;
    assert_int_equal(map_add(&map, STR(""), 7), 0);
    assert_int_equal(map_find(&map, STR_NULL), 7);
    map_set(&map, STR(""), 8);
    assert_int_equal(map_find(&map, STR_NULL), 8);
}

/* Names that all hash to the last slot: probing wraps around. */
static void test_collisions(void **state) {
    _cleanup_(map_done) Map map = MAP_INIT;
    size_t members[9], n = 0;

    (void)state;
    for (size_t i = 0; i < N_KEYS && n < ELEMENTS_OF(members); i++)
        if ((hash_str(name_of(i)) & 15) == 15)
            members[n++] = i;
    assert_int_equal(n, ELEMENTS_OF(members));
    for (size_t i = 0; i < n - 1; i++)
        assert_int_equal(map_add(&map, name_of(members[i]), (uint32_t)i), 0);
    assert_int_equal(map.n_slots, 16);
    for (size_t i = 0; i < n - 1; i++)
        assert_int_equal(map_find(&map, name_of(members[i])), i);
    assert_true(map_find(&map, name_of(members[n - 1])) == MAP_NONE);
}

static void test_arena_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(2000);
    Map map = MAP_INIT_IN(arena);
    uint32_t n = 0;
    int r;

    (void)state;
    while ((r = map_add(&map, name_of(n), n)) == 0)
        n++;
    assert_int_equal(r, -ENOMEM);
    assert_true(n > 0);
    for (uint32_t i = 0; i < n; i++) /* the old entries stay */
        assert_int_equal(map_find(&map, name_of(i)), i);
    assert_true(map_find(&map, name_of(n)) == MAP_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_empty_key),
        cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_arena_budget),
    };

    return cmocka_run_group_tests(tests, make_names, NULL);
}
