#include "cluster/table.h"

#include <errno.h>

#include "base/error.h"
#include "base/num.h"
#include "base/vec.h"

typedef struct Building {
    NodeTable *table;
    Arena *arena;
    char *literals; /* where the next literal goes */
    VEC(ResourceColumn) resources;
    size_t guesses[RESOURCES_MAX]; /* by position in an object's list: the column */
    VEC(Taints) taint_sets;
} Building;

/* A zeroed column, the unknown node's entry included. */
#define COLUMN(building, type) ARENA_ARRAY((building)->arena, type, (building)->table->n_rows + 1)

static int add_columns(Building *building, size_t n_rows) {
    NodeTable *table = building->table;

    *table = (NodeTable){.n_rows = n_rows, .index = MAP_INIT_IN(building->arena)};
    table->names = COLUMN(building, Str);
    table->literals = COLUMN(building, Str);
    table->labels = COLUMN(building, Labels);
    table->is_ready = COLUMN(building, uint8_t);
    table->is_unschedulable = COLUMN(building, uint8_t);
    table->taint_set = COLUMN(building, uint32_t);
    table->n_pods = COLUMN(building, uint32_t);
    table->pods = COLUMN(building, const Pod **);
    if (!table->names || !table->literals || !table->labels || !table->is_ready ||
        !table->is_unschedulable || !table->taint_set || !table->n_pods || !table->pods)
        return error_origin(-ENOMEM);
    return 0;
}

/* The column of @name, made if it is new. @position is its place in the object's
 * list: nodes of one cluster list their resources in the same order, so the column
 * is mostly that of the object before. NULL with *ret_error set when out of memory,
 * NULL with 0 over the ceiling. */
static ResourceColumn *resource_column(
    Building *building, Str name, size_t position, int *ret_error) {
    size_t *guess = &building->guesses[position < RESOURCES_MAX ? position : RESOURCES_MAX - 1];
    ResourceColumn *column;

    if (*guess < building->resources.n && str_eq(building->resources.items[*guess].name, name))
        return &building->resources.items[*guess];
    for (size_t i = 0; i < building->resources.n; i++) {
        if (str_eq(building->resources.items[i].name, name)) {
            *guess = i;
            return &building->resources.items[i];
        }
    }
    if (building->resources.n >= TABLE_RESOURCES_MAX)
        return NULL;

    column = VEC_PUSH(&building->resources, building->arena);
    if (column) {
        column->name = name;
        column->allocatable = COLUMN(building, int64_t);
        column->requested = COLUMN(building, int64_t);
        column->free = COLUMN(building, int64_t);
    }
    if (!column || !column->allocatable || !column->requested || !column->free) {
        *ret_error = error_origin(-ENOMEM);
        return NULL;
    }
    return column;
}

/* Kubernetes has no negative amounts; a file that does is read as 0, so that no
 * difference of two amounts can overflow. */
static int64_t amount_of(const Resource *resource) {
    return resource->amount > 0 ? resource->amount : 0;
}

static int set_allocatable(Building *building, size_t row, const Resources *allocatable) {
    for (size_t i = 0; i < allocatable->n; i++) {
        int r = 0;
        ResourceColumn *column = resource_column(building, allocatable->items[i].name, i, &r);

        if (r < 0)
            return error_trace(r);
        if (column)
            column->allocatable[row] = amount_of(&allocatable->items[i]);
    }
    return 0;
}

static bool taints_equal(const Taints *a, const Taints *b) {
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (a->items[i].effect != b->items[i].effect || !str_eq(a->items[i].key, b->items[i].key) ||
            !str_eq(a->items[i].value, b->items[i].value))
            return false;
    return true;
}

/* The number of this list of taints. Clusters have a handful of distinct lists;
 * a cluster that has thousands pays with a longer search, bounded by looking at
 * the newest TAINT_SETS_SEARCHED only. */
#define TAINT_SETS_SEARCHED 64u

static int set_taints(Building *building, size_t row, const Taints *taints) {
    size_t n = building->taint_sets.n;
    Taints *set;

    if (taints->n == 0)
        return 0;
    for (size_t i = n; i > 1 && n - i < TAINT_SETS_SEARCHED; i--) {
        if (taints_equal(&building->taint_sets.items[i - 1], taints)) {
            building->table->taint_set[row] = (uint32_t)(i - 1);
            return 0;
        }
    }
    set = VEC_PUSH(&building->taint_sets, building->arena);
    if (!set)
        return error_origin(-ENOMEM);
    *set = *taints;
    building->table->taint_set[row] = (uint32_t)n;
    return 0;
}

