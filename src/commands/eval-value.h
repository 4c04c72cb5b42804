#pragma once

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

#include "base/arena.h"
#include "cel/run.h"
#include "cel/value.h"
#include "json/read.h"
#include "json/write.h"

/* An error is the reader's. Strings may be slices of its input. */
CelValue eval_value_decode(JsonReader *reader, Arena *arena);

void eval_value_write(CelValue v, CelRun *run, JsonWriter *writer);
