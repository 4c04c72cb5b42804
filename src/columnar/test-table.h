#pragma once

/*
 * A table for the tests of plans: rows with a field of every type, a list of elements, and keys
 * that group the rows; one more record for values that are computed once; and the functions of the
 * host.
 */

#include "base/cleanup.h"
#include "base/test-assert.h"
#include "cel/env.h"
#include "cel/type.h"
#include "columnar/plan.h"

#define TEST_BUDGET ((size_t)1024 * 1024 * 1024)
#define TEST_GROUPS 5 /* number of groups of each key */

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
enum { DOMAIN_ITEMS, DOMAIN_ROWS, DOMAIN_NAME, DOMAIN_FIELDS };
enum { GROUP_POD, GROUP_ROW, GROUP_NOW, GROUP_CLUSTER };

typedef struct TestRecord {
    CelRecord head;
    CelValue fields[ROW_FIELDS]; /* as many as the record's type has */
} TestRecord;

typedef struct TestRow {
    TestRecord record;
    const struct TestTable *table;
    uint32_t groups[2]; /* by key; UINT32_MAX: none */
} TestRow;

typedef struct TestTable {
    PlanTable head; /* its rows point back to the TestTable */
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
    PlanHost host;
    bool has_leaves;
    const CelType *row_type, *rows_type, *items_type;
} TestSchema;

/* The schema of the running test: functions of CEL get only their arguments. */
static TestSchema *test_schema;

/* --- records ---------------------------------------------------------------------------- */

static inline CelValue test_record_get(const CelRecord *record, uint32_t field, CelRun *run) {
    (void)run;
    return ((const TestRecord *)record)->fields[field];
}

/* The elements of all rows of a group, in the order of rows. */
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

static inline CelValue test_members(
    const TestTable *table, uint32_t key, uint32_t group, CelRun *run) {
    size_t n = 0, at = 0;
    CelValue *items;

    for (size_t i = 0; group != UINT32_MAX && i < table->n; i++)
        n += table->rows[i].groups[key] == group;
    items = cel_list_begin(run, n);
    assert_non_null(items);
    for (size_t i = 0; at < n; i++)
        if (table->rows[i].groups[key] == group)
            items[at++] = cel_record(&table->rows[i].record.head);
    return cel_list_end(run, items, n);
}

static inline CelValue test_domain_get(const CelRecord *record, uint32_t field, CelRun *run) {
    const TestDomain *domain = (const TestDomain *)record;

    if (field == DOMAIN_NAME)
        return cel_string(STR("domain"));
    return (field == DOMAIN_ITEMS ? test_union : test_members)(
        domain->table, domain->key, domain->group, run);
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

/* Numbers of leaves: fields of a row have their own number, labels['a'] the next one. */
static inline uint32_t test_leaf(const PlanHost *host, const CelGraph *graph, uint32_t number) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    (void)host;
    if (!test_schema->has_leaves)
        return PLAN_NO_LEAF;
    if (node->op == OP_FIELD && test_is_row(test_arg(graph, node, 0)))
        return node->immediate;
    if (node->op != OP_INDEX_MAP || test_arg(graph, node, 1)->op != OP_CONSTANT ||
        !str_is(cel_str(test_arg(graph, node, 1)->constant), "a"))
        return PLAN_NO_LEAF;
    node = test_arg(graph, node, 0);
    return node->op == OP_FIELD && test_is_row(test_arg(graph, node, 0)) ? ROW_FIELDS
                                                                         : PLAN_NO_LEAF;
}

/* Numbers of keyed leaves: row.labels[key] is 0, `key in row.labels` is 1. */
static inline uint32_t test_keyed_leaf(
    const PlanHost *host, const CelGraph *graph, uint32_t number, uint32_t *ret_key) {
    const CelGraphNode *node = cel_graph_node(graph, number), *map;
    bool is_in = node->op == OP_IN_MAP;

    (void)host;
    if (!test_schema->has_leaves || (!is_in && node->op != OP_INDEX_MAP))
        return PLAN_NO_LEAF;
    map = test_arg(graph, node, is_in);
    *ret_key = node->args[!is_in];
    return map->op == OP_FIELD && test_is_row(test_arg(graph, map, 0)) ? is_in : PLAN_NO_LEAF;
}

static inline bool test_reads_other_rows(
    const PlanHost *host, const CelGraph *graph, uint32_t number) {
    (void)host;
    return test_is_call(cel_graph_node(graph, number), "domain");
}

/* Add row and row.items to the graph. */
static inline uint32_t test_add_row(CelGraph *graph) {
    CelGraphNode row = {
        .op = OP_VARIABLE,
        .type = test_schema->row_type,
        .immediate = test_schema->row_slot,
        .constant = cel_string(STR("row")),
        .groups = 1u << GROUP_ROW,
    };

    return cel_graph_add(graph, &row);
}

