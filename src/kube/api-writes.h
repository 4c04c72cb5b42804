#pragma once

/* Writes whose result nothing waits for (kube/write-queue.h): Kubernetes Events (events.k8s.io/v1)
 * about pods, posted one by one; marks of nodes, an annotation with the time, so that
 * kube-scheduler retries its unschedulable pods; and merge patches: published filters on nodes, the
 * status of policies (kube/policy-status.h), nominations of pods. */

#include "kube/write-queue.h"

#define EVENT_CONTROLLER "berth.dev/berth"
#define EVENT_NOTE_MAX 1024u    /* bytes; the API server rejects more */
#define EVENT_INSTANCE_MAX 128u /* bytes, likewise */
#define EVENT_NAME_MAX 200u     /* bytes of the pod's name in the Event's name */
#define EVENT_WAITING_MAX 64u   /* queued Events; more are dropped */
#define EVENT_FORBIDDEN_SEC 60

typedef struct PodEvent {
    bool is_warning;
    const char *reason, *action; /* "NoNodePassed", "Filter" */
    Str note;                    /* for users; cut to EVENT_NOTE_MAX at a character */
    Str namespace, pod, uid;     /* of the pod; no namespace: a PlacementPolicy */
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
    Str name;  /* of the resource, or key of the label */
    int64_t n; /* amount; PUBLISH_REMOVED: remove the resource or label */
} PublishChange;

#define NOMINATION_CALLS 8u

/*
 * status.nominatedNodeName of a pending pod. kube-scheduler tries that node first, and others only
 * if the pod does not fit there.
 *
 * The UID is a precondition: a pod recreated with the same name is not changed. With a
 * resourceVersion the pod must not have changed since: only the nomination that was seen is
 * withdrawn.
 */
typedef struct Nomination {
    Str namespace, name, uid;
    Str resource_version; /* empty: any */
    Str node;             /* empty: withdraw the nomination */
} Nomination;

/* NULL when out of memory. @lease as in WriteQueueOptions; @n_calls: maximum number of concurrent
 * patches. */
WriteQueue *event_queue_new(Client *client);
WriteQueue *mark_queue_new(Client *client);
WriteQueue *patch_queue_new(const LeaseOptions *lease, unsigned n_calls);

/* Like write_queue_add(); also false if a name is invalid. Any thread. @instance: this berth, cut
 * to EVENT_INSTANCE_MAX. A mark is MARK_ANNOTATION with the current time. */
#define MARK_ANNOTATION "berth.dev/retry-at"
bool event_queue_add(WriteQueue *queue, const PodEvent *event, const char *instance);
bool mark_queue_add(WriteQueue *queue, Str node);
bool publish_queue_add(WriteQueue *queue, const PublishChange *change);
bool nomination_queue_add(WriteQueue *queue, const Nomination *nomination);

/* Path and body of the PATCH request for @change. */
void publish_path(const PublishChange *change, Buf *out);
void publish_body(const PublishChange *change, Buf *out);
