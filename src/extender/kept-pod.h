#pragma once

/*
 * KeptPod: the pod of the last request, decoded, for the next one.
 *
 * kube-scheduler sends the same text of a pod with filter and, a moment later, with prioritize, and
 * decoding it is a third of a request with 500 names. A pod that is byte for byte the kept one is
 * not decoded again. It is only a cache: answers are the same without it.
 *
 * A pod has secrets, so call kept_pods_forget() several times a second.
 *
 * Threads: a KeptPod belongs to one request at a time; another request gets a new one meanwhile.
 */

#include <stdatomic.h>

#include "model/pod.h"

/* Larger pods, as text or decoded, are not kept. */
#define KEPT_POD_TEXT_MAX ((size_t)64 * 1024)
#define KEPT_POD_BUDGET ((size_t)1024 * 1024)

typedef struct KeptPod KeptPod;

/* Holds the one that was given back last. Set up as zeros. Any thread. */
typedef struct KeptPods {
    KeptPod *_Atomic last;
} KeptPods;

/* For one request. NULL when out of memory. */
KeptPod *kept_pods_take(KeptPods *pods) MUST_CHECK;

/* At the end of the request: its pod is not used any more. Takes NULL. */
void kept_pods_give(KeptPods *pods, KeptPod *kept);

/* Wipes the pod that no request uses, if there is one. */
void kept_pods_forget(KeptPods *pods);

void kept_pods_done(KeptPods *pods);

/* As pod_decode(). @ret is of @arena and the reader's input, or of @kept (may be NULL), until that
 * is given back or used again. */
void kept_pod_decode(KeptPod *kept, JsonReader *reader, Arena *arena, Pod *ret);
