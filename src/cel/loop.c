#include "cel/loop.h"

#include "cel/type.h"

#define ROOM_FIRST 8 /* elements */

CelValue cel_loop_begin(CelLoop *loop, const CelLoopCode *code, CelValue range, CelRun *run) {
    if (range.kind != CEL_LIST && range.kind != CEL_MAP) {
        Str name = cel_type_of(range)->name;

        return cel_fail(run, "no such overload: %.*s is neither a list nor a map", STR_FMT(name));
    }
    *loop = (CelLoop){
        .range = range,
        .n = range.kind == CEL_LIST ? range.list->n : range.map->n,
        .level = code->level,
        .is_pairs = code->is_pairs,
        .cost = code->cost,
    };
    return cel_null();
}

CelValue cel_loop_next(CelLoop *loop, CelRun *run) {
    if (!cel_charge(run, loop->cost))
        return cel_exhausted(run);
    if (loop->range.kind == CEL_LIST) {
        loop->locals[loop->is_pairs] = cel_list_at(loop->range.list, loop->i, run);
        if (loop->is_pairs)
            loop->locals[0] = cel_int(loop->i);
    } else {
        CelEntry entry = cel_map_at(loop->range.map, loop->i, run);

        loop->locals[0] = entry.key;
        loop->locals[1] = entry.value;
    }
    loop->i++;
    if (loop->locals[0].kind == CEL_ERROR)
        return loop->locals[0];
    return loop->is_pairs ? loop->locals[1] : cel_null();
}

/* Room for one more element of @size bytes. */
static bool grow(CelLoop *loop, size_t size, CelRun *run) {
    uint32_t room = loop->room ? loop->room * 2 : ROOM_FIRST;
    void *items;

    if (loop->n_built < loop->room)
        return true;
    if (loop->n_built >= UINT32_MAX / 2)
        return false;
    items = cel_alloc(run, room * size);
    if (!items)
        return false;
    if (loop->n_built > 0)
        memcpy(items, loop->items, loop->n_built * size);
    loop->items = items;
    loop->room = room;
    return true;
}

CelValue cel_loop_add_item(CelLoop *loop, CelValue v, CelRun *run) {
    if (!grow(loop, sizeof(CelValue), run))
        return cel_no_memory(run);
    loop->items[loop->n_built++] = v;
    return cel_null();
}

static CelValue add_entry(CelLoop *loop, CelEntry entry, CelRun *run) {
    if (!grow(loop, sizeof(CelEntry), run))
        return cel_no_memory(run);
    loop->entries[loop->n_built++] = entry;
    return cel_null();
}

CelValue cel_loop_add_entry(CelLoop *loop, CelValue v, CelRun *run) {
    return add_entry(loop, (CelEntry){loop->locals[0], v}, run);
}

CelValue cel_loop_add_entries(CelLoop *loop, CelValue v, CelRun *run) {
    if (v.kind != CEL_MAP)
        return cel_no_overload(run);
    if (!cel_charge(run, v.map->n))
        return cel_exhausted(run);
    for (uint32_t i = 0; i < v.map->n; i++) {
        CelEntry entry = cel_map_at(v.map, i, run);
        CelValue r = entry.value;

        if (r.kind != CEL_ERROR)
            r = add_entry(loop, entry, run);
        if (r.kind == CEL_ERROR)
            return r;
    }
    return cel_null();
}
