/* Copies of values into another arena, and their sizes. */

#include "cel/value.h"

static bool add_size(CelValue v, size_t *left) {
    size_t own = sizeof(CelValue);

    if (v.kind == CEL_STRING || v.kind == CEL_BYTES)
        own += v.len;
    if (own > *left)
        return false;
    *left -= own;
    if (v.kind == CEL_OPTIONAL && v.inner)
        return add_size(*v.inner, left);
    if (v.kind == CEL_LIST) {
        for (uint32_t i = 0; i < v.list->n; i++) {
            if (!v.list->items || !add_size(v.list->items[i], left))
                return false;
        }
    }
    if (v.kind == CEL_MAP) {
        for (uint32_t i = 0; i < v.map->n; i++) {
            if (!v.map->entries || !add_size(v.map->entries[i].key, left) ||
                !add_size(v.map->entries[i].value, left))
                return false;
        }
    }
    return true;
}

size_t cel_value_size(CelValue v, size_t max) {
    size_t left = max;

    return add_size(v, &left) ? max - left : SIZE_MAX;
}

bool cel_value_has_opaque(CelValue v) {
    if (v.kind >= CEL_QUANTITY || v.kind == CEL_RECORD)
        return true;
    if (v.kind == CEL_OPTIONAL && v.inner)
        return cel_value_has_opaque(*v.inner);
    if (v.kind == CEL_LIST) {
        for (uint32_t i = 0; i < v.list->n; i++) {
            if (cel_value_has_opaque(v.list->items[i]))
                return true;
        }
    }
    if (v.kind == CEL_MAP) {
        for (uint32_t i = 0; i < v.map->n; i++) {
            if (cel_value_has_opaque(v.map->entries[i].value))
                return true;
        }
    }
    return false;
}

static bool copy_list(const CelList *from, Arena *arena, CelValue *ret) {
    CelList *list;
    CelValue *items;

    if (!from->items && from->n > 0) /* the host's */
        return true;
    list = ARENA_NEW(arena, CelList);
    items = ARENA_RAW(arena, CelValue, from->n);
    if (!list || !items)
        return false;
    for (uint32_t i = 0; i < from->n; i++) {
        if (!cel_value_copy(from->items[i], arena, &items[i]))
            return false;
    }
    *list = *from;
    list->items = items;
    *ret = cel_list(list);
    return true;
}

static bool copy_index(const CelMap *from, Arena *arena, CelMap *map) {
    uint32_t *index = ARENA_RAW(arena, uint32_t, from->n_index);

    if (!index)
        return false;
    memcpy(index, from->index, from->n_index * sizeof(*index));
    map->index = index;
    return true;
}

static bool copy_map(const CelMap *from, Arena *arena, CelValue *ret) {
    CelMap *map;
    CelEntry *entries;

    if (!from->entries && (from->n > 0 || from->find)) /* the host's */
        return true;
    map = ARENA_NEW(arena, CelMap);
    entries = ARENA_RAW(arena, CelEntry, from->n);
    if (!map || !entries)
        return false;
    for (uint32_t i = 0; i < from->n; i++) {
        if (!cel_value_copy(from->entries[i].key, arena, &entries[i].key) ||
            !cel_value_copy(from->entries[i].value, arena, &entries[i].value))
            return false;
    }
    *map = *from;
    map->entries = entries;
    *ret = cel_map(map);
    return !from->index || copy_index(from, arena, map);
}

static bool copy_inner(CelValue v, Arena *arena, CelValue *ret) {
    CelValue *inner = ARENA_NEW(arena, CelValue);

    if (!inner || !cel_value_copy(*v.inner, arena, inner))
        return false;
    *ret = v;
    ret->inner = inner;
    return true;
}

bool cel_value_copy(CelValue v, Arena *arena, CelValue *ret) {
    Str text;

    *ret = v;
    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        text = arena_copy(arena, cel_str(v));
        ret->text = text.ptr;
        return text.ptr != NULL;
    case CEL_LIST:
        return copy_list(v.list, arena, ret);
    case CEL_MAP:
        return copy_map(v.map, arena, ret);
    case CEL_OPTIONAL:
        return !v.inner || copy_inner(v, arena, ret);
    default:
        return true;
    }
}
