#pragma once

/*
 * Namespace: the fields of a Namespace that policies read, of the namespace of the pod to be
 * placed.
 *
 * Strings are slices of the input where they can be, else in the arena.
 */

#include "model/labels.h"

typedef struct Namespace {
    Str name;
    Labels labels;
    Labels annotations;
} Namespace;

/* Reads a Namespace object into a Namespace. Errors are the reader's. */
JsonRead namespace_decode;
