#pragma once

/*
 * Pod: the fields of a Pod that policies read.
 *
 * Decoding validates every byte of the object, also of the fields that are not
 * kept. Strings are slices of the input, or in the arena if they had escapes;
 * both must outlive the Pod. null means the same as absent.
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
    int64_t started_at;   /* status.startTime: when a kubelet accepted it; 0: not yet */
    int64_t scheduled_at; /* when it was bound: PodScheduled became True; 0: not known */
    Labels labels;
    Str owner_kind, owner_name, owner_uid; /* the controlling owner, or empty */
    Str node_name;                         /* spec.nodeName: where it runs; empty while pending */
    Str nominated_node_name;               /* status.nominatedNodeName */
    Str scheduler_name;
    int64_t priority;
    bool is_terminal;    /* phase Succeeded or Failed: uses no resources any more */
    bool is_terminating; /* has a deletionTimestamp */
    bool is_guessed;     /* kube-scheduler may choose another node than node_name. Only assumed pods
                            (cluster/assumed-pods.h) have it, never pods of the API */
    Tolerations tolerations;
    Resources requests;        /* as kube-scheduler counts them; see model/pod-requests.h */
    const PodDetails *details; /* NULL: not kept */
    const Related *related;    /* NULL: not looked up. Only for the pod to be placed */
} Pod;

/* When @pod, which is on a node, was bound to it, as far as known; 0: unknown. Pods without a
 * binding of the API (static pods) have no condition PodScheduled: the time when they were started,
 * or created, stands in. */
static inline int64_t pod_placed_at(const Pod *pod) {
    if (pod->scheduled_at != 0)
        return pod->scheduled_at;
    return pod->started_at != 0 ? pod->started_at : pod->created_at;
}

/* When @pod came to the node on which it counts; INT64_MAX for a nominated pod, which no
 * measurement can include yet. */
static inline int64_t pod_placement_time(const Pod *pod) {
    return str_is_empty(pod->node_name) ? INT64_MAX : pod_placed_at(pod);
}

/* Orders pods by namespace and name. */
int pod_compare_names(const Pod *a, const Pod *b);

/* Whether the nodeSelector and the required node affinity of @pod match the node; true for a pod
 * without details. */
bool pod_selects(const Pod *pod, Str node_name, const Labels *node_labels);

/* Reads a Pod object into a Pod, with details. Errors are the reader's.
 *
 * requests are what kube-scheduler counts: containers, init containers, pod-level amounts and
 * overhead; while the pod is resized in place, also the allocated amounts and those in force of its
 * status, if they are larger. The rule is at pod_requests_sum().
 *
 * Of a pod on a node, what exceeds POD_CONTAINERS_MAX, RESOURCES_MAX, TOLERATIONS_MAX or TERMS_MAX
 * is left out: it is better to count a pod for less than to lose it. A pod without a node is placed
 * by its spec, which must be complete, so it is rejected: JSON_E_RANGE. */
JsonRead pod_decode;

/* The same with the @rule of a version of Kubernetes; pod_decode() uses the newest. */
void pod_decode_resized(JsonReader *reader, Arena *arena, ResizeRule rule, Pod *ret);
