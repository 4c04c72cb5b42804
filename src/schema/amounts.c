/* Amounts of resources as maps: of a row of the table, of an object, and sums of the table.
 * Division by 1000 gives the double nearest to the decimal: 250m is 0.25, and 100m equals 0.1. */

#include "schema/amounts.h"

#include "cel/quantity.h"

SCHEMA_MAP_TYPE(schema_amounts_type, &cel_double_type);
SCHEMA_MAP_TYPE(schema_quantities_type, &cel_quantity_type);

static const CelValue nothing = {.kind = CEL_DOUBLE};

/* The amounts of a row (@node is set), sums (@totals is set), or amounts of an object. */
typedef struct AmountMap {
    CelMap map;
    const Resources *resources; /* of the object, or offered by the row's node */
    const NodeTable *table;
    const Node *node;
    uint32_t row;
    AmountKind kind;
    const int64_t *totals; /* by resource of the table */
    bool is_of_pod;        /* adds one of the resource `pods` */
    bool is_exact;         /* values are quantities, not doubles */
} AmountMap;

AmountKey amount_key(Str key) {
    if (str_eq(key, STR(AMOUNT_MILLI_CPU)))
        return (AmountKey){.resource = STR("cpu"), .scale = 1.0};
    return (AmountKey){.resource = key, .scale = str_eq(key, STR("cpu")) ? 1000.0 : 1.0};
}

/* For a resource without a column (TABLE_RESOURCES_MAX), only the offered amount is known. */
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

static CelValue quantity(CelRun *run, const Resource *resource) {
    Quantity exact = resource_quantity_of(resource->name, resource->amount);
    bool is_size = str_eq(resource->name, STR("memory")) ||
                   str_eq(resource->name, STR("ephemeral-storage")) ||
                   str_has_prefix(resource->name, STR("hugepages-"));
    /* Kubernetes usually writes sizes with suffixes of 1024, other amounts with those of 1000. */
    CelQuantity amount =
        cel_quantity_from_quantity(exact, is_size ? QUANTITY_BINARY : QUANTITY_DECIMAL);

    return cel_make_opaque(run, CEL_QUANTITY, &amount, sizeof(amount));
}

/* Returns false if the map has no such resource. */
static bool find_amount(const AmountMap *amounts, Str resource, int64_t *ret) {
    size_t column = amounts->table ? table_find_resource(amounts->table, resource) : SIZE_MAX;
    const Resource *found;

    if (amounts->node && amounts->table) {
        *ret = amount_of_row(amounts->table, amounts->row, amounts->kind, resource, column);
        return amount_is_there(amounts->table, amounts->row, amounts->kind, resource, column);
    }
    if (amounts->totals) {
        *ret = column != SIZE_MAX ? amounts->totals[column] : 0;
        return column != SIZE_MAX;
    }
    found = resources_find(amounts->resources, resource);
    *ret = found ? found->amount : 0;
    if (!amounts->is_of_pod || !str_is(resource, "pods"))
        return found;
    *ret = 1; /* as kube-scheduler counts it */
    return true;
}

static CelValue find(const CelMap *map, CelValue key, CelRun *run) {
    const AmountMap *amounts = OBJECT_OF(map, AmountMap, map);
    const Resource *found;
    AmountKey wanted;
    int64_t amount;

    if (key.kind != CEL_STRING)
        return cel_absent();
    if (amounts->is_exact) {
        found = resources_find(amounts->resources, cel_str(key));
        return found ? quantity(run, found) : cel_absent();
    }
    wanted = amount_key(cel_str(key));
    return find_amount(amounts, wanted.resource, &amount)
               ? cel_double(amount_number(wanted, amount))
               : cel_absent();
}

static CelEntry entry_at(const CelMap *map, uint32_t i, CelRun *run) {
    const AmountMap *amounts = OBJECT_OF(map, AmountMap, map);
    CelValue key = schema_text(
        amounts->totals ? amounts->table->resources[i] : amounts->resources->items[i].name);

    return (CelEntry){.key = key, .value = find(map, key, run)};
}

static CelValue make_map(CelRun *run, size_t n, AmountMap amounts) {
    AmountMap *made = cel_alloc(run, sizeof(*made));

    if (!made)
        return cel_no_memory(run);
    *made = amounts;
    made->map = (CelMap){.n = (uint32_t)n,
        .depth = 1,
        .find = find,
        .at = entry_at,
        .otherwise = amounts.is_exact ? NULL : &nothing};
    return cel_map(&made->map);
}

CelValue schema_amounts_of_row(
    CelRun *run, const NodeTable *table, uint32_t row, const Node *node, AmountKind kind) {
    return make_map(run, node->allocatable.n,
        (AmountMap){.resources = &node->allocatable,
            .table = table,
            .node = node,
            .row = row,
            .kind = kind});
}

CelValue schema_amounts_of(CelRun *run, const Resources *resources) {
    return make_map(run, resources->n, (AmountMap){.resources = resources, .is_of_pod = true});
}

CelValue schema_plain_amounts_of(CelRun *run, const Resources *resources) {
    return make_map(run, resources->n, (AmountMap){.resources = resources});
}

CelValue schema_quantities_of(CelRun *run, const Resources *resources) {
    return make_map(run, resources->n, (AmountMap){.resources = resources, .is_exact = true});
}

CelValue schema_amounts_of_table(CelRun *run, const NodeTable *table, const int64_t *totals) {
    return make_map(run, table->n_resources, (AmountMap){.table = table, .totals = totals});
}
