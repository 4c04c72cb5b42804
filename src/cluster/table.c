/* Tables in an arena: of a request's own nodes, and with pods added or removed. */

#include "cluster/table.h"

#include <errno.h>

#include "cluster/table-dictionary.h"

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

static int build_names(const Node *nodes, size_t n_nodes, Arena *arena, NodeTable *ret) {
    NodeNames *index = ARENA_NEW(arena, NodeNames);
    Str *names = ARENA_RAW(arena, Str, n_nodes);

    if (!index || !names)
        return -ENOMEM;
    for (size_t row = 0; row < n_nodes; row++)
        names[row] = nodes[row].name;
    ret->names = index;
    return names_init_in(arena, names, n_nodes, index);
}

/* Neighbours mostly have the same taints. */
static void add_nodes(
    const Node *nodes, size_t n_nodes, TableDictionaryBuilder *dictionary, NodeChunk **chunks) {
    uint32_t taints = 0;

    for (size_t row = 0; row < n_nodes; row++) {
        NodeChunk *chunk = chunks[row / CHUNK_ROWS];
        size_t slot = row % CHUNK_ROWS;

        chunk->nodes[slot] = &nodes[row];
        chunk_set_columns(chunk, slot, dictionary->resources.items);
        taints = table_dictionary_builder_number_taints(dictionary, &nodes[row].taints, taints);
        chunk->taint_set[slot] = taints;
    }
}

int table_build(const Node *nodes, size_t n_nodes, Arena *arena, NodeTable *ret) {
    size_t n_chunks = n_nodes / CHUNK_ROWS + 1;
    NodeChunk **chunks = ARENA_ARRAY(arena, NodeChunk *, n_chunks);
    TableDictionaryBuilder dictionary;

    table_dictionary_builder_init(&dictionary, /* before= */ NULL, arena);
    for (size_t row = 0; row < n_nodes; row++)
        for (size_t i = 0; i < nodes[row].allocatable.n; i++)
            table_dictionary_builder_add_resource(
                &dictionary, nodes[row].allocatable.items[i].name, i);
    for (size_t i = 0; chunks && i < n_chunks; i++)
        chunks[i] = chunk_new_in(arena, (uint32_t)dictionary.resources.n);
    if (arena_has_failed(arena))
        return -ENOMEM;
    add_nodes(nodes, n_nodes, &dictionary, chunks);
    *ret = (NodeTable){
        .n_rows = n_nodes,
        .chunks = (const NodeChunk *const *)chunks,
        .n_chunks = n_chunks,
        .resources = dictionary.resources.items,
        .n_resources = dictionary.resources.n,
        .taint_sets = dictionary.taint_sets.items,
        .n_taint_sets = dictionary.taint_sets.n,
    };
    return arena_has_failed(arena) ? -ENOMEM : build_names(nodes, n_nodes, arena, ret);
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
