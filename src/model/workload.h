#pragma once

/*
 * Workload: what a pod is one of many of.
 *
 * Its controlling owner; and where that is a ReplicaSet of a Deployment, the Deployment: a new
 * version is the same workload as the one before. (The ReplicaSet's name is then the Deployment's,
 * a '-' and the pod's label pod-template-hash.)
 */

#include "base/arena.h"
#include "base/str.h"
#include "model/pod.h"

/* "NAMESPACE/KIND/NAME", in @arena; a pod without an owner is in none: empty, with a pointer. A
 * NULL pointer: out of memory. */
Str workload_of(const Pod *pod, Arena *arena);

/* The same without memory: the parts. False: it is in none. */
typedef struct Workload {
    Str namespace, kind, name;
} Workload;
bool workload_find(const Pod *pod, Workload *ret);
