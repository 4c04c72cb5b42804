#pragma once

/*
 * A table for the tests of plans: rows with a field of every type, a list of elements, and keys
 * by which rows are grouped; one more record for what is known once.
 *
 * test_table_check() works out expressions both ways, by a session and by the scalar machine row
 * by row, and wants the same bits.
 */

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/plan.h"
#include "cel/program.h"
#include "cel/type.h"

#define TEST_BUDGET ((size_t)1024 * 1024 * 1024)
#define TEST_GROUPS 5 /* of each key */

enum {
    ROW_NAME,
    ROW_OK,
    ROW_CPU,
    ROW_LOAD,
    ROW_ZONE,
    ROW_BORN,
    ROW_LABELS,
    ROW_ITEMS,
    ROW_NUMBERS,
    ROW_FIELDS
};
enum { ITEM_NAME, ITEM_OK, ITEM_N, ITEM_W, ITEM_APP, ITEM_AT, ITEM_LABELS, ITEM_FIELDS };
enum { DOMAIN_ITEMS, DOMAIN_NAME, DOMAIN_FIELDS };
enum { GROUP_POD, GROUP_ROW, GROUP_NOW, GROUP_CLUSTER };

typedef struct TestRecord {
    CelRecord head;
    CelValue fields[ROW_FIELDS]; /* as many as it has */
} TestRecord;

typedef struct TestRow {
    TestRecord record;
    const struct TestTable *table;
    uint32_t groups[2]; /* by key; UINT32_MAX: none */
} TestRow;

typedef struct TestTable {
    CelTable head; /* its rows are this */
    TestRow *rows;
    size_t n;
} TestTable;

typedef struct TestDomain {
    CelRecord head;
    const TestTable *table;
    uint32_t key, group;
} TestDomain;

typedef struct TestCluster {
    CelRecord head;
    const TestTable *table;
} TestCluster;

typedef struct TestSchema {
    Arena *arena;
    CelEnv *env;
    CelRecordType row, item, pod, domain, cluster;
    CelField row_fields[ROW_FIELDS], item_fields[ITEM_FIELDS], domain_fields[DOMAIN_FIELDS];
    CelOverloadSpec functions[2];
    uint32_t row_slot, pod_slot, now_slot, cluster_slot;
    CelHost host;
    bool has_leaves;
    const CelType *row_type, *items_type;
} TestSchema;

/* What CelFunctions find their types by: they have nothing but their arguments. */
static TestSchema *test_schema;

/* --- records ---------------------------------------------------------------------------- */

static inline CelValue test_record_get(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)run;
    return ((const TestRecord *)record)->fields[field];
}

/* The elements of all rows of a group, by rising row. */
static inline CelValue test_union(
    const TestTable *table, uint32_t key, uint32_t group, CelRun *run) {
    size_t n = 0, at = 0;
    CelValue *items;

    for (size_t i = 0; group != UINT32_MAX && i < table->n; i++)
        n += table->rows[i].groups[key] == group ? table->rows[i].record.fields[ROW_ITEMS].list->n
                                                 : 0;
    items = cel_list_begin(run, n);
    assert_non_null(items);
    for (size_t i = 0; group != UINT32_MAX && i < table->n; i++) {
        const CelList *list = table->rows[i].record.fields[ROW_ITEMS].list;

        for (uint32_t k = 0; table->rows[i].groups[key] == group && k < list->n; k++)
            items[at++] = cel_list_at(list, k, run);
    }
    return cel_list_end(run, items, n);
}

static inline CelValue test_domain_get(const CelRecord *record, uint32_t field, CelRun *run) {
    const TestDomain *domain = (const TestDomain *)record;

    return field == DOMAIN_ITEMS ? test_union(domain->table, domain->key, domain->group, run)
                                 : cel_string(STR("domain"));
}

static inline CelValue test_domain(
    const TestTable *table, uint32_t key, uint32_t group, CelRun *run) {
    TestDomain *domain = cel_alloc(run, sizeof(*domain));

    assert_non_null(domain);
    *domain = (TestDomain){{&test_schema->domain}, table, key, group};
    return cel_record(&domain->head);
}

