#pragma once

/*
 * PodMaker: creates the demo's pods.
 *
 * Each workload and owner has a template, decoded from JSON; a new pod is a copy with its own name,
 * UID and time. Workloads come in shuffled order, in proportion to their shares. The same random
 * numbers give the same pods. One thread at a time.
 */

#include "base/rng.h"
#include "demo/workload.h"
#include "scheduler/pod-request.h"

typedef struct DemoPod {
    const Workload *workload;
    const PodRequest *template; /* of all pods of this workload and owner */
    Pod model;                  /* as the snapshot has it */
    uint32_t number;            /* by age */
    unsigned person;            /* its owner; below WORKLOAD_PEOPLE */
    unsigned n_attempts;        /* attempts to place it, this one included */
    uint64_t life;              /* ticks on a node; 0: no end */
    uint64_t ends_at;           /* tick; while pending: its owner deletes it */
    char name[32], uid[40];
    char full_name[64]; /* "NAMESPACE/NAME" */
} DemoPod;

/* The pod as JSON, on @node; empty: pending. @is_typed: with apiVersion and kind, which
 * kube-scheduler does not send. */
void demo_pod_write(const DemoPod *pod, Str node, bool is_typed, Buf *out);

typedef struct PodMaker {
    PodRequest *templates;                  /* by workload and person */
    const Workload *queue[WORKLOAD_SHARES]; /* the next workloads */
    size_t n_queue;
    uint64_t n_made;
} PodMaker;

/* Allocates in @arena. 0, or -ENOMEM. */
int pod_maker_init(PodMaker *maker, Arena *arena);

const PodRequest *pod_maker_template(
    const PodMaker *maker, const Workload *workload, unsigned person);

/* The workload of the next pod. */
const Workload *pod_maker_next(PodMaker *maker, Rng *rng);

/* Creates a pod at @now_sec since 1970 in @ret, which is all zero and must not move: the model
 * points into it. */
void pod_maker_make(
    PodMaker *maker, const Workload *workload, int64_t now_sec, Rng *rng, DemoPod *ret);
