#pragma once

/*
 * The writes that nothing waits for (kube/write-queue.h): Kubernetes Events (events.k8s.io/v1)
 * about pods, posted one after the other; marks of nodes, an annotation with the time, so that
 * kube-scheduler tries its unschedulable pods again; and merge patches: what is published on nodes,
 * the status of policies (kube/policy-status.h), nominations of pods.
 */

#include "kube/write-queue.h"

#define EVENT_CONTROLLER "berth.dev/berth"
#define EVENT_NOTE_MAX 1024u    /* bytes; the API server refuses more */
#define EVENT_INSTANCE_MAX 128u /* the same */
#define EVENT_NAME_MAX 200u     /* of the pod's name, in that of the Event */
#define EVENT_WAITING_MAX 64u   /* Events that wait; more are dropped */
#define EVENT_FORBIDDEN_SEC 60

typedef struct PodEvent {
    bool is_warning;
    const char *reason, *action; /* "NoNodePassed", "Filter": words for machines */
    Str note;                    /* for users; cut at EVENT_NOTE_MAX, at a whole character */
    Str namespace, pod, uid;     /* of the pod; without a namespace: of a PlacementPolicy */
} PodEvent;

#define PUBLISH_CONTENT_TYPE "application/merge-patch+json"
#define PUBLISH_REMOVED (-1)
#define PUBLISH_CALLS 4u

typedef enum PublishTarget {
    PUBLISH_TO_STATUS, /* an extended resource: capacity and allocatable of nodes/status */
    PUBLISH_TO_LABELS, /* a label of the node, with the value "true" */
} PublishTarget;

typedef struct PublishChange {
    PublishTarget target;
    Str node;
    Str name;  /* of the resource, or the label's key */
    int64_t n; /* of the resource; PUBLISH_REMOVED: there is none, nor the label */
} PublishChange;

#define NOMINATION_CALLS 8u

/*
 * status.nominatedNodeName of a pending pod. kube-scheduler tries that node first, and only if it
 * does not fit the others.
 *
 * The UID is a precondition: a pod that was recreated under the same name is left alone. With a
 * resourceVersion the pod must not have changed since: so a nomination is withdrawn only as long as
 * it is the one that was seen.
 */
typedef struct Nomination {
    Str namespace, name, uid;
    Str resource_version; /* empty: any */
    Str node;             /* empty: it is withdrawn */
} Nomination;

/* All three: NULL when out of memory. @lease: as in WriteQueueOptions; @n_calls: patches under way
 * at a time. */
WriteQueue *event_queue_new(Client *client);
WriteQueue *mark_queue_new(Client *client);
WriteQueue *patch_queue_new(const LeaseOptions *lease, unsigned n_calls);

/* As write_queue_add(): false when it is dropped, or a name is not valid. Any thread. @instance:
 * this berth, cut at EVENT_INSTANCE_MAX. A mark is MARK_ANNOTATION, with the time. */
#define MARK_ANNOTATION "berth.dev/retry-at"
bool event_queue_add(WriteQueue *queue, const PodEvent *event, const char *instance);
bool mark_queue_add(WriteQueue *queue, Str node);
bool publish_queue_add(WriteQueue *queue, const PublishChange *change);
bool nomination_queue_add(WriteQueue *queue, const Nomination *nomination);

/* The request for @change. Its method is PATCH. */
void publish_path(const PublishChange *change, Buf *out);
void publish_body(const PublishChange *change, Buf *out);
