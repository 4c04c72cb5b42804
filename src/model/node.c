/* Decodes Nodes: the fields that policies read. */

#include "model/node.h"

#include "base/vec.h"
#include "model/time.h"

/* Gathered on the stack first, like labels; hardly any node has more. */
#define CONDITIONS_NEAR 12u

typedef VEC(Condition) ConditionVec;
typedef VEC(Image) ImageVec;

static void decode_labels(JsonReader *reader, Arena *arena, const NodeParts *parts, Labels *ret) {
    if (parts->all_labels)
        labels_decode(reader, arena, ret);
    else if (parts->n_labels > 0)
        labels_decode_some(reader, arena, parts->labels, parts->n_labels, ret);
    else
        json_skip_fast(reader, NULL);
}

/* Identity and annotations. False when @key is none of these. */
static bool decode_identity(JsonReader *reader, Arena *arena, Str key, Node *node) {
    if (json_key_is(reader, key, STR("uid")))
        json_string(reader, arena, &node->uid);
    else if (json_key_is(reader, key, STR("resourceVersion")))
        json_string(reader, arena, &node->resource_version);
    else if (json_key_is(reader, key, STR("creationTimestamp")))
        time_decode(reader, arena, &node->created_at);
    else if (json_key_is(reader, key, STR("annotations")))
        labels_decode_bounded(
            reader, arena, NODE_ANNOTATIONS_MAX, NODE_ANNOTATION_VALUE_MAX, &node->annotations);
    else
        return false;
    return true;
}

static void decode_metadata(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *node) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &node->name);
        else if (json_key_is(reader, key, STR("labels")))
            decode_labels(reader, arena, parts, &node->labels);
        else if (!parts->rest || !decode_identity(reader, arena, key, node))
            json_skip_fast(reader, NULL);
    }
}

/* --- details ------------------------------------------------------------------------------- */

typedef VEC(Str) TextVec;

/* A list of texts; with @member, of objects that have it. Beyond @max the rest is left out. */
static void decode_texts(
    JsonReader *reader, Arena *arena, const char *member, size_t max, TextList *ret) {
    TextVec texts = {0};

    json_array(reader);
    while (json_element(reader)) {
        Str *text = texts.n < max ? VEC_PUSH(&texts, arena) : NULL;

        if (!text && texts.n == max) {
            json_skip_fast(reader, NULL);
            continue;
        }
        if (!text) {
            json_fail(reader, JSON_E_MEMORY, "a node with too much in it");
            continue;
        }
        *text = STR_NULL;
        if (member)
            json_string_member(reader, arena, str_from_c(member), text);
        else
            json_string(reader, arena, text);
    }
    *ret = (TextList){.items = texts.items, .n = texts.n};
}

static void decode_info(JsonReader *reader, Arena *arena, NodeDetails *details) {
    const struct {
        Str key;
        Str *text;
    } fields[] = {
        {STR("architecture"), &details->architecture},
        {STR("operatingSystem"), &details->operating_system},
        {STR("osImage"), &details->os_image},
        {STR("kernelVersion"), &details->kernel_version},
        {STR("containerRuntimeVersion"), &details->container_runtime_version},
        {STR("kubeletVersion"), &details->kubelet_version},
    };
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        size_t i = 0;

        while (i < ELEMENTS_OF(fields) && !json_key_is(reader, key, fields[i].key))
            i++;
        if (i < ELEMENTS_OF(fields))
            json_string(reader, arena, fields[i].text);
        else
            json_skip_fast(reader, NULL);
    }
}

static bool is_empty(const NodeDetails *of) {
    return of->provider_id.len + of->architecture.len + of->operating_system.len +
               of->os_image.len + of->kernel_version.len + of->container_runtime_version.len +
               of->kubelet_version.len + of->pod_cidrs.n + of->volumes_in_use.n +
               of->volumes_attached.n + of->capacity.n ==
           0;
}

/* The value of @key of the spec or the status. False when it is none of the details. */
static bool decode_detail(JsonReader *reader, Arena *arena, Str key, NodeDetails *details) {
    if (json_key_is(reader, key, STR("providerID")))
        json_string(reader, arena, &details->provider_id);
    else if (json_key_is(reader, key, STR("podCIDRs")))
        decode_texts(reader, arena, NULL, NODE_POD_CIDRS_MAX, &details->pod_cidrs);
    else if (json_key_is(reader, key, STR("capacity")))
        resources_decode(reader, arena, &details->capacity);
    else if (json_key_is(reader, key, STR("nodeInfo")))
        decode_info(reader, arena, details);
    else if (json_key_is(reader, key, STR("volumesInUse")))
        decode_texts(reader, arena, NULL, NODE_VOLUMES_MAX, &details->volumes_in_use);
    else if (json_key_is(reader, key, STR("volumesAttached")))
        decode_texts(reader, arena, "name", NODE_VOLUMES_MAX, &details->volumes_attached);
    else
        return false;
    return true;
}

