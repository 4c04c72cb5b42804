/* Arrays that grow in an arena. */

#include "base/vec.h"

#define VEC_FIRST 8u

void *vec_push(void **items, size_t *n, size_t *size, size_t element, Arena *arena) {
    char *slot;

    if (*n == *size) {
        size_t larger = *size ? *size * 2 : VEC_FIRST;
        void *moved = arena_zalloc(arena, larger, element);

        if (!moved)
            return NULL;
        if (*n > 0)
            memcpy(moved, *items, *n * element);
        *items = moved;
        *size = larger;
    }
    slot = (char *)*items + *n * element;
    (*n)++;
    return slot;
}