static inline uint32_t test_add_items(CelGraph *graph) {
    uint32_t arg = test_add_row(graph);
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
    const PlanHost *host, CelGraph *graph, uint32_t number, PlanUnion *ret) {
    const CelGraphNode *node = cel_graph_node(graph, number), *of;

    (void)host;
    if (node->op != OP_FIELD || node->immediate == DOMAIN_NAME)
        return false;
    ret->is_rows = node->immediate == DOMAIN_ROWS;
    of = test_arg(graph, node, 0);
    if (of->type->kind != CEL_T_RECORD || of->type->record != &test_schema->domain)
        return false;
    ret->key = 0;
    if (test_is_call(of, "domain") && test_arg(graph, of, 1)->op == OP_CONSTANT &&
        test_is_row(test_arg(graph, of, 0)))
        ret->key = test_key(test_arg(graph, of, 1)->constant);
    else if (of->op != OP_LOCAL)
        return false;
    ret->list = ret->is_rows ? test_add_row(graph) : test_add_items(graph);
    return true;
}

static inline bool test_find_groups(
    const PlanHost *host, const CelGraph *graph, uint32_t number, uint32_t *ret_key) {
    const CelGraphNode *node = cel_graph_node(graph, number);

    (void)host;
    if (!test_is_call(node, "domains") || test_arg(graph, node, 1)->op != OP_CONSTANT)
        return false;
    *ret_key = test_key(test_arg(graph, node, 1)->constant);
    return true;
}

/* --- the table -------------------------------------------------------------------------- */

static inline CelValue test_row(const PlanTable *table, uint32_t row, CelRun *run) {
    (void)run;
    return cel_record(&((const TestTable *)table->rows)->rows[row].record.head);
}

static inline void test_load_one(Column *ret, CelValue *texts, size_t i, CelValue v) {
    ret->states[i] = COLUMN_OK;
    if (v.kind == CEL_ABSENT) {
        ret->states[i] = COLUMN_ERROR;
        if (ret->lane != LANE_BOOL && ret->lane != LANE_TEXT)
            ret->ints[i] = 0;
        return;
    }
    switch (ret->lane) {
    case LANE_BOOL:
        ret->states[i] = v.boolean;
        break;
    case LANE_DOUBLE:
        ret->doubles[i] = v.d;
        break;
    case LANE_TIME:
        ret->ints[i] = 0;
        if (__builtin_mul_overflow(v.i, INT64_C(1000000000), &ret->ints[i]) ||
            __builtin_add_overflow(ret->ints[i], (int64_t)v.len, &ret->ints[i]))
            ret->states[i] = COLUMN_FALLBACK;
        break;
    case LANE_TEXT:
        texts[i] = v;
        break;
    default:
        ret->ints[i] = v.i;
    }
}

static inline void test_load(const PlanTable *table, uint32_t leaf, const uint32_t *rows, size_t n,
    Column *ret, CelValue *ret_texts) {
    const TestTable *of = table->rows;

    for (size_t i = 0; i < n; i++) {
        const CelValue *fields = of->rows[rows[i]].record.fields;

        test_load_one(ret, ret_texts, i,
            leaf < ROW_FIELDS ? fields[leaf]
                              : cel_map_find(fields[ROW_LABELS].map, cel_string(STR("a")), NULL));
    }
}

static inline void test_load_keyed(const PlanTable *table, uint32_t leaf, CelValue key,
    const uint32_t *rows, size_t n, Column *ret, CelValue *ret_texts) {
    const TestTable *of = table->rows;

    assert_true(key.kind == CEL_STRING);
    for (size_t i = 0; i < n; i++) {
        const CelValue *labels = &of->rows[rows[i]].record.fields[ROW_LABELS];
        CelValue v = cel_map_find(labels->map, key, NULL);

        test_load_one(ret, ret_texts, i, leaf == 1 ? cel_bool(v.kind != CEL_ABSENT) : v);
    }
}

static inline uint32_t test_groups(
    const PlanTable *table, uint32_t key, size_t n_rows, uint32_t *ret) {
    const TestTable *of = table->rows;

    for (size_t i = 0; i < n_rows; i++)
        ret[i] = of->rows[i].groups[key];
    return TEST_GROUPS;
}

/* --- set-up ----------------------------------------------------------------------------- */

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
    s->row_type = cel_record_of(s->arena, &s->row);
    s->rows_type = cel_list_of(s->arena, s->row_type);
    test_field(&s->domain_fields[DOMAIN_ITEMS], "items", s->items_type);
    test_field(&s->domain_fields[DOMAIN_ROWS], "rows", s->rows_type);
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
    test_variable(s, "pod", cel_record_of(s->arena, &s->pod), GROUP_POD, &s->pod_slot);
    test_variable(s, "row", s->row_type, GROUP_ROW, &s->row_slot);
    test_variable(s, "now", &cel_timestamp_type, GROUP_NOW, &s->now_slot);
    test_variable(
        s, "cluster", cel_record_of(s->arena, &s->cluster), GROUP_CLUSTER, &s->cluster_slot);
    s->host = (PlanHost){
        .row_slot = s->row_slot,
        .row_groups = 1u << GROUP_ROW,
        .leaf = test_leaf,
        .keyed_leaf = test_keyed_leaf,
        .reads_other_rows = test_reads_other_rows,
        .find_union = test_find_union,
        .find_groups = test_find_groups,
    };
}

static inline void test_schema_done(TestSchema *s) {
    s->arena = arena_free(s->arena);
}