static inline uint32_t test_key(CelValue v) {
    return str_is(cel_str(v), "zone") ? 0 : 1;
}

/* row.domain(key) */
static inline CelValue test_row_domain(CelRun *run, const CelValue *args, const void *prepared) {
    const TestRow *row = (const TestRow *)args[0].record;

    (void)prepared;
    return test_domain(row->table, test_key(args[1]), row->groups[test_key(args[1])], run);
}

/* cluster.domains(key) */
static inline CelValue test_cluster_domains(
    CelRun *run, const CelValue *args, const void *prepared) {
    const TestCluster *cluster = (const TestCluster *)args[0].record;
    CelValue *items = cel_list_begin(run, TEST_GROUPS);

    (void)prepared;
    assert_non_null(items);
    for (uint32_t i = 0; i < TEST_GROUPS; i++)
        items[i] = test_domain(cluster->table, test_key(args[1]), i, run);
    return cel_list_end(run, items, TEST_GROUPS);
}

/* --- the host --------------------------------------------------------------------------- */

static inline bool test_is_call(const CelGraphNode *node, const char *name) {
    return node->n_overloads == 1 && str_is(node->overloads[0]->name, name);
}

static inline const CelGraphNode *test_arg(
    const CelGraph *graph, const CelGraphNode *node, uint32_t i) {
    return cel_graph_node(graph, node->args[i]);
}

static inline bool test_is_row(const CelGraphNode *node) {
    return node->op == OP_VARIABLE && node->immediate == test_schema->row_slot;
}

/* Fields of a row by their number, labels['a'] behind them. */
static inline uint32_t test_leaf(const CelHost *host, const CelGraph *graph, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    (void)host;
    if (!test_schema->has_leaves)
        return CEL_NO_LEAF;
    if (node->op == OP_FIELD && test_is_row(test_arg(graph, node, 0)))
        return node->immediate;
    if (node->op != OP_INDEX_MAP || test_arg(graph, node, 1)->op != OP_CONSTANT ||
        !str_is(cel_str(test_arg(graph, node, 1)->constant), "a"))
        return CEL_NO_LEAF;
    node = test_arg(graph, node, 0);
    return node->op == OP_FIELD && test_is_row(test_arg(graph, node, 0)) ? ROW_FIELDS : CEL_NO_LEAF;
}

/* row.labels[key] is 0, `key in row.labels` 1. */
static inline uint32_t test_keyed_leaf(
    const CelHost *host, const CelGraph *graph, uint32_t number, uint32_t *ret_key) {
    const CelGraphNode *node = cel_graph_node(graph, number), *map;
    bool is_in = node->op == OP_IN_MAP;

    (void)host;
    if (!test_schema->has_leaves || (!is_in && node->op != OP_INDEX_MAP))
        return CEL_NO_LEAF;
    map = test_arg(graph, node, is_in);
    *ret_key = node->args[!is_in];
    return map->op == OP_FIELD && test_is_row(test_arg(graph, map, 0)) ? is_in : CEL_NO_LEAF;
}

static inline bool test_is_whole(const CelHost *host, const CelGraph *graph, uint32_t number) {
    (void)host;
    return test_is_call(cel_graph_node(graph, number), "domain");
}

/* row.items, as an expression. */
static inline uint32_t test_add_items(CelGraph *graph) {
    CelGraphNode row = {
        .op = OP_VARIABLE,
        .type = test_schema->row_type,
        .immediate = test_schema->row_slot,
        .constant = cel_string(STR("row")),
        .groups = 1u << GROUP_ROW,
    };
    uint32_t arg = cel_graph_add(graph, &row);
    CelGraphNode items = {
        .op = OP_FIELD,
        .type = test_schema->items_type,
        .immediate = ROW_ITEMS,
        .constant = cel_string(STR("items")),
        .args = &arg,
        .n_args = 1,
    };

    return cel_graph_add(graph, &items);
}

