/* Topology domains as values. Rows are numbered by the value of their label, then sorted by number
 * in a stable counting sort: each domain is a slice of one array. Its pods are collected when an
 * expression reads them. */

#include "schema/schema-internal.h"

#include "base/map.h"

typedef struct DomainValue {
    CelRecord head;
    const NodeTable *table;
    Str value;
    const uint32_t *rows;
    uint32_t n_rows;
} DomainValue;

static CelValue domain_pods(CelRun *run, const DomainValue *domain) {
    size_t total = 0, n_taken = 0;
    const Pod **pods;
    uint32_t n;

    for (uint32_t i = 0; i < domain->n_rows; i++) {
        (void)node_pods(domain->table, domain->rows[i], &n);
        total += n;
    }
    if (!cel_charge(run, total + domain->n_rows))
        return cel_exhausted(run);
    pods = cel_alloc(run, total * sizeof(const Pod *));
    if (!pods)
        return cel_no_memory(run);
    for (uint32_t i = 0; i < domain->n_rows; i++) {
        const Pod *const *items = node_pods(domain->table, domain->rows[i], &n);

        for (uint32_t k = 0; k < n; k++)
            pods[n_taken++] = items[k];
    }
    return schema_pods(run, pods, total);
}

#define DOMAIN(X)                                                                                  \
    X(value, WORD(domain->value), "of the label; empty when the node has none")                    \
    X(nodes, VALUE(schema_nodes_type, 0),                                                          \
        schema_rows(run, domain->table, domain->rows, domain->n_rows),                             \
        "the nodes that have that value, the node itself included; empty when the node lacks the " \
        "label")                                                                                   \
    X(pods, VALUE(schema_pods_type, 0), domain_pods(run, domain), "the pods on these nodes")
SCHEMA_RECORD(schema_domain, "Domain",
    const DomainValue *domain = OBJECT_OF(record, DomainValue, head), DOMAIN);

static DomainValue domain(const NodeTable *table, Str value, const uint32_t *rows, size_t n) {
    return (DomainValue){.head = {.type = &schema_domain.type},
        .table = table,
        .value = value,
        .rows = rows,
        .n_rows = (uint32_t)n};
}

/* Used when there is no memory for a map: searches earlier rows for the same value. */
static uint32_t search_group(
    const NodeTable *table, Str key, Str value, size_t before, const uint32_t *groups) {
    for (size_t row = 0; row < before; row++) {
        const Str *other = labels_find(table_labels(table, (uint32_t)row), key);

        if (other && str_eq(*other, value))
            return groups[row];
    }
    return MAP_NONE;
}

uint32_t domain_groups(const NodeTable *table, Str key, size_t n_rows, uint32_t *ret_group_of_row) {
    _cleanup_(map_done) Map numbers = MAP_INIT;
    bool has_map = true;
    uint32_t n = 0;

    for (size_t row = 0; row < n_rows; row++) {
        const Str *value = labels_find(table_labels(table, (uint32_t)row), key);
        uint32_t *group = &ret_group_of_row[row];

        *group = UINT32_MAX;
        if (!value)
            continue;
        *group = has_map ? map_find(&numbers, *value)
                         : search_group(table, key, *value, row, ret_group_of_row);
        if (*group != MAP_NONE)
            continue;
        *group = n++;
        has_map = has_map && map_add(&numbers, *value, *group) == 0;
    }
    return n;
}

/* Rows by domain: those of domain g are rows[starts[g]] up to rows[starts[g + 1]]. */
typedef struct Grouping {
    uint32_t n;
    uint32_t *starts, *rows;
} Grouping;

