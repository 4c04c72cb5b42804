#pragma once

/* Labels: the key-value pairs of an object, sorted by key. */

#include "json/fields.h"

/* Annotations of an object; beyond that the rest is left out. */
#define ANNOTATIONS_MAX 128u
#define ANNOTATION_VALUE_MAX ((size_t)4096) /* a larger value is left out */

typedef struct Label {
    Str key, value;
} Label;

typedef struct Labels {
    const Label *items; /* sorted by key, each key once (of duplicates the last) */
    size_t n;
} Labels;

/* Reads an object of strings into Labels. Errors are the reader's. */
JsonRead labels_decode;

/* The same for annotations; leaves out those over the limits above. */
JsonRead annotations_decode;

/* The same, keeping only the labels of @keys; the values of others are skipped
 * without validation. For Node objects. */
void labels_decode_some(
    JsonReader *reader, Arena *arena, const Str *keys, size_t n_keys, Labels *ret);

/* The value, or NULL when the key is absent. Borrowed. */
const Str *labels_find(const Labels *labels, Str key);
