/* Operators: errors, indices, membership and selection. */

#include "cel/operators.h"

#include <inttypes.h>

CelValue cel_overflow_int(CelRun *run) {
    return cel_fail(run, "integer overflow");
}

CelValue cel_overflow_uint(CelRun *run) {
    return cel_fail(run, "unsigned integer overflow");
}

/* The position in @list for @index, a whole number of any kind. CEL_ABSENT: out of bounds. An error
 * for any other @index. */
static CelValue index_place(CelRun *run, const CelList *list, CelValue index) {
    CelValue key = cel_map_key(index);

    if (!cel_is_number(index)) {
        Str name = cel_type_of(index)->name;

        return cel_fail(run, "unsupported index type '%.*s' in list", STR_FMT(name));
    }
    if (key.kind == CEL_ABSENT)
        return cel_fail(run, "unsupported index value %g in list", index.d);
    return key.kind == CEL_INT && (uint64_t)key.i < list->n ? key : cel_absent();
}

static CelValue out_of_bounds(CelRun *run, CelValue index) {
    if (index.kind == CEL_INT)
        return cel_fail(run, "index out of bounds: %" PRId64, index.i);
    if (index.kind == CEL_UINT)
        return cel_fail(run, "index out of bounds: %" PRIu64, index.u);
    return cel_fail(run, "index out of bounds: %.0f", index.d);
}

CelValue cel_index_list_any(CelRun *run, const CelList *list, CelValue index) {
    CelValue place = index_place(run, list, index);

    if (place.kind == CEL_ERROR)
        return place;
    if (place.kind == CEL_ABSENT)
        return out_of_bounds(run, index);
    return cel_list_at(list, (uint32_t)place.i, run);
}

static CelValue wrap(CelRun *run, CelValue v) {
    if (v.kind == CEL_ABSENT)
        return cel_none();
    return v.kind == CEL_ERROR ? v : cel_make_optional(run, v);
}

/* Optional access propagates: optional.of([1])[5] is none, not an error. */
CelValue cel_op_index_optional(CelRun *run, CelValue a, CelValue index) {
    CelValue place;

    while (a.kind == CEL_OPTIONAL && a.inner)
        a = *a.inner;
    switch (a.kind) {
    case CEL_OPTIONAL:
        return a;
    case CEL_MAP:
        return wrap(run, cel_map_find(a.map, index, run));
    case CEL_LIST:
        place = index_place(run, a.list, index);
        if (place.kind == CEL_INT)
            place = cel_list_at(a.list, (uint32_t)place.i, run);
        return wrap(run, place);
    default:
        return cel_no_overload(run);
    }
}

CelValue cel_op_in_list(CelRun *run, CelValue a, CelValue b) {
    for (uint32_t i = 0; i < b.list->n; i++) {
        if (!cel_charge(run, 1))
            return cel_exhausted(run);

        CelValue item = cel_list_at(b.list, i, run);

        if (item.kind == CEL_ERROR)
            return item;
        if (cel_equal(a, item, run))
            return cel_bool(true);
        if (run->limit)
            return cel_limit(run);
    }
    return cel_bool(false);
}

/* If @v is an error, which a variable was bound to, returns it. */
CelValue cel_no_fields(CelRun *run, CelValue v) {
    Str name = cel_type_of(v)->name;

    if (v.kind == CEL_ERROR)
        return v;
    return cel_fail(run, "no such overload: %.*s has no fields to select", STR_FMT(name));
}

/* The part, CEL_ABSENT, or an error. A record without such a field (only possible in unchecked
 * expressions and with dyn) is treated like a field that is not set. Values without parts are an
 * error for has() and .? too (optionals/optionals/map_present_key_invalid_field). */
static CelValue part(CelRun *run, CelValue v, CelValue key) {
    uint32_t field;

    if (v.kind == CEL_MAP)
        return cel_map_find(v.map, key, run);
    if (v.kind != CEL_RECORD)
        return cel_no_fields(run, v);
    field = cel_record_find(v.record->type, cel_str(key));
    return field != UINT32_MAX ? v.record->type->get(v.record, field, run) : cel_absent();
}

CelValue cel_select(CelRun *run, CelValue v, CelValue key) {
    CelValue found;

    if (v.kind == CEL_OPTIONAL)
        return cel_opt_select(run, v, key);
    found = part(run, v, key);
    if (found.kind == CEL_ABSENT && v.kind == CEL_MAP && v.map->otherwise)
        return *v.map->otherwise;
    return found.kind != CEL_ABSENT ? found : cel_no_such_key(run, key);
}

CelValue cel_test_select(CelRun *run, CelValue v, CelValue key) {
    if (v.kind == CEL_OPTIONAL && !v.inner)
        return cel_bool(false);
    v = part(run, v.kind == CEL_OPTIONAL ? *v.inner : v, key);
    return v.kind == CEL_ERROR ? v : cel_bool(v.kind != CEL_ABSENT);
}

CelValue cel_opt_select(CelRun *run, CelValue v, CelValue key) {
    if (v.kind == CEL_OPTIONAL && !v.inner)
        return v;
    return wrap(run, part(run, v.kind == CEL_OPTIONAL ? *v.inner : v, key));
}

CelValue cel_no_such_field(CelRun *run, const CelRecord *record, uint32_t field) {
    const CelRecordType *type = record->type;
    Str name = type->fields[field].name;

    return type->noun ? cel_no_such_thing(run, type->noun, name)
                      : cel_no_such_key(run, cel_string(name));
}

CelValue cel_opt_field(CelRun *run, CelValue v, uint32_t field) {
    return wrap(run, cel_get_field(run, v, field));
}
