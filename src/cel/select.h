#pragma once

/*
 * Select: a.b, has(a.b) and a.?b, of whatever kind a is.
 *
 * Maps and records have parts. An optional passes the question on to what it holds, and
 * then the answer is an optional as well. Nothing else has any. Each returns a value or
 * an error.
 */

#include "cel/run.h"
#include "cel/type.h"
#include "cel/value.h"

/* @key is a string. */
CelValue cel_select(CelRun *run, CelValue v, CelValue key);
CelValue cel_test_select(CelRun *run, CelValue v, CelValue key);
CelValue cel_opt_select(CelRun *run, CelValue v, CelValue key);

/* The error of what has no fields at all. */
CelValue cel_no_fields(CelRun *run, CelValue v);

/* The error when @field of @record is not set. */
CelValue cel_no_such_field(CelRun *run, const CelRecord *record, uint32_t field);

/* The same by the number of a record's field, which was found in the declared type. A host that
 * gives something else, or a record of a type with fewer fields, gets no further than this. */

static inline bool cel_has_field(CelValue v, uint32_t field) {
    return v.kind == CEL_RECORD && field < v.record->type->n_fields;
}

CelValue cel_opt_field(CelRun *run, CelValue v, uint32_t field);

static inline CelValue cel_field(CelRun *run, CelValue v, uint32_t field) {
    CelValue found;

    if (!cel_has_field(v, field))
        return cel_no_fields(run, v);
    found = v.record->type->get(v.record, field, run);
    return found.kind != CEL_ABSENT ? found : cel_no_such_field(run, v.record, field);
}

static inline CelValue cel_test_field(CelRun *run, CelValue v, uint32_t field) {
    CelValue found;

    if (!cel_has_field(v, field))
        return cel_no_fields(run, v);
    found = v.record->type->get(v.record, field, run);
    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}
