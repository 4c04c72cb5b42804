/* Tables in an arena: of a request's own nodes, and with pods added or removed. */

#include "cluster/table.h"

#include <errno.h>

#include "base/vec.h"

const Pod *table_find_assumed(const NodeTable *table, Str uid) {
    size_t low = 0, high = table->n_assumed;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(table->assumed[middle]->uid, uid);

        if (order == 0)
            return table->assumed[middle];
        low = order < 0 ? middle + 1 : low;
        high = order > 0 ? middle : high;
    }
    return NULL;
}

size_t table_find_resource(const NodeTable *table, Str name) {
    return str_index(name, table->resources, table->n_resources);
}

/* --- a request's own table -------------------------------------------------------- */

typedef struct TableBuild {
    const Node *nodes;
    size_t n_nodes;
    Arena *arena;
    VEC(Str) resources;
    size_t guesses[RESOURCES_MAX]; /* by position in an object's list: the column */
    VEC(Taints) taint_sets;
    NodeChunk **chunks;
} TableBuild;

/* The column of @name, made if it is new. @position is its place in the object's list:
 * nodes of one cluster list their resources in the same order, so the column is mostly
 * that of the object before. Names over the ceiling get none. */
static int add_resource(TableBuild *build, Str name, size_t position) {
    size_t *guess = &build->guesses[position < RESOURCES_MAX ? position : RESOURCES_MAX - 1];
    size_t found;
    Str *added;

    if (*guess < build->resources.n && str_eq(build->resources.items[*guess], name))
        return 0;
    found = str_index(name, build->resources.items, build->resources.n);
    if (found != SIZE_MAX) {
        *guess = found;
        return 0;
    }
    if (build->resources.n >= TABLE_RESOURCES_MAX)
        return 0;
    added = VEC_PUSH(&build->resources, build->arena);
    if (!added)
        return -ENOMEM;
    *added = name;
    return 0;
}

static int collect_resources(TableBuild *build) {
    int r = add_resource(build, STR("cpu"), 0);

    if (r == 0)
        r = add_resource(build, STR("memory"), 1);
    for (size_t row = 0; r == 0 && row < build->n_nodes; row++) {
        const Resources *allocatable = &build->nodes[row].allocatable;

        for (size_t i = 0; r == 0 && i < allocatable->n; i++)
            r = add_resource(build, allocatable->items[i].name, i);
    }
    return r;
}

static int add_chunks(TableBuild *build) {
    size_t n = build->n_nodes / CHUNK_ROWS + 1;

    build->chunks = ARENA_ARRAY(build->arena, NodeChunk *, n);
    if (!build->chunks)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        build->chunks[i] = chunk_new_in(build->arena, (uint32_t)build->resources.n);
        if (!build->chunks[i])
            return -ENOMEM;
    }
    return 0;
}

/* The number of this list of taints. Clusters have a handful of distinct lists; one
 * that has thousands pays with a longer search, bounded by looking at the newest
 * TAINT_SETS_SEARCHED only. */
#define TAINT_SETS_SEARCHED 64u

static int set_taints(TableBuild *build, const Taints *taints, uint32_t *ret) {
    size_t n = build->taint_sets.n;
    Taints *set;

    if (taints->n == 0)
        return 0;
    for (size_t i = n; i > 1 && n - i < TAINT_SETS_SEARCHED; i--) {
        if (taints_equal(&build->taint_sets.items[i - 1], taints)) {
            *ret = (uint32_t)(i - 1);
            return 0;
        }
    }
    set = VEC_PUSH(&build->taint_sets, build->arena);
    if (!set)
        return -ENOMEM;
    *set = *taints;
    *ret = (uint32_t)n;
    return 0;
}

static int add_node(TableBuild *build, size_t row) {
    NodeChunk *chunk = build->chunks[row / CHUNK_ROWS];
    const Node *node = &build->nodes[row];
    size_t slot = row % CHUNK_ROWS;

    chunk->nodes[slot] = node;
    chunk->is_ready[slot] = node->is_ready;
    chunk->is_unschedulable[slot] = node->is_unschedulable;
    chunk_set_allocatable(chunk, slot, &node->allocatable, build->resources.items);
    chunk_count_pods(chunk, slot, build->resources.items);
    return set_taints(build, &node->taints, &chunk->taint_set[slot]);
}

static int build_names(const TableBuild *build, NodeTable *ret) {
    NodeNames *index = ARENA_NEW(build->arena, NodeNames);
    Str *names = ARENA_RAW(build->arena, Str, build->n_nodes);

    if (!index || !names)
        return -ENOMEM;
    for (size_t row = 0; row < build->n_nodes; row++)
        names[row] = build->nodes[row].name;
    ret->names = index;
    return names_init_in(build->arena, names, build->n_nodes, index);
}

