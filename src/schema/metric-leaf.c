/* Columns of measured numbers: the call that `metrics` stands for (metrics.c), recognised. */

#include "schema/metric-leaf.h"

#include <math.h>
#include <string.h>

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

/* Some rows that follow each other in one chunk, and their numbers. */
typedef struct Run {
    const double *from; /* NULL: nothing is measured */
    size_t at, n;       /* of the rows that are asked about */
} Run;

/* How many of @rows, at most @max, follow each other. Mostly all do: a loop without a way out is
 * the quicker one. */
static size_t count_following(const uint32_t *rows, size_t max) {
    uint32_t differ = 0;
    size_t n = 1;

    for (uint32_t i = 0; i < max; i++)
        differ |= rows[i] ^ (rows[0] + i);
    if (!differ)
        return max;
    while (rows[n] == rows[0] + n)
        n++;
    return n;
}

/* The run that begins with row @at of @rows. */
static Run find_run(
    const Loads *loads, size_t gauge, LoadKind kind, const uint32_t *rows, size_t n, size_t at) {
    size_t slot = table_slot(rows[at]), left = n - at;
    Run run = {.at = at};

    run.n = count_following(rows + at, left < CHUNK_ROWS - slot ? left : CHUNK_ROWS - slot);
    if (loads && gauge < loads->n_gauges)
        run.from = loads->chunks[rows[at] / CHUNK_ROWS]->columns + LOAD_COLUMN(gauge, kind) + slot;
    return run;
}

static void load_absent(const Leaf *leaf, Run run, Column *ret) {
    uint8_t *states = ret->states + run.at;

    if (leaf->ask == LEAF_IS_SET) {
        memset(states, COLUMN_FALSE, run.n);
        return;
    }
    memset(states, leaf->ask == LEAF_ELSE ? COLUMN_OK : COLUMN_ERROR, run.n);
    for (size_t i = 0; i < run.n; i++)
        ret->doubles[run.at + i] = leaf->ask == LEAF_ELSE ? leaf->otherwise.d : 0.0;
}

static void load_times(Run run, Column *ret) {
    int64_t *times = ret->ints + run.at;
    uint8_t *states = ret->states + run.at;

    memcpy(times, run.from, run.n * sizeof(*times));
    for (size_t i = 0; i < run.n; i++)
        states[i] = times[i] != 0 ? COLUMN_OK : COLUMN_ERROR;
}

static void load_presence(Run run, Column *ret) {
    const double *restrict from = run.from;
    uint8_t *restrict states = ret->states + run.at;

    for (size_t i = 0; i < run.n; i++)
        states[i] = isnan(from[i]) ? COLUMN_FALSE : COLUMN_TRUE;
}

static void load_values(const Leaf *leaf, Run run, Column *ret) {
    bool is_else = leaf->ask == LEAF_ELSE;
    uint8_t absent = is_else ? COLUMN_OK : COLUMN_ERROR;
    double otherwise = is_else ? leaf->otherwise.d : 0.0;
    const double *restrict from = run.from;
    double *restrict values = ret->doubles + run.at;
    uint8_t *restrict states = ret->states + run.at;

    for (size_t i = 0; i < run.n; i++) {
        values[i] = isnan(from[i]) ? otherwise : from[i];
        states[i] = isnan(from[i]) ? absent : COLUMN_OK;
    }
}

static LoadKind kind_of(const Leaf *leaf) {
    return leaf->source == LEAF_MEASURED_AT ? LOAD_TIME
           : leaf->source == LEAF_MEASURED  ? LOAD_MEASURED
                                            : LOAD_VALUE;
}

void metric_leaf_load(
    const Leaf *leaf, const NodeTable *table, const uint32_t *rows, size_t n, Column *ret) {
    for (size_t at = 0; at < n;) {
        Run run = find_run(table->loads, leaf->gauge, kind_of(leaf), rows, n, at);

        if (!run.from)
            load_absent(leaf, run, ret);
        else if (leaf->source == LEAF_MEASURED_AT)
            load_times(run, ret);
        else if (leaf->ask == LEAF_IS_SET)
            load_presence(run, ret);
        else
            load_values(leaf, run, ret);
        at += run.n;
    }
}