/* Room for all literals in one block: packed, they are a quarter smaller than one
 * by one, and every request goes over them. */
static int reserve_literals(Building *building, const Node *nodes, size_t n_nodes) {
    size_t size = 0;

    for (size_t i = 0; i < n_nodes; i++)
        size += nodes[i].name.len + 3;
    building->literals = arena_alloc(building->arena, size);
    return building->literals ? 0 : error_origin(-ENOMEM);
}

/* Node names are DNS labels; quotes around them make them JSON. One that is not
 * gets no literal and is never guessed, only looked up. */
static int set_name(Building *building, size_t row, Str name) {
    NodeTable *table = building->table;

    table->names[row] = name;
    if (node_name_is_valid(name)) {
        char *literal = building->literals;

        literal[0] = ',';
        literal[1] = '"';
        memcpy(literal + 2, name.ptr, name.len);
        literal[name.len + 2] = '"';
        table->literals[row] = str_of(literal + 1, name.len + 2);
        building->literals += name.len + 3;
    }
    if (map_find(&table->index, name) == MAP_NONE)
        return error_trace(map_add(&table->index, name, (uint32_t)row));
    return 0;
}

static int add_node(Building *building, size_t row, const Node *node) {
    NodeTable *table = building->table;
    int r;

    table->labels[row] = node->labels;
    table->is_ready[row] = node->is_ready;
    table->is_unschedulable[row] = node->is_unschedulable;
    r = set_name(building, row, node->name);
    if (r == 0)
        r = set_taints(building, row, &node->taints);
    if (r == 0)
        r = set_allocatable(building, row, &node->allocatable);
    return error_trace(r);
}

/* Whether @pod takes something of a node, and of which. */
static uint32_t row_of_pod(const NodeTable *table, const Pod *pod) {
    if (str_is_empty(pod->node_name) || pod->is_terminal)
        return (uint32_t)table->n_rows;
    return table_find(table, pod->node_name);
}

static int add_requests(Building *building, size_t row, const Resources *requests) {
    for (size_t i = 0; i < requests->n; i++) {
        int r = 0;
        ResourceColumn *column = resource_column(building, requests->items[i].name, i, &r);

        if (r < 0)
            return error_trace(r);
        if (column)
            column->requested[row] =
                num_add_sat(column->requested[row], amount_of(&requests->items[i]));
    }
    return 0;
}

/* Two passes: count, then fill lists of exactly that length. */
static int add_pods(Building *building, const Pod *pods, size_t n_pods) {
    NodeTable *table = building->table;
    uint32_t *n_filled = COLUMN(building, uint32_t);

    if (!n_filled)
        return error_origin(-ENOMEM);
    for (size_t i = 0; i < n_pods; i++)
        table->n_pods[row_of_pod(table, &pods[i])]++;
    table->n_pods[table->n_rows] = 0;
    for (size_t row = 0; row < table->n_rows; row++) {
        table->pods[row] = ARENA_ARRAY(building->arena, const Pod *, table->n_pods[row]);
        if (!table->pods[row])
            return error_origin(-ENOMEM);
    }
    for (size_t i = 0; i < n_pods; i++) {
        uint32_t row = row_of_pod(table, &pods[i]);
        int r;

        if (row == table->n_rows)
            continue;
        table->pods[row][n_filled[row]++] = &pods[i];
        r = add_requests(building, row, &pods[i].requests);
        if (r < 0)
            return error_trace(r);
    }
    return 0;
}

/* Derived, but headroom reads it for every node of every request. */
static void set_free(const NodeTable *table) {
    for (size_t i = 0; i < table->n_resources; i++) {
        const ResourceColumn *column = &table->resources[i];

        for (size_t row = 0; row <= table->n_rows; row++)
            column->free[row] = column->allocatable[row] - column->requested[row];
    }
}

