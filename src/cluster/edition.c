#include "cluster/edition.h"

#include <errno.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "cluster/record.h"

/* For lists of pointers and numbers only; the largest cluster needs a few MiB. */
#define EDITION_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct Edition {
    const Rows *rows;
    const NodeTable *before; /* NULL: none */
    Arena *arena;            /* gone with the edition */

    VEC(Str) resources; /* words of before, then new ones, borrowed from records */
    size_t n_left_out;  /* names that nodes offer and that have no column */
    VEC(Taints) taint_sets;
    VEC(uint64_t) taint_hashes; /* by taint set; as far as they were needed */
    bool has_new_words;
    bool has_new_columns; /* of resources: amounts of every row are written anew */

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

/* --- words ----------------------------------------------------------------------- */

/* The column of a resource that a node offers. One that finds no room is left out for now:
 * choose_columns() decides. */
static int add_resource(Edition *edition, Str name, size_t guess) {
    Str *added;

    if (guess < edition->resources.n && str_eq(edition->resources.items[guess], name))
        return 0;
    for (size_t i = 0; i < edition->resources.n; i++)
        if (str_eq(edition->resources.items[i], name))
            return 0;
    if (edition->resources.n == TABLE_RESOURCES_MAX) {
        edition->n_left_out++;
        return 0;
    }
    added = VEC_PUSH(&edition->resources, edition->arena);
    if (!added)
        return error_origin(-ENOMEM);
    *added = name;
    edition->has_new_words = edition->has_new_columns = true;
    return 0;
}

static uint64_t hash_taints(const Taints *taints) {
    uint64_t hash = taints->n;

    for (size_t i = 0; i < taints->n; i++) {
        const Taint *taint = &taints->items[i];

        hash = (hash ^ hash_str(taint->key)) * UINT64_C(0x9E3779B97F4A7C15);
        hash = (hash ^ hash_str(taint->value)) * UINT64_C(0x9E3779B97F4A7C15) + taint->effect;
    }
    return hash;
}

static int add_taint_set(Edition *edition, const Taints *taints) {
    Taints *added = VEC_PUSH(&edition->taint_sets, edition->arena);

    if (!added)
        return error_origin(-ENOMEM);
    *added = *taints;
    edition->has_new_words = true;
    return 0;
}

/* Of all sets; only when one is searched for, which is rare. */
static int hash_taint_sets(Edition *edition) {
    while (edition->taint_hashes.n < edition->taint_sets.n) {
        const Taints *taints = &edition->taint_sets.items[edition->taint_hashes.n];
        uint64_t *hash = VEC_PUSH(&edition->taint_hashes, edition->arena);

        if (!hash)
            return error_origin(-ENOMEM);
        *hash = hash_taints(taints);
    }
    return 0;
}

/* Clusters have a handful of distinct lists; one in which every node has its own pays
 * with a search over hashes whenever a node's taints change. */
static int number_taints(Edition *edition, const Taints *taints, uint32_t *number) {
    uint64_t hash;
    int r;

    if (taints_equal(&edition->taint_sets.items[*number], taints))
        return 0;
    r = hash_taint_sets(edition);
    if (r < 0)
        return error_trace(r);
    hash = hash_taints(taints);
    for (size_t i = 0; i < edition->taint_sets.n; i++) {
        if (edition->taint_hashes.items[i] == hash &&
            taints_equal(&edition->taint_sets.items[i], taints)) {
            *number = (uint32_t)i;
            return 0;
        }
    }
    *number = (uint32_t)edition->taint_sets.n;
    return error_trace(add_taint_set(edition, taints));
}

/* Takes over the words of before; the first edition starts with those that are always
 * there. */
static int start_words(Edition *edition) {
    static const Str resources[] = {[TABLE_CPU] = STR("cpu"), [TABLE_MEMORY] = STR("memory")};
    static const Taints no_taints[1];
    static const NodeTable first = {
        .resources = resources,
        .n_resources = ELEMENTS_OF(resources),
        .taint_sets = no_taints,
        .n_taint_sets = 1,
    };
    const NodeTable *from = edition->before ? edition->before : &first;
    int r = 0;

    for (size_t i = 0; r == 0 && i < from->n_resources; i++)
        r = add_resource(edition, from->resources[i], i);
    for (size_t i = 0; r == 0 && i < from->n_taint_sets; i++)
        r = add_taint_set(edition, &from->taint_sets[i]);
    edition->has_new_words = !edition->before;
    edition->has_new_columns = false;
    return error_trace(r);
}

/* The site of a row, or NULL: nobody's, or not a row any more. */
static const Site *site_at(const Edition *edition, size_t row) {
    return row < edition->rows->n_rows ? edition->rows->by_row[row] : NULL;
}

