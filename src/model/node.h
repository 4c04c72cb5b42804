#pragma once

/*
 * Node: the fields of a Node that policies read.
 *
 * A Node object is 5 to 30 KB, of which we read a few hundred bytes: unread
 * fields are skipped without validation (json/scan.h), read ones are validated.
 * Strings are slices of the input, or in the arena if they had escapes.
 */

#include "model/labels.h"
#include "model/resources.h"
#include "model/taint.h"

/* RFC 1123 subdomain: the API server's rule for names of nodes. */
#define NODE_NAME_MAX 253u

/* Per node; beyond that the rest is left out. */
#define NODE_CONDITIONS_MAX 64u
#define NODE_IMAGES_MAX 256u
#define NODE_IMAGE_NAMES_MAX 16u /* of one image */
#define NODE_ADDRESSES_MAX 16u
#define NODE_POD_CIDRS_MAX 16u
#define NODE_VOLUMES_MAX 512u /* in use, and attached */

typedef struct Condition {
    Str type, status;   /* "MemoryPressure", "False" */
    int64_t changed_at; /* lastTransitionTime; 0: not given, or not read (NodeParts.details) */
} Condition;

typedef struct Image {
    const Str *names; /* as the node lists them: tags and digests */
    size_t n_names;
    int64_t size; /* bytes */
} Image;

typedef enum AddressType {
    ADDRESS_INTERNAL_IP,
    ADDRESS_EXTERNAL_IP,
    ADDRESS_HOSTNAME,
} AddressType;

typedef struct Address {
    AddressType type; /* others are not kept */
    Str text;         /* as in the Node object */
} Address;

typedef struct TextList {
    const Str *items;
    size_t n;
} TextList;

/* Fields that few policies read: a watched cluster keeps them only if one does
 * (kube/cluster-watcher.h). */
typedef struct NodeDetails {
    Str provider_id, architecture, operating_system, os_image, kernel_version;
    Str container_runtime_version, kubelet_version;
    TextList pod_cidrs, volumes_in_use, volumes_attached;
    Resources capacity;
} NodeDetails;

typedef struct Node {
    Str name, uid;
    Str resource_version; /* opaque: only equal or not */
    int64_t created_at;   /* seconds since 1970; 0: not given */
    Labels labels;
    Labels annotations;
    Taints taints;
    bool is_unschedulable; /* spec.unschedulable: cordoned */
    bool is_ready;         /* condition Ready is True */
    const Condition *conditions;
    size_t n_conditions;
    Resources allocatable;
    const Image *images;
    size_t n_images;
    const Address *addresses; /* series of metrics may have one in place of the name */
    size_t n_addresses;
    const NodeDetails *details; /* NULL: none, or not kept */
} Node;

/* The parts of a Node to read, besides the name and whether it is cordoned.
 * Other parts are skipped and left empty. */
typedef struct NodeParts {
    bool all_labels;
    const Str *labels; /* these only, unless all_labels */
    size_t n_labels;
    bool taints, conditions, allocatable;
    bool rest; /* uid, resourceVersion, creation time, annotations, images, addresses */
    bool details;
} NodeParts;

/* All parts except details. */
extern const NodeParts node_parts_but_details;

/* Reads a Node object into a Node, all parts. Errors are the reader's; a missing name is one. */
JsonRead node_decode;

/* The same, of @parts only. Keys of labels are borrowed from @parts. */
void node_decode_parts(JsonReader *reader, Arena *arena, const NodeParts *parts, Node *ret);

/* "InternalIP": as Kubernetes calls it. */
Str address_type_name(AddressType type);

/* Lower-case letters, digits, '-' and '.', beginning and ending with a letter or
 * digit, at most NODE_NAME_MAX bytes. */
bool node_name_is_valid(Str name);
