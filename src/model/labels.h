#pragma once

/* Labels: the key-value pairs of an object, sorted by key. */

#include "json/read.h"

typedef struct Label {
    Str key, value;
} Label;

typedef struct Labels {
    const Label *items; /* sorted by key, each key once (of duplicates the last) */
    size_t n;
} Labels;

/* Reads an object of strings. Errors are the reader's. */
void labels_decode(JsonReader *reader, Arena *arena, Labels *ret);

/* The same, keeping the labels of @keys only; the values of others are skipped by
 * structure alone. For Node objects. */
void labels_decode_some(
    JsonReader *reader, Arena *arena, const Str *keys, size_t n_keys, Labels *ret);

/* The same for annotations, which may be long: the first @max whose value has at most @value_max
 * bytes; others are left out. */
void labels_decode_bounded(
    JsonReader *reader, Arena *arena, size_t max, size_t value_max, Labels *ret);

bool labels_equal(const Labels *a, const Labels *b);

/* The value, or NULL when the key is absent. Borrowed. */
const Str *labels_find(const Labels *labels, Str key);
