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
    Pod *shape;
    Pod pod;
    char text[];
} PodRecord;

static Str carve_text(char **at, Str text) {
    char *copy = *at;

    if (str_is_empty(text))
        return STR_NULL;
    memcpy(copy, text.ptr, text.len);
    *at += text.len;
    return str_of(copy, text.len);
}

/* --- nodes ----------------------------------------------------------------------- */

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

/* --- pods ------------------------------------------------------------------------ */

static PodRecord *pod_record_of(const Pod *pod) {
    return (PodRecord *)((uintptr_t)pod - offsetof(PodRecord, pod));
}

/* A shape: the fields that pods of one template share. The arrays of its lists follow; it does not
 * point to them itself, so that equal shapes are equal bytes. */
static void wear_shape(Pod *pod, Pod *shape) {
    *pod = *shape;
    pod->labels.items = (Label *)(shape + 1);
    pod->requests.items = (Resource *)((Label *)(shape + 1) + shape->labels.n);
    pod->tolerations.items = (Toleration *)(pod->requests.items + shape->requests.n);
}

static void drop_items(const ObjectType *type, const void *items, size_t n) {
    for (size_t i = 0; i < n; i++)
        object_drop(type, (const char *)items + i * type->size);
}

static void release_shape(void *block) {
    Pod pod, *shape = block;

    wear_shape(&pod, shape);
    text_drop(shape->namespace);
    object_drop(&pod_template_type, shape);
    drop_items(&label_type, pod.labels.items, pod.labels.n);
    drop_items(&resource_type, pod.requests.items, pod.requests.n);
    drop_items(&toleration_type, pod.tolerations.items, pod.tolerations.n);
}

static const ObjectType shape_type = {.release = release_shape};

static bool take_items(
    RecordPool *pool, const ObjectType *type, const void *from, size_t n, const void *to) {
    for (size_t i = 0; i < n; i++)
        if (!object_take(pool, type, 0, (const char *)from + i * type->size,
                (char *)(uintptr_t)to + i * type->size))
            return false;
    return true;
}

static bool shape_fill(Pod *shape, RecordPool *pool, const Pod *pod) {
    Pod to;

    shape->labels.n = pod->labels.n;
    shape->requests.n = pod->requests.n;
    shape->tolerations.n = pod->tolerations.n;
    wear_shape(&to, shape);
    return text_take(pool, pod->namespace, &shape->namespace) &&
           object_take(pool, &pod_template_type, 0, pod, shape) &&
           take_items(pool, &label_type, pod->labels.items, to.labels.n, to.labels.items) &&
           take_items(
               pool, &resource_type, pod->requests.items, to.requests.n, to.requests.items) &&
           take_items(pool, &toleration_type, pod->tolerations.items, to.tolerations.n,
               to.tolerations.items);
}

static Pod *shape_new(RecordPool *pool, const Pod *pod) {
    Pod *shape =
        block_new(sizeof(Pod) + pod->labels.n * sizeof(Label) + pod->requests.n * sizeof(Resource) +
                      pod->tolerations.n * sizeof(Toleration),
            &shape_type);

    if (!shape)
        return NULL;
    if (!shape_fill(shape, pool, pod)) {
        block_drop(shape);
        return NULL;
    }
    return block_share(pool, shape);
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
    record->shape = shape_new(pool, from);
    if (record->shape)
        wear_shape(pod, record->shape);
    pod->name = carve_text(&at, from->name);
    pod->uid = carve_text(&at, from->uid);
    pod->resource_version = carve_text(&at, from->resource_version);
    pod->created_at = from->created_at;
    pod->started_at = from->started_at;
    pod->scheduled_at = from->scheduled_at;
    pod->is_terminal = from->is_terminal;
    pod->is_terminating = from->is_terminating;
    pod->is_guessed = from->is_guessed;
    pod->details = from->details;
    if (!record->shape || !text_take(pool, from->node_name, &pod->node_name) ||
        !text_take(pool, from->nominated_node_name, &pod->nominated_node_name))
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
    text_drop(pod->node_name);
    text_drop(pod->nominated_node_name);
    block_drop(pod_record_of(pod)->shape);
    block_drop(pod->details);
    free(pod_record_of(pod));
    return NULL;
}

bool pod_record_equal(const Pod *a, const Pod *b) {
    return object_equal(&pod_type, a, b);
}

size_t pod_details_size(const PodDetails *details) {
    return details ? object_items_size(&pod_details_type, details, 1) : 0;
}
