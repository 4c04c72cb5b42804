#pragma once

/*
 * Map: from a name to a small number.
 *
 * Open addressing, linear probing, at most three quarters full. Keys are borrowed: their bytes must
 * live as long as the map. There is no removal; maps are built once and then only read, by any
 * number of threads.
 */

#include "base/arena.h"

#define MAP_NONE UINT32_MAX /* no such key; cannot be stored as a value */

typedef struct MapSlot {
    Str key;
    uint32_t hash;  /* upper half of the hash: most mismatches are found without the key */
    uint32_t value; /* MAP_NONE: free */
} MapSlot;

typedef struct Map {
    MapSlot *slots; /* NULL: empty */
    size_t n_slots; /* a power of two, or 0 */
    size_t n_used;
    Arena *arena; /* NULL: the heap */
} Map;

/* An empty map on the heap; release it with map_done(). */
#define MAP_INIT ((Map){0})

/* An empty map in an arena, freed with it. */
#define MAP_INIT_IN(where) ((Map){.arena = (where)})

void map_done(Map *map);

/* Adds @key, which must not be there. 0, or -ENOMEM. */
int map_add(Map *map, Str key, uint32_t value) MUST_CHECK;

/* Replaces the value of @key, which must be in the map. */
void map_set(Map *map, Str key, uint32_t value);

/* The value of @key, or MAP_NONE. */
uint32_t map_find(const Map *map, Str key);
