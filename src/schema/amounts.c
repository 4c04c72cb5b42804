/*
 * Three kinds of maps that read keys in the same way: a row of the table, an object's list, and the
 * sums of a table. Division by 1000 gives the double nearest to the decimal: 0.25 for 250m, and 0.1
 * equals 0.1 in an expression.
 */

#include "schema/amounts.h"

#include "cel/quantity.h"

SCHEMA_MAP_TYPE(schema_amounts_type, &cel_double_type);
SCHEMA_MAP_TYPE(schema_quantities_type, &cel_quantity_type);

#define NANO_OF_MILLI 1000000
#define NANO_OF_UNIT 1000000000

static const CelValue nothing = {.kind = CEL_DOUBLE};

typedef struct AmountMap {
    CelMap map;
    const Resources *resources; /* an object's own */
    const NodeTable *table;     /* of a row, and of sums */
    const Node *node;           /* of a row, as the next two */
    uint32_t row;
    AmountKind kind;
    const int64_t *totals; /* sums, by resource of the table */
} AmountMap;

static const AmountMap *amounts_of(const CelMap *map) {
    return OBJECT_OF(map, AmountMap, map);
}

static CelValue make_map(CelRun *run, AmountMap amounts) {
    AmountMap *made = cel_alloc(run, sizeof(*made));

    if (!made)
        return cel_no_memory(run);
    *made = amounts;
    made->map.depth = 1;
    return cel_map(&made->map);
}

AmountKey amount_key(Str key) {
    if (str_eq(key, STR(AMOUNT_MILLI_CPU)))
        return (AmountKey){.resource = STR("cpu"), .scale = 1.0};
    return (AmountKey){.resource = key, .scale = str_eq(key, STR("cpu")) ? 1000.0 : 1.0};
}

static CelValue number(Str resource, int64_t amount) {
    return cel_double(amount_number(amount_key(resource), amount));
}

/* --- rows -------------------------------------------------------------------------- */

/* A resource without a column (TABLE_RESOURCES_MAX) is offered, but not counted. */
int64_t amount_of_row(
    const NodeTable *table, uint32_t row, AmountKind kind, Str resource, size_t column) {
    const Node *node = table_node(table, row);
    int64_t offered;

    if (column == SIZE_MAX) {
        offered =
            node && kind == AMOUNT_ALLOCATABLE ? resources_get(&node->allocatable, resource) : 0;
        return offered > 0 ? offered : 0;
    }
    if (kind == AMOUNT_FREE && table_amount(table, row, column, AMOUNT_ALLOCATABLE) <= 0)
        return 0;
    return table_amount(table, row, column, kind);
}

bool amount_is_there(
    const NodeTable *table, uint32_t row, AmountKind kind, Str resource, size_t column) {
    const Node *node = table_node(table, row);

    return (node && resources_find(&node->allocatable, resource)) ||
           (kind == AMOUNT_REQUESTED &&
               amount_of_row(table, row, AMOUNT_REQUESTED, resource, column) > 0);
}

static CelValue row_find(const CelMap *map, CelValue key, CelRun *run) {
    const AmountMap *amounts = amounts_of(map);
    AmountKey wanted;
    size_t column;

    if (key.kind != CEL_STRING)
        return cel_absent();
    wanted = amount_key(cel_str(key));
    column = table_find_resource(amounts->table, wanted.resource);
    if (!amount_is_there(amounts->table, amounts->row, amounts->kind, wanted.resource, column))
        return cel_absent();
    return cel_double(amount_number(wanted,
        amount_of_row(amounts->table, amounts->row, amounts->kind, wanted.resource, column)));
}

static CelEntry row_at(const CelMap *map, uint32_t i, CelRun *run) {
    CelValue key = schema_text(amounts_of(map)->node->allocatable.items[i].name);

    return (CelEntry){.key = key, .value = row_find(map, key, run)};
}

CelValue schema_amounts_of_row(
    CelRun *run, const NodeTable *table, uint32_t row, const Node *node, AmountKind kind) {
    const CelMap map = {
        .n = (uint32_t)node->allocatable.n, .find = row_find, .at = row_at, .otherwise = &nothing};

    return make_map(
        run, (AmountMap){.map = map, .table = table, .node = node, .row = row, .kind = kind});
}

/* --- an object's own ---------------------------------------------------------------- */