static inline bool test_find_union(
    const CelHost *host, CelGraph *graph, uint32_t number, CelUnion *ret) {
    const CelGraphNode *node = cel_graph_node(graph, number), *of;

    (void)host;
    if (node->op != OP_FIELD || node->immediate != DOMAIN_ITEMS)
        return false;
    of = test_arg(graph, node, 0);
    if (of->type->kind != CEL_T_RECORD || of->type->record != &test_schema->domain)
        return false;
    ret->key = 0;
    if (test_is_call(of, "domain") && test_arg(graph, of, 1)->op == OP_CONSTANT &&
        test_is_row(test_arg(graph, of, 0)))
        ret->key = test_key(test_arg(graph, of, 1)->constant);
    else if (of->op != OP_LOCAL)
        return false;
    ret->list = test_add_items(graph);
    return true;
}

static inline bool test_find_groups(
    const CelHost *host, const CelGraph *graph, uint32_t number, uint32_t *ret_key) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    (void)host;
    if (!test_is_call(node, "domains") || test_arg(graph, node, 1)->op != OP_CONSTANT)
        return false;
    *ret_key = test_key(test_arg(graph, node, 1)->constant);
    return true;
}

/* --- the table -------------------------------------------------------------------------- */

static inline CelValue test_row(const CelTable *table, uint32_t row, CelRun *run) {
    (void)run;
    return cel_record(&((const TestTable *)table->rows)->rows[row].record.head);
}

static inline void test_load_one(CelColumn *ret, CelValue *texts, size_t i, CelValue v) {
    ret->states[i] = CEL_STATE_FINE;
    if (v.kind == CEL_ABSENT) {
        ret->states[i] = CEL_STATE_ERROR;
        if (ret->lane != CEL_LANE_BOOL && ret->lane != CEL_LANE_TEXT)
            ret->ints[i] = 0;
        return;
    }
    switch (ret->lane) {
    case CEL_LANE_BOOL:
        ret->states[i] = v.boolean;
        break;
    case CEL_LANE_DOUBLE:
        ret->doubles[i] = v.d;
        break;
    case CEL_LANE_TIME:
        ret->ints[i] = 0;
        if (__builtin_mul_overflow(v.i, INT64_C(1000000000), &ret->ints[i]) ||
            __builtin_add_overflow(ret->ints[i], (int64_t)v.len, &ret->ints[i]))
            ret->states[i] = CEL_STATE_ODD;
        break;
    case CEL_LANE_TEXT:
        texts[i] = v;
        break;
    default:
        ret->ints[i] = v.i;
    }
}

static inline void test_load(const CelTable *table, uint32_t leaf, const uint32_t *rows, size_t n,
    CelColumn *ret, CelValue *ret_texts) {
    const TestTable *of = table->rows;

    for (size_t i = 0; i < n; i++) {
        const CelValue *fields = of->rows[rows[i]].record.fields;

        test_load_one(ret,
            ret_texts,
            i,
            leaf < ROW_FIELDS ? fields[leaf]
                              : cel_map_find(fields[ROW_LABELS].map, cel_string(STR("a")), NULL));
    }
}

static inline void test_load_keyed(const CelTable *table, uint32_t leaf, CelValue key,
    const uint32_t *rows, size_t n, CelColumn *ret, CelValue *ret_texts) {
    const TestTable *of = table->rows;

    assert_true(key.kind == CEL_STRING);
    for (size_t i = 0; i < n; i++) {
        const CelValue *labels = &of->rows[rows[i]].record.fields[ROW_LABELS];
        CelValue v = cel_map_find(labels->map, key, NULL);

        test_load_one(ret, ret_texts, i, leaf == 1 ? cel_bool(v.kind != CEL_ABSENT) : v);
    }
}

static inline uint32_t test_groups(
    const CelTable *table, uint32_t key, size_t n_rows, uint32_t *ret) {
    const TestTable *of = table->rows;

    for (size_t i = 0; i < n_rows; i++)
        ret[i] = of->rows[i].groups[key];
    return TEST_GROUPS;
}

/* --- setting up ------------------------------------------------------------------------- */

static inline void test_field(CelField *field, const char *name, const CelType *type) {
    assert_non_null(type);
    *field = (CelField){.name = str_from_c(name), .type = type};
}

