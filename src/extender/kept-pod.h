#pragma once

/*
 * KeptPod: the decoded pod of the last request, for use by the next.
 *
 * kube-scheduler sends the same pod with filter and, a moment later, with prioritize; decoding it
 * takes a third of the time of a request with 500 names. A pod that is byte for byte the kept one
 * is not decoded again. It is only a cache: answers are the same without it.
 *
 * A pod may have secrets in its environment: call kept_pods_forget() several times a second.
 *
 * Threads: a KeptPod belongs to one request at a time; another request gets a new one meanwhile.
 */

#include <stdatomic.h>

#include "model/pod.h"

/* The limits of the text and of the decoded pod; larger pods are not kept. */
#define KEPT_POD_TEXT_MAX ((size_t)64 * 1024)
#define KEPT_POD_BUDGET ((size_t)1024 * 1024)

typedef struct KeptPod KeptPod;

/* Has the KeptPod that was given back last. Initialize to zeros. Any thread. */
typedef struct KeptPods {
    KeptPod *_Atomic last;
} KeptPods;

/* Takes it, or makes a new one, for one request. NULL when out of memory. */
KeptPod *kept_pods_take(KeptPods *pods) MUST_CHECK;

/* Gives it back at the end of the request, when its pod is no longer used. Takes NULL. */
void kept_pods_give(KeptPods *pods, KeptPod *kept);

/* Wipes the pod that no request uses, if there is one. */
void kept_pods_forget(KeptPods *pods);

void kept_pods_done(KeptPods *pods);

/* Like pod_decode(), but may use @kept (may be NULL). @ret borrows from @arena and the reader's
 * input, or from @kept, until it is given back or used again. */
void kept_pod_decode(KeptPod *kept, JsonReader *reader, Arena *arena, Pod *ret);
