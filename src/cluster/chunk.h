#pragma once

/*
 * NodeChunk: CHUNK_ROWS rows of a NodeTable, column by column.
 *
 * A table is a list of chunks. Chunks of a snapshot are refcounted and do not change once they are
 * published: a new snapshot shares every unchanged chunk, so the cost of publishing depends on the
 * changes only. Chunks of a request's own table live in its arena and are never counted.
 *
 * A row without a node is all zero: no labels, not ready, offers nothing.
 */

#include "base/ref.h"
#include "model/node.h"
#include "model/pod.h"

#define CHUNK_ROWS 64u /* one bit each in a uint64_t, and small enough to copy for one event */

/* The living pods on one node. Immutable, refcounted like chunks. */
typedef struct PodList {
    Ref ref;
    uint32_t n;
    uint32_t *owners;   /* by pod: a hash of its owner's UID; in the same block */
    const Pod *items[]; /* records (cluster/record.h), one reference each; borrowed in an arena */
} PodList;

/* Three amounts per resource and row. Only free may be negative. */
typedef enum AmountKind {
    AMOUNT_ALLOCATABLE,
    AMOUNT_REQUESTED, /* by the living pods on the node; each takes one of the resource `pods` */
    AMOUNT_FREE,      /* allocatable less requested; below 0 when overcommitted */
    _AMOUNT_KINDS,
} AmountKind;

typedef struct NodeChunk {
    Ref ref;
    uint32_t n_resources;
    uint8_t is_ready[CHUNK_ROWS];         /* condition Ready is True */
    uint8_t is_unschedulable[CHUNK_ROWS]; /* cordoned */
    uint32_t taint_set[CHUNK_ROWS];       /* number of a list of taints; 0 is the empty one */
    uint32_t n_pods[CHUNK_ROWS];
    uint32_t n_without_cpu[CHUNK_ROWS]; /* pods that request no cpu */
    uint32_t n_without_memory[CHUNK_ROWS];
    int64_t placed_at[CHUNK_ROWS];   /* the largest pod_placement_time() of its pods; 0: none */
    const Node *nodes[CHUNK_ROWS];   /* NULL: no node in this row */
    const PodList *pods[CHUNK_ROWS]; /* NULL: none */
    int64_t amounts[];               /* by resource, then AmountKind, then row */
} NodeChunk;

/* Zeroed, with one reference. NULL when out of memory. A chunk in @arena (NULL: on the heap) only
 * borrows its nodes and lists. */
NodeChunk *chunk_new(Arena *arena, uint32_t n_resources);

/* A copy that may be changed; on the heap it has references of its own. @n_resources must not be
 * less than in @chunk; more are zero. @arena and NULL: like chunk_new(). */
NodeChunk *chunk_copy(Arena *arena, const NodeChunk *chunk, uint32_t n_resources);

DEFINE_REF(const NodeChunk, chunk)
const NodeChunk *chunk_unref(const NodeChunk *chunk); /* takes NULL, returns NULL */

/* The offset of the amounts of one resource and kind, in entries; add the row's slot. */
#define CHUNK_AMOUNT(resource, kind) (((size_t)(resource)*_AMOUNT_KINDS + (kind)) * CHUNK_ROWS)

static inline int64_t *chunk_amounts(NodeChunk *chunk, size_t resource, AmountKind kind) {
    return chunk->amounts + CHUNK_AMOUNT(resource, kind);
}

/* Sets the columns of @slot from its node and its pods; @resources are the names of the chunk's
 * columns of amounts. Resources without a column are not counted. */
void chunk_set_columns(NodeChunk *chunk, size_t slot, const Str *resources);

/* Sets only the columns of @slot that depend on its list of pods: numbers of pods, the time of the
 * last placement, requested and free amounts. Always computes sums from scratch: a saturated sum
 * cannot be decremented. */
void chunk_count_pods(NodeChunk *chunk, size_t slot, const Str *resources);

/* A list of @pods (records, of which it takes references), with one reference. NULL when out of
 * memory. */
const PodList *pod_list_new(const Pod *const *pods, uint32_t n);
DEFINE_REF(const PodList, pod_list)
const PodList *pod_list_unref(const PodList *list); /* takes NULL, returns NULL */

/* A copy of @list (may be NULL) in @arena, not counted, pods borrowed: plus @add or, if that is
 * NULL, without the pod with UID @remove. NULL: an empty list, or the arena has failed. */
const PodList *pod_list_change(const PodList *list, const Pod *add, Str remove, Arena *arena);

/* How many pods of @list (may be NULL) have this owner. Compares hashes first, to read few pods. */
uint32_t pod_list_count_owned(const PodList *list, Str owner_uid);