int table_build(const Node *nodes, size_t n_nodes, const Pod *pods, size_t n_pods, Arena *arena,
    NodeTable *ret) {
    Building building = {.table = ret, .arena = arena};
    int r = add_columns(&building, n_nodes);

    if (r == 0)
        r = reserve_literals(&building, nodes, n_nodes);
    if (r == 0 && !VEC_PUSH(&building.taint_sets, arena)) /* number 0: no taints */
        r = error_origin(-ENOMEM);
    if (r == 0)
        (void)resource_column(&building, STR("cpu"), 0, &r);
    if (r == 0)
        (void)resource_column(&building, STR("memory"), 0, &r);
    for (size_t row = 0; r == 0 && row < n_nodes; row++)
        r = add_node(&building, row, &nodes[row]);
    if (r == 0)
        r = add_pods(&building, pods, n_pods);
    if (r < 0)
        return error_trace(r);

    ret->resources = building.resources.items;
    ret->n_resources = building.resources.n;
    set_free(ret);
    ret->taint_sets = building.taint_sets.items;
    ret->n_taint_sets = building.taint_sets.n;
    return 0;
}

int table_adopt_pods(NodeTable *into, const NodeTable *from, Arena *arena) {
    Building building = {.table = into, .arena = arena};

    building.resources.items = into->resources;
    building.resources.n = building.resources.size = into->n_resources;
    for (size_t row = 0; row < into->n_rows; row++) {
        uint32_t known = table_find(from, into->names[row]);

        if (known == from->n_rows)
            continue;
        into->n_pods[row] = from->n_pods[known];
        into->pods[row] = from->pods[known];
        for (size_t i = 0; i < from->n_resources; i++) {
            int r = 0;
            ResourceColumn *column = resource_column(&building, from->resources[i].name, i, &r);

            if (r < 0)
                return error_trace(r);
            if (column)
                column->requested[row] = from->resources[i].requested[known];
        }
    }
    into->resources = building.resources.items;
    into->n_resources = building.resources.n;
    set_free(into);
    return 0;
}

/* Copies of the columns that change; everything else stays shared. */
static int copy_counts(const NodeTable *table, Arena *arena, NodeTable *ret) {
    size_t n = table->n_rows + 1;

    *ret = *table;
    ret->n_pods = ARENA_ARRAY(arena, uint32_t, n);
    ret->pods = ARENA_ARRAY(arena, const Pod **, n);
    ret->resources = ARENA_ARRAY(arena, ResourceColumn, table->n_resources);
    if (!ret->n_pods || !ret->pods || !ret->resources)
        return error_origin(-ENOMEM);
    memcpy(ret->n_pods, table->n_pods, n * sizeof(*ret->n_pods));
    memcpy(ret->pods, table->pods, n * sizeof(*ret->pods));
    for (size_t i = 0; i < table->n_resources; i++) {
        ret->resources[i] = table->resources[i];
        ret->resources[i].requested = ARENA_ARRAY(arena, int64_t, n);
        ret->resources[i].free = ARENA_ARRAY(arena, int64_t, n);
        if (!ret->resources[i].requested || !ret->resources[i].free)
            return error_origin(-ENOMEM);
        memcpy(ret->resources[i].requested, table->resources[i].requested, n * sizeof(int64_t));
    }
    return 0;
}

/* Anew, not by subtraction: a sum may have stopped at its limit. */
static void sum_requests(
    ResourceColumn *column, uint32_t row, const Pod *const *pods, uint32_t n_pods) {
    column->requested[row] = 0;
    for (uint32_t i = 0; i < n_pods; i++) {
        const Resource *asked = resources_find(&pods[i]->requests, column->name);

        if (asked)
            column->requested[row] = num_add_sat(column->requested[row], amount_of(asked));
    }
}

int table_without_pod(const NodeTable *table, uint32_t row, Str uid, Arena *arena, NodeTable *ret) {
    const Pod **others = ARENA_ARRAY(arena, const Pod *, table->n_pods[row]);
    const Pod *taken = NULL;
    int r = others ? copy_counts(table, arena, ret) : error_origin(-ENOMEM);

    if (r < 0)
        return error_trace(r);
    ret->n_pods[row] = 0;
    for (uint32_t i = 0; i < table->n_pods[row]; i++) {
        if (!taken && str_eq(table->pods[row][i]->uid, uid))
            taken = table->pods[row][i];
        else
            others[ret->n_pods[row]++] = table->pods[row][i];
    }
    ret->pods[row] = others;
    for (size_t i = 0; taken && i < ret->n_resources; i++)
        sum_requests(&ret->resources[i], row, others, ret->n_pods[row]);
    set_free(ret);
    return 0;
}

const ResourceColumn *table_find_resource(const NodeTable *table, Str name) {
    for (size_t i = 0; i < table->n_resources; i++)
        if (str_eq(table->resources[i].name, name))
            return &table->resources[i];
    return NULL;
}
