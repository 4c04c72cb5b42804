#pragma once

/*
 * Internals of the Store: for store.c (events, assumed pods, snapshots), store-pods.c (changes of
 * pods), store-list.c (relists) and store-related.c (other objects).
 */

#include "base/set.h"
#include "cluster/assumed-pods.h"
#include "cluster/node-rows.h"
#include "cluster/record-pool.h"
#include "cluster/store.h"

/* The objects of a list that is not complete yet, in its order. If two have one key (a list in
 * pages may have an object twice), the later one counts. store-list.c owns references. */
typedef struct StagedList {
    Set current;        /* by key: the last object of each key */
    const void **items; /* all, as records */
    size_t n, n_rooms;
    size_t n_added; /* since the beginning: bounds a list that repeats objects */
    bool is_open;   /* a list is coming in */
} StagedList;

struct Store {
    RecordPool *pool;
    size_t n_parts_swept; /* parts left by the last sweep */
    PodParts pod_parts;   /* kept of pods; keys are borrowed */

    NodeRows rows; /* nodes, and which pods are on them */
    Set pods;      /* by namespace and name, pending ones too; references */
    Set nominated; /* pending pods with a nominated node; borrowed */
    bool has_nominated_changed;
    AssumedPods assumed;                 /* its pods are at their rows too */
    uint64_t n_guesses[2];               /* as in StoreFigures */
    uint64_t removed[STORE_REMOVED_MAX]; /* hashes of UIDs, a ring; 0: none */
    size_t n_removed;
    StagedList staged[_STORE_KINDS];
    RelatedObjects related, staged_related;
    bool has_related_changed;

    Snapshot *published; /* NULL: none yet */
    size_t n_chunks_copied;

    size_t nodes_max, pods_max, assumed_max;
};

uint64_t pods_hash(const Pod *pod);
bool pods_match(const void *item, const void *key); /* a SetMatch; the key is a pod too */

/* The one with the namespace and name of @pod; NULL when there is none. */
const Pod *pods_find(const Set *pods, const Pod *pod);

/* Whether the pod uses resources of a node, which need not be known. */
static inline bool pod_is_counted(const Pod *pod) {
    return !pod->is_terminal && !str_is_empty(pod->node_name);
}

static inline bool pod_is_nominated(const Pod *pod) {
    return !pod->is_terminal && str_is_empty(pod->node_name) &&
           !str_is_empty(pod->nominated_node_name);
}

/* Whether two pods of one name are the same pod. */
static inline bool pod_is_same(const Pod *a, const Pod *b) {
    return str_eq(a->uid, b->uid);
}

/* A reference to @known (which may be NULL) when it equals the kept fields of @pod; else a new
 * record. NULL when out of memory. */
const Pod *store_pod_record(Store *store, const Pod *known, const Pod *pod) MUST_CHECK;

/* The assumed pods have changed, which may add or remove nominated pods. */
void store_touch_nominated(Store *store);

/* Whether @record, which replaces @old (NULL: none), needs a place on its node; and giving this
 * place back. */
bool store_needs_room(const Pod *old, const Pod *record);
void store_withdraw_room(Store *store, const Pod *old, const Pod *record);

/* Reserves all memory that store_put_pod() needs. 0, or -ENOMEM: nothing has changed. */
int store_make_room(Store *store, const Pod *old, const Pod *record) MUST_CHECK;

/* Puts @record, whose reference it takes, in the place of @old (NULL: there was none). There must
 * be room. */
void store_put_pod(Store *store, const Pod *old, const Pod *record);

/* Removes @pod, one of the store's. */
void store_drop_pod(Store *store, const Pod *pod);

/* @pod has finished: handled like a deletion. @old: the store's pod of that name, or NULL. */
void store_end_pod(Store *store, const Pod *old, const Pod *pod);

void store_unstage(Store *store); /* forgets lists that have not ended */

/* Frees unused parts of the pool, if there may be many. */
void store_sweep(Store *store);
