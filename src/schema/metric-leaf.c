/* Columns of measured numbers: the call that `metrics` stands for (metrics.c), recognised. */

#include "schema/metric-leaf.h"

#include "cluster/loads.h"
#include "schema/metrics.h"
#include "schema/record.h"

/* --- recognising ------------------------------------------------------------------------ */

typedef struct Reading {
    const CelGraph *graph;
    uint32_t row_slot;
} Reading;

static const CelGraphNode *node_if(const Reading *reading, uint32_t number, uint16_t op) {
    const CelGraphNode *node = cel_graph_node(reading->graph, number);

    return node->op == op ? node : NULL;
}

/* The constant that a call of the row and of @fn has; NULL: it is no such call. */
static const CelRecord *find_constant(
    const Reading *reading, const CelGraphNode *call, CelFunction *fn) {
    const CelGraphNode *row, *constant;

    if (!call || call->n_overloads != 1 || call->overloads[0]->spec->fn != fn)
        return NULL;
    row = node_if(reading, call->args[0], OP_VARIABLE);
    constant = node_if(reading, call->args[1], OP_CONSTANT);
    return row && row->immediate == reading->row_slot && constant ? constant->constant.record
                                                                  : NULL;
}

/* A field of `metrics`. */
static bool read_field(const Reading *reading, const CelGraphNode *field, LeafAsk ask, Leaf *ret) {
    const CelRecord *constant =
        field
            ? find_constant(reading, node_if(reading, field->args[0], OP_CALL), schema_call_metrics)
            : NULL;

    if (!constant)
        return false;
    *ret = (Leaf){.source = LEAF_METRIC,
        .ask = ask,
        .gauge = OBJECT_OF(constant, SchemaMetrics, constant)->gauges[field->immediate]};
    return true;
}

static bool read_optional(const Reading *reading, uint32_t number, LeafAsk ask, Leaf *ret) {
    return read_field(reading, node_if(reading, number, OP_OPT_FIELD), ask, ret);
}

/* metrics.?x.orValue(constant) is: has it a value? that : the constant. */
static bool read_or_value(const Reading *reading, const CelGraphNode *node, Leaf *ret) {
    const CelGraphNode *has = node_if(reading, node->args[0], OP_OPT_HAS);
    const CelGraphNode *get = node_if(reading, node->args[1], OP_OPT_GET);
    const CelGraphNode *otherwise = node_if(reading, node->args[2], OP_CONSTANT);

    if (!has || !get || !otherwise || otherwise->constant.kind != CEL_DOUBLE ||
        has->args[0] != get->args[0] || !read_optional(reading, has->args[0], LEAF_ELSE, ret))
        return false;
    ret->otherwise = otherwise->constant;
    return true;
}

static bool read_call(const Reading *reading, const CelGraphNode *call, Leaf *ret) {
    const CelRecord *measured = find_constant(reading, call, schema_call_measured);
    const CelRecord *at = find_constant(reading, call, schema_call_measured_at);

    if (!measured && !at)
        return false;
    *ret = (Leaf){.source = measured ? LEAF_MEASURED : LEAF_MEASURED_AT,
        .ask = LEAF_VALUE,
        .gauge = OBJECT_OF(measured ? measured : at, SchemaMetric, constant)->gauge};
    return true;
}

bool metric_leaf_read(const CelGraph *graph, uint32_t number, uint32_t row_slot, Leaf *ret) {
    const Reading reading = {.graph = graph, .row_slot = row_slot};
    const CelGraphNode *node = cel_graph_node(graph, number);

    switch (node->op) {
    case OP_FIELD:
        return read_field(&reading, node, LEAF_VALUE, ret);
    case OP_TEST_FIELD:
        return read_field(&reading, node, LEAF_IS_SET, ret);
    case OP_OPT_HAS:
        return read_optional(&reading, node->args[0], LEAF_IS_SET, ret);
    case OP_OPT_GET:
        return read_optional(&reading, node->args[0], LEAF_STRICT, ret);
    case OP_CONDITIONAL:
        return read_or_value(&reading, node, ret);
    case OP_CALL:
        return read_call(&reading, node, ret);
    default:
        return false;
    }
}

/* --- loading -------------------------------------------------------------------------------- */

static void load_times(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, CelColumn *ret) {
    for (size_t i = 0; i < n; i++) {
        ret->ints[i] = loads_time(table->loads, leaf->gauge, rows[i]);
        ret->states[i] = ret->ints[i] != 0 ? CEL_STATE_FINE : CEL_STATE_ERROR;
    }
}

static void load_presence(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, CelColumn *ret) {
    for (size_t i = 0; i < n; i++)
        ret->states[i] = isnan(loads_value(table->loads, leaf->gauge, LOAD_VALUE, rows[i]))
                             ? CEL_STATE_FALSE
                             : CEL_STATE_TRUE;
}

void metric_leaf_load(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, CelColumn *ret) {
    LoadKind kind = leaf->source == LEAF_MEASURED ? LOAD_MEASURED : LOAD_VALUE;

    if (leaf->source == LEAF_MEASURED_AT) {
        load_times(leaf, table, rows, n, ret);
        return;
    }
    if (leaf->ask == LEAF_IS_SET) {
        load_presence(leaf, table, rows, n, ret);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double value = loads_value(table->loads, leaf->gauge, kind, rows[i]);
        bool is_set = !isnan(value);

        ret->states[i] = is_set || leaf->ask == LEAF_ELSE ? CEL_STATE_FINE : CEL_STATE_ERROR;
        ret->doubles[i] = is_set ? value : leaf->ask == LEAF_ELSE ? leaf->otherwise.d : 0.0;
    }
}
