#pragma once

/*
 * PodMaker: the demo's workloads (workloads.yaml), and new pods of them.
 *
 * A Workload is a Deployment, Job or StatefulSet: its pods have the same requests, and different
 * names, ages and owners. Each workload and owner has a template; a new pod is a copy with its own
 * name, UID and time. Workloads come in shuffled order, in proportion to their shares. The same
 * random numbers give the same pods. One thread at a time.
 */

#include "base/rng.h"
#include "scheduler/pod-request.h"

#define WORKLOAD_PEOPLE 9u  /* owners of pods */
#define WORKLOAD_SHARES 20u /* new pods come in rounds of this many */
#define DEMO_WORKLOADS_MAX 16u

typedef struct Workload {
    size_t number; /* in the list */
    Str name;      /* prefix of its pods' names */
    Str namespace, owner_kind;
    Str json;                    /* of a pod, with {name} and the like to be replaced */
    const PodRequest *templates; /* of its pods: by person, WORKLOAD_PEOPLE */
    int64_t gpus;
    Str home;           /* pool of its pods before the demo began; empty: none */
    unsigned share;     /* its share of every WORKLOAD_SHARES new pods */
    unsigned home_max;  /* its pods on one node before the demo began */
    unsigned life_span; /* in percent of the average; without GPUs */
} Workload;

typedef struct DemoWorkloads {
    Workload items[DEMO_WORKLOADS_MAX];
    size_t n;
} DemoWorkloads;

/* The first one of this name; NULL: none. */
const Workload *demo_workloads_find(const DemoWorkloads *workloads, Str name);

typedef struct DemoPod {
    const Workload *workload;
    const PodRequest *template; /* of all pods of this workload and owner */
    Pod model;                  /* as in the snapshot */
    uint32_t number;            /* by age */
    unsigned person;            /* its owner; below WORKLOAD_PEOPLE */
    unsigned n_attempts;        /* attempts to place it, this one included */
    uint64_t life;              /* ticks on a node; 0: no end */
    uint64_t ends_at;           /* tick; while pending: its owner deletes it */
    char name[32], uid[40];
    char full_name[64]; /* "NAMESPACE/NAME" */
} DemoPod;

/* The pod as JSON; @is_typed: with apiVersion and kind, which kube-scheduler does not send. */
void demo_pod_write(const DemoPod *pod, bool is_typed, Buf *out);

typedef struct PodMaker {
    DemoWorkloads workloads;
    const Workload *queue[WORKLOAD_SHARES]; /* the next workloads */
    size_t n_queue;
    uint64_t n_made;
} PodMaker;

/* Reads the workloads into @arena; @maker is all zero. 0, or -ENOMEM. */
int pod_maker_init(PodMaker *maker, Arena *arena);

/* The workload of the next pod. */
const Workload *pod_maker_next(PodMaker *maker, Rng *rng);

/* Creates a pod at @now_sec since 1970 in @ret, which is all zero and must not move: the model
 * points into it. */
void pod_maker_make(
    PodMaker *maker, const Workload *workload, int64_t now_sec, Rng *rng, DemoPod *ret);
