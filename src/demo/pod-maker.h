#pragma once

/*
 * PodMaker: makes the demo's pods.
 *
 * What the pods of a workload have in common is written as JSON and read back once for each person
 * that may own one, as the API server's would be; a new pod is a copy of that with a name, a UID
 * and a time of its own. Which workload comes next is dealt like cards.
 *
 * The same random numbers give the same pods. One thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/rng.h"
#include "demo/workload.h"
#include "simulate/pod-request.h"

typedef struct DemoPod {
    const Workload *workload;
    const PodRequest *template; /* of all pods of this workload and owner */
    Pod model;                  /* as the snapshot has it */
    unsigned n_attempts;        /* this one included; 1: the pod is new */
    unsigned person;            /* whose it is; below WORKLOAD_PEOPLE */
    uint64_t retry_at;          /* while pending */
    uint64_t ends_at;
    char name[32], uid[40];
} DemoPod;

/* As @node has it; empty: as a pod that wants a node, wherever it is. See workload_write_pod(). */
void demo_pod_write(const DemoPod *pod, Str node, bool is_typed, Buf *out);

typedef struct PodMaker {
    PodRequest *templates;                  /* by workload and person */
    const Workload *queue[WORKLOAD_SHARES]; /* cards that are left */
    size_t n_queue;
    uint64_t n_made;
} PodMaker;

/* Keeps its memory in @arena. 0, or -ENOMEM. */
int pod_maker_init(PodMaker *maker, Arena *arena);

/* What all pods of @workload that are @person's have in common. */
const PodRequest *pod_maker_template(
    const PodMaker *maker, const Workload *workload, unsigned person);

/* The workload of the next pod. */
const Workload *pod_maker_next(PodMaker *maker, Rng *rng);

/* A new pod at @now_sec since 1970, into @ret, which is all zero and stays where it is: the pod's
 * model points into it. */
void pod_maker_make(
    PodMaker *maker, const Workload *workload, int64_t now_sec, Rng *rng, DemoPod *ret);