/* A counting sort. Returns an error, or CEL_ABSENT for success. */
static CelValue group_rows(CelRun *run, const NodeTable *table, Str key, Grouping *ret) {
    size_t n_rows = table->n_rows;
    uint32_t *groups = cel_alloc(run, (n_rows + 1) * sizeof(uint32_t));

    if (!cel_charge(run, 2 * n_rows))
        return cel_exhausted(run);
    if (!groups)
        return cel_no_memory(run);
    ret->n = domain_groups(table, key, n_rows, groups);
    ret->rows = cel_alloc(run, (n_rows + 1) * sizeof(uint32_t));
    ret->starts = cel_alloc(run, (ret->n + (size_t)2) * sizeof(uint32_t));
    if (!ret->rows || !ret->starts)
        return cel_no_memory(run);
    memset(ret->starts, 0, (ret->n + (size_t)2) * sizeof(uint32_t));
    for (size_t row = 0; row < n_rows; row++)
        if (groups[row] != UINT32_MAX)
            ret->starts[groups[row] + 2]++;
    for (uint32_t g = 2; g <= ret->n + 1; g++)
        ret->starts[g] += ret->starts[g - 1];
    for (size_t row = 0; row < n_rows; row++)
        if (groups[row] != UINT32_MAX)
            ret->rows[ret->starts[groups[row] + 1]++] = (uint32_t)row;
    return cel_absent();
}

static Str value_of_group(
    const NodeTable *table, Str key, const Grouping *grouping, uint32_t group) {
    return *labels_find(table_labels(table, grouping->rows[grouping->starts[group]]), key);
}

CelValue schema_call_domains(CelRun *run, const CelValue *args, const void *prepared) {
    const NodeTable *table = cluster_value_of(args[0])->table;
    Str key = cel_str(args[1]);
    Grouping grouping = {0};
    CelValue failed = group_rows(run, table, key, &grouping), *items;
    DomainValue *domains;

    if (failed.kind == CEL_ERROR)
        return failed;
    domains = cel_alloc(run, grouping.n * sizeof(*domains));
    items = cel_list_begin(run, grouping.n);
    if (!domains || !items)
        return cel_no_memory(run);
    for (uint32_t g = 0; g < grouping.n; g++) {
        const uint32_t *start = &grouping.starts[g];

        domains[g] = domain(table, value_of_group(table, key, &grouping, g),
            grouping.rows + start[0], start[1] - start[0]);
        items[g] = cel_record(&domains[g].head);
    }
    return cel_list_end(run, items, grouping.n);
}

CelValue schema_call_nodes_by_label(CelRun *run, const CelValue *args, const void *prepared) {
    const NodeTable *table = cluster_value_of(args[0])->table;
    Str key = cel_str(args[1]);
    Grouping grouping = {0};
    CelValue failed = group_rows(run, table, key, &grouping);
    CelEntry *entries;

    if (failed.kind == CEL_ERROR)
        return failed;
    entries = cel_map_begin(run, grouping.n);
    if (!entries)
        return cel_no_memory(run);
    for (uint32_t g = 0; g < grouping.n; g++)
        entries[g] = (CelEntry){.key = schema_text(value_of_group(table, key, &grouping, g)),
            .value = cel_int((int64_t)grouping.starts[g + 1] - grouping.starts[g])};
    return cel_map_end(run, entries, grouping.n);
}

CelValue schema_call_domain(CelRun *run, const CelValue *args, const void *prepared) {
    const NodeValue *node = node_value_of(args[0]);
    const NodeTable *table = node->table;
    Str key = cel_str(args[1]);
    const Str *value = labels_find(table_labels(table, node->row), key);
    DomainValue *made = cel_alloc(run, sizeof(*made));
    uint32_t *rows = cel_alloc(run, value ? table->n_rows * sizeof(*rows) : 0);
    uint32_t n = 0;

    if (!made || !rows)
        return cel_no_memory(run);
    if (!cel_charge(run, value ? table->n_rows : 1))
        return cel_exhausted(run);
    for (uint32_t other = 0; value && other < table->n_rows; other++) {
        const Str *its = labels_find(table_labels(table, other), key);

        if (its && str_eq(*its, *value))
            rows[n++] = other;
    }
    *made = domain(table, value ? *value : STR_NULL, rows, n);
    return cel_record(&made->head);
}
