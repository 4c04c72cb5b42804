#pragma once

/*
 * Pod: the fields of a Pod that policies read.
 *
 * Decoding validates every byte of the object, also of the fields that are not
 * kept. Strings are slices of the input where they can be, else in the arena;
 * both must outlive the Pod. null and absent are alike.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/labels.h"
#include "model/resources.h"
#include "model/taint.h"
#include "json/read.h"

typedef struct Pod {
    Str name, namespace, uid;
    Str resource_version; /* opaque: only equal or not */
    int64_t created_at;   /* seconds since 1970; 0: not given */
    int64_t started_at;   /* status.startTime: a kubelet has taken it; 0: not yet */
    Labels labels;
    Str owner_kind, owner_name, owner_uid; /* the controlling owner, or empty */
    Str node_name;                         /* spec.nodeName: where it runs; empty while pending */
    Str nominated_node_name;               /* status.nominatedNodeName */
    Str scheduler_name;
    int64_t priority;
    bool is_terminal;    /* phase Succeeded or Failed: takes nothing any more */
    bool is_terminating; /* has a deletionTimestamp */
    Tolerations tolerations;
    Resources requests; /* what the scheduler counts; see pod_requests */
} Pod;

/* Reads a Pod object. Errors are the reader's.
 *
 * requests is what kube-scheduler counts: per resource the larger of (all
 * containers and restartable init containers together) and (the peak while init
 * containers run, each with the restartable ones started before it), replaced by
 * the pod-level amount where spec.resources names one (cpu, memory, hugepages-*),
 * plus spec.overhead. A limit without a request counts as the request. Only the spec is
 * asked: while a pod is resized in place, kube-scheduler (from 1.33) also counts what its
 * status still says it has, if that is more. */
void pod_decode(JsonReader *reader, Arena *arena, Pod *ret);