static inline void test_schema_types(TestSchema *s) {
    const CelType *labels = cel_map_of(s->arena, &cel_string_type, &cel_string_type);
    CelField *f = s->item_fields;

    test_field(&f[ITEM_NAME], "name", &cel_string_type);
    test_field(&f[ITEM_OK], "ok", &cel_bool_type);
    test_field(&f[ITEM_N], "n", &cel_int_type);
    test_field(&f[ITEM_W], "w", &cel_double_type);
    test_field(&f[ITEM_APP], "app", &cel_string_type);
    test_field(&f[ITEM_AT], "at", &cel_timestamp_type);
    test_field(&f[ITEM_LABELS], "labels", labels);
    s->item = (CelRecordType){STR("Item"), f, ITEM_FIELDS, test_record_get};
    s->pod = (CelRecordType){STR("Pod"), f, ITEM_FIELDS, test_record_get};
    s->items_type = cel_list_of(s->arena, cel_record_of(s->arena, &s->item));
    f = s->row_fields;
    test_field(&f[ROW_NAME], "name", &cel_string_type);
    test_field(&f[ROW_OK], "ok", &cel_bool_type);
    test_field(&f[ROW_CPU], "cpu", &cel_int_type);
    test_field(&f[ROW_LOAD], "load", &cel_double_type);
    test_field(&f[ROW_ZONE], "zone", &cel_string_type);
    test_field(&f[ROW_BORN], "born", &cel_timestamp_type);
    test_field(&f[ROW_LABELS], "labels", labels);
    test_field(&f[ROW_ITEMS], "items", s->items_type);
    test_field(&f[ROW_NUMBERS], "numbers", cel_list_of(s->arena, &cel_int_type));
    s->row = (CelRecordType){STR("Row"), f, ROW_FIELDS, test_record_get};
    test_field(&s->domain_fields[DOMAIN_ITEMS], "items", s->items_type);
    test_field(&s->domain_fields[DOMAIN_NAME], "name", &cel_string_type);
    s->domain = (CelRecordType){STR("Domain"), s->domain_fields, DOMAIN_FIELDS, test_domain_get};
    s->cluster = (CelRecordType){STR("Cluster"), NULL, 0, NULL};
}

static inline void test_variable(
    TestSchema *s, const char *name, const CelType *type, uint8_t group, uint32_t *ret) {
    assert_int_equal(cel_env_add_variable(s->env, str_from_c(name), type, 0, group, ret), 0);
}

static inline void test_schema_init(TestSchema *s) {
    *s = (TestSchema){.arena = arena_new(TEST_BUDGET), .has_leaves = true};
    assert_non_null(s->arena);
    test_schema = s;
    s->env = cel_env_new(s->arena);
    assert_non_null(s->env);
    test_schema_types(s);
    assert_int_equal(cel_env_add_record(s->env, &s->item), 0);
    assert_int_equal(cel_env_add_record(s->env, &s->pod), 0);
    assert_int_equal(cel_env_add_record(s->env, &s->row), 0);
    assert_int_equal(cel_env_add_record(s->env, &s->domain), 0);
    assert_int_equal(cel_env_add_record(s->env, &s->cluster), 0);
    s->functions[0] = (CelOverloadSpec){
        .name = "domain", .signature = "Row.(string) -> Domain", .fn = test_row_domain};
    s->functions[1] = (CelOverloadSpec){.name = "domains",
        .signature = "Cluster.(string) -> list(Domain)",
        .fn = test_cluster_domains};
    for (int i = 0; i < 2; i++)
        assert_int_equal(cel_env_add_overload(s->env, &s->functions[i]), 0);
    s->row_type = cel_record_of(s->arena, &s->row);
    test_variable(s, "pod", cel_record_of(s->arena, &s->pod), GROUP_POD, &s->pod_slot);
    test_variable(s, "row", s->row_type, GROUP_ROW, &s->row_slot);
    test_variable(s, "now", &cel_timestamp_type, GROUP_NOW, &s->now_slot);
    test_variable(
        s, "cluster", cel_record_of(s->arena, &s->cluster), GROUP_CLUSTER, &s->cluster_slot);
    s->host = (CelHost){
        .row_slot = s->row_slot,
        .row_groups = 1u << GROUP_ROW,
        .leaf = test_leaf,
        .keyed_leaf = test_keyed_leaf,
        .is_whole = test_is_whole,
        .find_union = test_find_union,
        .find_groups = test_find_groups,
    };
}

