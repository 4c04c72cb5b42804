#pragma once

/*
 * Values: JSON data as values of the expression language.
 *
 * An object is a map with string keys, an array a list. A number that is written as a whole
 * number and fits is an int, any other a double: what Kubernetes does with the
 * fields of an object that has no schema. Objects with two equal keys are refused.
 */

#include "cel/value.h"
#include "json/read.h"

/* Reads one value of any kind; strings may be slices of the input. An error is the
 * reader's (json_error()); then CEL_ABSENT is returned. */
CelValue value_decode(JsonReader *reader, Arena *arena);
