#include "cel/fold.h"

#include "cel/machine.h"

/* --- copies of values ------------------------------------------------------------------ */

/* Recursive: CEL_VALUE_DEPTH_MAX bounds the depth of values, @max the work. */
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
    CelList *list = ARENA_NEW(arena, CelList);
    CelValue *items = ARENA_RAW(arena, CelValue, from->n);

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
    CelMap *map = ARENA_NEW(arena, CelMap);
    CelEntry *entries = ARENA_RAW(arena, CelEntry, from->n);

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

/* --- folding --------------------------------------------------------------------------- */

static CelValue run_once(const CelCode *code, Arena *arena, int64_t *fuel) {
    int64_t given = *fuel < CEL_FOLD_FUEL ? *fuel : CEL_FOLD_FUEL;
    CelRun run = CEL_RUN(arena);
    CelValue v;

    run.fuel = given;
    v = cel_run(code, &run, NULL);
    *fuel -= given - run.fuel;
    return run.limit ? cel_absent() : v;
}

/* A part of a constant was as large before. */
static size_t size_max(uint16_t op) {
    bool is_part = op >= OP_FIELD && op <= OP_OPT_INDEX;

    return is_part || op == OP_LIST || op == OP_MAP ? CEL_FOLD_LITERAL_MAX : CEL_FOLD_BYTES_MAX;
}

/* What a library made of its own kind, or a host of its records, cannot be copied from one
 * arena to another, so it is made again where it can stay. */
CelValue cel_fold(CelGraph *graph, uint32_t number, int64_t *fuel) {
    CelEmitOptions options = {.flat = true};
    Arena *arena = cel_graph_arena(graph);
    CelCode *code;
    CelValue v;

    if (cel_emit(graph, number, &options, arena, &code) < 0)
        return cel_absent();
    v = run_once(code, arena, fuel);
    if (v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        return v;
    if (cel_value_size(v, size_max(cel_graph_node(graph, number)->op)) == SIZE_MAX)
        return cel_absent();
    return cel_value_has_opaque(v) ? run_once(code, cel_graph_keep(graph), fuel) : v;
}