/* --- spec and status ----------------------------------------------------------------------- */

/* The parts to decode, and their destination. */
typedef struct Decoding {
    const NodeParts *parts;
    Node *node;
    NodeDetails *details; /* NULL: not wanted */
} Decoding;

static void decode_spec(JsonReader *reader, Arena *arena, const Decoding *decoding) {
    const NodeParts *parts = decoding->parts;
    Node *node = decoding->node;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (parts->taints && json_key_is(reader, key, STR("taints")))
            taints_decode(reader, arena, &node->taints);
        else if (json_key_is(reader, key, STR("unschedulable")))
            json_bool(reader, &node->is_unschedulable);
        else if (!decoding->details || !decode_detail(reader, arena, key, decoding->details))
            json_skip_fast(reader, NULL);
    }
}

/* Moves the collected items from the stack to their array. */
static void *settle(JsonReader *reader, Arena *arena, const void *near, size_t size) {
    void *kept = arena_alloc(arena, size);

    if (kept)
        memcpy(kept, near, size);
    else
        json_fail(reader, JSON_E_MEMORY, "a node with too much in it");
    return kept;
}

static void decode_condition(JsonReader *reader, Arena *arena, bool has_times, Condition *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("type")))
            json_string(reader, arena, &ret->type);
        else if (json_key_is(reader, key, STR("status")))
            json_string(reader, arena, &ret->status);
        else if (has_times && json_key_is(reader, key, STR("lastTransitionTime")))
            time_decode(reader, arena, &ret->changed_at);
        else
            json_skip_fast(reader, NULL);
    }
}

/* Readiness is found anywhere in the list, also after the last kept condition. */
static void decode_conditions(JsonReader *reader, Arena *arena, bool has_times, Node *node) {
    Condition near[CONDITIONS_NEAR];
    ConditionVec kept = {.items = near, .size = CONDITIONS_NEAR};

    node->is_ready = false;
    json_array(reader);
    while (json_element(reader)) {
        Condition condition = {0}, *room;

        decode_condition(reader, arena, has_times, &condition);
        if (str_eq(condition.type, STR("Ready")))
            node->is_ready = str_eq(condition.status, STR("True"));
        if (str_is_empty(condition.type) || kept.n >= NODE_CONDITIONS_MAX)
            continue;
        room = VEC_PUSH(&kept, arena);
        if (room)
            *room = condition;
        else
            json_fail(reader, JSON_E_MEMORY, "too many conditions");
    }
    node->conditions = settle(reader, arena, kept.items, kept.n * sizeof(*kept.items));
    node->n_conditions = node->conditions ? kept.n : 0;
}

static void decode_image_names(JsonReader *reader, Arena *arena, Image *image) {
    Str near[NODE_IMAGE_NAMES_MAX];
    size_t n = 0;

    json_array(reader);
    while (json_element(reader)) {
        if (n == NODE_IMAGE_NAMES_MAX) {
            json_skip_fast(reader, NULL);
            continue;
        }
        near[n] = STR_NULL;
        json_string(reader, arena, &near[n++]);
    }
    image->names = settle(reader, arena, near, n * sizeof(*near));
    image->n_names = image->names ? n : 0;
}

static void decode_image(JsonReader *reader, Arena *arena, Image *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("names")))
            decode_image_names(reader, arena, ret);
        else if (json_key_is(reader, key, STR("sizeBytes")))
            json_int64(reader, &ret->size);
        else
            json_skip_fast(reader, NULL);
    }
    if (ret->size < 0)
        ret->size = 0;
}

static void decode_images(JsonReader *reader, Arena *arena, Node *node) {
    ImageVec images = {0};

    json_array(reader);
    while (json_element(reader)) {
        Image *image = images.n < NODE_IMAGES_MAX ? VEC_PUSH(&images, arena) : NULL;

        if (image)
            decode_image(reader, arena, image);
        else if (images.n == NODE_IMAGES_MAX)
            json_skip_fast(reader, NULL);
        else
            json_fail(reader, JSON_E_MEMORY, "too many images");
    }
    node->images = images.items;
    node->n_images = images.n;
}

static const Str address_types[] = {
    [ADDRESS_INTERNAL_IP] = STR("InternalIP"),
    [ADDRESS_EXTERNAL_IP] = STR("ExternalIP"),
    [ADDRESS_HOSTNAME] = STR("Hostname"),
};

/* False: of a type that is not kept. */
static bool address_type(Str text, AddressType *ret) {
    size_t i = str_index(text, address_types, ELEMENTS_OF(address_types));

    *ret = (AddressType)i;
    return i < ELEMENTS_OF(address_types);
}