static inline void test_schema_done(TestSchema *s) {
    s->arena = arena_free(s->arena);
}

/* --- contents --------------------------------------------------------------------------- */

typedef struct TestRandom {
    uint64_t seed;
} TestRandom;

static inline uint32_t test_random(TestRandom *random, uint32_t n) {
    random->seed = random->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random->seed >> 33) % n;
}

/* One of these, or now and then none at all. */
#define TEST_PICK(random, values)                                                                  \
    ((values)[test_random((random), (uint32_t)(sizeof(values) / sizeof((values)[0])))])

static inline CelValue test_or_absent(TestRandom *random, CelValue v) {
    return test_random(random, 12) == 0 ? cel_absent() : v;
}

static inline CelValue test_random_text(TestRandom *random) {
    static const char *const texts[] = {"a", "b", "c", "zone-1", "zone-2", "", "x=y", "12", "ä"};

    return cel_string(str_from_c(TEST_PICK(random, texts)));
}

static inline CelValue test_random_int(TestRandom *random) {
    static const int64_t ints[] = {
        0, 1, 2, 3, -1, 5, 7, 100, -100, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_C(1) << 53};

    return cel_int(TEST_PICK(random, ints));
}

static inline CelValue test_random_double(TestRandom *random) {
    static const double doubles[] = {0.0,
        -0.0,
        1.0,
        0.1,
        0.2,
        0.3,
        -1.5,
        1e300,
        -1e300,
        3.0,
        __builtin_inf(),
        -__builtin_inf(),
        __builtin_nan(""),
        1e-300};

    return cel_double(TEST_PICK(random, doubles));
}

static inline CelValue test_random_time(TestRandom *random) {
    static const int64_t seconds[] = {0,
        1,
        1700000000,
        1700000060,
        1700003600,
        -1,
        INT64_C(253402300799) /* the end of 9999 */,
        INT64_C(-62135596800) /* the year 1 */};

    return cel_timestamp(TEST_PICK(random, seconds), test_random(random, 3) * 250000000);
}

static inline CelValue test_random_labels(TestRandom *random, Arena *arena) {
    static const char *const keys[] = {"a", "b", "c"};
    CelMap *map = ARENA_NEW(arena, CelMap);
    CelEntry *entries = ARENA_ARRAY(arena, CelEntry, 3);

    assert_true(map && entries);
    *map = (CelMap){.depth = 1, .entries = entries};
    for (int i = 0; i < 3; i++) {
        if (test_random(random, 3) > 0)
            entries[map->n++] =
                (CelEntry){cel_string(str_from_c(keys[i])), test_random_text(random)};
    }
    return cel_map(map);
}

static inline CelValue test_random_item(
    TestRandom *random, const CelRecordType *type, Arena *arena) {
    TestRecord *item = ARENA_NEW(arena, TestRecord);

    assert_non_null(item);
    item->head.type = type;
    item->fields[ITEM_NAME] = test_random_text(random);
    item->fields[ITEM_OK] = test_or_absent(random, cel_bool(test_random(random, 3) > 0));
    item->fields[ITEM_N] = test_or_absent(
        random, test_random(random, 4) ? cel_int(test_random(random, 5)) : test_random_int(random));
    item->fields[ITEM_W] = test_random(random, 4) ? cel_double(test_random(random, 100) * 0.1)
                                                  : test_random_double(random);
    item->fields[ITEM_APP] = test_or_absent(random, test_random_text(random));
    item->fields[ITEM_AT] = test_random_time(random);
    item->fields[ITEM_LABELS] = test_random_labels(random, arena);
    return cel_record(&item->head);
}

/* A list that is fetched element by element. */
typedef struct TestList {
    CelList head;
    const CelValue *values;
} TestList;

/* A zero cannot be fetched. */
static inline CelValue test_list_at(const CelList *list, uint32_t i, CelRun *run) {
    CelValue v = ((const TestList *)list)->values[i];

    return v.kind == CEL_INT && v.i == 0 ? cel_fail(run, "not there") : v;
}

