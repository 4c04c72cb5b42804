#pragma once

/*
 * Vec: a typed array that grows inside an arena.
 *
 *     VEC(Toleration) tolerations = {0};
 *     Toleration *t = VEC_PUSH(&tolerations, arena);
 *     if (!t) return -ENOMEM;
 *
 * Growing leaves the old array unused in the arena; doubling bounds the waste to
 * the size of the final array.
 */

#include "base/arena.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t n, size;                                                                            \
    }

/* A new zeroed element at the end, or NULL over the arena's budget. Pointers to
 * older elements do not survive. */
#define VEC_PUSH(vec, arena)                                                                       \
    ((__typeof__((vec)->items))vec_push(                                                           \
        (void **)&(vec)->items, &(vec)->n, &(vec)->size, sizeof((vec)->items[0]), (arena)))

/* Adds an element with this value. False if it is over the arena's budget. */
#define VEC_ADD(vec, arena, ...)                                                                   \
    ({                                                                                             \
        __typeof__((vec)->items) _place = VEC_PUSH(vec, arena);                                    \
        if (_place)                                                                                \
            *_place = (__VA_ARGS__);                                                               \
        _place != NULL;                                                                            \
    })

void *vec_push(void **items, size_t *n, size_t *size, size_t element, Arena *arena) MUST_CHECK;
