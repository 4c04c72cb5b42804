#include "simulate/images.h"

#include <errno.h>

#define MIB ((int64_t)1024 * 1024)
#define LEAST (23 * MIB) /* below it an image is quickly there anyway */
#define MOST_PER_CONTAINER (1000 * MIB)

typedef int (*Visit)(Images *images, uint32_t row, Str name, int64_t size, Arena *arena);

static int each_image(Images *images, const NodeTable *table, Visit visit, Arena *arena) {
    int r = 0;

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);

        for (size_t i = 0; node && i < node->n_images; i++)
            for (size_t k = 0; r == 0 && k < node->images[i].n_names; k++)
                r = visit(images, row, node->images[i].names[k], node->images[i].size, arena);
    }
    return r;
}

/* First how many there are, ... */
static int number_image(Images *images, uint32_t row, Str name, int64_t size, Arena *arena) {
    (void)row;
    (void)size;
    (void)arena;
    if (map_find(&images->index, name) != MAP_NONE)
        return 0;
    return map_add(&images->index, name, (uint32_t)images->n++);
}

/* ... then on how many nodes each is, ... */
static int count_image(Images *images, uint32_t row, Str name, int64_t size, Arena *arena) {
    ImageState *state = &images->states[map_find(&images->index, name)];

    (void)row;
    (void)arena;
    if (state->n_rows == 0)
        state->size = size;
    state->n_rows++;
    return 0;
}

/* ... then on which. A node may list a name twice: it has it once. */
static int list_image(Images *images, uint32_t row, Str name, int64_t size, Arena *arena) {
    ImageState *state = &images->states[map_find(&images->index, name)];

    (void)size;
    if (!state->rows)
        state->rows = ARENA_ARRAY(arena, uint32_t, state->n_rows);
    if (!state->rows)
        return -ENOMEM;
    if (state->n_listed == 0 || state->rows[state->n_listed - 1] != row)
        state->rows[state->n_listed++] = row;
    return 0;
}

int images_build(const NodeTable *table, Arena *arena, Images *ret) {
    int r;

    *ret = (Images){.index = MAP_INIT_IN(arena), .n_nodes = table->names->n_nodes};
    r = each_image(ret, table, number_image, arena);
    if (r < 0)
        return r;
    ret->states = ARENA_ARRAY(arena, ImageState, ret->n);
    if (!ret->states)
        return -ENOMEM;
    r = each_image(ret, table, count_image, arena);
    if (r == 0)
        r = each_image(ret, table, list_image, arena);
    return r;
}

void images_add(const Images *images, Str name, int64_t *sums) {
    uint32_t number = map_find(&images->index, name);
    const ImageState *state;
    int64_t scaled;

    if (number == MAP_NONE)
        return;
    state = &images->states[number];
    scaled = (int64_t)((double)state->size * ((double)state->n_listed / (double)images->n_nodes));
    for (uint32_t i = 0; i < state->n_listed; i++)
        sums[state->rows[i]] += scaled;
}

int64_t image_score(int64_t sum, size_t n_containers) {
    int64_t most = MOST_PER_CONTAINER * (int64_t)n_containers;

    if (n_containers == 0)
        return 0;
    sum = sum < LEAST ? LEAST : sum > most ? most : sum;
    return 100 * (sum - LEAST) / (most - LEAST);
}