/* False: it is not kept. */
static bool decode_address(JsonReader *reader, Arena *arena, Address *ret) {
    Str type = STR_NULL, key;

    *ret = (Address){0};
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("type")))
            json_string(reader, arena, &type);
        else if (json_key_is(reader, key, STR("address")))
            json_string(reader, arena, &ret->text);
        else
            json_skip_fast(reader, NULL);
    }
    return !str_is_empty(ret->text) && address_type(type, &ret->type);
}

static void decode_addresses(JsonReader *reader, Arena *arena, Node *node) {
    Address near[NODE_ADDRESSES_MAX], address;
    size_t n = 0;

    json_array(reader);
    while (json_element(reader)) {
        if (n == NODE_ADDRESSES_MAX)
            json_skip_fast(reader, NULL);
        else if (decode_address(reader, arena, &address))
            near[n++] = address;
    }
    node->addresses = settle(reader, arena, near, n * sizeof(*near));
    node->n_addresses = node->addresses ? n : 0;
}

static void decode_status(JsonReader *reader, Arena *arena, const Decoding *decoding) {
    const NodeParts *parts = decoding->parts;
    Node *node = decoding->node;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (parts->allocatable && json_key_is(reader, key, STR("allocatable")))
            resources_decode(reader, arena, &node->allocatable);
        else if (parts->conditions && json_key_is(reader, key, STR("conditions")))
            decode_conditions(reader, arena, parts->details, node);
        else if (parts->rest && json_key_is(reader, key, STR("images")))
            decode_images(reader, arena, node);
        else if (parts->rest && json_key_is(reader, key, STR("addresses")))
            decode_addresses(reader, arena, node);
        else if (!decoding->details || !decode_detail(reader, arena, key, decoding->details))
            json_skip_fast(reader, NULL);
    }
}

const NodeParts node_parts_but_details = {
    .all_labels = true, .taints = true, .conditions = true, .allocatable = true, .rest = true};

void node_decode(JsonReader *reader, Arena *arena, Node *ret) {
    NodeParts everything = node_parts_but_details;

    everything.details = true;
    node_decode_parts(reader, arena, &everything, ret);
}

void node_decode_parts(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *ret) {
    NodeDetails *details = parts->details ? ARENA_NEW(arena, NodeDetails) : NULL;
    const Decoding decoding = {.parts = parts, .node = ret, .details = details};
    Str key;

    *ret = (Node){.details = details};
    if (parts->details && !details)
        json_fail(reader, JSON_E_MEMORY, "a node");
    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("metadata")))
            decode_metadata(reader, arena, parts, ret);
        else if (json_key_is(reader, key, STR("spec")))
            decode_spec(reader, arena, &decoding);
        else if (json_key_is(reader, key, STR("status")))
            decode_status(reader, arena, &decoding);
        else
            json_skip_fast(reader, NULL);
    }
    if (details && is_empty(details))
        ret->details = NULL;
    if (!json_error(reader) && str_is_empty(ret->name))
        json_fail(reader, JSON_E_TYPE, "a Node without a name");
}

static bool image_equal(const Image *a, const Image *b) {
    if (a->size != b->size || a->n_names != b->n_names)
        return false;
    for (size_t i = 0; a->names != b->names && i < a->n_names; i++)
        if (!str_eq(a->names[i], b->names[i]))
            return false;
    return true;
}

bool node_images_equal(const Node *a, const Node *b) {
    if (a->n_images != b->n_images)
        return false;
    for (size_t i = 0; i < a->n_images; i++)
        if (!image_equal(&a->images[i], &b->images[i]))
            return false;
    return true;
}

bool node_addresses_equal(const Node *a, const Node *b) {
    if (a->n_addresses != b->n_addresses)
        return false;
    for (size_t i = 0; i < a->n_addresses; i++)
        if (a->addresses[i].type != b->addresses[i].type ||
            !str_eq(a->addresses[i].text, b->addresses[i].text))
            return false;
    return true;
}

Str address_type_name(AddressType type) {
    return address_types[type];
}

static bool is_alphanumeric(char c) {
    return (unsigned char)(c - 'a') < 26 || (unsigned char)(c - '0') < 10;
}

/* No branch inside the loop: it becomes vector code. */
bool node_name_is_valid(Str name) {
    bool ok = true;

    if (name.len == 0 || name.len > NODE_NAME_MAX || !is_alphanumeric(name.ptr[0]) ||
        !is_alphanumeric(name.ptr[name.len - 1]))
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];

        ok &= ((unsigned char)(c - 'a') < 26) | ((unsigned char)(c - '0') < 10) | (c == '-') |
              (c == '.');
    }
    return ok;
}
