#pragma once

/* Shared by the files of `berth eval`. */

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "cel/env.h"
#include "cel/run.h"
#include "cel/value.h"
#include "input/zones.h"
#include "json/read.h"
#include "json/write.h"

#define EVAL_BUDGET ((size_t)256 * 1024 * 1024)  /* memory of data, trees and code */
#define EVAL_TEXT_MAX ((size_t)64 * 1024 * 1024) /* a file, a printed value */

typedef struct EvalContext {
    Arena *arena; /* the language's tables, and the data of a single evaluation */
    Arena *made;  /* memory of an evaluation */
    CelEnv *env;
    Zones *zones;
} EvalContext;

/* A run with the default limits. */
CelRun eval_context_run(const EvalContext *context);

/* Prints that on stderr and returns the exit code. */
int eval_out_of_memory(const EvalContext *context, const char *what);

/* Evaluates the records in the file at @path, one per line; NULL or "-": standard input. The exit
 * code: 1 when a line was no record, 3 when the file cannot be read. */
int eval_batch(const char *path, const EvalContext *context);

/*
 * EvalValue: a value as the conformance vectors spell it.
 *
 *     {"type": "int", "value": "42"}    {"type": "bytes", "base64": "/w=="}
 *     {"type": "map", "value": [[{"type": "string", "value": "a"}, {"type": "bool", "value":
 * true}]]}
 *
 * Typed: ints, uints and doubles are strings (no reader loses 2^63-1, NaN or -0.0), bytes
 * base64, maps arrays of pairs, times seconds and nanoseconds. Kinds the vectors have no
 * spelling for: optionals as {"type": "optional", "value": …} (no value: none), the others as
 * {"type": "opaque", "name": "net.IP", "value": TEXT}; these are only written.
 */

/* An error is the reader's. Strings may be slices of its input. */
CelValue eval_value_decode(JsonReader *reader, Arena *arena);

void eval_value_write(CelValue v, CelRun *run, JsonWriter *writer);
