#pragma once

/*
 * Records: nodes and pods as a cluster keeps them.
 *
 * A record is an immutable, refcounted copy of the kept fields of an object. Tables and snapshots
 * share records; an event makes a new one, and the old one is freed with the last snapshot that has
 * it.
 *
 * Many objects have equal parts: the pods of one ReplicaSet differ only in name, UID and node;
 * nodes list the same images, labels and resources. Records made with one RecordPool share such
 * parts.
 *
 * Threads: reference and read records from any; make them on the pool's thread.
 */

#include "model/node.h"
#include "model/pod-parts.h"
#include "model/pod.h"

typedef struct RecordPool RecordPool; /* cluster/record-pool.h */

/* A copy of the kept fields; of a pod's details (model/pod-details.h) only those of @parts. @pool
 * NULL: the record shares nothing. NULL when out of memory. */
const Node *node_record_new(RecordPool *pool, const Node *node);
const Pod *pod_record_new(RecordPool *pool, const Pod *pod, const PodParts *parts);

/* Like pod_record_new(), but a reference to @known (may be NULL) if the copy would be equal. */
const Pod *pod_record_replace(
    RecordPool *pool, const Pod *known, const Pod *pod, const PodParts *parts);

/* @node and @pod must come from the functions above. */
const Node *node_record_ref(const Node *node);
const Node *node_record_unref(const Node *node); /* takes NULL, returns NULL */
const Pod *pod_record_ref(const Pod *pod);
const Pod *pod_record_unref(const Pod *pod); /* takes NULL, returns NULL */
DEFINE_CLEANUP(const Node *, node_record_unref)
DEFINE_CLEANUP(const Pod *, pod_record_unref)

/* Whether all kept fields are equal, except resourceVersion, which every heartbeat changes. An
 * event that changes nothing must not cost a snapshot. Fields that no rule reads (annotations,
 * images, conditions but Ready, times) count too: a snapshot has them. */
bool node_record_equal(const Node *a, const Node *b);
bool pod_record_equal(const Pod *a, const Pod *b);
