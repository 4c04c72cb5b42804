#pragma once

/*
 * Workload: the object that created a pod and similar ones, such as a Deployment.
 *
 * It is the pod's controlling owner, with three exceptions:
 *
 * - a ReplicaSet of a Deployment: the Deployment, so that a new version is the same workload as the
 *   one before. (The ReplicaSet's name is then the Deployment's, a '-' and the pod's label
 *   pod-template-hash.)
 * - a Job of a CronJob: the CronJob, for the same reason. (The Job's name is then the CronJob's, a
 *   '-' and the minutes since 1970: eight digits or more. Any Job with such a name counts as one.)
 * - a Node, which owns its static pods: none, because they have nothing else in common.
 */

#include "model/pod.h"

/* "NAMESPACE/KIND/NAME" in @arena; empty, but with a pointer, if @pod has no workload. A NULL
 * pointer: out of memory. */
Str workload_of(const Pod *pod, Arena *arena);

/* The same without allocation: the parts are borrowed. Returns false if @pod has no workload. */
typedef struct WorkloadName {
    Str namespace, kind, name;
} WorkloadName;
bool workload_find(const Pod *pod, WorkloadName *ret);

/* Writes "NAMESPACE/KIND/NAME" to @out, not NUL-terminated. Returns its length, which is over @size
 * if it did not fit. */
size_t workload_print(const WorkloadName *workload, char *out, size_t size);
