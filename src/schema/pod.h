#pragma once

/*
 * Pods as values: the one to be placed (Pod), and those that run on a node (NodePod), of which
 * less is kept.
 */

#include "model/pod.h"
#include "schema/record.h"

/* What the cost of expressions counts with; a node may have more. */
#define SCHEMA_PODS_ASSUMED 256u

typedef struct PodValue {
    CelRecord head, metadata, spec, status;
    const Pod *pod;
} PodValue;

extern const SchemaRecord schema_pod_record, schema_pod_metadata, schema_pod_spec,
    schema_pod_status, schema_node_pod, schema_node_pod_metadata, schema_node_pod_spec,
    schema_owner, schema_toleration, schema_container;
extern const CelType schema_pods_type; /* list(NodePod) */

/* @value stands for @pod, as Pod. */
void pod_value_init(PodValue *value, const Pod *pod);

/* Pods of a node, as NodePod; @items may be NULL when @n is 0. An error when there is no memory. */
CelValue schema_pods(CelRun *run, const Pod *const *items, size_t n);
