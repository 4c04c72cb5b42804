#include "cel/set.h"

#include "cel/operators.h"

#define INDEX_MIN 9 /* fewer are searched in order, as in a map */

static bool is_simple(CelValue v) {
    return v.kind == CEL_STRING || v.kind == CEL_INT || v.kind == CEL_UINT || v.kind == CEL_BOOL;
}

bool cel_set_fits(const CelList *list) {
    if (!list->items)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        if (!is_simple(list->items[i]))
            return false;
    }
    return true;
}

static uint32_t index_size(uint32_t n) {
    uint32_t size = 32;

    while (size < n * 2)
        size *= 2;
    return size;
}

static bool make_index(CelMap *map, Arena *arena) {
    uint32_t *index;

    map->n_index = index_size(map->n);
    index = ARENA_ARRAY(arena, uint32_t, map->n_index);
    map->index = index;
    return index && cel_map_fill_index(map->entries, map->n, index, map->n_index) == map->n;
}

const CelSet *cel_set_new(const CelList *list, Arena *arena) {
    CelSet *set = ARENA_NEW(arena, CelSet);
    CelEntry *entries = ARENA_RAW(arena, CelEntry, list->n);

    if (!set || !entries)
        return NULL;
    for (uint32_t i = 0; i < list->n; i++)
        entries[i] = (CelEntry){.key = list->items[i], .value = cel_bool(true)};
    set->list = list;
    set->map = (CelMap){.n = list->n, .depth = 1, .entries = entries};
    return list->n < INDEX_MIN || make_index(&set->map, arena) ? set : NULL;
}

CelValue cel_set_has(const CelSet *set, CelValue v, CelRun *run) {
    CelValue found;

    if (v.kind == CEL_DOUBLE)
        return cel_op_in_list(run, v, cel_list(set->list));
    if (!is_simple(v))
        return cel_bool(false);
    found = cel_map_find(&set->map, v, run);
    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}
