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
    NodeNames *index = ARENA_NEW(arena, NodeNames);
    Str *names = ARENA_RAW(arena, Str, n_nodes);
    TableDictionaryBuilder dictionary;

    table_dictionary_builder_init(&dictionary, /* before= */ NULL, arena);
    for (size_t row = 0; row < n_nodes; row++)
        for (size_t i = 0; i < nodes[row].allocatable.n; i++)
            table_dictionary_builder_add_resource(
                &dictionary, nodes[row].allocatable.items[i].name, i);
    for (size_t i = 0; chunks && i < n_chunks; i++)
        chunks[i] = chunk_new(arena, (uint32_t)dictionary.resources.n);
    if (arena_has_failed(arena))
        return -ENOMEM;
    for (size_t row = 0; row < n_nodes; row++)
        names[row] = nodes[row].name;
    add_nodes(nodes, n_nodes, &dictionary, chunks);
    *ret = (NodeTable){
        .n_rows = n_nodes,
        .names = index,
        .chunks = (const NodeChunk *const *)chunks,
        .n_chunks = n_chunks,
        .resources = dictionary.resources.items,
        .n_resources = dictionary.resources.n,
        .taint_sets = dictionary.taint_sets.items,
        .n_taint_sets = dictionary.taint_sets.n,
    };
    return arena_has_failed(arena) ? -ENOMEM : names_init_in(arena, names, n_nodes, index);
}

/* @into's resources and those of @from that it lacks. */
static void join_resources(NodeTable *into, const NodeTable *from, Arena *arena) {
    Str *joined = ARENA_RAW(arena, Str, into->n_resources + from->n_resources);
    size_t n = into->n_resources;

    if (!joined)
        return;
    memcpy(joined, into->resources, n * sizeof(*joined));
    for (size_t i = 0; i < from->n_resources && n < TABLE_RESOURCES_MAX; i++)
        if (table_find_resource(into, from->resources[i]) == SIZE_MAX)
            joined[n++] = from->resources[i];
    into->resources = joined;
    into->n_resources = n;
}

int table_adopt_pods(NodeTable *into, const NodeTable *from, Arena *arena) {
    NodeChunk **chunks = ARENA_ARRAY(arena, NodeChunk *, into->n_chunks);

    join_resources(into, from, arena);
    for (size_t i = 0; chunks && i < into->n_chunks; i++)
        chunks[i] = chunk_copy(arena, into->chunks[i], (uint32_t)into->n_resources);
    if (arena_has_failed(arena))
        return -ENOMEM;
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

/* More pods than a row can have: its changed list has not been counted yet. */
#define UNCOUNTED UINT32_MAX

/* Changes only the list of pods: count_rows() counts the row after all changes. */
static void apply_change(
    const NodeTable *table, const NodeChunk **chunks, const PodChange *change, Arena *arena) {
    size_t i = change->row / CHUNK_ROWS, slot = table_slot(change->row);
    NodeChunk *chunk = chunks[i] == table->chunks[i]
                           ? chunk_copy(arena, table->chunks[i], (uint32_t)table->n_resources)
                           : (NodeChunk *)(uintptr_t)chunks[i]; /* ours: copied before */

    if (!chunk)
        return;
    chunks[i] = chunk;
    chunk->n_pods[slot] = UNCOUNTED;
    chunk->pods[slot] = pod_list_change(chunk->pods[slot], change->add, change->remove, arena);
}

static void count_rows(const NodeTable *table, const NodeChunk **chunks) {
    for (size_t i = 0; i < table->n_chunks; i++) {
        NodeChunk *chunk = (NodeChunk *)(uintptr_t)chunks[i];

        for (size_t slot = 0; chunk != table->chunks[i] && slot < CHUNK_ROWS; slot++)
            if (chunk->n_pods[slot] == UNCOUNTED)
                chunk_count_pods(chunk, slot, table->resources);
    }
}

int table_change(const NodeTable *table, const PodChange *changes, size_t n_changes, Arena *arena,
    NodeTable *ret) {
    const NodeChunk **chunks = ARENA_RAW(arena, const NodeChunk *, table->n_chunks);

    if (!chunks)
        return -ENOMEM;
    memcpy(chunks, table->chunks, table->n_chunks * sizeof(*chunks));
    for (size_t i = 0; i < n_changes; i++)
        if (changes[i].row < table->n_rows)
            apply_change(table, chunks, &changes[i], arena);
    count_rows(table, chunks);
    *ret = *table;
    ret->chunks = chunks;
    return arena_has_failed(arena) ? -ENOMEM : 0;
}
