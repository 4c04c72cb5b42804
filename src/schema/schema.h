#pragma once

/*
 * Schema: the variables, records and functions of expressions.
 *
 *     pod       the pod to be placed                            read once a request
 *     namespace the namespace of that pod                       read once a request
 *     node      the candidate node                              cached with the node
 *     cluster   totals                                          computed once a snapshot
 *     now       the time of the request, a timestamp
 *     decision  why the pod is bound to the node                only in bind.annotations
 *     params    constants of the policy          } declared by each policy
 *     variables expressions of the policy        } (policy/scope.h)
 *     metrics   measured values of the node      } (metrics.h)
 *
 * Records are closed and typed: a misspelt field is a compile error. Fields have the API's names;
 * reading a field that users may expect but that is not kept is an error with the reason (the phase
 * of a pod). Unset fields read as their default ("", 0, an empty list or map); times and
 * nominatedNodeName may be absent: test with has(), reading them is an error.
 *
 * Each record is one list of fields (record.h); these lists generate the types, checks, accessors,
 * docs, and the parts to decode of a request that carries Node objects.
 */

#include "base/vec.h"
#include "cel/check.h"
#include "cel/env.h"
#include "cluster/table.h"
#include "columnar/plan.h"
#include "model/node.h"
#include "model/pod-parts.h"
#include "model/pod.h"

/* Groups of variables (CelVariable.group). */
enum {
    SCHEMA_POD,
    SCHEMA_NODE,
    SCHEMA_CLUSTER,
    SCHEMA_NOW,
    SCHEMA_DECISION,
};
#define SCHEMA_BIT(group) (1u << (group))

typedef struct Schema {
    CelEnv *env; /* policies extend it */
    uint32_t pod_slot, namespace_slot, node_slot, cluster_slot, now_slot, decision_slot;
    PlanHost host;             /* the table of nodes, for plans */
    struct SchemaReads *reads; /* leaves that plans requested, by number */
} Schema;

/* Lies in @arena, and allocates there while one thread builds plans with it. After that it is
 * read-only, for any number of threads. NULL when out of memory. */
Schema *schema_new(Arena *arena) MUST_CHECK;

/* The pod to be placed as a value; borrows @pod. Lies in @arena. An ABSENT value when out of
 * memory. */
CelValue schema_pod(const Pod *pod, Arena *arena);

/* The namespace of @pod (Pod.related), like schema_pod(). */
CelValue schema_namespace(const Pod *pod, Arena *arena);

/* The kinds of objects that @checked reads besides nodes and pods: RELATED_BIT()s. */
unsigned schema_related(const Schema *schema, const CelChecked *checked);

/* One row of a table, which must outlive it; a row without a node reads as an empty node. An ABSENT
 * value when out of memory. */
CelValue schema_node(const NodeTable *table, uint32_t row, Arena *arena);

/* Computes the cluster's totals. Arguments and result as for schema_node(). */
CelValue schema_cluster(const NodeTable *table, Arena *arena);

/* The decision of a bind: the names of the policies that apply to the pod, and the node's score.
 * Borrows @policies. Lies in @arena. An ABSENT value when out of memory. */
CelValue schema_decision(const Str *policies, size_t n, double score, Arena *arena);

/* A time in nanoseconds since 1970 as a timestamp. */
CelValue schema_now(int64_t now_nsec);

/* Data that all columns of a block share (PlanTable.block). The caller sets @arena and zeroes the
 * rest. */
typedef struct SchemaBlock {
    Arena *arena;
    struct LabelIndex *indexes[2]; /* of labels and annotations; NULL: none */
    bool is_read[2];
} SchemaBlock;

/* The table for plans. @schema and @table must outlive it. */
PlanTable schema_table(const Schema *schema, const NodeTable *table);

/* What a set of expressions reads: the parts of a Node object, which a request must decode, and the
 * fields of running pods. When memory runs out, @arena has failed. */
typedef VEC(Str) SchemaKeys;

typedef struct SchemaNeeds {
    Arena *arena;
    NodeParts parts;
    PodParts pods;
    SchemaKeys labels;      /* parts.labels is its array */
    SchemaKeys annotations; /* pods.annotations is its array */
} SchemaNeeds;

/* Adds the parts that the @n @roots of @graph read, in one walk. A read of a label, or of a running
 * pod's annotation, by a constant key needs only that key; any other use needs all of them. */
void schema_need(const Schema *schema, const CelGraph *graph, const uint32_t *roots, size_t n,
    SchemaNeeds *needs);

/* The fields of running pods that a cluster must keep for @needs. */
PodParts schema_kept_pods(const SchemaNeeds *needs);

/* Calls @report for each use of a running pod's annotations that is not by a constant key: policies
 * name the keys, since only these are kept. @graph is of one expression. False when @scratch is
 * used up. */
typedef void SchemaReport(void *context, const CelGraphNode *annotations);
bool schema_check_annotations(const CelGraph *graph, uint32_t root, Arena *scratch,
    SchemaReport *report, void *context) MUST_CHECK;

/* What each node of a graph depends on: bits by node, in @arena. NULL: no memory. */
enum { SCHEMA_MAY_CHANGE = 1, SCHEMA_MAY_COUNT_PODS = 2 };
const uint8_t *schema_dependence(const Schema *schema, const CelGraph *graph, Arena *arena);

/* Whether @root reads only permanent properties of a node: name, labels, taints, allocatable. A
 * node that it rejects will not take the same pod later either. */
bool schema_is_permanent(const CelGraph *graph, const uint8_t *dependence, uint32_t root);

/* Whether @root reads the pods that are on nodes: their number, their fields or the sum of their
 * requests, of a node, a domain or the cluster. Reading measured values does not count. */
bool schema_counts_pods(const CelGraph *graph, const uint8_t *dependence, uint32_t root);

/* Every field as a Markdown table: name, type, presence, cost, meaning. For docs/policy.md. */
void schema_describe(Buf *out);
