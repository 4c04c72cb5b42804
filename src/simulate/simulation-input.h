#pragma once

/*
 * SimulationInput: a cluster, and the pods that arrive.
 *
 * The cluster is a file of `kubectl get nodes,pods -A -o json`. The pods are a list of Pods
 * and of workloads (input/workload.h): each replica is a pod, and a DaemonSet has one for each node
 * that it is for; or a trace (simulate/trace.h). A pod of the list that runs in the cluster already
 * (by namespace and name) is removed from its node first: so all pods of a cluster can be placed
 * again.
 */

#include "cluster/record.h"
#include "cluster/snapshot.h"
#include "scheduler/cluster-state.h"
#include "scheduler/pod-request.h"

#define SIMULATION_PODS_MAX 1000000u
#define SIMULATION_BUDGET ((size_t)8 * 1024 * 1024 * 1024)
#define SIMULATION_ERROR_MAX 1024u
#define SIMULATION_SECONDS_MAX 1e10 /* a few hundred years */

/*
 * AutoscalePool: nodes that an autoscaler can add. A file has one Node as kubectl prints it, with
 * labels, taints and what it can allocate; and as annotations
 *
 *     berth.dev/price-per-hour: "0.768"
 *     berth.dev/max-nodes: "100"           # default AUTOSCALE_POOL_DEFAULT
 *
 * All of them are rows of the simulated cluster from the start: a run hides those that it has not
 * added.
 */
#define AUTOSCALE_POOL_DEFAULT 1000u
#define AUTOSCALE_POOL_MAX 10000u

typedef struct AutoscalePool {
    Str name;     /* of the Node; nodes are NAME-1 and so on */
    double price; /* of a node-hour; 0: not given */
    uint32_t *rows;
    size_t n; /* 0: there is no pool */
} AutoscalePool;

/* A pod that runs at the start. */
typedef struct ExistingPod {
    const Pod *pod; /* a record */
    uint32_t row;
    Footprint footprint;
    bool is_rescheduled; /* it is also an arrival */
} ExistingPod;

/* A pod that arrives. */
typedef struct Arrival {
    const PodRequest *request; /* shared by pods of one line of a trace */
    Str name, uid;
    size_t number;        /* in the order of the files */
    double at;            /* seconds since the start */
    double lifetime;      /* seconds; INFINITY: it stays */
    uint32_t current_row; /* the row of the node it runs on (spec.nodeName), or NO_ROW */
} Arrival;

typedef struct SimulationInput {
    Arena *arena;
    RecordPool *pool;
    Snapshot *snapshot; /* the nodes, without pods */
    const NodeTable *table;
    TermIndex *terms;             /* of all pods */
    AutoscalePool autoscale_pool; /* rows of the table that are not there at the start */
    ExistingPod *existing;
    size_t n_existing;
    Arrival *arrivals; /* by time, then by priority */
    size_t n_arrivals;
    bool is_timed;      /* arrivals have times */
    bool has_lifetimes; /* some have a lifetime */
    bool has_endless;   /* some have none */
    double last_at;     /* time of the last arrival */
    size_t n_rescheduled;
    size_t n_without_node;               /* pods on unknown nodes */
    size_t n_left_pending;               /* pending pods that are ignored */
    bool lacks_services;                 /* the files have none, and pods may be selected by some */
    size_t n_unmodelled[UNMODELLED_MAX]; /* arrivals with this feature */
    size_t n_any_unmodelled;             /* arrivals with any of these */
} SimulationInput;

typedef struct SimulationFiles {
    const char *cluster;
    const char *pods;  /* may be NULL */
    const char *pool;  /* nodes that an autoscaler adds; may be NULL */
    const char *trace; /* may be NULL */
    bool with_pending; /* pending pods of the cluster arrive first */
    bool by_schedule;  /* pods of the list arrive in the order in which they were bound */
    double every;      /* seconds between two pods of the list */
} SimulationFiles;

/* 0; -EINVAL: a file is wrong; or another negative errno. Then @error (SIMULATION_ERROR_MAX) has
 * the reason. */
int simulation_input_load(const SimulationFiles *files, SimulationInput **ret, char *error);
SimulationInput *simulation_input_free(SimulationInput *input); /* takes NULL, returns NULL */
DEFINE_CLEANUP(SimulationInput *, simulation_input_free)

/* The quantile (0 to 1) of the requests for @resource, over arrivals that request it; 0: none. */
int64_t simulation_input_quantile(
    const SimulationInput *input, Str resource, double quantile, Arena *scratch);
