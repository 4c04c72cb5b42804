#pragma once

/*
 * Set: objects found by a hash of something in them.
 *
 * Unlike a Map it supports removal: open addressing, linear probing, at most three
 * quarters full; removal moves displaced objects back. The set knows neither keys nor
 * objects: the caller passes the hash (base/hash.h), and a function that recognizes the object.
 * Objects are borrowed, and each may be in the set only once.
 *
 *     Pod *pod = set_find(&pods, hash_of(key), is_pod, &key);
 *
 * Not thread safe.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

typedef struct Set {
    void **items;     /* by slot; NULL: free. The array is NULL while n_slots is 0 */
    uint32_t *hashes; /* by slot; in the same block */
    size_t n_slots;   /* a power of two, or 0 */
    size_t n_used;
} Set;

#define SET_INIT ((Set){0})

/* Whether @item is the one that @key describes. */
typedef bool (*SetMatch)(const void *item, const void *key);

void set_done(Set *set); /* does not free the objects; leaves the set empty and usable */

/* Makes room: the next @n_more additions do not fail. 0, or -ENOMEM. */
int set_reserve(Set *set, size_t n_more) MUST_CHECK;

/* Adds @item, which must not be there. 0, or -ENOMEM. */
int set_add(Set *set, uint64_t hash, const void *item) MUST_CHECK;

/* NULL when there is none. */
void *set_find(const Set *set, uint64_t hash, SetMatch match, const void *key);

/* Puts @item in the place of @old, which must be there and have the same hash. */
void set_replace(Set *set, uint64_t hash, const void *old, const void *item);

/* False when @item is not in the set. Keeps the memory. */
bool set_remove(Set *set, uint64_t hash, const void *item);

/* All objects, in no particular order:
 *
 *     for (size_t i = 0; (item = set_next(&set, &i)); i++)
 *
 * Moves @i to the next slot in use; NULL at the end. The current object may be removed by
 * set_remove_at(&set, i--); then the loop may visit another object twice, but misses none. */
void *set_next(const Set *set, size_t *i);
void set_remove_at(Set *set, size_t i);
