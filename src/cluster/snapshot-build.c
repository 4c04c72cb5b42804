/* Builds the next snapshot: copies the chunks with a changed row, shares the others. */

#include <errno.h>

#include "cluster/record.h"
#include "cluster/snapshot.h"

/* For lists of pointers and numbers only; the largest cluster needs a few MiB. */
#define BUILD_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct SnapshotBuild {
    const NodeRows *rows;
    const NodeTable *before; /* NULL: none */
    Arena *arena;            /* freed by build_done() */
    TableDictionaryBuilder dictionary;

    size_t n_chunks, n_copied;
    const NodeChunk **chunks; /* references */
    NodeChunk **copied;       /* by chunk: the same if it is new and writable; NULL: shared */
    NodeNames *names;         /* a reference */
} SnapshotBuild;

static void build_done(SnapshotBuild *build) {
    for (size_t i = 0; i < build->n_chunks; i++)
        chunk_unref(build->chunks[i]);
    names_unref(build->names);
    arena_free(build->arena);
}

/* The entry of a row, or NULL: a free row, or none any more. */
static const NodeEntry *entry_at(const SnapshotBuild *build, size_t row) {
    return row < build->rows->n_rows ? build->rows->by_row[row] : NULL;
}

static uint64_t changed_in(const SnapshotBuild *build, size_t chunk) {
    return chunk < build->rows->n_rooms / CHUNK_ROWS ? build->rows->changed[chunk] : 0;
}

/* Must run before any chunk is made: it decides the number of columns. */
static void collect_resources(SnapshotBuild *build) {
    for (size_t chunk = 0; chunk < build->n_chunks; chunk++) {
        for (uint64_t left = changed_in(build, chunk); left; left &= left - 1) {
            const NodeEntry *entry =
                entry_at(build, chunk * CHUNK_ROWS + (size_t)__builtin_ctzll(left));

            if (entry)
                table_dictionary_builder_add_offers(&build->dictionary, entry->node);
        }
    }
    if (build->dictionary.n_left_out > 0)
        table_dictionary_builder_choose_columns(&build->dictionary, build->rows);
}

static void clear_slot(const SnapshotBuild *build, NodeChunk *chunk, size_t slot) {
    chunk->nodes[slot] = node_record_unref(chunk->nodes[slot]);
    chunk->pods[slot] = pod_list_unref(chunk->pods[slot]);
    chunk->taint_set[slot] = 0;
    chunk_set_columns(chunk, slot, build->dictionary.resources.items);
}

static int fill_slot(SnapshotBuild *build, NodeChunk *chunk, size_t slot, const NodeEntry *entry) {
    const Node *node = entry->node;

    if (entry->has_pods_changed) {
        const PodList *pods = entry->n_pods > 0 ? pod_list_new(entry->pods, entry->n_pods) : NULL;

        if (!pods && entry->n_pods > 0)
            return -ENOMEM;
        pod_list_unref(chunk->pods[slot]);
        chunk->pods[slot] = pods;
    }
    chunk->taint_set[slot] = table_dictionary_builder_number_taints(
        &build->dictionary, &node->taints, chunk->taint_set[slot]);
    node_record_unref(chunk->nodes[slot]);
    chunk->nodes[slot] = node_record_ref(node);
    chunk_set_columns(chunk, slot, build->dictionary.resources.items);
    return 0;
}

/* @old with the columns of this build, which may be fewer. NULL when out of memory. */
static NodeChunk *remake_chunk(const SnapshotBuild *build, const NodeChunk *old) {
    NodeChunk *chunk = chunk_new(/* arena= */ NULL, (uint32_t)build->dictionary.resources.n);

    for (size_t slot = 0; chunk && slot < CHUNK_ROWS; slot++) {
        if (old->nodes[slot])
            chunk->nodes[slot] = node_record_ref(old->nodes[slot]);
        if (old->pods[slot])
            chunk->pods[slot] = pod_list_ref(old->pods[slot]);
        chunk->taint_set[slot] = old->taint_set[slot];
        chunk_set_columns(chunk, slot, build->dictionary.resources.items);
    }
    return chunk;
}

/* The chunk at @i as a writable copy. NULL when out of memory. */
static NodeChunk *writable_chunk(SnapshotBuild *build, size_t i) {
    const NodeChunk *old = build->chunks[i];
    uint32_t n_resources = (uint32_t)build->dictionary.resources.n;
    NodeChunk *chunk = build->copied[i];

    if (chunk)
        return chunk;
    if (!old)
        chunk = chunk_new(/* arena= */ NULL, n_resources);
    else if (build->dictionary.has_new_columns)
        chunk = remake_chunk(build, old);
    else
        chunk = chunk_copy(/* arena= */ NULL, old, n_resources);
    if (!chunk)
        return NULL;
    chunk_unref(old);
    build->chunks[i] = build->copied[i] = chunk;
    build->n_copied++;
    return chunk;
}

