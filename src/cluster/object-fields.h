#pragma once

/*
 * ObjectType: the fields of a structure of the model, as a table. One description of Node, Pod and
 * their parts serves all code that copies, compares, writes or anonymizes them.
 */

#include "cluster/record-pool.h"
#include "model/node.h"
#include "model/pod-parts.h"
#include "model/pod.h"

typedef enum FieldKind {
    FIELD_TEXT,    /* a Str */
    FIELD_VERSION, /* a Str that does not count when objects are compared */
    FIELD_LIST,    /* a pointer to elements, and their number */
    FIELD_SINGLE,  /* a list of at most one element, which is not an array in JSON */
    FIELD_POINTER, /* to one element; NULL: none */
    FIELD_STRUCT,  /* a structure in this one */
    FIELD_PLAIN,   /* bytes; the kinds below are plain bytes too */
    FIELD_BOOL,    /* left out of JSON if false */
    FIELD_NUMBER,  /* int64_t */
    FIELD_NONZERO, /* int64_t, left out of JSON if 0 */
    FIELD_TIME,    /* int64_t, seconds since 1970; left out of JSON if 0 */
} FieldKind;

/* How a text is anonymized (bundle/anonymous.h). */
typedef enum TextSort {
    SORT_WORD, /* a word of the API: is not anonymized */
    SORT_NAME,
    SORT_KEY,
    SORT_IMAGE,
    SORT_TEXT,
    SORT_OWNER_KIND,
    SORT_API_VERSION,
    SORT_CONDITION,
    SORT_PRIORITY_CLASS,
    SORT_SCHEDULER,
    SORT_ZONES,
    _TEXT_SORTS,
} TextSort;

typedef struct ObjectType ObjectType;

typedef struct ObjectField {
    const char *key; /* in JSON; NULL: object-text.c writes it by itself */
    FieldKind kind;
    TextSort sort;
    uint16_t offset;
    uint16_t size;        /* of a plain value */
    uint16_t count;       /* of a list: where its number of elements is */
    bool is_own;          /* copies of it are not shared: hardly any two are equal */
    uint32_t parts;       /* PodPart bits: copied if the caller wants one of them; 0: always */
    const ObjectType *of; /* elements; the structure */
} ObjectField;

struct ObjectType {
    size_t size;
    const ObjectField *fields;
    size_t n_fields;
};

extern const ObjectType node_type, pod_type, pod_details_type, related_type, table_dictionary_type;

/* For JSON: groups of fields, and elements that object-text.c does not write by their fields. */
extern const ObjectType node_metadata_type, node_spec_details_type, node_status_details_type;
extern const ObjectType pod_metadata_type, pod_shared_type, namespace_type, node_term_type,
    pod_term_type;
extern const ObjectType label_type, annotation_type, node_annotation_type, resource_type;
extern const ObjectType amount_list_type, selector_type, pod_volume_type, affinity_type;
extern const ObjectType owner_type, taint_type, toleration_type, condition_type, image_type;
extern const ObjectType address_type;

static inline void *field_at(const ObjectField *field, const void *item) {
    return (char *)(uintptr_t)item + field->offset;
}

/* The elements of a list, single or pointer, and their number. */
const void *field_items(const ObjectField *field, const void *item);
size_t field_count(const ObjectField *field, const void *item);

/* Whether all fields are equal, except FIELD_VERSION. */
bool object_equal(const ObjectType *type, const void *a, const void *b);

/* Whether two arrays have equal elements in the same order. */
bool object_items_equal(
    const ObjectType *type, const void *a, size_t n_a, const void *b, size_t n_b);

/* Copies the fields of @parts (PodPart) to @to, which must be zeroed; texts and arrays become parts
 * (cluster/record-pool.h). False when out of memory; call object_drop() in this case, too. */
bool object_take(RecordPool *pool, const ObjectType *type, uint32_t parts, const void *from,
    void *to) MUST_CHECK;
void object_drop(const ObjectType *type, const void *item);

/* The copy as a part of its own, for block_drop(); NULL when out of memory. */
void *object_take_block(RecordPool *pool, const ObjectType *type, uint32_t parts, const void *item)
    MUST_CHECK;
