#pragma once

/*
 * The writes that nothing waits for (kube/write-queue.h): Kubernetes Events (events.k8s.io/v1)
 * about pods, posted one after the other; and marks of nodes, an annotation with the time, so that
 * kube-scheduler tries its unschedulable pods again.
 */

#include "kube/client.h"
#include "kube/write-queue.h"

#define EVENT_CONTROLLER "berth.dev/berth"
#define EVENT_NOTE_MAX 1024u    /* bytes; the API server refuses more */
#define EVENT_INSTANCE_MAX 128u /* the same */
#define EVENT_NAME_MAX 200u     /* of the pod's name, in that of the Event */
#define EVENT_WAITING_MAX 64u   /* Events that wait; more are dropped */
#define EVENT_FORBIDDEN_SEC 60
#define MARK_WAITING_MAX WRITE_QUEUE_WAITING_MAX

typedef struct PodEvent {
    bool is_warning;
    const char *reason, *action; /* "NoNodePassed", "Filter": words for machines */
    Str note;                    /* for people; cut at EVENT_NOTE_MAX, at a whole character */
    Str namespace, pod, uid;     /* of the pod; without a namespace: of a PlacementPolicy */
} PodEvent;

/* Both: NULL when out of memory. @clock: monotonic, in ns. */
WriteQueue *event_queue_new(Client *client, int64_t (*clock)(void));
WriteQueue *mark_queue_new(Client *client, int64_t (*clock)(void));

/* As write_queue_add(): false when it is dropped, or a name is not valid. @instance: this berth,
 * cut at EVENT_INSTANCE_MAX. @wall_nsec: since 1970. */
bool event_queue_add(
    WriteQueue *queue, const PodEvent *event, const char *instance, int64_t wall_nsec);
bool mark_queue_add(WriteQueue *queue, Str node, const char *annotation, int64_t wall_nsec);
