/* Parts of the machine: calls whose overload depends on the arguments, and running loops. */

#include "cel/machine-internal.h"

#include "cel/tree.h"

#define NAMES_MAX 300 /* bytes of a call in "no such overload: …" */

static bool fits(const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    if (callee->n_args != n_args)
        return false;
    for (uint32_t i = 0; i < n_args; i++) {
        if (callee->kinds[i] != CEL_ABSENT && callee->kinds[i] != args[i].kind)
            return false;
    }
    return true;
}

static void print_kind(CelValue v, Buf *out) {
    buf_append(out, cel_type_of(v)->name);
}

static void print_kinds(const CelValue *args, uint32_t n, Buf *out) {
    for (uint32_t i = 0; i < n; i++) {
        buf_append(out, i > 0 ? STR(", ") : STR_NULL);
        print_kind(args[i], out);
    }
}

/* !int, int + string, list[string], string.startsWith(int), size(int) */
static void print_call(const CelCallee *callee, const CelValue *args, uint32_t n_args, Buf *out) {
    const char *sign = cel_operator_text(str_from_c(callee->name));

    if (sign && n_args == 1) {
        buf_append(out, str_from_c(sign));
        print_kind(args[0], out);
    } else if (sign && n_args == 2) {
        print_kind(args[0], out);
        if (sign[0] == '[')
            buf_append_char(out, '[');
        else
            buf_printf(out, " %s ", sign);
        print_kind(args[1], out);
        buf_append(out, sign[0] == '[' ? STR("]") : STR_NULL);
    } else {
        uint32_t first = callee->is_receiver && n_args > 0;

        print_kinds(args, first, out);
        buf_printf(out, "%s%s(", first ? "." : "", callee->name);
        print_kinds(args + first, n_args - first, out);
        buf_append_char(out, ')');
    }
}

static CelValue no_such_overload(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    _cleanup_(buf_done) Buf out = BUF_INIT(NAMES_MAX);

    print_call(callee, args, n_args, &out);
    return cel_fail(run, "no such overload: %.*s", STR_FMT(buf_str(&out)));
}

CelValue cel_call_checked(
    CelRun *run, const CelCallee *callee, const CelValue *args, uint32_t n_args) {
    if (!fits(callee, args, n_args) || !callee->fn)
        return no_such_overload(run, callee, args, n_args);
    return callee->fn(run, args, callee->prepared);
}

CelValue cel_call_dispatch(
    CelRun *run, const CelCallee *callees, const CelValue *args, uint32_t n_args) {
    for (uint32_t i = 0; i < callees->n_candidates; i++) {
        if (fits(&callees[i], args, n_args) && callees[i].fn)
            return callees[i].fn(run, args, callees[i].prepared);
    }
    return no_such_overload(run, callees, args, n_args);
}

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
