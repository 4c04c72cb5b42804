#pragma once

/*
 * Store: the cluster while it changes.
 *
 * One thread owns a store, applies changes (watch events, lists, berth's binds) and publishes a
 * Snapshot now and then. The cost depends on the changes since the last time: unchanged chunks are
 * shared with previous snapshots.
 *
 * Nodes keep their row as long as they exist, also over a relist. A pod is known by namespace and
 * name; a new UID under the same name is a new pod. Requested amounts count every pod that has a
 * node and is not finished, as kube-scheduler does (model/pod.h: pod_decode), and assumed pods.
 *
 * A relist is staged: store_list_begin(), any number of objects, store_list_end(). Nothing of it is
 * visible before the end; then objects that are not in the list are removed, all at once. Unchanged
 * objects share the existing record, so a staged cluster takes little memory. (Compared by content:
 * heartbeats change resourceVersion all the time. A record keeps the resourceVersion of the event
 * that last changed its content.)
 *
 * Assumed pods: store_assume() counts a pod on a node before any watch shows it there, until the
 * watch does, the pod is deleted, store_forget(), or it expires.
 *
 * The state depends only on the applied events; time is an argument.
 */

#include "cluster/snapshot.h"
#include "model/node.h"
#include "model/pod-parts.h"
#include "model/pod.h"

/* Limits of the memory that an API server can make berth use. Objects over them are rejected
 * (STORE_FULL). */
#define STORE_NODES_MAX 50000u
#define STORE_PODS_MAX 1000000u
#define STORE_ASSUMED_MAX 65536u

typedef struct Store Store;

Store *store_new(void);          /* NULL when out of memory */
Store *store_free(Store *store); /* snapshots live on. Takes NULL */
DEFINE_CLEANUP(Store *, store_free)

/* The store keeps only the fields of @parts of pods applied from now on; until the first call it
 * keeps all. Annotation keys are borrowed until the next call or store_free(). */
void store_keep_pod_parts(Store *store, const PodParts *parts);

/* Results of applying something. Negative: -ENOMEM, and nothing has changed. */
enum {
    _STORE_OK,
    STORE_BOUND, /* the pod has not finished, had no node before as far as the store knew, and
                  * has one now (perhaps a node that the store does not know) */
    STORE_FULL,  /* over a limit: rejected */
};

/* Adds the object, or replaces the one of the same name. The object may be freed afterwards. Nodes
 * without a name are skipped. */
int store_apply_node(Store *store, const Node *node);
int store_apply_pod(Store *store, const Pod *pod);

/* Unknown objects are ignored. A pod with another UID than @uid stays (a late event about a pod
 * that was recreated); @uid empty: any. */
void store_remove_node(Store *store, Str name);
void store_remove_pod(Store *store, Str namespace, Str name, Str uid);

typedef enum StoreKind {
    STORE_NODES,
    STORE_PODS,
    _STORE_KINDS,
} StoreKind;

/* Call store_list_begin(), then add objects, then store_list_end(). If two objects have one name,
 * the later one counts. */
void store_list_begin(Store *store, StoreKind kind); /* drops the staged objects of @kind */
int store_list_node(Store *store, const Node *node);
int store_list_pod(Store *store, const Pod *pod);
int store_list_end(Store *store, StoreKind kind); /* 0, or -ENOMEM: nothing changed, still staged */

/* Objects that pods refer to (cluster/related-objects.h). A kind is unknown until its first list
 * has ended or its first object was applied, and again after store_forget_related(). Results as
 * above; store_remove_related() may return -ENOMEM, and the object is still there. */
void store_list_related_begin(Store *store, RelatedKind kind);
int store_list_related(Store *store, RelatedKind kind, const RelatedObject *object);
int store_list_related_end(Store *store, RelatedKind kind);
int store_apply_related(Store *store, RelatedKind kind, const RelatedObject *object);
int store_remove_related(Store *store, RelatedKind kind, Str namespace, Str name);
void store_forget_related(Store *store, RelatedKind kind);
size_t store_count_related(const Store *store, RelatedKind kind);

/* Replaces all related objects by @objects; takes references of its own. */
void store_set_related(Store *store, const RelatedObjects *objects);

/* Counts @pod on @node until @until_nsec, also if @pod names another node. Its scheduled_at is the
 * time of the bind; is_guessed: @node is only a guess. Replaces an entry of the same UID.
 * Does nothing if the watch already shows it there. 0, STORE_FULL or -ENOMEM. */
int store_assume(Store *store, const Pod *pod, Str node, int64_t until_nsec);
void store_forget(Store *store, Str uid); /* unknown UIDs are skipped */

/* Whether @uid is among the last STORE_REMOVED_MAX that store_remove_pod() removed: a request
 * about such a pod came too late. */
#define STORE_REMOVED_MAX 1024u
bool store_was_removed(const Store *store, Str uid);

/* The assumed pod, with the assumed node as node_name, and its expiry; NULL: not assumed. Borrowed
 * until the store changes. */
const Pod *store_find_assumed(const Store *store, Str uid, int64_t *ret_until_nsec);

/* Drops expired assumed pods; returns how many of them were not guesses. @ret_next: the next
 * expiry; INT64_MAX: none. */
size_t store_expire(Store *store, int64_t now_nsec, int64_t *ret_next);

/* NULL when unknown; borrowed until the store changes. */
const Node *store_find_node(const Store *store, Str name);
const Pod *store_find_pod(const Store *store, Str namespace, Str name);

/* A snapshot of everything applied so far; the same as last time (one more reference)
 * when nothing visible has changed. The caller unrefs it. 0, or -ENOMEM. */
int store_publish(Store *store, Snapshot **ret);
bool store_is_dirty(const Store *store); /* store_publish() would make a new one */

typedef struct StoreFigures {
    size_t n_nodes, n_pods, n_assumed; /* pods without the finished ones, which are not kept */
    uint64_t n_guesses[2];             /* since the start: guessed pods that the watch has shown
                                        * [0] on another node, [1] on the guessed node */
    size_t n_chunks_copied;            /* by store_publish() since the start */
    size_t n_parts;                    /* shared parts (cluster/record.h) */
    size_t n_resources_left_out;       /* resources that nodes of the last snapshot offer, but that
                                        * have no column: over TABLE_RESOURCES_MAX */
} StoreFigures;

void store_figures(const Store *store, StoreFigures *ret);

/* For tests: lower ceilings. */
void store_limit(Store *store, size_t nodes_max, size_t pods_max, size_t assumed_max);