static inline CelValue test_list_of(
    TestRandom *random, const CelValue *values, uint32_t n, uint32_t depth, Arena *arena) {
    TestList *list = ARENA_NEW(arena, TestList);
    bool is_fetched = test_random(random, 2) == 0;

    assert_non_null(list);
    list->values = values;
    list->head =
        (CelList){.n = n, .depth = depth, .items = is_fetched ? NULL : values, .at = test_list_at};
    return cel_list(&list->head);
}

static inline void test_random_row(
    TestSchema *s, TestRandom *random, const TestTable *table, TestRow *row, uint32_t items_max) {
    uint32_t n_items = test_random(random, 4) ? test_random(random, items_max + 1) : 0;
    uint32_t n_numbers = test_random(random, 4);
    CelValue *items = ARENA_ARRAY(s->arena, CelValue, n_items);
    CelValue *numbers = ARENA_ARRAY(s->arena, CelValue, n_numbers);
    CelValue *f = row->record.fields;

    assert_true(items && numbers);
    for (uint32_t i = 0; i < n_items; i++)
        items[i] = test_random_item(random, &s->item, s->arena);
    for (uint32_t i = 0; i < n_numbers; i++)
        numbers[i] = test_random_int(random);
    *row = (TestRow){.record = {.head = {&s->row}}, .table = table};
    f[ROW_NAME] = test_random_text(random);
    f[ROW_OK] = test_or_absent(random, cel_bool(test_random(random, 2) > 0));
    f[ROW_CPU] = test_or_absent(random, test_random_int(random));
    f[ROW_LOAD] = test_or_absent(random, test_random_double(random));
    f[ROW_ZONE] = test_or_absent(random, test_random_text(random));
    f[ROW_BORN] = test_or_absent(random, test_random_time(random));
    f[ROW_LABELS] = test_random_labels(random, s->arena);
    f[ROW_ITEMS] = test_list_of(random, items, n_items, 1, s->arena);
    f[ROW_NUMBERS] = test_or_absent(random, test_list_of(random, numbers, n_numbers, 1, s->arena));
    for (int i = 0; i < 2; i++)
        row->groups[i] =
            test_random(random, 6) == 0 ? UINT32_MAX : test_random(random, TEST_GROUPS);
}

static inline TestTable *test_random_table(
    TestSchema *s, TestRandom *random, size_t n, uint32_t items_max) {
    TestTable *table = ARENA_NEW(s->arena, TestTable);

    assert_non_null(table);
    table->rows = ARENA_ARRAY(s->arena, TestRow, n);
    assert_non_null(table->rows);
    table->n = n;
    for (size_t i = 0; i < n; i++)
        test_random_row(s, random, table, &table->rows[i], items_max);
    table->head = (CelTable){
        .host = &s->host,
        .rows = table,
        .row = test_row,
        .load = test_load,
        .load_keyed = test_load_keyed,
        .groups = test_groups,
    };
    return table;
}

/* What is known once. */
static inline CelValue *test_random_variables(
    TestSchema *s, TestRandom *random, const TestTable *table) {
    CelValue *variables = ARENA_ARRAY(s->arena, CelValue, cel_env_n_slots(s->env));
    TestCluster *cluster = ARENA_NEW(s->arena, TestCluster);

    assert_true(variables && cluster);
    *cluster = (TestCluster){{&s->cluster}, table};
    variables[s->pod_slot] = test_random_item(random, &s->pod, s->arena);
    variables[s->now_slot] = cel_timestamp(1700000100, 0);
    variables[s->cluster_slot] = cel_record(&cluster->head);
    return variables;
}

/* --- both ways -------------------------------------------------------------------------- */

typedef struct TestPlan {
    TestSchema *schema;
    CelGraph *graph;
    CelPlan *plan;
    const char *const *sources;
    const CelProgram **programs; /* of each root, for the scalar machine */
    size_t n;
} TestPlan;

