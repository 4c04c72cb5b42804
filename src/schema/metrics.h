#pragma once

/*
 * Metrics: measured numbers as expressions see them.
 *
 *     metrics.load              double, absent without a value: has(metrics.load)
 *     metrics.load.age          duration: how long ago it was measured
 *     metrics.load.time         timestamp: when it was measured
 *     metrics.load.measured     double: without the pods that were placed since
 *     workload.metrics.load     double or absent: the value of the pod's workload (metrics of pods)
 *
 * Each policy has its own names for them; here they are numbers of the program's gauges. A policy's
 * `metrics` is not a variable of a run: the compiler replaces it by reads of the node, so it is
 * precomputed and evaluated like any other field of the node.
 */

#include "cel/type.h"
#include "cluster/loads.h"
#include "model/workload.h"
#include "schema/schema.h"

#define SCHEMA_METRICS_MAX 64u /* of a policy */

typedef struct SchemaMetrics SchemaMetrics;

/* One metric: the constant that metrics.NAME.age and the like read in the graph. */
typedef struct SchemaMetric {
    CelRecord constant;
    const SchemaMetrics *metrics;
    uint32_t gauge;
} SchemaMetric;

/* The metrics of one policy. */
struct SchemaMetrics {
    CelRecordType type;                  /* of `metrics` */
    CelRecordType workload_type;         /* of `workload.metrics`: the same names */
    CelField fields[SCHEMA_METRICS_MAX]; /* doubles that may be absent */
    CelField workload_fields[SCHEMA_METRICS_MAX];
    uint32_t gauges[SCHEMA_METRICS_MAX];   /* by field: number of the program's gauge */
    uint32_t of_pods[SCHEMA_METRICS_MAX];  /* by field of workload_type: number of the gauge */
    CelRecord constant;                    /* `metrics` in the graph */
    SchemaMetric each[SCHEMA_METRICS_MAX]; /* by field */
    uint32_t workload_slot;
    const Schema *schema;
    const CelOverload *less; /* timestamp - timestamp */
};

/* The calls that replace `metrics` and its fields; leaf.c recognizes them. */
CelFunction schema_call_metrics, schema_call_measured, schema_call_measured_at;

/* Declares the metrics in @env. The caller has set schema, names and numbers (type.n_fields fields
 * and gauges, workload_type.n_fields workload_fields and of_pods); it sets the rest. @metrics must
 * outlive @env. When out of memory, @arena, which is that of @env, has failed. */
void schema_add_metrics(CelEnv *env, SchemaMetrics *metrics, Arena *arena);

/* The value of `workload.metrics` for @pod; @loads may be NULL. Borrows its arguments. ABSENT: out
 * of memory. */
CelValue schema_workload(
    const SchemaMetrics *metrics, const Loads *loads, const Pod *pod, Arena *arena);

/* The field number of the metric whose age, time or measured value @note reads, or UINT32_MAX. */
uint32_t schema_metric_of(const SchemaMetrics *metrics, const CelNodeInfo *note);

/* Which metrics @checked names, also by their age: bit i of @ret is field i of `metrics`, bit i of
 * @ret_workload field i of `workload.metrics`. If one of the two is used as a whole (cel.bind(m,
 * metrics, m.load)), all its metrics count as named. */
void schema_metrics_named(
    const SchemaMetrics *metrics, const CelChecked *checked, uint64_t *ret, uint64_t *ret_workload);
