#include "cluster/edition.h"

#include <errno.h>

#include "base/arena.h"
#include "cluster/record.h"
#include "cluster/vocabulary.h"

/* For lists of pointers and numbers only; the largest cluster needs a few MiB. */
#define EDITION_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct Edition {
    const Rows *rows;
    const NodeTable *before; /* NULL: none */
    Arena *arena;            /* gone with the edition */
    Vocabulary words;

    size_t n_chunks, n_copied;
    const NodeChunk **chunks; /* references */
    NodeChunk **own;          /* those that are not shared yet; NULL: shared */
    NodeNames *names;         /* a reference */
} Edition;

static void edition_done(Edition *edition) {
    for (size_t i = 0; i < edition->n_chunks; i++)
        chunk_unref(edition->chunks[i]);
    names_unref(edition->names);
    arena_free(edition->arena);
}

/* The site of a row, or NULL: nobody's, or not a row any more. */
static const Site *site_at(const Edition *edition, size_t row) {
    return row < edition->rows->n_rows ? edition->rows->by_row[row] : NULL;
}

static uint64_t changed_in(const Edition *edition, size_t chunk) {
    return chunk < edition->rows->n_rooms / CHUNK_ROWS ? edition->rows->changed[chunk] : 0;
}

/* --- words ----------------------------------------------------------------------- */

/* Before any chunk is made: how wide chunks are depends on it. */
static int collect_resources(Edition *edition) {
    int r = 0;

    for (size_t chunk = 0; chunk < edition->n_chunks; chunk++) {
        for (uint64_t left = changed_in(edition, chunk); r == 0 && left; left &= left - 1) {
            const Site *site = site_at(edition, chunk * CHUNK_ROWS + (size_t)__builtin_ctzll(left));

            if (site)
                r = vocabulary_add_offers(&edition->words, site->node);
        }
    }
    if (r == 0 && edition->words.n_left_out > 0)
        r = vocabulary_choose_columns(&edition->words, edition->rows);
    return r;
}

/* --- chunks ---------------------------------------------------------------------- */

/* An empty list is NULL. */
static int list_pods(const Site *site, const PodList **ret) {
    *ret = site->n_pods > 0 ? pod_list_new(site->pods, site->n_pods) : NULL;
    return *ret || site->n_pods == 0 ? 0 : -ENOMEM;
}

/* What follows from the node (NULL: none) and the pods of a slot. */
static void write_columns(const Edition *edition, NodeChunk *chunk, size_t slot) {
    static const Node nobody;
    const Node *node = chunk->nodes[slot] ? chunk->nodes[slot] : &nobody;

    chunk->is_ready[slot] = node->is_ready;
    chunk->is_unschedulable[slot] = node->is_unschedulable;
    chunk_set_allocatable(chunk, slot, &node->allocatable, edition->words.resources.items);
    chunk_count_pods(chunk, slot, edition->words.resources.items);
}

static void clear_slot(const Edition *edition, NodeChunk *chunk, size_t slot) {
    chunk->nodes[slot] = node_record_unref(chunk->nodes[slot]);
    chunk->pods[slot] = pod_list_unref(chunk->pods[slot]);
    chunk->taint_set[slot] = 0;
    write_columns(edition, chunk, slot);
}

static int fill_slot(Edition *edition, NodeChunk *chunk, size_t slot, const Site *site) {
    const Node *node = site->node;
    int r = vocabulary_number_taints(&edition->words, &node->taints, &chunk->taint_set[slot]);

    if (r < 0)
        return r;
    if (site->has_pods_changed) {
        const PodList *pods;

        r = list_pods(site, &pods);
        if (r < 0)
            return r;
        pod_list_unref(chunk->pods[slot]);
        chunk->pods[slot] = pods;
    }
    node_record_unref(chunk->nodes[slot]);
    chunk->nodes[slot] = node_record_ref(node);
    write_columns(edition, chunk, slot);
    return 0;
}

/* @old with the columns of this edition, which may be fewer. NULL when out of memory. */
static NodeChunk *remake_chunk(const Edition *edition, const NodeChunk *old) {
    NodeChunk *own = chunk_new((uint32_t)edition->words.resources.n);

    for (size_t slot = 0; own && slot < CHUNK_ROWS; slot++) {
        if (old->nodes[slot])
            own->nodes[slot] = node_record_ref(old->nodes[slot]);
        if (old->pods[slot])
            own->pods[slot] = pod_list_ref(old->pods[slot]);
        own->taint_set[slot] = old->taint_set[slot];
        write_columns(edition, own, slot);
    }
    return own;
}

/* The chunk at @i, with what was there before, as one of our own. NULL when out of memory. */
static NodeChunk *own_chunk(Edition *edition, size_t i) {
    const NodeChunk *old = edition->chunks[i];
    uint32_t n_resources = (uint32_t)edition->words.resources.n;
    NodeChunk *own = edition->own[i];

    if (own)
        return own;
    if (!old)
        own = chunk_new(n_resources);
    else
        own = edition->words.has_new_columns ? remake_chunk(edition, old)
                                             : chunk_copy(old, n_resources);
    if (!own)
        return NULL;
    chunk_unref(old);
    edition->chunks[i] = edition->own[i] = own;
    edition->n_copied++;
    return own;
}

