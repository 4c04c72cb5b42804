/*
 * Rows grouped by the value of a label, also without memory for a map: then a search gives the same
 * groups. Linked with --wrap, so that this file sees every allocation.
 */

#include "schema/schema-internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/test-assert.h"

#define N_ROWS 300u

static bool is_failing;
static unsigned n_allowed; /* allocations that succeed before one fails */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size) {
    if (is_failing && n_allowed == 0)
        return NULL;
    n_allowed -= is_failing;
    return __real_calloc(n, size);
}

/* Every third row has no label, the others one of a hundred values. */
static void build(Arena *arena, NodeTable *ret) {
    Node *nodes = ARENA_ARRAY(arena, Node, N_ROWS);

    assert_non_null(nodes);
    for (unsigned i = 0; i < N_ROWS; i++) {
        Label *label = ARENA_NEW(arena, Label);

        assert_non_null(label);
        *label = (Label){STR("rack"), arena_printf(arena, "r%u", i * 7 % 100)};
        nodes[i].name = arena_printf(arena, "n%u", i);
        nodes[i].labels = (Labels){.items = label, .n = i % 3 != 0};
    }
    assert_int_equal(table_build(nodes, N_ROWS, arena, ret), 0);
}

static void test_groups(void **state) {
    _cleanup_(arena_freep) Arena *arena = arena_new((size_t)16 << 20);
    uint32_t want[N_ROWS + 1], got[N_ROWS + 1], n;
    NodeTable table;

    (void)state;
    build(arena, &table);
    n = domain_groups(&table, STR("rack"), N_ROWS, want);
    assert_int_equal(n, 100);
    for (size_t i = 0; i < N_ROWS; i++)
        assert_int_equal(want[i] == UINT32_MAX, i % 3 == 0);
    assert_int_equal(want[1], 0); /* in the order of their first row */
    assert_int_equal(want[2], 1);
    assert_int_equal(want[101], 0); /* 707 % 100 is 7 % 100 */
    for (unsigned allowed = 0; allowed < 6; allowed++) {
        n_allowed = allowed;
        is_failing = true;
        n = domain_groups(&table, STR("rack"), N_ROWS, got);
        is_failing = false;
        assert_int_equal(n, 100);
        assert_memory_equal(got, want, N_ROWS * sizeof(*got));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