int table_build(const Node *nodes, size_t n_nodes, Arena *arena, NodeTable *ret) {
    TableBuild build = {.nodes = nodes, .n_nodes = n_nodes, .arena = arena};
    int r = collect_resources(&build);

    if (r == 0)
        r = add_chunks(&build);
    if (r == 0 && !VEC_PUSH(&build.taint_sets, arena)) /* number 0: no taints */
        r = -ENOMEM;
    for (size_t row = 0; r == 0 && row < n_nodes; row++)
        r = add_node(&build, row);
    *ret = (NodeTable){
        .n_rows = n_nodes,
        .chunks = (const NodeChunk *const *)build.chunks,
        .n_chunks = n_nodes / CHUNK_ROWS + 1,
        .resources = build.resources.items,
        .n_resources = build.resources.n,
        .taint_sets = build.taint_sets.items,
        .n_taint_sets = build.taint_sets.n,
    };
    if (r == 0)
        r = build_names(&build, ret);
    return r;
}

/* --- pods of another table --------------------------------------------------------- */

/* @into's resources and those of @from that it lacks. */
static int join_resources(
    const NodeTable *into, const NodeTable *from, Arena *arena, const Str **ret, size_t *ret_n) {
    Str *joined = ARENA_RAW(arena, Str, into->n_resources + from->n_resources);
    size_t n = into->n_resources;

    if (!joined)
        return -ENOMEM;
    memcpy(joined, into->resources, n * sizeof(*joined));
    for (size_t i = 0; i < from->n_resources && n < TABLE_RESOURCES_MAX; i++)
        if (table_find_resource(into, from->resources[i]) == SIZE_MAX)
            joined[n++] = from->resources[i];
    *ret = joined;
    *ret_n = n;
    return 0;
}

int table_adopt_pods(NodeTable *into, const NodeTable *from, Arena *arena) {
    NodeChunk **chunks = ARENA_ARRAY(arena, NodeChunk *, into->n_chunks);
    int r;

    if (!chunks)
        return -ENOMEM;
    r = join_resources(into, from, arena, &into->resources, &into->n_resources);
    if (r < 0)
        return r;
    for (size_t i = 0; i < into->n_chunks; i++) {
        chunks[i] = chunk_copy_in(arena, into->chunks[i], (uint32_t)into->n_resources);
        if (!chunks[i])
            return -ENOMEM;
    }
    for (uint32_t row = 0; row < into->n_rows; row++) {
        uint32_t known = table_find(from, into->names->names[row]);
        NodeChunk *chunk = chunks[row / CHUNK_ROWS];

        if (known == from->n_rows)
            continue;
        chunk->pods[table_slot(row)] = table_chunk(from, known)->pods[table_slot(known)];
        chunk_count_pods(chunk, table_slot(row), into->resources);
    }
    into->chunks = (const NodeChunk *const *)chunks;
    into->nominated = from->nominated;
    into->n_nominated = from->n_nominated;
    into->assumed = from->assumed;
    into->n_assumed = from->n_assumed;
    return 0;
}

/* --- as it would be ----------------------------------------------------------------- */

/* No row has as many pods: what its list was changed to has not been counted yet. */
#define UNCOUNTED UINT32_MAX

/* The chunk of @row as one that may be changed: copied the first time. */
static NodeChunk *chunk_to_change(
    const NodeTable *table, const NodeChunk **chunks, uint32_t row, Arena *arena) {
    size_t i = row / CHUNK_ROWS;

    if (chunks[i] == table->chunks[i]) {
        const NodeChunk *copy =
            chunk_copy_in(arena, table->chunks[i], (uint32_t)table->n_resources);

        if (!copy)
            return NULL;
        chunks[i] = copy;
    }
    return (NodeChunk *)(uintptr_t)chunks[i]; /* ours: copied above, or before */
}

/* Only the list; the row is counted once, after all changes. */
static int apply_change(
    const NodeTable *table, const NodeChunk **chunks, const PodChange *change, Arena *arena) {
    size_t slot = table_slot(change->row);
    NodeChunk *chunk = chunk_to_change(table, chunks, change->row, arena);

    if (!chunk)
        return -ENOMEM;
    chunk->n_pods[slot] = UNCOUNTED;
    return change->add
               ? pod_list_with(chunk->pods[slot], change->add, arena, &chunk->pods[slot])
               : pod_list_without(chunk->pods[slot], change->remove, arena, &chunk->pods[slot]);
}

static void count_rows(const NodeTable *table, const NodeChunk **chunks) {
    for (size_t i = 0; i < table->n_chunks; i++) {
        NodeChunk *chunk = (NodeChunk *)(uintptr_t)chunks[i];

        if (chunk == table->chunks[i])
            continue;
        for (size_t slot = 0; slot < CHUNK_ROWS; slot++)
            if (chunk->n_pods[slot] == UNCOUNTED)
                chunk_count_pods(chunk, slot, table->resources);
    }
}

int table_change(const NodeTable *table, const PodChange *changes, size_t n_changes, Arena *arena,
    NodeTable *ret) {
    const NodeChunk **chunks = ARENA_RAW(arena, const NodeChunk *, table->n_chunks);
    int r = 0;

    if (!chunks)
        return -ENOMEM;
    memcpy(chunks, table->chunks, table->n_chunks * sizeof(*chunks));
    for (size_t i = 0; r == 0 && i < n_changes; i++)
        if (changes[i].row < table->n_rows)
            r = apply_change(table, chunks, &changes[i], arena);
    if (r == 0)
        count_rows(table, chunks);
    *ret = *table;
    ret->chunks = chunks;
    return r;
}
