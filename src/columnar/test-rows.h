#pragma once

/* Random contents for the rows of a table (test-table.h): special numbers, equal strings, unset
 * fields, lists that are fetched. */

#include "base/rng.h"
#include "columnar/test-table.h"

/* A random element of an array. */
#define TEST_PICK(rng, values) ((values)[rng_pick((rng), (sizeof(values) / sizeof((values)[0])))])

static inline CelValue test_or_absent(Rng *rng, CelValue v) {
    return rng_pick(rng, 12) == 0 ? cel_absent() : v;
}

static inline CelValue test_random_text(Rng *rng) {
    static const char *const texts[] = {"a", "b", "c", "zone-1", "zone-2", "", "x=y", "12", "ä"};

    return cel_string(str_from_c(TEST_PICK(rng, texts)));
}

static inline CelValue test_random_int(Rng *rng) {
    static const int64_t ints[] = {
        0, 1, 2, 3, -1, 5, 7, 100, -100, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_C(1) << 53};

    return cel_int(TEST_PICK(rng, ints));
}

static inline CelValue test_random_double(Rng *rng) {
    static const double doubles[] = {0.0, -0.0, 1.0, 0.1, 0.2, 0.3, -1.5, 1e300, -1e300, 3.0,
        __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1e-300};

    return cel_double(TEST_PICK(rng, doubles));
}

static inline CelValue test_random_time(Rng *rng) {
    static const int64_t seconds[] = {0, 1, 1700000000, 1700000060, 1700003600, -1,
        INT64_C(253402300799) /* the end of 9999 */, INT64_C(-62135596800) /* the year 1 */};

    return cel_timestamp(TEST_PICK(rng, seconds), (uint32_t)rng_pick(rng, 3) * 250000000);
}

static inline CelValue test_random_labels(Rng *rng, Arena *arena) {
    static const char *const keys[] = {"a", "b", "c"};
    CelMap *map = ARENA_NEW(arena, CelMap);
    CelEntry *entries = ARENA_ARRAY(arena, CelEntry, 3);

    assert_true(map && entries);
    *map = (CelMap){.depth = 1, .entries = entries};
    for (int i = 0; i < 3; i++) {
        if (rng_pick(rng, 3) > 0)
            entries[map->n++] = (CelEntry){cel_string(str_from_c(keys[i])), test_random_text(rng)};
    }
    return cel_map(map);
}

static inline CelValue test_random_item(Rng *rng, const CelRecordType *type, Arena *arena) {
    TestRecord *item = ARENA_NEW(arena, TestRecord);

    assert_non_null(item);
    item->head.type = type;
    item->fields[ITEM_NAME] = test_random_text(rng);
    item->fields[ITEM_OK] = test_or_absent(rng, cel_bool(rng_pick(rng, 3) > 0));
    item->fields[ITEM_N] = test_or_absent(
        rng, rng_pick(rng, 4) ? cel_int((int64_t)rng_pick(rng, 5)) : test_random_int(rng));
    item->fields[ITEM_W] =
        rng_pick(rng, 4) ? cel_double((double)rng_pick(rng, 100) * 0.1) : test_random_double(rng);
    item->fields[ITEM_APP] = test_or_absent(rng, test_random_text(rng));
    item->fields[ITEM_AT] = test_random_time(rng);
    item->fields[ITEM_LABELS] = test_random_labels(rng, arena);
    return cel_record(&item->head);
}

/* A list that is fetched element by element. */
typedef struct TestList {
    CelList head;
    const CelValue *values;
} TestList;

/* Fetching an element that is 0 gives an error. */
static inline CelValue test_list_at(const CelList *list, uint32_t i, CelRun *run) {
    CelValue v = ((const TestList *)list)->values[i];

    return v.kind == CEL_INT && v.i == 0 ? cel_fail(run, "not there") : v;
}

static inline CelValue test_list_of(
    Rng *rng, const CelValue *values, uint32_t n, uint32_t depth, Arena *arena) {
    TestList *list = ARENA_NEW(arena, TestList);
    bool is_fetched = rng_pick(rng, 2) == 0;

    assert_non_null(list);
    list->values = values;
    list->head =
        (CelList){.n = n, .depth = depth, .items = is_fetched ? NULL : values, .at = test_list_at};
    return cel_list(&list->head);
}

static inline void test_random_row(
    TestSchema *s, Rng *rng, const TestTable *table, TestRow *row, uint32_t items_max) {
    uint32_t n_items = rng_pick(rng, 4) ? (uint32_t)rng_pick(rng, items_max + 1) : 0;
    uint32_t n_numbers = (uint32_t)rng_pick(rng, 4);
    CelValue *items = ARENA_ARRAY(s->arena, CelValue, n_items);
    CelValue *numbers = ARENA_ARRAY(s->arena, CelValue, n_numbers);
    CelValue *f = row->record.fields;

    assert_true(items && numbers);
    for (uint32_t i = 0; i < n_items; i++)
        items[i] = test_random_item(rng, &s->item, s->arena);
    for (uint32_t i = 0; i < n_numbers; i++)
        numbers[i] = test_random_int(rng);
    *row = (TestRow){.record = {.head = {&s->row}}, .table = table};
    f[ROW_NAME] = test_random_text(rng);
    f[ROW_OK] = test_or_absent(rng, cel_bool(rng_pick(rng, 2) > 0));
    f[ROW_CPU] = test_or_absent(rng, test_random_int(rng));
    f[ROW_LOAD] = test_or_absent(rng, test_random_double(rng));
    f[ROW_ZONE] = test_or_absent(rng, test_random_text(rng));
    f[ROW_BORN] = test_or_absent(rng, test_random_time(rng));
    f[ROW_LABELS] = test_random_labels(rng, s->arena);
    f[ROW_ITEMS] = test_list_of(rng, items, n_items, 1, s->arena);
    f[ROW_NUMBERS] = test_or_absent(rng, test_list_of(rng, numbers, n_numbers, 1, s->arena));
    for (int i = 0; i < 2; i++)
        row->groups[i] = rng_pick(rng, 6) == 0 ? UINT32_MAX : (uint32_t)rng_pick(rng, TEST_GROUPS);
}

static inline TestTable *test_random_table(TestSchema *s, Rng *rng, size_t n, uint32_t items_max) {
    TestTable *table = ARENA_NEW(s->arena, TestTable);

    assert_non_null(table);
    table->rows = ARENA_ARRAY(s->arena, TestRow, n);
    assert_non_null(table->rows);
    table->n = n;
    for (size_t i = 0; i < n; i++)
        test_random_row(s, rng, table, &table->rows[i], items_max);
    table->head = (PlanTable){
        .host = &s->host,
        .rows = table,
        .row = test_row,
        .load = test_load,
        .load_keyed = test_load_keyed,
        .groups = test_groups,
    };
    return table;
}

/* Random values of the variables that are computed once. */
static inline CelValue *test_random_variables(TestSchema *s, Rng *rng, const TestTable *table) {
    CelValue *variables = ARENA_ARRAY(s->arena, CelValue, cel_env_n_slots(s->env));
    TestCluster *cluster = ARENA_NEW(s->arena, TestCluster);

    assert_true(variables && cluster);
    *cluster = (TestCluster){{&s->cluster}, table};
    variables[s->pod_slot] = test_random_item(rng, &s->pod, s->arena);
    variables[s->now_slot] = cel_timestamp(1700000100, 0);
    variables[s->cluster_slot] = cel_record(&cluster->head);
    return variables;
}
