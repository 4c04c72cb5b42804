#pragma once

/*
 * Records: nodes and pods as a cluster keeps them.
 *
 * A record is one immutable, refcounted copy of what is kept of an object. Tables
 * and snapshots share records; an event makes a new one, and the old one goes with
 * the last snapshot that shows it.
 *
 * Much is the same for many objects: the pods of one ReplicaSet differ in name, UID
 * and node only, nodes list the same images, labels and resources. A Pool keeps such
 * parts once. Parts are refcounted too: the pool holds one reference, records the
 * others, so a record may be dropped on any thread and pool_sweep() later finds the
 * parts that only the pool still holds.
 *
 * Threads: reference and read records from any; a pool belongs to one.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "model/node.h"
#include "model/pod.h"

typedef struct Pool Pool;

Pool *pool_new(void);        /* NULL when out of memory */
Pool *pool_free(Pool *pool); /* records made with it may outlive it. Takes NULL */
DEFINE_CLEANUP(Pool *, pool_free)

/* Frees the parts that no record uses any more. Costs a walk over all parts: for when
 * many have come since the last time. Returns how many were freed. */
size_t pool_sweep(Pool *pool);
size_t pool_size(const Pool *pool); /* parts in it */

/* A copy of what is kept (of a pod all but its details). @pool NULL: the record shares nothing.
 * NULL when out of memory. */
const Node *node_record_new(Pool *pool, const Node *node);
const Pod *pod_record_new(Pool *pool, const Pod *pod);

/* @node and @pod must come from the functions above. */
const Node *node_record_ref(const Node *node);
const Node *node_record_unref(const Node *node); /* takes NULL, returns NULL */
const Pod *pod_record_ref(const Pod *pod);
const Pod *pod_record_unref(const Pod *pod); /* takes NULL, returns NULL */
DEFINE_CLEANUP(const Node *, node_record_unref)
DEFINE_CLEANUP(const Pod *, pod_record_unref)

/* Whether the two say the same: all that is kept, but for resourceVersion, which every
 * heartbeat changes. An event that changes nothing must not cost a snapshot. What no rule
 * reads (annotations, images, conditions but Ready, times) counts too: a snapshot shows it. */
bool node_record_equal(const Node *a, const Node *b);
bool pod_record_equal(const Pod *a, const Pod *b);
