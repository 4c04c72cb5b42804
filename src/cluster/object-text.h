#pragma once

/*
 * ObjectText: objects as the JSON that node_decode(), pod_decode() and the like read.
 *
 * Writes the kept fields, and the substitutes that cluster/dump.h lists. The spec of a pod with
 * details has the fields that policies read. While a pod is resized, its allocated amounts are
 * written as one sum.
 */

#include "model/node.h"
#include "model/pod.h"
#include "json/write.h"

/* Replaces objects while they are written, to anonymize a cluster. Results live until the
 * next call of the same function at least; NULL (a NULL pointer): out of memory. */
typedef struct ObjectMask {
    void *context;
    const Node *(*node)(void *context, const Node *node);
    const Pod *(*pod)(void *context, const Pod *pod);
    Str (*name)(void *context, Str name); /* of a node or a pod, a namespace, a UID */
} ObjectMask;

void object_write_node(JsonWriter *writer, const Node *node);
void object_write_namespace(JsonWriter *writer, const Namespace *namespace);
void object_write_volume(JsonWriter *writer, const PersistentVolume *volume);

/* @with_volume: also writes a field "volume", as only recorded claims have it. */
void object_write_claim(JsonWriter *writer, const VolumeClaim *claim, bool with_volume);

/* Writes member @key with @n elements of @type (cluster/object-fields.h): labels and amounts as an
 * object, others as an array. Writes nothing if there are none. */
typedef struct ObjectType ObjectType;
void object_write_items(
    JsonWriter *writer, const char *key, const ObjectType *type, const void *items, size_t n);

/* @node: where it counts, which need not be its nodeName; empty: nowhere. */
void object_write_pod(JsonWriter *writer, const Pod *pod, Str node);
