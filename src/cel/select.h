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

/* The same by the number of a record's field; @v may be a record or an optional of one. */
CelValue cel_opt_field(CelRun *run, CelValue v, uint32_t field);

/* Out of line: what is no record, or not of the type it was declared to have. */
CelValue cel_field_odd(CelRun *run, CelValue v, uint32_t field);
CelValue cel_test_field_odd(CelRun *run, CelValue v, uint32_t field);

/* The error when @field of @record is not set. */
CelValue cel_no_such_field(CelRun *run, const CelRecord *record, uint32_t field);

static inline CelValue cel_field(CelRun *run, CelValue v, uint32_t field) {
    CelValue found;

    if (v.kind != CEL_RECORD || field >= v.record->type->n_fields)
        return cel_field_odd(run, v, field);
    found = v.record->type->get(v.record, field, run);
    return found.kind != CEL_ABSENT ? found : cel_no_such_field(run, v.record, field);
}

static inline CelValue cel_test_field(CelRun *run, CelValue v, uint32_t field) {
    CelValue found;

    if (v.kind != CEL_RECORD || field >= v.record->type->n_fields)
        return cel_test_field_odd(run, v, field);
    found = v.record->type->get(v.record, field, run);
    return found.kind != CEL_ERROR ? cel_bool(found.kind != CEL_ABSENT) : found;
}
