#pragma once

/*
 * SimulationInput: the cluster as it is, and the pods that come.
 *
 * The cluster is a file as `kubectl get nodes,pods -A -o json` writes it. Pods that come are a list
 * of Pods, one after another, or a trace: lines of JSON, or a list in JSON or YAML, of
 *
 *     {at: 60, lifetime: 3600, count: 10, name: web, pod: {metadata: …, spec: …}}
 *
 * in seconds; without a lifetime a pod stays. A pod of the list that runs in the cluster already
 * (by namespace and name) is taken off its node first: so a cluster can be placed anew.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cluster/record.h"
#include "cluster/snapshot.h"
#include "simulate/cluster-state.h"
#include "simulate/pod-request.h"

#define SIMULATION_PODS_MAX 1000000u
#define SIMULATION_BUDGET ((size_t)8 * 1024 * 1024 * 1024)
#define SIMULATION_ERROR_MAX 1024u
#define SIMULATION_SECONDS_MAX 1e10 /* a few hundred years */

/* A pod that runs when the scenario begins. */
typedef struct ExistingPod {
    const Pod *pod; /* a record */
    uint32_t row;
    Footprint footprint;
    bool is_rescheduled; /* it is among those that come */
} ExistingPod;

/* A pod that comes. */
typedef struct Arrival {
    const PodRequest *request; /* shared by pods of one line of a trace */
    Str name;
    size_t number;        /* in the order of the files */
    double at;            /* seconds since the start */
    double lifetime;      /* INFINITY: it stays */
    uint32_t current_row; /* the row of the node it runs on (spec.nodeName), or NO_ROW */
} Arrival;

typedef struct SimulationInput {
    Arena *arena;
    RecordPool *pool;
    Snapshot *snapshot; /* the nodes, without pods */
    const NodeTable *table;
    ExistingPod *existing;
    size_t n_existing;
    Arrival *arrivals; /* by time; of one time by priority, where times were given */
    size_t n_arrivals;
    bool is_timed;      /* they came with times */
    bool has_lifetimes; /* one of them ends */
    bool has_endless;   /* one of them stays */
    double last_at;     /* when the last comes */
    size_t n_rescheduled;
    size_t n_without_node;               /* pods of the cluster on nodes that it does not have */
    size_t n_left_pending;               /* pods of the cluster that wait, and were not asked for */
    size_t n_unmodelled[UNMODELLED_MAX]; /* arrivals that ask for it */
    size_t n_any_unmodelled;             /* arrivals that ask for any of it */
} SimulationInput;

typedef struct SimulationFiles {
    const char *cluster;
    const char *pods;  /* may be NULL */
    const char *trace; /* may be NULL */
    bool with_pending; /* pods of the cluster that wait come first */
    bool by_schedule; /* pods of the list come in the order in which they were bound, if they say */
    double every;     /* seconds between two pods of the list */
} SimulationFiles;

/* 0; -EINVAL: something in a file is wrong; or another negative errno: it cannot be read, or out of
 * memory. Then @error (SIMULATION_ERROR_MAX) says what, for a person. */
int simulation_input_load(const SimulationFiles *files, SimulationInput **ret, char *error);
SimulationInput *simulation_input_free(SimulationInput *input); /* takes NULL, returns NULL */
DEFINE_CLEANUP(SimulationInput *, simulation_input_free)

/* The amount of @resource that a share @quantile (0 to 1) of the arrivals that ask for any do not
 * exceed; 0 when none asks. In @scratch on the way. */
int64_t simulation_input_quantile(
    const SimulationInput *input, Str resource, double quantile, Arena *scratch);
