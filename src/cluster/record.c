/* Immutable, refcounted copies of nodes and pods. */

#include "cluster/record.h"

#include <stdlib.h>

#include "base/ref.h"
#include "cluster/object-fields.h"

typedef struct NodeRecord {
    Ref ref;
    Node node;
} NodeRecord;

/* The fields that pods of one template share. The arrays follow, in the order of their
 * counts; a Pod points into them. */
#define SHAPE_TEXTS 5u
typedef struct PodShape {
    Str namespace, owner_kind, owner_name, owner_uid, scheduler_name; /* SHAPE_TEXTS */
    int64_t priority;
    size_t n_labels, n_requests, n_tolerations;
} PodShape;

typedef struct PodRecord {
    Ref ref;
    PodShape *shape;
    Pod pod;
    char text[];
} PodRecord;

/* --- pieces ---------------------------------------------------------------------- */

static Str carve_text(char **at, Str text) {
    char *copy = *at;

    if (str_is_empty(text))
        return STR_NULL;
    memcpy(copy, text.ptr, text.len);
    *at += text.len;
    return str_of(copy, text.len);
}

/* Copies @n elements of @size bytes, which begin with @n_texts texts, to @to, which is zeroed. */
static bool take_texts(
    RecordPool *pool, const void *from, size_t n, size_t size, size_t n_texts, void *to) {
    for (size_t i = 0; i < n; i++) {
        const Str *texts = (const Str *)((const char *)from + i * size);
        Str *taken = (Str *)((char *)to + i * size);

        memcpy(taken + n_texts, texts + n_texts, size - n_texts * sizeof(Str));
        for (size_t j = 0; j < n_texts; j++)
            if (!text_take(pool, texts[j], &taken[j]))
                return false;
    }
    return true;
}

static void drop_texts(const void *items, size_t n, size_t size, size_t n_texts) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n_texts; j++)
            text_drop(((const Str *)((const char *)items + i * size))[j]);
}

#define TAKE_TEXTS(pool, from, n, n_texts, to)                                                     \
    take_texts((pool), (from), (n), sizeof(*(to)), (n_texts), (to))
#define DROP_TEXTS(items, n, n_texts) drop_texts((items), (n), sizeof(*(items)), (n_texts))

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

static Label *shape_labels(PodShape *shape) {
    return (Label *)(shape + 1);
}

static Resource *shape_requests(PodShape *shape) {
    return (Resource *)(shape_labels(shape) + shape->n_labels);
}

static Toleration *shape_tolerations(PodShape *shape) {
    return (Toleration *)(shape_requests(shape) + shape->n_requests);
}

static void release_shape(void *block) {
    PodShape *shape = block;

    DROP_TEXTS(shape, 1, SHAPE_TEXTS);
    DROP_TEXTS(shape_labels(shape), shape->n_labels, 2);
    DROP_TEXTS(shape_requests(shape), shape->n_requests, 1);
    DROP_TEXTS(shape_tolerations(shape), shape->n_tolerations, 2);
}

static const ObjectType shape_type = {.release = release_shape};

/* Field by field: padding stays zero, so that equal shapes are equal bytes. */
static bool take_tolerations(RecordPool *pool, const Toleration *from, size_t n, Toleration *to) {
    for (size_t i = 0; i < n; i++) {
        to[i].exists = from[i].exists;
        to[i].effect = from[i].effect;
        if (!text_take(pool, from[i].key, &to[i].key) ||
            !text_take(pool, from[i].value, &to[i].value))
            return false;
    }
    return true;
}

static bool shape_fill(PodShape *shape, RecordPool *pool, const Pod *pod) {
    shape->priority = pod->priority;
    return text_take(pool, pod->namespace, &shape->namespace) &&
           text_take(pool, pod->owner_kind, &shape->owner_kind) &&
           text_take(pool, pod->owner_name, &shape->owner_name) &&
           text_take(pool, pod->owner_uid, &shape->owner_uid) &&
           text_take(pool, pod->scheduler_name, &shape->scheduler_name) &&
           TAKE_TEXTS(pool, pod->labels.items, shape->n_labels, 2, shape_labels(shape)) &&
           TAKE_TEXTS(pool, pod->requests.items, shape->n_requests, 1, shape_requests(shape)) &&
           take_tolerations(
               pool, pod->tolerations.items, shape->n_tolerations, shape_tolerations(shape));
}

static PodShape *shape_new(RecordPool *pool, const Pod *pod) {
    PodShape *shape =
        block_new(sizeof(PodShape) + pod->labels.n * sizeof(Label) +
                      pod->requests.n * sizeof(Resource) + pod->tolerations.n * sizeof(Toleration),
            &shape_type);

    if (!shape)
        return NULL;
    shape->n_labels = pod->labels.n;
    shape->n_requests = pod->requests.n;
    shape->n_tolerations = pod->tolerations.n;
    if (!shape_fill(shape, pool, pod)) {
        block_drop(shape);
        return NULL;
    }
    return block_share(pool, shape);
}

static void wear_shape(Pod *pod, PodShape *shape) {
    pod->namespace = shape->namespace;
    pod->owner_kind = shape->owner_kind;
    pod->owner_name = shape->owner_name;
    pod->owner_uid = shape->owner_uid;
    pod->scheduler_name = shape->scheduler_name;
    pod->priority = shape->priority;
    pod->labels = (Labels){.items = shape_labels(shape), .n = shape->n_labels};
    pod->requests = (Resources){.items = shape_requests(shape), .n = shape->n_requests};
    pod->tolerations = (Tolerations){.items = shape_tolerations(shape), .n = shape->n_tolerations};
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
    record->shape = shape_new(pool, from);
    if (!record->shape || !text_take(pool, from->node_name, &pod->node_name) ||
        !text_take(pool, from->nominated_node_name, &pod->nominated_node_name))
        return pod_record_unref(pod);
    wear_shape(pod, record->shape);
    return pod;
}

static Labels choose_annotations(const Labels *all, const PodParts *parts, Label *room) {
    size_t n = 0;

    for (size_t i = 0; i < all->n && n < POD_ANNOTATIONS_MAX; i++)
        if (pod_parts_has_annotation(parts, all->items[i].key))
            room[n++] = all->items[i];
    return (Labels){.items = room, .n = n};
}

/* A copy of the fields of @parts, with a reference; NULL if that is nothing. False when out of
 * memory. */
static bool take_details(
    RecordPool *pool, const PodDetails *details, const PodParts *parts, const PodDetails **ret) {
    Label annotations[POD_ANNOTATIONS_MAX];
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
