#pragma once

/*
 * Lists and maps of the model as values: elements are wrapped when they are fetched.
 *
 * Each function gives a value that borrows what it shows, or an error when there is no memory.
 */

#include "cel/run.h"
#include "cel/value.h"
#include "model/labels.h"
#include "schema/record.h"

extern const CelType schema_strings_type; /* list(string) */
extern const CelType schema_labels_type;  /* map(string, string) */

/* An element of an array of structures. */
typedef struct ItemValue {
    CelRecord head;
    const void *item;
} ItemValue;

static inline const void *item_of(const CelRecord *record) {
    return OBJECT_OF(record, ItemValue, head)->item;
}

/* @n structures of @size bytes as records of @type. */
CelValue schema_items(
    CelRun *run, const SchemaRecord *type, const void *items, size_t n, size_t size);

CelValue schema_strings(CelRun *run, const Str *items, size_t n);

/* Labels, annotations: strict; sorted by key. */
CelValue schema_labels(CelRun *run, const Labels *labels);