static inline void test_plan_init(
    TestPlan *p, TestSchema *s, const char *const *sources, size_t n) {
    uint32_t *roots = ARENA_ARRAY(s->arena, uint32_t, n);
    CelOptions options = {0};

    *p = (TestPlan){.schema = s, .sources = sources, .n = n};
    p->graph = cel_graph_new(s->arena, s->arena);
    p->programs = ARENA_ARRAY(s->arena, const CelProgram *, n);
    assert_true(roots && p->graph && p->programs);
    for (size_t i = 0; i < n; i++) {
        DiagList diags = DIAG_LIST_IN(s->arena);
        CelChecked *checked;
        CelProgram *program;

        assert_case(sources[i],
            cel_compile_tree(s->env,
                STR("test"),
                str_from_c(sources[i]),
                &options,
                s->arena,
                &diags,
                &checked) == 0);
        assert_case(sources[i], cel_lower(p->graph, checked, &options, &diags, &roots[i]) == 0);
        assert_case(sources[i],
            cel_compile(s->env,
                STR("test"),
                str_from_c(sources[i]),
                &options,
                s->arena,
                &diags,
                &program) == 0);
        p->programs[i] = program;
    }
    assert_int_equal(cel_plan_new(p->graph, roots, n, &s->host, s->arena, &p->plan), 0);
}

static inline const CelKept **test_blocks(const TestPlan *p, const TestTable *table) {
    size_t n = (table->n + CEL_BLOCK_ROWS - 1) / CEL_BLOCK_ROWS;
    const CelKept **blocks = ARENA_ARRAY(p->schema->arena, const CelKept *, n);
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET);
    uint32_t rows[CEL_BLOCK_ROWS];

    assert_true(blocks && arena);
    for (size_t i = 0; i < n; i++) {
        CelRun run = CEL_RUN(arena);
        size_t length = 0;

        for (; length < CEL_BLOCK_ROWS && i * CEL_BLOCK_ROWS + length < table->n; length++)
            rows[length] = (uint32_t)(i * CEL_BLOCK_ROWS + length);
        assert_int_equal(cel_kept_new(p->plan,
                             &table->head,
                             rows,
                             length,
                             &run,
                             (CelClock){0},
                             p->schema->arena,
                             &blocks[i]),
            0);
        arena_reset(arena);
    }
    return blocks;
}

static inline uint8_t test_state(const CelColumn *column, size_t i) {
    return column->states ? column->states[i] : CEL_STATE_FINE;
}

/* Whether entry @i is what the scalar machine says. Of NaN it is the same that it is one. */
static inline bool test_is_same(const CelColumn *column, size_t i, CelValue want) {
    uint8_t state = test_state(column, i);

    if (want.kind == CEL_ERROR)
        return state == CEL_STATE_ERROR;
    if (want.kind == CEL_BOOL)
        return column->lane == CEL_LANE_BOOL && state == want.boolean;
    if (state != CEL_STATE_FINE)
        return false;
    if (want.kind == CEL_DOUBLE && __builtin_isnan(want.d))
        return __builtin_isnan(column->doubles[i]);
    if (want.kind == CEL_DOUBLE)
        return column->ints[i] == (int64_t)want.u; /* the same bits: 0.0 and -0.0 differ */
    return want.kind == CEL_INT && column->lane == CEL_LANE_INT && column->ints[i] == want.i;
}

static inline CelValue test_scalar(const TestPlan *p, const TestTable *table,
    const CelValue *variables, size_t root, uint32_t row, Arena *arena) {
    CelValue own[16];
    CelRun run = CEL_RUN(arena);

    memcpy(own, variables, cel_env_n_slots(p->schema->env) * sizeof(CelValue));
    own[p->schema->row_slot] = cel_record(&table->rows[row].record.head);
    return cel_run(p->programs[root]->code, &run, own);
}

static inline void test_fail(const TestPlan *p, size_t root, uint32_t row, const CelColumn *column,
    size_t i, CelValue want) {
    Buf out = BUF_INIT(1 << 20);

    cel_plan_print(p->plan, &out);
    print_error("%s: row %u: state %u, number %" PRId64 "; want kind %u, number %" PRId64 "\n",
        p->sources[root],
        row,
        test_state(column, i),
        column->lane != CEL_LANE_BOOL ? column->ints[i] : 0,
        want.kind,
        want.i);
    if (want.kind == CEL_ERROR)
        print_error("(%.*s)\n", STR_FMT(want.error->text));
    if (p->n < 4)
        print_error("%.*s", STR_FMT(buf_str(&out)));
    buf_done(&out);
    fail();
}

