#pragma once

/*
 * Delta: the changes between two snapshots, as text, and back.
 *
 * Snapshots of one store share unchanged chunks; only chunks that differ are compared. The text is
 * members of a JSON object:
 *
 *   "forgotten":    ["UID", …]              pods that are no longer assumed
 *   "removedPods":  [["NAMESPACE","NAME"], …]
 *   "removedNodes": ["NAME", …]
 *   "nodes":        [{"row":3,"node":{…}}, …]   new, or changed: then without a row
 *   "pods":         [{"pod":{…}}, {"assumed":true,"guessed":true,"pod":{…}}, …]
 *
 * in the order in which to apply them. Rows, and the order of pods on a node, are restored
 * exactly, because sums of doubles depend on the order.
 *
 * The first snapshot is a dump (cluster/dump.h), which is sorted by name, and
 *
 *   "order": {"rows":[4,0,null,…],"pods":[…],"assumed":[…],"guessed":[…]}
 *
 * "rows" has the dump's node (from 0) of each row, "pods" its pods (from 0) in the order they came,
 * "assumed" which of these are only assumed, "guessed" which of them on a node that is only guessed
 * (absent: none).
 */

#include "base/vec.h"
#include "cluster/object-text.h"
#include "cluster/snapshot.h"
#include "cluster/store.h"
#include "json/fields.h"
#include "json/write.h"

#define DELTA_NO_ROW UINT32_MAX

/* Writes the members into the open object. Either snapshot may be NULL: an empty cluster. @mask may
 * be NULL. 0 or -ENOMEM; errors of the buffer are the writer's. */
int delta_write(JsonWriter *writer, const Snapshot *before, const Snapshot *after,
    const ObjectMask *mask) MUST_CHECK;

/* Writes the "order" of a dump of @first, and "pods" that the dump lacks. 0 or -ENOMEM. */
int delta_write_order(JsonWriter *writer, const Snapshot *first, const ObjectMask *mask) MUST_CHECK;

typedef struct DeltaPodName {
    Str namespace, name;
} DeltaPodName;

typedef struct DeltaNode {
    uint32_t row; /* DELTA_NO_ROW: it keeps its row, or takes any */
    Node node;
} DeltaNode;

typedef struct DeltaPod {
    bool is_assumed;
    bool is_guessed; /* assumed only */
    Pod pod;
} DeltaPod;

typedef VEC(uint32_t) DeltaPlaces;

typedef struct DeltaOrder {
    DeltaPlaces rows; /* by row: a place in the list of nodes; DELTA_NO_ROW: an empty row */
    DeltaPlaces pods, assumed, guessed;
} DeltaOrder;

/* All zero: no changes. */
typedef struct Delta {
    VEC(Str) forgotten;
    VEC(DeltaPodName) removed_pods;
    VEC(Str) removed_nodes;
    VEC(DeltaNode) nodes;
    VEC(DeltaPod) pods;
    DeltaOrder order;
} Delta;

/* Reads the value of @key, a member that json_key() has just returned, if it is one of those above.
 * False, with nothing consumed, if not. Errors are the reader's. */
bool delta_read(Delta *delta, JsonReader *reader, Arena *arena, Str key);

/* A dump: a List of Node and Pod objects, others are skipped. Added to nodes and pods. */
void delta_read_list(Delta *delta, JsonReader *reader, Arena *arena);

enum {
    _DELTA_E_SUCCESS,
    DELTA_E_MALFORMED, /* the order does not fit the list */
    DELTA_E_FULL,      /* more than a store takes */
};

/* Sorts nodes and pods, as read from a dump, by the order that was read. 0, DELTA_E_MALFORMED or
 * -ENOMEM. */
int delta_put_in_order(Delta *delta, Arena *arena) MUST_CHECK;

/* Applies it to @store, whose last snapshot is @before (NULL: none yet). @spare: how many empty
 * rows may still be made, over all calls: bounds memory for malformed input. 0, DELTA_E_FULL or
 * -ENOMEM. */
int delta_apply(const Delta *delta, Store *store, const Snapshot *before, Arena *arena,
    size_t *spare) MUST_CHECK;
