#pragma once

/*
 * Namespace: the fields of a Namespace that policies read, of the namespace of the pod to be
 * placed.
 *
 * Strings are slices of the input where they can be, else in the arena.
 */

#include "model/labels.h"
#include "json/read.h"

typedef struct Namespace {
    Str name;
    Labels labels;
    Labels annotations; /* as many, and as long, as of a pod (model/pod-details.h) */
} Namespace;

/* Reads a Namespace object. Errors are the reader's. */
void namespace_decode(JsonReader *reader, Arena *arena, Namespace *ret);
