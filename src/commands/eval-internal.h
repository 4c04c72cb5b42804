#pragma once

/* Shared by the files of `berth eval`. */

#include "base/diag.h"
#include "base/vec.h"
#include "cel/check.h"
#include "cel/env.h"
#include "cel/run.h"
#include "cel/value.h"
#include "cli/cluster-source.h"
#include "cluster/snapshot.h"
#include "input/zones.h"
#include "schema/schema.h"
#include "json/read.h"
#include "json/write.h"

#define EVAL_BUDGET ((size_t)256 * 1024 * 1024)  /* memory of data, trees and code */
#define EVAL_TEXT_MAX ((size_t)64 * 1024 * 1024) /* a file, a printed value */

typedef struct EvalContext {
    Arena *arena;         /* the language's tables, and the data of a single evaluation */
    Arena *made;          /* memory of an evaluation */
    const Schema *schema; /* pod, node and so on; NULL: plain CEL (--batch) */
    CelEnv *env;
    Zones *zones;
} EvalContext;

/* Values of variables, by slot. */
typedef VEC(CelValue) EvalValues;

/* EvalData: the objects that expressions of policies are about. */
typedef struct EvalData {
    ClusterSource cluster; /* may name none */
    const char *pod;       /* a file, or NAMESPACE/NAME; NULL: none */
    const char *node;      /* of the cluster; NULL: none */
    int64_t now_nsec;      /* 0: now */
    Snapshot *snapshot;    /* loaded */
} EvalData;

/* NULL when the options are consistent; else the error. */
const char *eval_data_check(const EvalData *data);

/* Loads what is given, and adds the values of pod, node, cluster and now. The caller releases the
 * snapshot. If that fails, the process ends. */
void eval_data_load(EvalData *data, EvalContext *context, EvalValues *values);

/* Reports each of pod, node and cluster that @source reads and that is not given, with the option
 * that gives it. Ignores expressions with errors. 0 or -ENOMEM. */
int eval_data_report(const EvalData *data, const EvalContext *context, Str file, Str source,
    const CelOptions *options, DiagList *diags);

/* The place of the value of @slot, until the next call. */
CelValue *eval_slot(EvalContext *context, EvalValues *values, uint32_t slot);

/* A run with the default limits. */
CelRun eval_context_run(const EvalContext *context);

/* Evaluates the records in the file at @path, one per line; NULL or "-": standard input. The exit
 * code: 1 when a line was no record, 3 when the file cannot be read. */
int eval_batch(const char *path, const EvalContext *context);

/*
 * EvalValue: a value as the conformance vectors spell it.
 *
 *     {"type": "int", "value": "42"}    {"type": "bytes", "base64": "/w=="}
 *     {"type": "map", "value": [[{"type": "string", "value": "a"}, {"type": "null"}]]}
 *
 * Typed: ints, uints and doubles are strings (no reader loses 2^63-1, NaN or -0.0), bytes
 * base64, maps arrays of pairs, times seconds and nanoseconds. Kinds that the vectors lack are only
 * written: optionals as {"type": "optional", "value": …} (no value: none), the others as
 * {"type": "opaque", "name": "net.IP", "value": TEXT}.
 */

/* Reads one value. Errors are set in @reader. Strings may point into its input. */
CelValue eval_value_decode(JsonReader *reader, Arena *arena);

void eval_value_write(CelValue v, CelRun *run, JsonWriter *writer);
