#pragma once

/*
 * Workload: a Deployment, Job or StatefulSet of the demo: its pods have the same requests, and
 * different names, ages and owners. One workload requests a GPU without the toleration, so its pods
 * stay pending until their owner deletes them.
 */

#include "demo/demo-node.h"
#include "demo/json-put.h"

#define WORKLOAD_PAIRS_MAX 6u

typedef struct Workload {
    const char *name; /* prefix of its pods' names */
    const char *namespace;
    const char *owner_kind;
    JsonPair
        labels[WORKLOAD_PAIRS_MAX]; /* terminated by NULL; in addition to app.kubernetes.io/name */
    JsonPair annotations[WORKLOAD_PAIRS_MAX];
    bool has_person; /* has the label owner */
    const char *image;
    const char *cpu, *memory;
    int gpus;
    bool tolerates_gpu_taint;
    bool is_fixed;      /* the one before it with the toleration; for scenarios */
    NodePool home;      /* pool of its pods before the demo began */
    unsigned share;     /* its share of every WORKLOAD_SHARES new pods */
    unsigned home_max;  /* its pods on one node before the demo began */
    unsigned life_span; /* in percent of the average; without GPUs */
} Workload;

/* New pods come in rounds of this many. */
#define WORKLOAD_SHARES 20u

#define DEMO_WORKLOADS_MAX 16u

extern const Workload workloads[];
extern const size_t n_workloads;

/* The first one of this name; NULL: none. */
const Workload *workload_named(const char *name);

#define WORKLOAD_PEOPLE 9u /* owners of pods */
