/* Columns of measured numbers, for rows in any order: each value equals that of cluster/loads.h. */

#include <stdio.h>

#include "base/rng.h"
#include "cluster/test-measured.h"
#include "schema/leaf.h"

#define N_NODES 200u /* several chunks, the last one not full */
#define N_LOADED 90u

static void fixture_fill(LoadsFixture *fixture) {
    char name[16];

    fixture_open(fixture);
    for (unsigned i = 0; i < N_NODES; i++) {
        (void)snprintf(name, sizeof(name), "n%03u", i);
        fixture_add_node(fixture, name);
    }
    fixture_publish(fixture);
    fixture_sample(fixture, 1);
    for (unsigned i = 0; i < N_NODES; i++) {
        (void)snprintf(name, sizeof(name), "n%03u", i);
        if (i % 3 != 0)
            fixture_set(fixture, 1, name, i * 0.5, (int64_t)(i % 7) * SEC);
    }
    fixture_build(fixture);
}

static LoadKind kind_of(LeafSource source) {
    return source == LEAF_MEASURED ? LOAD_MEASURED : LOAD_VALUE;
}

static void check_time(const Loads *loads, const Leaf *leaf, uint32_t row, Column got, size_t i) {
    int64_t want = loads_time(loads, leaf->gauge, row);

    assert_int_equal(got.ints[i], want);
    assert_int_equal(got.states[i], want != 0 ? COLUMN_OK : COLUMN_ERROR);
}

static void check_number(const Loads *loads, const Leaf *leaf, uint32_t row, Column got, size_t i) {
    double want = loads_value(loads, leaf->gauge, kind_of(leaf->source), row);
    bool is_else = leaf->mode == LEAF_ELSE;

    if (leaf->mode == LEAF_IS_SET) {
        assert_int_equal(got.states[i], isnan(want) ? COLUMN_FALSE : COLUMN_TRUE);
        return;
    }
    assert_int_equal(got.states[i], isnan(want) && !is_else ? COLUMN_ERROR : COLUMN_OK);
    assert_true(got.doubles[i] == (!isnan(want) ? want : is_else ? leaf->otherwise.d : 0.0));
}

static void check(const NodeTable *table, const Leaf *leaf, const uint32_t *rows, size_t n) {
    uint8_t states[N_NODES];
    double doubles[N_NODES];
    Column got = {.states = states, .doubles = doubles};

    memset(states, 0xee, sizeof(states));
    memset(doubles, 0xee, sizeof(doubles));
    leaf_load_metric(leaf, table, rows, n, &got);
    for (size_t i = 0; i < n; i++)
        if (leaf->source == LEAF_MEASURED_AT)
            check_time(table->loads, leaf, rows[i], got, i);
        else
            check_number(table->loads, leaf, rows[i], got, i);
    if (n < N_NODES)
        assert_int_equal(states[n], 0xee); /* nothing follows */
}

static void check_all(const NodeTable *table, const uint32_t *rows, size_t n) {
    static const Leaf leaves[] = {
        {.source = LEAF_METRIC, .mode = LEAF_VALUE},
        {.source = LEAF_METRIC, .mode = LEAF_IS_SET},
        {.source = LEAF_METRIC, .mode = LEAF_ELSE, .otherwise = {.kind = CEL_DOUBLE, .d = 7.25}},
        {.source = LEAF_MEASURED, .mode = LEAF_VALUE},
        {.source = LEAF_MEASURED_AT, .mode = LEAF_VALUE},
    };

    for (size_t i = 0; i < ELEMENTS_OF(leaves); i++)
        for (uint32_t gauge = 0; gauge < 2; gauge++) { /* the first row has no value */
            Leaf leaf = leaves[i];

            leaf.gauge = gauge;
            check(table, &leaf, rows, n);
        }
}

/* With loads, and without. */
static void check_rows(const LoadsFixture *fixture, const uint32_t *rows, size_t n) {
    NodeTable table = *fixture_table(fixture);

    check_all(&table, rows, n);
    table.loads = &fixture->loads;
    check_all(&table, rows, n);
}

static void test_in_order(void **state) {
    uint32_t rows[N_NODES];
    LoadsFixture fixture;

    (void)state;
    fixture_fill(&fixture);
    for (uint32_t i = 0; i < N_NODES; i++)
        rows[i] = i;
    check_rows(&fixture, rows, N_NODES);
    for (size_t from = 0; from < 130;
         from += 13) /* inside a chunk, across chunks, and to the end */
        check_rows(&fixture, rows + from, 70);
    check_rows(&fixture, rows, 0);
    fixture_close(&fixture);
}

static void test_in_any_order(void **state) {
    uint32_t rows[N_LOADED];
    Rng rng = {.state = 1};
    LoadsFixture fixture;

    (void)state;
    fixture_fill(&fixture);
    for (unsigned round = 0; round < 50; round++) {
        for (size_t i = 0; i < N_LOADED; i++) {
            /* often the next row; the row after the last is the unknown node's */
            rows[i] = i > 0 && rng_percent(&rng, 75) ? (rows[i - 1] + 1) % (N_NODES + 1)
                                                     : (uint32_t)rng_pick(&rng, N_NODES + 1);
        }
        check_rows(&fixture, rows, N_LOADED);
    }
    fixture_close(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_in_any_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
