#include "base/intern.h"

#include <stdio.h>

#include "base/test-assert.h"

static void test_ids(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)1 << 20);
    Intern intern = INTERN_INIT_IN(arena);
    char text[] = "zone-a";

    (void)state;
    assert_int_equal(intern_find(&intern, STR("zone-a")), INTERN_ABSENT);
    assert_int_equal(intern_add(&intern, str_from_c(text)), 1);
    text[0] = '?'; /* the interner has its own copy */
    assert_int_equal(intern_add(&intern, STR("zone-a")), 1);
    assert_int_equal(intern_add(&intern, STR("")), 2);
    assert_int_equal(intern_add(&intern, STR_NULL), 2);
    assert_int_equal(intern_find(&intern, STR("zone-a")), 1);
    assert_text("get", intern_get(&intern, 1), "zone-a");
    assert_text("empty", intern_get(&intern, 2), "");
}

static void test_dense(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)4 << 20);
    Intern intern = INTERN_INIT_IN(arena);
    char text[32];

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 3000; i++) {
            (void)snprintf(text, sizeof(text), "value-%u", i);
            assert_int_equal(intern_add(&intern, str_from_c(text)), i);
        }
    }
    assert_text("last", intern_get(&intern, 3000), "value-3000");
}

static void test_budget(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new(3000);
    Intern intern = INTERN_INIT_IN(arena);
    char text[32];
    uint32_t n = 0, id;

    (void)state;
    do {
        (void)snprintf(text, sizeof(text), "value-%u", n + 1);
        id = intern_add(&intern, str_from_c(text));
        n += id != INTERN_ABSENT;
    } while (id != INTERN_ABSENT);
    assert_true(n > 0);
    assert_int_equal(intern_find(&intern, str_from_c(text)), INTERN_ABSENT);
    assert_int_equal(intern_find(&intern, STR("value-1")), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
