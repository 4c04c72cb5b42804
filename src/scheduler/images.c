/* ImageLocality. */

#include "scheduler/images.h"

#include <assert.h>
#include <errno.h>

#define MIB ((int64_t)1024 * 1024)
#define LEAST (23 * MIB) /* smaller images do not count */
#define MOST_PER_CONTAINER (1000 * MIB)

/* A node may list a name twice; it is counted once. */
static int add_image(Images *images, uint32_t row, Str name, int64_t size, Arena *arena) {
    uint32_t number = map_find(&images->index, name);
    ImageState *state;
    uint32_t *at;

    if (number == MAP_NONE) {
        number = (uint32_t)images->states.n;
        state = VEC_PUSH(&images->states, arena);
        if (!state || map_add(&images->index, name, number) < 0)
            return -ENOMEM;
        state->size = size;
    }
    assert(number < images->states.n);
    state = &images->states.items[number];
    if (state->rows.n > 0 && state->rows.items[state->rows.n - 1] == row)
        return 0;
    at = VEC_PUSH(&state->rows, arena);
    if (!at)
        return -ENOMEM;
    *at = row;
    return 0;
}

int images_build(const NodeTable *table, Arena *arena, Images *ret) {
    int r = 0;

    *ret = (Images){.index = MAP_INIT_IN(arena), .n_nodes = table->names->n_nodes};
    for (uint32_t row = 0; r == 0 && row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        for (size_t i = 0; node && i < node->n_images; i++)
            for (size_t k = 0; r == 0 && k < node->images[i].n_names; k++)
                r = add_image(ret, row, node->images[i].names[k], node->images[i].size, arena);
    }
    return r;
}

void images_add(const Images *images, Str name, int64_t *sums) {
    uint32_t number = map_find(&images->index, name);
    const ImageState *state;
    int64_t scaled;

    if (number == MAP_NONE)
        return;
    state = &images->states.items[number];
    scaled = (int64_t)((double)state->size * ((double)state->rows.n / (double)images->n_nodes));
    for (size_t i = 0; i < state->rows.n; i++)
        sums[state->rows.items[i]] += scaled;
}

int64_t image_score(int64_t sum, size_t n_containers) {
    int64_t most = MOST_PER_CONTAINER * (int64_t)n_containers;

    if (n_containers == 0)
        return 0;
    sum = sum < LEAST ? LEAST : sum > most ? most : sum;
    return 100 * (sum - LEAST) / (most - LEAST);
}