static uint64_t changed_in(const Edition *edition, size_t chunk) {
    return chunk < edition->rows->n_rooms / CHUNK_ROWS ? edition->rows->changed[chunk] : 0;
}

/* Only what nodes offer: of anything else nothing is free anywhere, whatever pods ask for, and
 * pods may ask for as many names as they like. */
static int collect_resources_of(Edition *edition, const Node *node) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < node->allocatable.n; i++)
        if (node->allocatable.items[i].amount > 0)
            r = add_resource(edition, node->allocatable.items[i].name, i);
    return error_trace(r);
}

/* --- more names than columns ------------------------------------------------------- */

/* By number: the columns there are, then other names as rows have them. */
typedef struct Offers {
    Map numbers;
    Str names[EDITION_NAMES_MAX];
    bool is_offered[EDITION_NAMES_MAX];
    uint32_t n;
} Offers;

static int add_offer(Offers *offers, Str name, bool is_offered) {
    uint32_t number = map_find(&offers->numbers, name);

    if (number == MAP_NONE) {
        int r;

        if (offers->n == EDITION_NAMES_MAX)
            return 0;
        r = map_add(&offers->numbers, name, offers->n);
        if (r < 0)
            return error_trace(r);
        number = offers->n++;
        offers->names[number] = name;
    }
    offers->is_offered[number] |= is_offered;
    return 0;
}

static int list_offers(const Edition *edition, Offers *offers) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < edition->resources.n; i++)
        r = add_offer(offers, edition->resources.items[i], i == TABLE_CPU || i == TABLE_MEMORY);
    for (size_t row = 0; row < edition->rows->n_rows; row++) {
        const Site *site = site_at(edition, row);

        for (size_t i = 0; r == 0 && site && i < site->node->allocatable.n; i++)
            if (site->node->allocatable.items[i].amount > 0)
                r = add_offer(offers, site->node->allocatable.items[i].name, true);
    }
    return error_trace(r);
}

/* Looks at every row, so it must be rare: only while there are, or were, too many names.
 * Columns that somebody still offers stay, in their order; what nobody offers any more makes
 * room for others. */
static int choose_columns(Edition *edition) {
    Offers *offers = ARENA_NEW(edition->arena, Offers);
    Str *columns = ARENA_ARRAY(edition->arena, Str, TABLE_RESOURCES_MAX);
    size_t n = 0, n_before = edition->resources.n;
    int r;

    if (!offers || !columns)
        return error_origin(-ENOMEM);
    offers->numbers = MAP_INIT_IN(edition->arena);
    r = list_offers(edition, offers);
    if (r < 0)
        return error_trace(r);
    edition->n_left_out = 0;
    for (uint32_t i = 0; i < offers->n; i++) {
        bool has_column = offers->is_offered[i] && n < TABLE_RESOURCES_MAX;

        if (has_column)
            columns[n++] = offers->names[i];
        edition->n_left_out += offers->is_offered[i] && !has_column;
        edition->has_new_columns |= has_column != (i < n_before);
    }
    edition->resources.items = columns;
    edition->resources.n = n;
    edition->has_new_words = true;
    return 0;
}

/* Before any chunk is made: how wide chunks are depends on it. */
static int collect_resources(Edition *edition) {
    int r = 0;

    for (size_t chunk = 0; chunk < edition->n_chunks; chunk++) {
        for (uint64_t left = changed_in(edition, chunk); r == 0 && left; left &= left - 1) {
            const Site *site = site_at(edition, chunk * CHUNK_ROWS + (size_t)__builtin_ctzll(left));

            if (site)
                r = collect_resources_of(edition, site->node);
        }
    }
    if (r == 0 && edition->n_left_out > 0)
        r = choose_columns(edition);
    return error_trace(r);
}

/* --- chunks ---------------------------------------------------------------------- */

/* An empty list is NULL. */
static int list_pods(const Site *site, const PodList **ret) {
    *ret = site->n_pods > 0 ? pod_list_new(site->pods, site->n_pods) : NULL;
    return *ret || site->n_pods == 0 ? 0 : error_origin(-ENOMEM);
}

/* What follows from the node (NULL: none) and the pods of a slot. */
static void write_columns(const Edition *edition, NodeChunk *chunk, size_t slot) {
    static const Node nobody;
    const Node *node = chunk->nodes[slot] ? chunk->nodes[slot] : &nobody;

    chunk->is_ready[slot] = node->is_ready;
    chunk->is_unschedulable[slot] = node->is_unschedulable;
    chunk_set_allocatable(chunk, slot, &node->allocatable, edition->resources.items);
    chunk_count_pods(chunk, slot, edition->resources.items);
}

