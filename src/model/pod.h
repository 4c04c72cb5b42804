#pragma once

/*
 * Pod: the fields of a Pod that policies read.
 *
 * Decoding validates every byte of the object, also of the fields that are not
 * kept. Strings are slices of the input where they can be, else in the arena;
 * both must outlive the Pod. null and absent are alike.
 */

#include "model/labels.h"
#include "model/pod-details.h"
#include "model/pod-requests.h"
#include "model/related.h"
#include "model/resources.h"
#include "model/taint.h"

typedef struct Pod {
    Str name, namespace, uid;
    Str resource_version; /* opaque: only equal or not */
    int64_t created_at;   /* seconds since 1970; 0: not given */
    int64_t started_at;   /* status.startTime: a kubelet has taken it; 0: not yet */
    int64_t scheduled_at; /* when it was bound: PodScheduled became True; 0: not known */
    Labels labels;
    Str owner_kind, owner_name, owner_uid; /* the controlling owner, or empty */
    Str node_name;                         /* spec.nodeName: where it runs; empty while pending */
    Str nominated_node_name;               /* status.nominatedNodeName */
    Str scheduler_name;
    int64_t priority;
    bool is_terminal;    /* phase Succeeded or Failed: takes nothing any more */
    bool is_terminating; /* has a deletionTimestamp */
    bool is_guessed;     /* kube-scheduler may choose another node than node_name: of assumed pods
                            (cluster/assumed-pods.h) only, never of the API */
    Tolerations tolerations;
    Resources requests;        /* what kube-scheduler counts; see model/pod-requests.h */
    const PodDetails *details; /* NULL: not kept */
    const Related *related;    /* NULL: not looked up. Only for the pod to be placed */
} Pod;

/* When @pod, which is on a node, was bound to it, as well as we know; 0: not at all. Pods that are
 * bound without the API's binding (static pods) have no such condition: they are taken to have been
 * there since they were started, or made. */
static inline int64_t pod_placed_at(const Pod *pod) {
    if (pod->scheduled_at != 0)
        return pod->scheduled_at;
    return pod->started_at != 0 ? pod->started_at : pod->created_at;
}

/* When @pod came to the node that it counts on. One that is only promised that node (nominated) has
 * yet to come: no measurement can show it. */
static inline int64_t pod_placement_time(const Pod *pod) {
    return str_is_empty(pod->node_name) ? INT64_MAX : pod_placed_at(pod);
}

/* Whether @pod may go to that node by its nodeSelector and required node affinity; without details
 * it may go anywhere. */
bool pod_selects(const Pod *pod, Str node_name, const Labels *node_labels);

/* Reads a Pod object into a Pod, with details. Errors are the reader's.
 *
 * requests is what kube-scheduler counts: containers, init containers, pod-level amounts and
 * overhead; and while the pod is resized in place, also what it still has or was allocated by its
 * status, where that is more. The rule is at pod_requests_sum().
 *
 * More containers than POD_CONTAINERS_MAX, resources than RESOURCES_MAX, tolerations than
 * TOLERATIONS_MAX or a larger node affinity than TERMS_MAX allows: a pod on a node is read without
 * the rest, since a pod that counts for less is better than one that is lost. A pod without a node
 * is to be placed by its spec, so it is refused: JSON_E_RANGE. */
JsonRead pod_decode;

/* The same by the rule of a version; pod_decode() takes that of the newest. */
void pod_decode_resized(JsonReader *reader, Arena *arena, ResizeRule rule, Pod *ret);