static CelValue plain_find(const CelMap *map, CelValue key, CelRun *run) {
    const Resource *found;
    AmountKey wanted;

    if (key.kind != CEL_STRING)
        return cel_absent();
    wanted = amount_key(cel_str(key));
    found = resources_find(amounts_of(map)->resources, wanted.resource);
    return found ? cel_double(amount_number(wanted, found->amount)) : cel_absent();
}

static CelValue object_find(const CelMap *map, CelValue key, CelRun *run) {
    if (key.kind == CEL_STRING && str_is(cel_str(key), "pods"))
        return cel_double(1); /* as kube-scheduler counts it */
    return plain_find(map, key, run);
}

static CelEntry object_at(const CelMap *map, uint32_t i, CelRun *run) {
    const Resource *item = &amounts_of(map)->resources->items[i];

    return (CelEntry){.key = schema_text(item->name), .value = number(item->name, item->amount)};
}

static CelValue make_object_map(CelRun *run, const Resources *resources, CelMap map) {
    map.n = (uint32_t)resources->n;
    return make_map(run, (AmountMap){.map = map, .resources = resources});
}

CelValue schema_amounts_of(CelRun *run, const Resources *resources) {
    return make_object_map(
        run, resources, (CelMap){.find = object_find, .at = object_at, .otherwise = &nothing});
}

CelValue schema_plain_amounts_of(CelRun *run, const Resources *resources) {
    return make_object_map(
        run, resources, (CelMap){.find = plain_find, .at = object_at, .otherwise = &nothing});
}

/* --- the same as quantities ----------------------------------------------------------- */

static CelValue quantity(CelRun *run, const Resource *resource) {
    bool is_cpu = str_eq(resource->name, STR("cpu"));
    Quantity exact = {.nano = (__int128)resource->amount * (is_cpu ? NANO_OF_MILLI : NANO_OF_UNIT)};
    CelQuantity *amount = cel_alloc(run, sizeof(*amount));
    bool is_size = str_eq(resource->name, STR("memory")) ||
                   str_eq(resource->name, STR("ephemeral-storage")) ||
                   str_has_prefix(resource->name, STR("hugepages-"));

    if (!amount)
        return cel_no_memory(run);
    /* As Kubernetes usually writes it: sizes by 1024, others by 1000. */
    *amount = cel_quantity_from_quantity(exact, is_size ? QUANTITY_BINARY : QUANTITY_DECIMAL);
    return cel_opaque(CEL_QUANTITY, amount);
}

static CelValue quantity_find(const CelMap *map, CelValue key, CelRun *run) {
    const Resource *found;

    if (key.kind != CEL_STRING)
        return cel_absent();
    found = resources_find(amounts_of(map)->resources, cel_str(key));
    return found ? quantity(run, found) : cel_absent();
}

static CelEntry quantity_at(const CelMap *map, uint32_t i, CelRun *run) {
    const Resource *item = &amounts_of(map)->resources->items[i];

    return (CelEntry){.key = schema_text(item->name), .value = quantity(run, item)};
}

CelValue schema_quantities_of(CelRun *run, const Resources *resources) {
    return make_object_map(run, resources, (CelMap){.find = quantity_find, .at = quantity_at});
}

/* --- the sums of a table --------------------------------------------------------------- */

static CelValue table_find_amount(const CelMap *map, CelValue key, CelRun *run) {
    const AmountMap *amounts = amounts_of(map);
    AmountKey wanted;
    size_t column;

    if (key.kind != CEL_STRING)
        return cel_absent();
    wanted = amount_key(cel_str(key));
    column = table_find_resource(amounts->table, wanted.resource);
    return column != SIZE_MAX ? cel_double(amount_number(wanted, amounts->totals[column]))
                              : cel_absent();
}

static CelEntry table_amount_at(const CelMap *map, uint32_t i, CelRun *run) {
    const AmountMap *amounts = amounts_of(map);
    Str name = amounts->table->resources[i];

    return (CelEntry){.key = schema_text(name), .value = number(name, amounts->totals[i])};
}

CelValue schema_amounts_of_table(CelRun *run, const NodeTable *table, const int64_t *totals) {
    const CelMap map = {.n = (uint32_t)table->n_resources,
        .find = table_find_amount,
        .at = table_amount_at,
        .otherwise = &nothing};

    return make_map(run, (AmountMap){.map = map, .table = table, .totals = totals});
}
