/* Immutable, refcounted copies of nodes and pods. */

#include "cluster/record.h"

#include <stdlib.h>

#include "base/ref.h"
#include "cluster/kept-details.h"
#include "cluster/record-pool.h"

/* A record and everything of its own are one allocation: arrays first, then bytes. */
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

/* The next @size bytes of a block; sizes other than text keep it aligned. */
static void *carve(char **at, size_t size) {
    void *piece = *at;

    *at += size;
    return piece;
}

static Str carve_text(char **at, Str text) {
    char *copy;

    if (str_is_empty(text))
        return STR_NULL;
    copy = carve(at, text.len);
    memcpy(copy, text.ptr, text.len);
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

static void release_strings(void *block, size_t size) {
    drop_texts(block, size / sizeof(Str), sizeof(Str), 1);
}

/* Many nodes have pulled the same image. */
static bool take_image(RecordPool *pool, const Image *from, Image *to) {
    Str *names = block_new(from->n_names * sizeof(Str), release_strings);

    if (!names)
        return false;
    if (!TAKE_TEXTS(pool, from->names, from->n_names, 1, names)) {
        block_drop(names);
        return false;
    }
    *to = (Image){.names = block_share(pool, names), .n_names = from->n_names, .size = from->size};
    return to->names;
}

static bool take_images(RecordPool *pool, const Node *from, Image *to) {
    for (size_t i = 0; i < from->n_images; i++)
        if (!take_image(pool, &from->images[i], &to[i]))
            return false;
    return true;
}

/* Values of annotations are rarely the same on two nodes. */
static bool take_annotations(RecordPool *pool, const Labels *from, Label *to, char **at) {
    for (size_t i = 0; i < from->n; i++) {
        to[i].value = carve_text(at, from->items[i].value);
        if (!text_take(pool, from->items[i].key, &to[i].key))
            return false;
    }
    return true;
}

/* Hardly any two nodes have the same. */
static void carve_addresses(const Node *from, Address *to, char **at) {
    for (size_t i = 0; i < from->n_addresses; i++)
        to[i] = (Address){
            .type = from->addresses[i].type, .text = carve_text(at, from->addresses[i].text)};
}

/* --- details of nodes ------------------------------------------------------------ */

/* The texts of @details, and its lists of texts. */
static const Str *details_texts(const NodeDetails *details) {
    return &details->provider_id;
}

static const TextList *details_lists(const NodeDetails *details) {
    return &details->pod_cidrs;
}

/* Without the structure and the arrays. */
static size_t details_bytes(const NodeDetails *details) {
    size_t size = 0;

    for (size_t i = 0; i < NODE_DETAILS_TEXTS; i++)
        size += details_texts(details)[i].len;
    for (size_t i = 0; i < NODE_DETAILS_LISTS; i++)
        for (size_t k = 0; k < details_lists(details)[i].n; k++)
            size += details_lists(details)[i].items[k].len;
    for (size_t i = 0; i < details->capacity.n; i++)
        size += details->capacity.items[i].name.len;
    return size;
}

static size_t details_size(const NodeDetails *details) {
    size_t size = sizeof(*details) + details->capacity.n * sizeof(Resource);

    for (size_t i = 0; i < NODE_DETAILS_LISTS; i++)
        size += details_lists(details)[i].n * sizeof(Str);
    return size;
}

/* Few clusters keep them, so their texts are not shared. */
static const NodeDetails *carve_details(const NodeDetails *from, char **at, char **text) {
    NodeDetails *details = carve(at, sizeof(*details));

    for (size_t i = 0; i < NODE_DETAILS_TEXTS; i++)
        ((Str *)(uintptr_t)details_texts(details))[i] = carve_text(text, details_texts(from)[i]);
    for (size_t i = 0; i < NODE_DETAILS_LISTS; i++) {
        const TextList *list = &details_lists(from)[i];
        Str *items = carve(at, list->n * sizeof(Str));

        for (size_t k = 0; k < list->n; k++)
            items[k] = carve_text(text, list->items[k]);
        ((TextList *)(uintptr_t)details_lists(details))[i] =
            (TextList){.items = items, .n = list->n};
    }
    details->capacity.n = from->capacity.n;
    details->capacity.items = carve(at, from->capacity.n * sizeof(Resource));
    for (size_t i = 0; i < from->capacity.n; i++)
        details->capacity.items[i] =
            (Resource){.name = carve_text(text, from->capacity.items[i].name),
                .amount = from->capacity.items[i].amount};
    return details;
}

static bool details_equal(const NodeDetails *a, const NodeDetails *b) {
    if (!a || !b)
        return a == b;
    for (size_t i = 0; i < NODE_DETAILS_TEXTS; i++)
        if (!str_eq(details_texts(a)[i], details_texts(b)[i]))
            return false;
    for (size_t i = 0; i < NODE_DETAILS_LISTS; i++) {
        const TextList *x = &details_lists(a)[i], *y = &details_lists(b)[i];

        if (x->n != y->n)
            return false;
        for (size_t k = 0; k < x->n; k++)
            if (!str_eq(x->items[k], y->items[k]))
                return false;
    }
    return resources_equal(&a->capacity, &b->capacity);
}

static size_t node_record_size(const Node *node) {
    size_t size = sizeof(NodeRecord);

    size += (node->labels.n + node->annotations.n) * sizeof(Label);
    size += node->taints.n * sizeof(Taint);
    size += node->n_conditions * sizeof(Condition);
    size += node->allocatable.n * sizeof(Resource);
    size += node->n_images * sizeof(Image);
    size += node->n_addresses * sizeof(Address);
    size += node->name.len + node->uid.len + node->resource_version.len;
    for (size_t i = 0; i < node->annotations.n; i++)
        size += node->annotations.items[i].value.len;
    for (size_t i = 0; i < node->n_addresses; i++)
        size += node->addresses[i].text.len;
    if (node->details)
        size += details_size(node->details) + details_bytes(node->details);
    return size;
}

const Node *node_record_new(RecordPool *pool, const Node *from) {
    NodeRecord *record = calloc(1, node_record_size(from));
    char *at;
    Label *labels, *annotations;
    Taint *taints;
    Condition *conditions;
    Image *images;
    Address *addresses;
    Node *node;

    if (!record)
        return NULL;
    record->ref = REF_ONE;
    at = (char *)(record + 1);
    node = &record->node;
    *node = *from;
    node->labels.items = labels = carve(&at, from->labels.n * sizeof(Label));
    node->annotations.items = annotations = carve(&at, from->annotations.n * sizeof(Label));
    node->taints.items = taints = carve(&at, from->taints.n * sizeof(Taint));
    node->conditions = conditions = carve(&at, from->n_conditions * sizeof(Condition));
    node->allocatable.items = carve(&at, from->allocatable.n * sizeof(Resource));
    node->images = images = carve(&at, from->n_images * sizeof(Image));
    node->addresses = addresses = carve(&at, from->n_addresses * sizeof(Address));
    if (from->details) {
        char *text = at + details_size(from->details);

        node->details = carve_details(from->details, &at, &text);
        at = text;
    }
    node->name = carve_text(&at, from->name);
    node->uid = carve_text(&at, from->uid);
    node->resource_version = carve_text(&at, from->resource_version);
    carve_addresses(from, addresses, &at);
    if (!TAKE_TEXTS(pool, from->labels.items, from->labels.n, 2, labels) ||
        !take_annotations(pool, &from->annotations, annotations, &at) ||
        !TAKE_TEXTS(pool, from->taints.items, from->taints.n, 2, taints) ||
        !TAKE_TEXTS(pool, from->conditions, from->n_conditions, 2, conditions) ||
        !TAKE_TEXTS(
            pool, from->allocatable.items, from->allocatable.n, 1, node->allocatable.items) ||
        !take_images(pool, from, images))
        return node_record_unref(node);
    return node;
}

const Node *node_record_ref(const Node *node) {
    ref_take(&node_record_of(node)->ref);
    return node;
}

const Node *node_record_unref(const Node *node) {
    if (!node || !ref_drop(&node_record_of(node)->ref))
        return NULL;
    DROP_TEXTS(node->labels.items, node->labels.n, 2);
    DROP_TEXTS(node->annotations.items, node->annotations.n, 1); /* values are the record's */
    DROP_TEXTS(node->taints.items, node->taints.n, 2);
    DROP_TEXTS(node->conditions, node->n_conditions, 2);
    DROP_TEXTS(node->allocatable.items, node->allocatable.n, 1);
    for (size_t i = 0; i < node->n_images; i++)
        block_drop((void *)(uintptr_t)node->images[i].names);
    free(node_record_of(node));
    return NULL;
}

static bool conditions_equal(const Node *a, const Node *b) {
    if (a->n_conditions != b->n_conditions)
        return false;
    for (size_t i = 0; i < a->n_conditions; i++)
        if (!str_eq(a->conditions[i].type, b->conditions[i].type) ||
            !str_eq(a->conditions[i].status, b->conditions[i].status) ||
            a->conditions[i].changed_at != b->conditions[i].changed_at)
            return false;
    return true;
}

bool node_record_equal(const Node *a, const Node *b) {
    return a == b ||
           (str_eq(a->name, b->name) && str_eq(a->uid, b->uid) && a->created_at == b->created_at &&
               a->is_unschedulable == b->is_unschedulable && a->is_ready == b->is_ready &&
               taints_equal(&a->taints, &b->taints) && conditions_equal(a, b) &&
               labels_equal(&a->labels, &b->labels) &&
               labels_equal(&a->annotations, &b->annotations) &&
               resources_equal(&a->allocatable, &b->allocatable) && node_images_equal(a, b) &&
               node_addresses_equal(a, b) && details_equal(a->details, b->details));
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

static void release_shape(void *block, size_t size) {
    PodShape *shape = block;

    DROP_TEXTS(shape, 1, SHAPE_TEXTS);
    DROP_TEXTS(shape_labels(shape), shape->n_labels, 2);
    DROP_TEXTS(shape_requests(shape), shape->n_requests, 1);
    DROP_TEXTS(shape_tolerations(shape), shape->n_tolerations, 2);
}

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
            release_shape);

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
        kept_details_drop(from->details);
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

const Pod *pod_record_replace(
    RecordPool *pool, const Pod *known, const Pod *from, const PodParts *parts) {
    Pod kept = *from;

    if (!kept_details_take(pool, from->details, parts, &kept.details))
        return NULL;
    if (!known || !pod_record_equal(known, &kept))
        return pod_record_make(pool, &kept);
    kept_details_drop(kept.details);
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
    kept_details_drop(pod->details);
    free(pod_record_of(pod));
    return NULL;
}

bool pod_record_equal(const Pod *a, const Pod *b) {
    return a == b ||
           (str_eq(a->uid, b->uid) && str_eq(a->name, b->name) &&
               str_eq(a->namespace, b->namespace) && str_eq(a->node_name, b->node_name) &&
               str_eq(a->nominated_node_name, b->nominated_node_name) &&
               a->created_at == b->created_at && a->started_at == b->started_at &&
               a->scheduled_at == b->scheduled_at && a->is_terminal == b->is_terminal &&
               a->is_terminating == b->is_terminating && a->is_guessed == b->is_guessed &&
               a->priority == b->priority && str_eq(a->owner_kind, b->owner_kind) &&
               str_eq(a->owner_name, b->owner_name) && str_eq(a->owner_uid, b->owner_uid) &&
               str_eq(a->scheduler_name, b->scheduler_name) &&
               labels_equal(&a->labels, &b->labels) &&
               resources_equal(&a->requests, &b->requests) &&
               tolerations_equal(&a->tolerations, &b->tolerations) &&
               kept_details_equal(a->details, b->details));
}
