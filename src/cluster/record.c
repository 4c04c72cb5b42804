/* Immutable, refcounted copies of nodes and pods. */

#include "cluster/record.h"

#include <stdlib.h>

#include "base/ref.h"
#include "cluster/object-fields.h"

typedef struct NodeRecord {
    Ref ref;
    Node node;
} NodeRecord;

typedef struct PodRecord {
    Ref ref;
    Pod pod;
    char text[]; /* of its name, UID and version, which no other pod has */
} PodRecord;

static NodeRecord *node_record_of(const Node *node) {
    return (NodeRecord *)((uintptr_t)node - offsetof(NodeRecord, node));
}

const Node *node_record_new(RecordPool *pool, const Node *from) {
    NodeRecord *record = calloc(1, sizeof(*record));

    if (!record)
        return NULL;
    record->ref = REF_ONE;
    if (!object_take(pool, &node_type, 0, from, &record->node))
        return node_record_unref(&record->node);
    return &record->node;
}

const Node *node_record_ref(const Node *node) {
    ref_take(&node_record_of(node)->ref);
    return node;
}

const Node *node_record_unref(const Node *node) {
    if (!node || !ref_drop(&node_record_of(node)->ref))
        return NULL;
    object_drop(&node_type, node);
    free(node_record_of(node));
    return NULL;
}

bool node_record_equal(const Node *a, const Node *b) {
    return object_equal(&node_type, a, b);
}

static PodRecord *pod_record_of(const Pod *pod) {
    return (PodRecord *)((uintptr_t)pod - offsetof(PodRecord, pod));
}

/* Takes the reference to from->details. */
static const Pod *pod_record_make(RecordPool *pool, const Pod *from) {
    size_t n_bytes = from->name.len + from->uid.len + from->resource_version.len;
    PodRecord *record = calloc(1, sizeof(*record) + n_bytes);
    char *at;
    Pod *pod;

    if (!record) {
        block_drop(from->details);
        return NULL;
    }
    record->ref = REF_ONE;
    at = record->text;
    pod = &record->pod;
    pod->name = str_carve(&at, from->name);
    pod->uid = str_carve(&at, from->uid);
    pod->resource_version = str_carve(&at, from->resource_version);
    pod->created_at = from->created_at;
    pod->details = from->details;
    if (!text_take(pool, from->namespace, &pod->namespace) ||
        !object_take(pool, &pod_shared_type, 0, from, pod))
        return pod_record_unref(pod);
    return pod;
}

static Labels choose_annotations(const Labels *all, const PodParts *parts, Label *room) {
    size_t n = 0;

    for (size_t i = 0; i < all->n && n < ANNOTATIONS_MAX; i++)
        if (pod_parts_has_annotation(parts, all->items[i].key))
            room[n++] = all->items[i];
    return (Labels){.items = room, .n = n};
}

/* A copy of the fields of @parts, with a reference; NULL if that is nothing. False when out of
 * memory. */
static bool take_details(
    RecordPool *pool, const PodDetails *details, const PodParts *parts, const PodDetails **ret) {
    Label annotations[ANNOTATIONS_MAX];
    PodDetails chosen;

    *ret = NULL;
    if (!details || pod_parts_is_empty(parts))
        return true;
    chosen = *details;
    chosen.annotations = choose_annotations(&details->annotations, parts, annotations);
    chosen.has_status_amounts |= !(parts->fields & POD_BIT(POD_AMOUNTS));
    *ret = object_take_block(pool, &pod_details_type, parts->fields, &chosen);
    return *ret;
}

const Pod *pod_record_replace(
    RecordPool *pool, const Pod *known, const Pod *from, const PodParts *parts) {
    Pod kept = *from;

    if (!take_details(pool, from->details, parts, &kept.details))
        return NULL;
    if (!known || !pod_record_equal(known, &kept))
        return pod_record_make(pool, &kept);
    block_drop(kept.details);
    return pod_record_ref(known);
}

const Pod *pod_record_new(RecordPool *pool, const Pod *from, const PodParts *parts) {
    return pod_record_replace(pool, /* known= */ NULL, from, parts);
}

const Pod *pod_record_ref(const Pod *pod) {
    ref_take(&pod_record_of(pod)->ref);
    return pod;
}

const Pod *pod_record_unref(const Pod *pod) {
    if (!pod || !ref_drop(&pod_record_of(pod)->ref))
        return NULL;
    text_drop(pod->namespace);
    object_drop(&pod_shared_type, pod);
    block_drop(pod->details);
    free(pod_record_of(pod));
    return NULL;
}

bool pod_record_equal(const Pod *a, const Pod *b) {
    return object_equal(&pod_type, a, b);
}