/* The rows that the session has: each root both ways. */
static inline void test_batch(const TestPlan *p, const TestTable *table, const CelValue *variables,
    CelSession *session, const uint32_t *rows, size_t n, Arena *arena) {
    for (size_t root = 0; root < p->n; root++) {
        const CelColumn *column;

        assert_case(p->sources[root], cel_session_root(session, root, &column) == 0);
        for (size_t i = 0; i < n; i++) {
            CelValue want = test_scalar(p, table, variables, root, rows[i], arena);

            if (!test_is_same(column, i, want))
                test_fail(p, root, rows[i], column, i, want);
        }
        arena_reset(arena);
    }
}

/* Single values and kept roots, asked for as such. */
static inline void test_others(const TestPlan *p, const TestTable *table, const CelValue *variables,
    CelSession *session, const CelKept *const *blocks, Arena *arena) {
    for (size_t root = 0; root < p->n; root++) {
        CelTime time = cel_plan_time(p->plan, root);
        CelValue want, have;

        for (uint32_t row = 0; time == CEL_TIME_KEPT && row < table->n; row++) {
            CelColumn column = cel_kept_root(p->plan, blocks[row / CEL_BLOCK_ROWS], root);

            want = test_scalar(p, table, variables, root, row, arena);
            if (!test_is_same(&column, row % CEL_BLOCK_ROWS, want))
                test_fail(p, root, row, &column, row % CEL_BLOCK_ROWS, want);
        }
        if (time != CEL_TIME_ONCE || table->n == 0)
            continue;
        want = test_scalar(p, table, variables, root, 0, arena);
        assert_int_equal(cel_session_once(session, root, &have), 0);
        assert_case(p->sources[root], have.kind == want.kind);
        if (have.kind != CEL_ERROR && !(have.kind == CEL_DOUBLE && __builtin_isnan(have.d)))
            assert_case(p->sources[root], have.u == want.u);
    }
}

/* All roots for all rows: in order, in batches of any length, and some of them in no order. */
static inline void test_table_check(const TestPlan *p, const TestTable *table,
    const CelKept *const *blocks, const CelValue *variables, TestRandom *random) {
    _cleanup_(arena_freep) Arena *arena = arena_new(TEST_BUDGET), *scratch = arena_new(TEST_BUDGET),
                                 *own = arena_new(TEST_BUDGET), *machine = arena_new(TEST_BUDGET);
    CelRun run = CEL_RUN(own);
    CelSessionOptions options = {
        .table = &table->head,
        .blocks = blocks,
        .n_rows = table->n,
        .variables = variables,
        .run = &run,
        .fuel = CEL_FUEL_DEFAULT,
        .scratch = scratch,
    };
    uint32_t rows[CEL_BATCH_ROWS];
    CelSession *session;

    assert_true(arena && scratch && own && machine);
    assert_int_equal(
        cel_whole_new(p->plan, &table->head, blocks, table->n, arena, &options.whole), 0);
    assert_int_equal(cel_session_new(p->plan, &options, arena, &session), 0);
    for (size_t from = 0, n; from < table->n; from += n) {
        size_t rest = table->n - from < CEL_BATCH_ROWS ? table->n - from : CEL_BATCH_ROWS;

        n = test_random(random, 2) == 0 ? rest : 1 + test_random(random, (uint32_t)rest);
        for (size_t i = 0; i < n; i++)
            rows[i] = (uint32_t)(from + i);
        if (test_random(random, 3) == 0)
            cel_session_rows(session, rows, n);
        else
            cel_session_range(session, (uint32_t)from, n);
        test_batch(p, table, variables, session, rows, n, machine);
    }
    for (size_t i = 0; table->n > 0 && i < 40; i++)
        rows[i] = test_random(random, (uint32_t)table->n);
    if (table->n > 0) {
        cel_session_rows(session, rows, 40);
        test_batch(p, table, variables, session, rows, 40, machine);
    }
    test_others(p, table, variables, session, blocks, machine);
}
