/* ImageLocality. */

#include "scheduler/images.h"

#include <assert.h>
#include <errno.h>

#define MIB ((int64_t)1024 * 1024)
#define LEAST (23 * MIB) /* smaller images do not count */
#define MOST_PER_CONTAINER (1000 * MIB)

/* A node may list a name twice; it is counted once. */
static int add_row(ImageState *state, uint32_t row, Arena *arena) {
    uint32_t *at;

    if (state->rows.n > 0 && state->rows.items[state->rows.n - 1] == row)
        return 0;
    at = VEC_PUSH(&state->rows, arena);
    if (!at)
        return -ENOMEM;
    *at = row;
    return 0;
}

/* Calls @visit for each name of an image of each node. 0, or its error. */
static int each_name(Images *images, Str wanted,
    int (*visit)(Images *images, uint32_t row, Str name, int64_t size, Str wanted)) {
    int r = 0;

    for (uint32_t row = 0; r == 0 && row < images->table->n_rows; row++) {
        const Node *node = table_node(images->table, row);

        for (size_t i = 0; node && i < node->n_images; i++)
            for (size_t k = 0; r == 0 && k < node->images[i].n_names; k++)
                r = visit(images, row, node->images[i].names[k], node->images[i].size, wanted);
    }
    return r;
}

static int index_name(Images *images, uint32_t row, Str name, int64_t size, Str wanted) {
    uint32_t number = map_find(&images->index, name);
    ImageState *state;

    if (number == MAP_NONE) {
        number = (uint32_t)images->states.n;
        state = VEC_PUSH(&images->states, images->arena);
        if (!state || map_add(&images->index, name, number) < 0)
            return -ENOMEM;
        state->size = size;
    }
    assert(number < images->states.n);
    return add_row(&images->states.items[number], row, images->arena);
}

static int scan_name(Images *images, uint32_t row, Str name, int64_t size, Str wanted) {
    if (!str_eq(name, wanted))
        return 0;
    if (images->scanned.rows.n == 0)
        images->scanned.size = size;
    return add_row(&images->scanned, row, images->arena);
}

/* *ret NULL: no node has it. */
static int find_image(Images *images, Str name, const ImageState **ret) {
    uint32_t number;
    int r = 0;

    if (images->n_scans < IMAGES_SCANS) {
        images->n_scans++;
        images->scanned.rows.n = 0;
        *ret = &images->scanned;
        return each_name(images, name, scan_name);
    }
    if (!images->has_index)
        r = each_name(images, STR_NULL, index_name);
    images->has_index = r == 0;
    number = map_find(&images->index, name);
    *ret = number == MAP_NONE ? NULL : &images->states.items[number];
    return r;
}

int images_add(Images *images, Str name, int64_t *sums) {
    const ImageState *state = NULL;
    int r = find_image(images, name, &state);
    int64_t scaled;

    if (r < 0 || !state)
        return r;
    scaled = (int64_t)((double)state->size * ((double)state->rows.n / (double)images->n_nodes));
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