static int make_chunk(Edition *edition, size_t i) {
    uint64_t changed = changed_in(edition, i);
    bool is_old = edition->before && i < edition->before->n_chunks;
    NodeChunk *own;
    int r = 0;

    if (is_old)
        edition->chunks[i] = chunk_ref(edition->before->chunks[i]);
    if (is_old && !changed && !edition->words.has_new_columns)
        return 0;
    own = own_chunk(edition, i);
    if (!own)
        return -ENOMEM;
    for (; r == 0 && changed; changed &= changed - 1) {
        size_t slot = (size_t)__builtin_ctzll(changed);
        const Site *site = site_at(edition, i * CHUNK_ROWS + slot);

        if (site)
            r = fill_slot(edition, own, slot, site);
        else
            clear_slot(edition, own, slot);
    }
    return r;
}

static int make_chunks(Edition *edition) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < edition->n_chunks; i++)
        r = make_chunk(edition, i);
    return r;
}

/* --- taint sets that nobody has any more ------------------------------------------- */

/* New numbers by old ones for the sets that rows have, 0 for the others: their count. */
static size_t renumber(const Edition *edition, uint32_t *numbers) {
    size_t n_live = 1; /* the empty one */

    for (size_t i = 0; i < edition->n_chunks; i++) {
        for (size_t slot = 0; slot < CHUNK_ROWS; slot++) {
            uint32_t *number = &numbers[edition->chunks[i]->taint_set[slot]];

            if (edition->chunks[i]->taint_set[slot] != 0 && *number == 0)
                *number = (uint32_t)n_live++;
        }
    }
    return n_live;
}

/* Numbers change in every chunk. */
static int apply_numbers(Edition *edition, const uint32_t *numbers) {
    for (size_t i = 0; i < edition->n_chunks; i++) {
        NodeChunk *own = own_chunk(edition, i);

        if (!own)
            return -ENOMEM;
        for (size_t slot = 0; slot < CHUNK_ROWS; slot++)
            own->taint_set[slot] = numbers[own->taint_set[slot]];
    }
    return 0;
}

/* Copies every chunk, so it must be rare: each time more sets have come since than rows
 * can have. */
static int drop_unused_taints(Edition *edition) {
    size_t n = edition->words.taint_sets.n, n_live;
    uint32_t *numbers;
    Taints *kept;

    if (n <= EDITION_TAINT_SETS_SPARE || !edition->words.has_new_words)
        return 0;
    numbers = ARENA_ARRAY(edition->arena, uint32_t, n);
    kept = ARENA_ARRAY(edition->arena, Taints, n);
    if (!numbers || !kept)
        return -ENOMEM;
    n_live = renumber(edition, numbers);
    if (n <= 2 * n_live + EDITION_TAINT_SETS_SPARE)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (numbers[i])
            kept[numbers[i]] = edition->words.taint_sets.items[i];
    edition->words.taint_sets.items = kept;
    edition->words.taint_sets.n = n_live;
    return apply_numbers(edition, numbers);
}

/* --- together -------------------------------------------------------------------- */

static int make_names(Edition *edition) {
    const Rows *rows = edition->rows;
    const NodeTable *before = edition->before;
    Str *names;

    if (before && !rows->has_set_changed) {
        edition->names = names_ref((NodeNames *)(uintptr_t)before->names);
        return 0;
    }
    names = ARENA_ARRAY(edition->arena, Str, rows->n_rows);
    if (!names)
        return -ENOMEM;
    for (size_t row = 0; row < rows->n_rows; row++)
        if (rows->by_row[row])
            names[row] = rows->by_row[row]->name;
    return names_new(names, rows->n_rows, before ? before->names : NULL, &edition->names);
}

static int edition_start(Edition *edition, const Rows *rows, const Snapshot *before) {
    size_t n_chunks = rows->n_rows / CHUNK_ROWS + 1;

    edition->rows = rows;
    edition->before = before ? snapshot_table(before) : NULL;
    edition->arena = arena_new(EDITION_BUDGET);
    if (!edition->arena)
        return -ENOMEM;
    edition->chunks = ARENA_ARRAY(edition->arena, const NodeChunk *, n_chunks);
    edition->own = ARENA_ARRAY(edition->arena, NodeChunk *, n_chunks);
    if (!edition->chunks || !edition->own)
        return -ENOMEM;
    edition->n_chunks = n_chunks;
    return vocabulary_init(&edition->words, before, edition->arena);
}

/* Hands everything over. */
static int edition_finish(
    Edition *edition, const Snapshot *before, const Waiting *waiting, Snapshot **ret) {
    const Words *words = vocabulary_words(&edition->words, before);
    NodeTable table = {
        .n_rows = edition->rows->n_rows,
        .names = edition->names,
        .chunks = edition->chunks,
        .n_chunks = edition->n_chunks,
        .nominated = waiting->nominated,
        .n_nominated = waiting->n_nominated,
        .assumed = waiting->assumed,
        .n_assumed = waiting->n_assumed,
    };

    if (!words)
        return -ENOMEM;
    edition->names = NULL;
    edition->n_chunks = 0;
    return snapshot_new(&table, words, ret);
}

int edition_make(const Rows *rows, const Snapshot *before, const Waiting *waiting, Snapshot **ret,
    size_t *ret_copied) {
    _cleanup_(edition_done) Edition edition = {0};
    int r = edition_start(&edition, rows, before);

    if (r == 0)
        r = collect_resources(&edition);
    if (r == 0)
        r = make_chunks(&edition);
    if (r == 0)
        r = drop_unused_taints(&edition);
    if (r == 0)
        r = make_names(&edition);
    if (r == 0)
        r = edition_finish(&edition, before, waiting, ret);
    if (r == 0)
        *ret_copied = edition.n_copied;
    return r;
}
