#pragma once

/*
 * Signature: types and functions, read from text.
 *
 *     string.(int, int) -> string        a receiver call
 *     (list(T), T) -> bool               T is a type parameter
 *
 * The same reader takes the spelling of the conformance vectors: param(T), wrapper(int),
 * opaque(tuple, int), google.protobuf.Timestamp.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "cel/env.h"

/* A type, as in type.h. @env knows the records; may be NULL. NULL when the text cannot be read, or
 * when @arena is full. */
const CelType *cel_type_read(const CelEnv *env, Str text, Arena *arena);

/* Fills in all of @ret but its name and spec. @env knows the records; may be NULL. False when
 * the text cannot be read, or when @arena is full (arena_has_failed() tells). */
bool cel_signature_read(const CelEnv *env, Str text, Arena *arena, CelOverload *ret);
