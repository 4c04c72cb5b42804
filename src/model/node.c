/* Decodes Nodes: the fields that policies read. */

#include "model/node.h"

#include "base/ascii.h"
#include "model/time.h"

/* The parts of NodeParts as bits for JsonField.part. */
enum {
    PART_TAINTS = 1,
    PART_CONDITIONS = 2,
    PART_ALLOCATABLE = 4,
    PART_REST = 8,
    PART_DETAILS = 16,
};

/* The parts to decode, and their destination. */
typedef struct Decoding {
    Node node;
    NodeDetails details;
    const NodeParts *parts;
    unsigned bits; /* @parts as PART_ bits */
} Decoding;

/* Skips fields that are not in the table, or not in @bits, without validation. */
#define READ_PARTS(reader, arena, fields, bits, target)                                            \
    json_read_parts((reader), (arena), (fields), ELEMENTS_OF(fields), (bits), (target))

/* A row for a TextList of the details. */
#define TEXTS(path_, list, max_, read_)                                                            \
    JSON_LIST(                                                                                     \
        path_, Decoding, details.list.items, details.list.n, max_, read_, .part = PART_DETAILS)

static void decode_labels(JsonReader *reader, Arena *arena, void *target) {
    Decoding *decoding = target;
    const NodeParts *parts = decoding->parts;

    if (parts->all_labels)
        labels_decode(reader, arena, &decoding->node.labels);
    else if (parts->n_labels > 0)
        labels_decode_some(reader, arena, parts->labels, parts->n_labels, &decoding->node.labels);
    else
        json_skip_fast(reader, NULL);
}

static void decode_metadata(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("name", TEXT, Decoding, node.name),
        {JSON_NAME("labels"), JSON_FIELD_CUSTOM, 0, decode_labels},
        JSON_MEMBER("uid", TEXT, Decoding, node.uid, .part = PART_REST),
        JSON_MEMBER("resourceVersion", TEXT, Decoding, node.resource_version, .part = PART_REST),
        JSON_CUSTOM("creationTimestamp", Decoding, node.created_at, time_decode, .part = PART_REST),
        JSON_CUSTOM(
            "annotations", Decoding, node.annotations, annotations_decode, .part = PART_REST),
    };

    READ_PARTS(reader, arena, fields, ((Decoding *)target)->bits, target);
}

static void decode_spec(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_CUSTOM("taints", Decoding, node.taints, taints_decode, .part = PART_TAINTS),
        JSON_MEMBER("unschedulable", BOOL, Decoding, node.is_unschedulable),
        JSON_MEMBER("providerID", TEXT, Decoding, details.provider_id, .part = PART_DETAILS),
        TEXTS("podCIDRs", pod_cidrs, NODE_POD_CIDRS_MAX, json_read_text),
    };

    READ_PARTS(reader, arena, fields, ((Decoding *)target)->bits, target);
}

/* Readiness is found anywhere in the list, also after the last kept condition. */
static void decode_conditions(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("type", TEXT, Condition, type),
        JSON_MEMBER("status", TEXT, Condition, status),
        JSON_CUSTOM("lastTransitionTime", Condition, changed_at, time_decode, .part = PART_DETAILS),
    };
    Decoding *decoding = target;
    VEC(Condition) kept = {0};

    decoding->node.is_ready = false;
    json_array(reader);
    while (json_element(reader)) {
        Condition condition = {0};

        READ_PARTS(reader, arena, fields, decoding->bits, &condition);
        if (str_eq(condition.type, STR("Ready")))
            decoding->node.is_ready = str_eq(condition.status, STR("True"));
        if (!str_is_empty(condition.type) && kept.n < NODE_CONDITIONS_MAX)
            JSON_ADD(reader, arena, &kept, "too many conditions", condition);
    }
    decoding->node.conditions = kept.items;
    decoding->node.n_conditions = kept.n;
}

static void decode_image(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_LIST("names", Image, names, n_names, NODE_IMAGE_NAMES_MAX, json_read_text),
        JSON_MEMBER("sizeBytes", COUNT, Image, size),
    };

    READ_PARTS(reader, arena, fields, 0, target);
}

static const Str address_types[] = {
    [ADDRESS_INTERNAL_IP] = STR("InternalIP"),
    [ADDRESS_EXTERNAL_IP] = STR("ExternalIP"),
    [ADDRESS_HOSTNAME] = STR("Hostname"),
};

typedef struct WrittenAddress {
    Str type, text;
} WrittenAddress;

