/* The plugin ImageLocality: an index of the images of nodes, and the score. */

#include "scheduler/images.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define MIB ((int64_t)1024 * 1024)
#define LEAST (23 * MIB) /* smaller images do not count */
#define MOST_PER_CONTAINER (1000 * MIB)
#define IMAGES_BUDGET ((size_t)1024 * 1024 * 1024)

Images *images_new(const NodeTable *table) {
    Images *images = calloc(1, sizeof(*images));

    if (!images)
        return NULL;
    images->table = table;
    images->arena = arena_new(IMAGES_BUDGET);
    images->index = MAP_INIT_IN(images->arena);
    return images->arena ? images : images_free(images);
}

Images *images_free(Images *images) {
    if (!images)
        return NULL;
    snapshot_unref(images->snapshot);
    arena_free(images->arena);
    free(images);
    return NULL;
}

static void forget(Images *images) {
    arena_reset(images->arena);
    *images = (Images){
        .table = images->table,
        .snapshot = images->snapshot,
        .arena = images->arena,
        .index = MAP_INIT_IN(images->arena),
    };
}

void images_clear(Images *images) {
    forget(images);
    images->snapshot = snapshot_unref(images->snapshot);
    images->table = NULL;
}

/* Returns the number of the new state; MAP_NONE without memory. Borrows @name. */
static uint32_t add_state(Images *images, Str name) {
    uint32_t number = (uint32_t)images->states.n;

    if (!name.ptr || !VEC_ADD(&images->states, images->arena, (ImageState){.name = name}) ||
        map_add(&images->index, name, number) < 0)
        return MAP_NONE;
    return number;
}

/* A node may list a name twice; it is counted once. */
static void add_row(Images *images, uint32_t number, uint32_t row) {
    ImageState *state = number == MAP_NONE ? NULL : &images->states.items[number];

    if (state && (state->rows.n == 0 || state->rows.items[state->rows.n - 1] != row))
        (void)VEC_ADD(&state->rows, images->arena, row);
}

/* The image of @node (may be NULL) with this name; NULL: none. */
static const Image *find_on(const Node *node, Str name) {
    for (size_t i = 0; node && i < node->n_images; i++)
        if (str_is_one_of(name, node->images[i].names, node->images[i].n_names))
            return &node->images[i];
    return NULL;
}

static void scan(Images *images, Str name) {
    uint32_t number = add_state(images, arena_copy(images->arena, name));

    for (uint32_t row = 0; row < images->table->n_rows; row++)
        if (find_on(table_node(images->table, row), name))
            add_row(images, number, row);
}

static void index_node(Images *images, uint32_t row, const Node *node) {
    for (size_t i = 0; i < node->n_images; i++)
        for (size_t k = 0; k < node->images[i].n_names; k++) {
            uint32_t number = map_find(&images->index, node->images[i].names[k]);

            add_row(images,
                number == MAP_NONE ? add_state(images, node->images[i].names[k]) : number, row);
        }
}

static void index_all(Images *images) {
    forget(images);
    for (uint32_t row = 0; row < images->table->n_rows; row++) {
        const Node *node = table_node(images->table, row);

        if (node)
            index_node(images, row, node);
    }
    images->has_all = true;
}

/* NULL: no node has the image, or there was no memory. */
static const ImageState *find_image(Images *images, Str name) {
    uint32_t number = map_find(&images->index, name);

    if (number == MAP_NONE && !images->has_all) {
        if (images->states.n < IMAGES_SCANS)
            scan(images, name);
        else
            index_all(images);
        number = map_find(&images->index, name);
    }
    return number == MAP_NONE ? NULL : &images->states.items[number];
}

static const Node *node_at(const NodeTable *table, uint32_t row) {
    return row < table->n_rows ? table_node(table, row) : NULL;
}

/* Updates @state for @row, where @node is now (NULL: none). 0, or -ENOMEM. */
static int replace_row(ImageState *state, uint32_t row, const Node *node, Arena *arena) {
    size_t at = 0, n_behind;

    while (at < state->rows.n && state->rows.items[at] < row)
        at++;
    n_behind = state->rows.n - at;
    if (n_behind > 0 && state->rows.items[at] == row) {
        memmove(&state->rows.items[at], &state->rows.items[at + 1],
            --n_behind * sizeof(*state->rows.items));
        state->rows.n--;
    }
    if (!find_on(node, state->name))
        return 0;
    if (!VEC_PUSH(&state->rows, arena))
        return -ENOMEM;
    memmove(&state->rows.items[at + 1], &state->rows.items[at], n_behind * sizeof(row));
    state->rows.items[at] = row;
    return 0;
}

/* 0; 1 if too much has changed; or -ENOMEM. */
static int replace_rows(Images *images, const NodeTable *table) {
    const NodeTable *before = images->table;
    uint32_t n_rows = table->n_rows > before->n_rows ? table->n_rows : before->n_rows;
    size_t n_left = n_rows / 8;
    int r = 0;

    for (uint32_t row = 0; r == 0 && row < n_rows; row++) {
        const Node *node = node_at(table, row);

        if (node == node_at(before, row))
            continue;
        if (n_left-- == 0)
            return 1;
        for (size_t i = 0; r == 0 && i < images->states.n; i++)
            r = replace_row(&images->states.items[i], row, node, images->arena);
    }
    return r;
}

void images_follow(Images *images, Snapshot *snapshot) {
    const NodeTable *table = snapshot_table(snapshot);

    /* Nodes are compared by address, so the last snapshot is released only afterwards. */
    if (images->has_all || !images->snapshot || replace_rows(images, table) != 0)
        forget(images);
    snapshot_ref(snapshot);
    snapshot_unref(images->snapshot);
    images->snapshot = snapshot;
    images->table = table;
}

int images_add(Images *images, Str name, size_t n_nodes, int64_t *sums) {
    const ImageState *state = find_image(images, name);
    const Image *first;
    int64_t scaled;

    if (arena_has_failed(images->arena)) {
        forget(images); /* the kept images are incomplete */
        return -ENOMEM;
    }
    if (!state || state->rows.n == 0)
        return 0;
    first = find_on(table_node(images->table, state->rows.items[0]), name);
    assert(first);
    scaled = (int64_t)((double)first->size * ((double)state->rows.n / (double)n_nodes));
    for (size_t i = 0; i < state->rows.n; i++)
        sums[state->rows.items[i]] += scaled;
    return 0;
}

int64_t image_score(int64_t sum, size_t n_containers) {
    int64_t most = MOST_PER_CONTAINER * (int64_t)n_containers;

    if (n_containers == 0)
        return 0;
    sum = sum < LEAST ? LEAST : sum > most ? most : sum;
    return 100 * (sum - LEAST) / (most - LEAST);
}