static int make_chunk(SnapshotBuild *build, size_t i) {
    uint64_t changed = changed_in(build, i);
    bool is_old = build->before && i < build->before->n_chunks;
    NodeChunk *chunk;
    int r = 0;

    if (is_old)
        build->chunks[i] = chunk_ref(build->before->chunks[i]);
    if (is_old && !changed && !build->dictionary.has_new_columns)
        return 0;
    chunk = writable_chunk(build, i);
    if (!chunk)
        return -ENOMEM;
    for (; r == 0 && changed; changed &= changed - 1) {
        size_t slot = (size_t)__builtin_ctzll(changed);
        const NodeEntry *entry = entry_at(build, i * CHUNK_ROWS + slot);

        if (entry)
            r = fill_slot(build, chunk, slot, entry);
        else
            clear_slot(build, chunk, slot);
    }
    return r;
}

/* Sets @numbers, by old number: the new number of sets in use, else 0. Returns how many are in use,
 * with the empty set. */
static size_t renumber(const SnapshotBuild *build, uint32_t *numbers) {
    size_t n_live = 1; /* the empty one */

    for (size_t i = 0; i < build->n_chunks; i++) {
        for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
            uint32_t *number = &numbers[build->chunks[i]->taint_set[slot]];

            if (build->chunks[i]->taint_set[slot] != 0 && *number == 0)
                *number = (uint32_t)n_live++;
        }
    }
    return n_live;
}

static int apply_numbers(SnapshotBuild *build, const uint32_t *numbers) {
    for (size_t i = 0; i < build->n_chunks; i++) {
        NodeChunk *chunk = writable_chunk(build, i);

        if (!chunk)
            return -ENOMEM;
        for (size_t slot = 0; slot < CHUNK_ROWS; slot++)
            chunk->taint_set[slot] = numbers[chunk->taint_set[slot]];
    }
    return 0;
}

/* Copies every chunk, so it must be rare: only when more than half of the sets are unused. */
static int drop_unused_taints(SnapshotBuild *build) {
    size_t n = build->dictionary.taint_sets.n, n_live;
    uint32_t *numbers;
    Taints *kept;

    if (n <= BUILD_TAINT_SETS_SPARE || !build->dictionary.has_new_entries)
        return 0;
    numbers = ARENA_ARRAY(build->arena, uint32_t, n);
    kept = ARENA_ARRAY(build->arena, Taints, n);
    if (!numbers || !kept)
        return -ENOMEM;
    n_live = renumber(build, numbers);
    if (n <= 2 * n_live + BUILD_TAINT_SETS_SPARE)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (numbers[i])
            kept[numbers[i]] = build->dictionary.taint_sets.items[i];
    build->dictionary.taint_sets.items = kept;
    build->dictionary.taint_sets.n = n_live;
    return apply_numbers(build, numbers);
}

static int make_names(SnapshotBuild *build) {
    const NodeRows *rows = build->rows;
    const NodeTable *before = build->before;
    Str *names;

    if (before && !rows->has_set_changed) {
        build->names = names_ref((NodeNames *)(uintptr_t)before->names);
        return 0;
    }
    names = ARENA_ARRAY(build->arena, Str, rows->n_rows);
    if (!names)
        return -ENOMEM;
    for (size_t row = 0; row < rows->n_rows; row++)
        if (rows->by_row[row])
            names[row] = rows->by_row[row]->name;
    return names_new(names, rows->n_rows, before ? before->names : NULL, &build->names);
}

static int build_start(SnapshotBuild *build, const NodeRows *rows, const Snapshot *before) {
    size_t n_chunks = rows->n_rows / CHUNK_ROWS + 1;

    build->rows = rows;
    build->before = before ? snapshot_table(before) : NULL;
    build->arena = arena_new(BUILD_BUDGET);
    if (!build->arena)
        return -ENOMEM;
    build->chunks = ARENA_ARRAY(build->arena, const NodeChunk *, n_chunks);
    build->copied = ARENA_ARRAY(build->arena, NodeChunk *, n_chunks);
    build->n_chunks = build->chunks ? n_chunks : 0;
    table_dictionary_builder_init(
        &build->dictionary, before ? snapshot_dictionary(before) : NULL, build->arena);
    collect_resources(build);
    return arena_has_failed(build->arena) ? -ENOMEM : 0;
}

/* Passes all references on to the new snapshot. */
static int build_finish(
    SnapshotBuild *build, const Snapshot *before, const NodeTable *pods, Snapshot **ret) {
    const TableDictionary *dictionary = table_dictionary_builder_finish(
        &build->dictionary, before ? snapshot_dictionary(before) : NULL);
    NodeTable table = *pods;

    if (!dictionary)
        return -ENOMEM;
    table.n_rows = build->rows->n_rows;
    table.names = build->names;
    table.chunks = build->chunks;
    table.n_chunks = build->n_chunks;
    build->names = NULL;
    build->n_chunks = 0;
    return snapshot_new(&table, dictionary, ret);
}

int snapshot_build(const NodeRows *rows, const Snapshot *before, const NodeTable *pods,
    Snapshot **ret, size_t *ret_copied) {
    _cleanup_(build_done) SnapshotBuild build = {0};
    int r = build_start(&build, rows, before);

    for (size_t i = 0; r == 0 && i < build.n_chunks; i++)
        r = make_chunk(&build, i);
    if (r == 0 && arena_has_failed(build.arena))
        r = -ENOMEM;
    if (r == 0)
        r = drop_unused_taints(&build);
    if (r == 0)
        r = make_names(&build);
    if (r == 0)
        r = build_finish(&build, before, pods, ret);
    if (r == 0)
        *ret_copied = build.n_copied;
    return r;
}
