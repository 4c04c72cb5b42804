#pragma once

/*
 * EvalRecord: one line of `berth eval --batch`, in the shape of the conformance vectors.
 *
 *     {"id": "a/b/c", "expr": "x + 1", "type_env": [{"name": "x", "kind": "var", "type": "int"}],
 *      "bindings": {"x": {"type": "int", "value": "1"}}}
 *
 * Values are typed (eval-value.h).
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/vec.h"
#include "cel/env.h"
#include "cel/run.h"
#include "cel/value.h"

typedef struct EvalBinding {
    Str name;
    CelValue value;
} EvalBinding;

typedef struct EvalRecord {
    Str id;
    Str expr;
    Str container;
    bool no_check, no_macros, check_only;
    CelEnv *env; /* the parent's names and the record's */
    VEC(EvalBinding) bindings;
} EvalRecord;

#define EVAL_RECORD_ERROR_MAX 256u

/* Reads one line. Everything lies in @arena or in @line. False, and a sentence in @error
 * (EVAL_RECORD_ERROR_MAX), when it is no such record; the id is set if it could be read. */
bool eval_record_decode(Str line, const CelEnv *parent, Arena *arena, EvalRecord *ret, char *error)
    MUST_CHECK;

/* The values of the record's variables by slot, CEL_ABSENT for the others. NULL: no memory. */
CelValue *eval_record_variables(const EvalRecord *record, Arena *arena) MUST_CHECK;
