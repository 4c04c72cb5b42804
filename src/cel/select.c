#include "cel/select.h"

/* An error that a variable was bound to stays what it is. */
CelValue cel_no_fields(CelRun *run, CelValue v) {
    Str name = cel_type_of(v)->name;

    if (v.kind == CEL_ERROR)
        return v;
    return cel_fail(run, "no such overload: %.*s has no fields to select", STR_FMT(name));
}

/* The part, CEL_ABSENT, or an error. A record that has no such field at all (only unchecked
 * expressions and dyn can ask) is like one where it is not set. What can have no parts is an
 * error to has() and .? too (optionals/optionals/map_present_key_invalid_field). */
static CelValue part(CelRun *run, CelValue v, CelValue key) {
    uint32_t field;

    if (v.kind == CEL_MAP)
        return cel_map_find(v.map, key, run);
    if (v.kind != CEL_RECORD)
        return cel_no_fields(run, v);
    field = cel_record_find(v.record->type, cel_str(key));
    return field != UINT32_MAX ? v.record->type->get(v.record, field, run) : cel_absent();
}

static CelValue wrap(CelRun *run, CelValue v) {
    if (v.kind == CEL_ABSENT)
        return cel_none();
    return v.kind == CEL_ERROR ? v : cel_make_optional(run, v);
}

static CelValue test(CelValue v) {
    return v.kind == CEL_ERROR ? v : cel_bool(v.kind != CEL_ABSENT);
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
    if (v.kind == CEL_OPTIONAL)
        return v.inner ? test(part(run, *v.inner, key)) : cel_bool(false);
    return test(part(run, v, key));
}

CelValue cel_opt_select(CelRun *run, CelValue v, CelValue key) {
    if (v.kind == CEL_OPTIONAL)
        return v.inner ? wrap(run, part(run, *v.inner, key)) : v;
    return wrap(run, part(run, v, key));
}

CelValue cel_no_such_field(CelRun *run, const CelRecord *record, uint32_t field) {
    const CelRecordType *type = record->type;
    Str name = type->fields[field].name;

    return type->noun ? cel_no_such_thing(run, type->noun, name)
                      : cel_no_such_key(run, cel_string(name));
}

CelValue cel_opt_field(CelRun *run, CelValue v, uint32_t field) {
    if (!cel_has_field(v, field))
        return cel_no_fields(run, v);
    return wrap(run, v.record->type->get(v.record, field, run));
}
