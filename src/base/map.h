#pragma once

/*
 * Map: from a name to a small number.
 *
 * Open addressing, linear probing, at most three quarters full. Keys are
 * borrowed: the caller keeps their bytes alive as long as the map (an arena, an
 * interner). There is no removal; maps here are built once and then only read.
 *
 * Reading from several threads at once is fine once nothing is added any more.
 */

#include "base/arena.h"

#define MAP_NONE UINT32_MAX /* no such key; cannot be stored as a value */

typedef struct MapSlot {
    Str key;
    uint32_t hash;  /* upper half of the hash: most mismatches are seen without the key */
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

/* An empty map in an arena, gone with it. */
#define MAP_INIT_IN(where) ((Map){.arena = (where)})

void map_done(Map *map);

/* Adds @key, which must not be there. 0, or -ENOMEM. */
int map_add(Map *map, Str key, uint32_t value) MUST_CHECK;

/* MAP_NONE when there is none. */
uint32_t map_find(const Map *map, Str key);
