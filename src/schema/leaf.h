#pragma once

/*
 * Leaf: a part of an expression that is read from the table straight into a column.
 *
 *     node.metadata.name                              a field
 *     has(node.metadata.creationTimestamp)            whether it is set
 *     node.free['cpu'], labels['k']                   an entry of a map, by a constant key
 *     'k' in labels, has(labels.k), labels[?'k'].hasValue()
 *     labels[?'k'].value(), labels[?'k'].orValue('c')
 *     labels[pod.metadata.name], and so on            the same by a key that is computed once
 *     node.pods.size()
 *     p.metadata.labels['k'], for each p of node.pods, and the like
 *     pod.selects(node)                               the key is the pod
 *     node.spec.taints.all(t, pod.tolerates(t.text))  the same
 *     metrics.load, has(metrics.load), metrics.?load.orValue(0.5), metrics.load.measured
 *
 * The result is the same as that of the scalar machine, errors included.
 */

#include "cel/graph.h"
#include "columnar/plan.h"
#include "schema/amounts.h"

/* The field that is read. */
typedef enum LeafSource {
    LEAF_NAME,
    LEAF_UID,
    LEAF_NAMESPACE, /* of a pod */
    LEAF_CREATED,
    LEAF_PLACED, /* of a pod: when it was bound */
    LEAF_READY,
    LEAF_CORDONED,
    LEAF_TERMINATING, /* of a pod */
    LEAF_SELECTED,    /* the pod that is the key selects the node */
    LEAF_TOLERATED,   /* the pod that is the key tolerates the node's taints */
    LEAF_N_PODS,
    LEAF_N_TAINTS,
    LEAF_METRIC, /* of @gauge */
    LEAF_MEASURED,
    LEAF_MEASURED_AT,
    LEAF_LABEL, /* maps, by a key */
    LEAF_ANNOTATION,
    LEAF_ALLOCATABLE,
    LEAF_REQUESTED,
    LEAF_FREE,
} LeafSource;

/* The value that a leaf gives. */
typedef enum LeafMode {
    LEAF_VALUE,  /* the value; if it is not set an error, or 0.0 for amounts */
    LEAF_STRICT, /* the value; an error if it is not set */
    LEAF_ELSE,   /* the value, or @otherwise if it is not set */
    LEAF_IS_SET, /* whether it is set, a bool */
} LeafMode;

typedef struct Leaf {
    LeafSource source;
    LeafMode mode;
    Str key;            /* of a map */
    uint32_t gauge;     /* of a metric */
    CelValue otherwise; /* LEAF_ELSE */
} Leaf;

/* Whether @node is a leaf of the row variable @row_slot. @ret borrows from the graph. */
bool leaf_read(const CelGraph *graph, uint32_t node, uint32_t row_slot, Leaf *ret);

/* The same for an entry of a map by a key that is not constant: @ret_key is the key's node. Set the
 * leaf's key before it is loaded. Also for LEAF_SELECTED and LEAF_TOLERATED, whose key is a pod. */
bool leaf_read_keyed(
    const CelGraph *graph, uint32_t node, uint32_t row_slot, Leaf *ret, uint32_t *ret_key);

/* The same for the variable of a loop over the pods of a node: their names, times and labels. */
bool leaf_read_pod(const CelGraph *graph, uint32_t node, Leaf *ret);

bool leaf_equal(const Leaf *a, const Leaf *b);

/* Like PlanTable.load_elements(). */
void leaf_load_pods(
    const Leaf *leaf, const CelValue *pods, size_t n, Column *ret, CelValue *ret_texts);

/* Like PlanTable.load(). @known: the values of a label or annotation, one a row (plan-host.c);
 * NULL: they are searched. */
void leaf_load(const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n,
    const Str *const *known, Column *ret, CelValue *ret_texts);

/* The same for LEAF_SELECTED and LEAF_TOLERATED. */
void leaf_load_selected(
    const Pod *pod, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret);
void leaf_load_tolerated(
    const Pod *pod, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret);

/* The same for LEAF_METRIC, LEAF_MEASURED and LEAF_MEASURED_AT; sets the states. */
void leaf_load_metric(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret);
