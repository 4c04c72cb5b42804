/* Anonymized copies of nodes and pods. */

#include "bundle/anonymous-internal.h"

/* A copy of @n elements that may be changed. NULL when out of memory. */
#define COPY(a, type, items, n) ((type *)copy_array((a), (items), (n), sizeof(type)))

static void *copy_array(Anonymous *a, const void *items, size_t n, size_t size) {
    void *copy = arena_zalloc(a->object, n, size);

    if (copy && n > 0)
        memcpy(copy, items, n * size);
    return copy;
}

typedef Str Show(Anonymous *anonymous, Str text);

/* False: out of memory. */
static bool show(Anonymous *a, Str *text, Show *how) {
    size_t len = text->len;

    *text = how(a, *text);
    return text->ptr || len == 0;
}

static bool show_labels(Anonymous *a, Labels *labels, Show *value) {
    Label *items = COPY(a, Label, labels->items, labels->n);

    for (size_t i = 0; items && i < labels->n; i++)
        if (!show(a, &items[i].key, anonymous_key) || !show(a, &items[i].value, value))
            return false;
    labels->items = items;
    return items;
}

static bool show_resources(Anonymous *a, Resources *resources) {
    Resource *items = COPY(a, Resource, resources->items, resources->n);

    for (size_t i = 0; items && i < resources->n; i++)
        if (!show(a, &items[i].name, anonymous_key))
            return false;
    resources->items = items;
    return items;
}

static bool show_taints(Anonymous *a, Taints *taints) {
    Taint *items = COPY(a, Taint, taints->items, taints->n);

    for (size_t i = 0; items && i < taints->n; i++)
        if (!show(a, &items[i].key, anonymous_key) || !show(a, &items[i].value, anonymous_name))
            return false;
    taints->items = items;
    return items;
}

static bool show_tolerations(Anonymous *a, Tolerations *tolerations) {
    Toleration *items = COPY(a, Toleration, tolerations->items, tolerations->n);

    for (size_t i = 0; items && i < tolerations->n; i++)
        if (!show(a, &items[i].key, anonymous_key) || !show(a, &items[i].value, anonymous_name))
            return false;
    tolerations->items = items;
    return items;
}

/* --- nodes ------------------------------------------------------------------------------- */

static Str condition_type(Anonymous *a, Str type) {
    static const char *const types[] = {
        "Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", NULL};

    return anonymous_is_listed(type, types) ? type : anonymous_name(a, type);
}

static bool show_conditions(Anonymous *a, Node *node) {
    Condition *items = COPY(a, Condition, node->conditions, node->n_conditions);

    for (size_t i = 0; items && i < node->n_conditions; i++)
        if (!show(a, &items[i].type, condition_type) || !show(a, &items[i].status, anonymous_name))
            return false;
    node->conditions = items;
    return items;
}

static bool show_images(Anonymous *a, Node *node) {
    Image *items = COPY(a, Image, node->images, node->n_images);

    for (size_t i = 0; items && i < node->n_images; i++) {
        Str *names = COPY(a, Str, items[i].names, items[i].n_names);

        for (size_t j = 0; names && j < items[i].n_names; j++)
            if (!show(a, &names[j], anonymous_image))
                return false;
        if (!names)
            return false;
        items[i].names = names;
    }
    node->images = items;
    return items;
}

static bool show_addresses(Anonymous *a, Node *node) {
    Address *items = COPY(a, Address, node->addresses, node->n_addresses);

    for (size_t i = 0; items && i < node->n_addresses; i++)
        if (!show(a, &items[i].text, anonymous_name))
            return false;
    node->addresses = items;
    return items;
}

const Node *anonymous_node(Anonymous *a, const Node *node) {
    Node *shown;

    arena_reset(a->object);
    shown = COPY(a, Node, node, 1);
    if (!shown || !show(a, &shown->name, anonymous_name) || !show(a, &shown->uid, anonymous_name) ||
        !show_labels(a, &shown->labels, anonymous_name) ||
        !show_labels(a, &shown->annotations, anonymous_text) || !show_taints(a, &shown->taints) ||
        !show_conditions(a, shown) || !show_resources(a, &shown->allocatable) ||
        !show_images(a, shown) || !show_addresses(a, shown))
        return NULL;
    return shown;
}

/* --- pods -------------------------------------------------------------------------------- */

static bool show_containers(Anonymous *a, const PodContainer **containers, size_t n) {
    PodContainer *items = COPY(a, PodContainer, *containers, n);

    for (size_t i = 0; items && i < n; i++)
        if (!show(a, &items[i].name, anonymous_name) || !show(a, &items[i].image, anonymous_image))
            return false;
    *containers = items;
    return items;
}

static bool show_details(Anonymous *a, Pod *pod) {
    PodDetails *details;

    if (!pod->details)
        return true;
    details = COPY(a, PodDetails, pod->details, 1);
    pod->details = details;
    return details && show_labels(a, &details->annotations, anonymous_text) &&
           show_labels(a, &details->node_selector, anonymous_name) &&
           show_containers(a, &details->containers, details->n_containers) &&
           show_containers(a, &details->init_containers, details->n_init_containers);
}

static Str scheduler_name(Anonymous *a, Str name) {
    return str_is(name, "default-scheduler") ? name : anonymous_name(a, name);
}

static bool show_owner(Anonymous *a, const Pod *pod, Pod *shown) {
    shown->owner_name = anonymous_owner(a, pod);
    return (shown->owner_name.ptr || pod->owner_name.len == 0) &&
           show(a, &shown->owner_kind, anonymous_kind) &&
           show(a, &shown->owner_uid, anonymous_name);
}

const Pod *anonymous_pod(Anonymous *a, const Pod *pod) {
    Pod *shown;

    arena_reset(a->object);
    shown = COPY(a, Pod, pod, 1);
    if (!shown || !show(a, &shown->name, anonymous_name) ||
        !show(a, &shown->namespace, anonymous_name) || !show(a, &shown->uid, anonymous_name) ||
        !show(a, &shown->node_name, anonymous_name) ||
        !show(a, &shown->nominated_node_name, anonymous_name) ||
        !show(a, &shown->scheduler_name, scheduler_name) || !show_owner(a, pod, shown) ||
        !show_labels(a, &shown->labels, anonymous_name) || !show_resources(a, &shown->requests) ||
        !show_tolerations(a, &shown->tolerations) || !show_details(a, shown))
        return NULL;
    return shown;
}

/* --- for writers ------------------------------------------------------------------------- */

static const Node *mask_node(void *context, const Node *node) {
    return anonymous_node(context, node);
}

static const Pod *mask_pod(void *context, const Pod *pod) {
    return anonymous_pod(context, pod);
}

static Str mask_name(void *context, Str name) {
    return anonymous_name(context, name);
}

ObjectMask anonymous_mask(Anonymous *a) {
    return (ObjectMask){.context = a, .node = mask_node, .pod = mask_pod, .name = mask_name};
}