static void clear_slot(const Edition *edition, NodeChunk *chunk, size_t slot) {
    chunk->nodes[slot] = node_record_unref(chunk->nodes[slot]);
    chunk->pods[slot] = pod_list_unref(chunk->pods[slot]);
    chunk->taint_set[slot] = 0;
    write_columns(edition, chunk, slot);
}

static int fill_slot(Edition *edition, NodeChunk *chunk, size_t slot, const Site *site) {
    const Node *node = site->node;
    int r = number_taints(edition, &node->taints, &chunk->taint_set[slot]);

    if (r < 0)
        return error_trace(r);
    if (site->has_pods_changed) {
        const PodList *pods;

        r = list_pods(site, &pods);
        if (r < 0)
            return error_trace(r);
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
    NodeChunk *own = chunk_new((uint32_t)edition->resources.n);

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
    uint32_t n_resources = (uint32_t)edition->resources.n;
    NodeChunk *own = edition->own[i];

    if (own)
        return own;
    if (!old)
        own = chunk_new(n_resources);
    else
        own = edition->has_new_columns ? remake_chunk(edition, old) : chunk_copy(old, n_resources);
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
    if (is_old && !changed && !edition->has_new_columns)
        return 0;
    own = own_chunk(edition, i);
    if (!own)
        return error_origin(-ENOMEM);
    for (; r == 0 && changed; changed &= changed - 1) {
        size_t slot = (size_t)__builtin_ctzll(changed);
        const Site *site = site_at(edition, i * CHUNK_ROWS + slot);

        if (site)
            r = fill_slot(edition, own, slot, site);
        else
            clear_slot(edition, own, slot);
    }
    return error_trace(r);
}

static int make_chunks(Edition *edition) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < edition->n_chunks; i++)
        r = make_chunk(edition, i);
    return error_trace(r);
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
            return error_origin(-ENOMEM);
        for (size_t slot = 0; slot < CHUNK_ROWS; slot++)
            own->taint_set[slot] = numbers[own->taint_set[slot]];
    }
    return 0;
}

/* Copies every chunk, so it must be rare: each time more sets have come since than rows
 * can have. */
static int drop_unused_taints(Edition *edition) {
    size_t n = edition->taint_sets.n, n_live;
    uint32_t *numbers;
    Taints *kept;

    if (n <= EDITION_TAINT_SETS_SPARE || !edition->has_new_words)
        return 0;
    numbers = ARENA_ARRAY(edition->arena, uint32_t, n);
    kept = ARENA_ARRAY(edition->arena, Taints, n);
    if (!numbers || !kept)
        return error_origin(-ENOMEM);
    n_live = renumber(edition, numbers);
    if (n <= 2 * n_live + EDITION_TAINT_SETS_SPARE)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (numbers[i])
            kept[numbers[i]] = edition->taint_sets.items[i];
    edition->taint_sets.items = kept;
    edition->taint_sets.n = n_live;
    return error_trace(apply_numbers(edition, numbers));
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
        return error_origin(-ENOMEM);
    for (size_t row = 0; row < rows->n_rows; row++)
        if (rows->by_row[row])
            names[row] = rows->by_row[row]->name;
    return error_trace(
        names_new(names, rows->n_rows, before ? before->names : NULL, &edition->names));
}

static const Words *make_words(const Edition *edition, const Snapshot *before) {
    if (!edition->has_new_words)
        return words_ref(snapshot_words(before));
    return words_new(edition->resources.items,
        edition->resources.n,
        edition->n_left_out,
        edition->taint_sets.items,
        edition->taint_sets.n);
}

static int edition_start(Edition *edition, const Rows *rows, const Snapshot *before) {
    size_t n_chunks = rows->n_rows / CHUNK_ROWS + 1;

    edition->rows = rows;
    edition->before = before ? snapshot_table(before) : NULL;
    edition->n_left_out = before ? snapshot_words(before)->n_left_out : 0;
    edition->arena = arena_new(EDITION_BUDGET);
    if (!edition->arena)
        return error_origin(-ENOMEM);
    edition->chunks = ARENA_ARRAY(edition->arena, const NodeChunk *, n_chunks);
    edition->own = ARENA_ARRAY(edition->arena, NodeChunk *, n_chunks);
    if (!edition->chunks || !edition->own)
        return error_origin(-ENOMEM);
    edition->n_chunks = n_chunks;
    return error_trace(start_words(edition));
}

/* Hands everything over. */
static int edition_finish(
    Edition *edition, const Snapshot *before, const Waiting *waiting, Snapshot **ret) {
    const Words *words = make_words(edition, before);
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
        return error_origin(-ENOMEM);
    edition->names = NULL;
    edition->n_chunks = 0;
    return error_trace(snapshot_new(&table, words, ret));
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
    return error_trace(r);
}