/* Reads the addresses of types that are kept. */
static void decode_addresses(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("address", TEXT, WrittenAddress, text),
        JSON_MEMBER("type", TEXT, WrittenAddress, type),
    };
    Decoding *decoding = target;
    VEC(Address) kept = {0};

    json_array(reader);
    while (json_element(reader)) {
        WrittenAddress written = {0};
        size_t type;

        READ_PARTS(reader, arena, fields, 0, &written);
        type = str_index(written.type, address_types, ELEMENTS_OF(address_types));
        if (!str_is_empty(written.text) && type < ELEMENTS_OF(address_types) &&
            kept.n < NODE_ADDRESSES_MAX)
            JSON_ADD(reader, arena, &kept, "too many addresses",
                (Address){(AddressType)type, written.text});
    }
    decoding->node.addresses = kept.items;
    decoding->node.n_addresses = kept.n;
}

static void decode_info(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("architecture", TEXT, NodeDetails, architecture),
        JSON_MEMBER("operatingSystem", TEXT, NodeDetails, operating_system),
        JSON_MEMBER("osImage", TEXT, NodeDetails, os_image),
        JSON_MEMBER("kernelVersion", TEXT, NodeDetails, kernel_version),
        JSON_MEMBER("containerRuntimeVersion", TEXT, NodeDetails, container_runtime_version),
        JSON_MEMBER("kubeletVersion", TEXT, NodeDetails, kubelet_version),
    };

    READ_PARTS(reader, arena, fields, 0, target);
}

static void decode_status(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_CUSTOM("capacity", Decoding, details.capacity, resources_decode, .part = PART_DETAILS),
        JSON_CUSTOM(
            "allocatable", Decoding, node.allocatable, resources_decode, .part = PART_ALLOCATABLE),
        {JSON_NAME("conditions"), JSON_FIELD_CUSTOM, 0, decode_conditions, .part = PART_CONDITIONS},
        {JSON_NAME("addresses"), JSON_FIELD_CUSTOM, 0, decode_addresses, .part = PART_REST},
        JSON_CUSTOM("nodeInfo", Decoding, details, decode_info, .part = PART_DETAILS),
        JSON_LIST("images", Decoding, node.images, node.n_images, NODE_IMAGES_MAX, decode_image,
            .part = PART_REST),
        TEXTS("volumesInUse", volumes_in_use, NODE_VOLUMES_MAX, json_read_text),
        TEXTS("volumesAttached", volumes_attached, NODE_VOLUMES_MAX, json_read_name_of),
    };

    READ_PARTS(reader, arena, fields, ((Decoding *)target)->bits, target);
}

const NodeParts node_parts_but_details = {
    .all_labels = true, .taints = true, .conditions = true, .allocatable = true, .rest = true};

void node_decode(JsonReader *reader, Arena *arena, void *target) {
    NodeParts everything = node_parts_but_details;

    everything.details = true;
    node_decode_parts(reader, arena, &everything, target);
}

static bool is_empty(const NodeDetails *of) {
    return of->provider_id.len + of->architecture.len + of->operating_system.len +
               of->os_image.len + of->kernel_version.len + of->container_runtime_version.len +
               of->kubelet_version.len + of->pod_cidrs.n + of->volumes_in_use.n +
               of->volumes_attached.n + of->capacity.n ==
           0;
}

void node_decode_parts(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *ret) {
    static const JsonField fields[] = {
        {JSON_NAME("metadata"), JSON_FIELD_CUSTOM, 0, decode_metadata},
        {JSON_NAME("spec"), JSON_FIELD_CUSTOM, 0, decode_spec},
        {JSON_NAME("status"), JSON_FIELD_CUSTOM, 0, decode_status},
    };
    Decoding decoding = {
        .parts = parts,
        .bits = (parts->taints ? PART_TAINTS : 0u) | (parts->conditions ? PART_CONDITIONS : 0u) |
                (parts->allocatable ? PART_ALLOCATABLE : 0u) | (parts->rest ? PART_REST : 0u) |
                (parts->details ? PART_DETAILS : 0u),
    };

    READ_PARTS(reader, arena, fields, 0, &decoding);
    *ret = decoding.node;
    if (!is_empty(&decoding.details)) {
        NodeDetails *details = ARENA_RAW(arena, NodeDetails, 1);

        if (details)
            *details = decoding.details;
        else
            json_fail(reader, JSON_E_MEMORY, "a node");
        ret->details = details;
    }
    if (!json_error(reader) && str_is_empty(ret->name))
        json_fail(reader, JSON_E_TYPE, "a Node without a name");
}

Str address_type_name(AddressType type) {
    return address_types[type];
}

static bool is_alphanumeric(char c) {
    return ascii_is_lower(c) || ascii_is_digit(c);
}

/* The loop has no branch, so that the compiler can make vector code. */
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
