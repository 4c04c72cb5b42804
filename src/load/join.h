#pragma once

/*
 * Join: finds the node of each series.
 *
 * Series name nodes in many ways: node="a", instance="10.0.0.7:9100", kubernetes_node="a.example".
 * A gauge may define how (model/gauge.h). If it does not, every label that all series have is
 * compared with names, hostnames and addresses, with and without a port. The label that matches the
 * most nodes is taken, unless another one matches more than half as many and leads to other nodes:
 * then nothing is joined, and the report names both.
 *
 * Series of pods are joined through the table's own pods: to the node each runs on, and to its
 * workload.
 *
 * No value is guessed: if two series belong to one node, neither is used, and both are counted.
 */

#include "cluster/measurement.h"
#include "cluster/table.h"
#include "load/vector.h"
#include "model/gauge.h"

/* Why a series is not used. */
typedef enum JoinDrop {
    JOIN_NO_LABEL,  /* it does not have the label */
    JOIN_NO_NODE,   /* no node or pod has this name */
    JOIN_DUPLICATE, /* another series is of the same node or pod; neither is used */
    JOIN_NAN,
    JOIN_INFINITE,
    JOIN_TOO_OLD, /* its own time is older than the gauge allows */
    _JOIN_DROPS,
} JoinDrop;

const char *join_drop_name(JoinDrop drop); /* a stable word for metrics: "no_node" */

#define JOIN_TEXT_MAX 256u
#define JOIN_EXAMPLES_MAX 3u

typedef struct JoinReport {
    size_t n_series;
    size_t n_nodes;   /* of the cluster */
    size_t n_covered; /* nodes with a value */
    size_t n_pods;    /* gauges of pods: pods with a series */
    size_t n_workloads;
    size_t n_dropped[_JOIN_DROPS];
    char how[JOIN_TEXT_MAX];   /* "label instance, without the port, is an InternalIP" */
    char error[JOIN_TEXT_MAX]; /* why nothing was joined, and a suggestion; empty: no error */

    /* For users: some values that were not joined, and some nodes without a value; empty after the
     * last. */
    char unmatched[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX];
    char uncovered[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX];
} JoinReport;

/* When a query was sent, by our clock and by the server's. */
typedef struct JoinTime {
    int64_t asked_nsec;  /* since 1970, by our clock */
    int64_t uptime_nsec; /* the same, monotonic */
    int64_t server_sec;  /* by the server's clock; 0: unknown, the newest series is taken */
} JoinTime;

/* The identities of nodes. All jobs of one thread share it, because it takes more memory than the
 * memory of one job. */
typedef struct JoinIndex JoinIndex;
JoinIndex *join_index_new(void);              /* NULL when out of memory */
JoinIndex *join_index_free(JoinIndex *index); /* takes NULL */
DEFINE_CLEANUP(JoinIndex *, join_index_free)

/* Learned from the last answer for the same gauge, with the same index: the order of series, and
 * how labels are joined. A wrong memory costs time, never a value. */
typedef struct JoinMemory JoinMemory;
JoinMemory *join_memory_new(void);                /* NULL when out of memory */
JoinMemory *join_memory_free(JoinMemory *memory); /* takes NULL */
DEFINE_CLEANUP(JoinMemory *, join_memory_free)

/* Makes a measurement (the caller's reference) of @gauge from @vector for the cluster of @table,
 * which must be a snapshot's. @memory may be NULL. @scratch is for temporary data. Ages are
 * relative to the server's time: clocks may differ. 0, also if nothing was joined; or -ENOMEM. */
int join_vector(const Gauge *gauge, const Vector *vector, const NodeTable *table,
    const JoinTime *time, JoinIndex *index, JoinMemory *memory, Arena *scratch, JoinReport *report,
    Measurement **ret) MUST_CHECK;
