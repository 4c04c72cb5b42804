/* A hash table from names to numbers, by open addressing. */

#include "base/map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"

#define MAP_FIRST 16u

void map_done(Map *map) {
    if (!map->arena)
        free(map->slots);
    *map = MAP_INIT_IN(map->arena);
}

/* The slot that holds @key, or the free one where it belongs. */
static MapSlot *locate(const Map *map, Str key, uint64_t hash) {
    size_t mask = map->n_slots - 1;
    uint32_t upper = (uint32_t)(hash >> 32);

    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        MapSlot *slot = &map->slots[i];

        if (slot->value == MAP_NONE || (slot->hash == upper && str_eq(slot->key, key)))
            return slot;
    }
}

static int grow(Map *map) {
    size_t n_slots = map->n_slots ? map->n_slots * 2 : MAP_FIRST;
    Map larger = {.n_slots = n_slots, .n_used = map->n_used, .arena = map->arena};

    larger.slots =
        map->arena ? ARENA_ARRAY(map->arena, MapSlot, n_slots) : calloc(n_slots, sizeof(MapSlot));
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < n_slots; i++)
        larger.slots[i].value = MAP_NONE;
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].value != MAP_NONE)
            *locate(&larger, map->slots[i].key, hash_str(map->slots[i].key)) = map->slots[i];
    if (!map->arena)
        free(map->slots);
    *map = larger;
    return 0;
}

int map_add(Map *map, Str key, uint32_t value) {
    uint64_t hash = hash_str(key);
    MapSlot *slot;

    assert(value != MAP_NONE);
    if (map->n_used + 1 > map->n_slots / 4 * 3) {
        int r = grow(map);

        if (r < 0)
            return r;
    }
    slot = locate(map, key, hash);
    assert(slot->value == MAP_NONE);
    *slot = (MapSlot){.key = key, .hash = (uint32_t)(hash >> 32), .value = value};
    map->n_used++;
    return 0;
}

void map_set(Map *map, Str key, uint32_t value) {
    locate(map, key, hash_str(key))->value = value;
}

uint32_t map_find(const Map *map, Str key) {
    if (map->n_used == 0)
        return MAP_NONE;
    return locate(map, key, hash_str(key))->value;
}
