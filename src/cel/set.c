#include "cel/set.h"

#include "cel/operators.h"

bool cel_set_fits(const CelList *list) {
    if (!list->items)
        return false;
    for (uint32_t i = 0; i < list->n; i++) {
        if (!cel_is_key(list->items[i]))
            return false;
    }
    return true;
}

static bool make_index(CelMap *map, Arena *arena) {
    uint32_t *index;

    map->n_index = cel_map_index_size(map->n);
    if (map->n_index == 0)
        return true;
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
    return make_index(&set->map, arena) ? set : NULL;
}

CelValue cel_set_has(const CelSet *set, CelValue v, CelRun *run) {
    CelValue found;

    if (v.kind == CEL_DOUBLE)
        return cel_op_in_list(run, v, cel_list(set->list));
    if (!cel_is_key(v))
        return cel_bool(false);
    found = cel_map_find(&set->map, v, run);
    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}
