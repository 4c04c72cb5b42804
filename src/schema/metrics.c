/* Metrics in expressions. `metrics` becomes a call that users cannot write, with the node and a
 * constant for the policy. The call returns a record whose fields read the columns of
 * cluster/loads.h; leaf.c recognizes it, so that plans read the columns directly. */

#include "schema/metrics.h"

#include <assert.h>

#include "schema/schema-internal.h"

/* `metrics` for one row. */
typedef struct MetricsValue {
    CelRecord head;
    const SchemaMetrics *metrics;
    const NodeValue *node;
} MetricsValue;

#define METRIC_NOUN "metric" /* in errors: "metric load is absent" */

static CelValue number_or_absent(double number) {
    return isnan(number) ? cel_absent() : cel_double(number);
}

static CelValue get_metric(const CelRecord *record, uint32_t field, CelRun *run) {
    const MetricsValue *value = OBJECT_OF(record, MetricsValue, head);
    const NodeValue *node = value->node;

    return number_or_absent(
        loads_value(node->table->loads, value->metrics->gauges[field], LOAD_VALUE, node->row));
}

CelValue schema_call_metrics(CelRun *run, const CelValue *args, const void *prepared) {
    const SchemaMetrics *metrics = OBJECT_OF(args[1].record, SchemaMetrics, constant);
    const MetricsValue value = {
        .head.type = &metrics->type, .metrics = metrics, .node = node_value_of(args[0])};

    return schema_make(run, &value, sizeof(value));
}

static CelValue fail_absent(CelRun *run, const SchemaMetric *metric) {
    return cel_no_such_thing(
        run, METRIC_NOUN, metric->metrics->fields[metric - metric->metrics->each].name);
}

CelValue schema_call_measured(CelRun *run, const CelValue *args, const void *prepared) {
    const SchemaMetric *metric = OBJECT_OF(args[1].record, SchemaMetric, constant);
    const NodeValue *node = node_value_of(args[0]);
    double number = loads_value(node->table->loads, metric->gauge, LOAD_MEASURED, node->row);

    return isnan(number) ? fail_absent(run, metric) : cel_double(number);
}

CelValue schema_call_measured_at(CelRun *run, const CelValue *args, const void *prepared) {
    const SchemaMetric *metric = OBJECT_OF(args[1].record, SchemaMetric, constant);
    const NodeValue *node = node_value_of(args[0]);
    int64_t at = loads_time(node->table->loads, metric->gauge, node->row);

    return at == 0 ? fail_absent(run, metric) : schema_now(at);
}

/* `workload.metrics`. */
typedef struct WorkloadValue {
    CelRecord head;
    const SchemaMetrics *metrics;
    const Loads *loads;
    Str key; /* empty: the pod has no workload */
} WorkloadValue;

static CelValue get_workload_metric(const CelRecord *record, uint32_t field, CelRun *run) {
    const WorkloadValue *value = OBJECT_OF(record, WorkloadValue, head);

    if (str_is_empty(value->key))
        return cel_absent();
    return number_or_absent(
        loads_workload(value->loads, value->metrics->of_pods[field], value->key));
}

CelValue schema_workload(
    const SchemaMetrics *metrics, const Loads *loads, const Pod *pod, Arena *arena) {
    const WorkloadValue value = {.head.type = &metrics->workload_type,
        .metrics = metrics,
        .loads = loads,
        .key = workload_of(pod, arena)};

    return value.key.ptr ? schema_keep(arena, &value, sizeof(value)) : cel_absent();
}

#define OVERLOAD(variable, title, function)                                                        \
    static const CelOverloadSpec variable##_spec = {                                               \
        .name = title, .signature = "", .fn = function, .cost = CEL_COST_CALL};                    \
    static const CelOverload variable = {.spec = &variable##_spec,                                 \
        .name = {.ptr = title, .len = sizeof(title) - 1},                                          \
        .n_args = 2,                                                                               \
        .args = {&schema_node_record.of, &cel_dyn_type},                                           \
        .result = &cel_dyn_type};                                                                  \
    static const CelOverload *const variable##_list[] = {&variable}

OVERLOAD(metrics_overload, "@metrics", schema_call_metrics);
OVERLOAD(measured_overload, "@measured", schema_call_measured);
OVERLOAD(measured_at_overload, "@measured-at", schema_call_measured_at);

uint32_t schema_add_variable(
    CelGraph *graph, const char *name, uint32_t slot, uint8_t group, const CelType *type) {
    CelGraphNode node = {.op = OP_VARIABLE,
        .groups = SCHEMA_BIT(group),
        .type = type,
        .immediate = slot,
        .constant = cel_string(str_from_c(name))};

    return cel_graph_add(graph, &node);
}

static uint32_t add_call(CelGraph *graph, const CelOverload *const *overloads,
    const uint32_t args[2], const CelType *type) {
    CelGraphNode node = {.op = OP_CALL,
        .args = args,
        .n_args = 2,
        .type = type,
        .overloads = overloads,
        .n_overloads = 1};

    if (args[0] == CEL_NO_NODE || args[1] == CEL_NO_NODE)
        return CEL_NO_NODE;
    return cel_graph_add(graph, &node);
}

/* Adds a call with the arguments node and @what, a constant. */
static uint32_t add_node_call(CelGraph *graph, const Schema *schema,
    const CelOverload *const *overloads, const CelRecord *what, const CelType *type) {
    CelGraphNode constant = {
        .op = OP_CONSTANT, .type = &cel_dyn_type, .constant = cel_record(what)};
    uint32_t args[] = {
        schema_add_variable(graph, "node", schema->node_slot, SCHEMA_NODE, &schema_node_record.of),
        cel_graph_add(graph, &constant),
    };

    return add_call(graph, overloads, args, type);
}

static uint32_t expand_metrics(CelGraph *graph, const CelVariable *variable) {
    const SchemaMetrics *metrics = variable->context;

    return add_node_call(
        graph, metrics->schema, metrics_overload_list, &metrics->constant, variable->type);
}

static uint32_t expand_measured(CelGraph *graph, const CelVariable *variable) {
    const SchemaMetric *metric = variable->context;

    return add_node_call(
        graph, metric->metrics->schema, measured_overload_list, &metric->constant, variable->type);
}

static uint32_t expand_time(CelGraph *graph, const CelVariable *variable) {
    const SchemaMetric *metric = variable->context;

    return add_node_call(graph, metric->metrics->schema, measured_at_overload_list,
        &metric->constant, &cel_timestamp_type);
}

/* now - time of the measurement; the latter depends only on the node. */
static uint32_t expand_age(CelGraph *graph, const CelVariable *variable) {
    const SchemaMetric *metric = variable->context;
    uint32_t now_slot = metric->metrics->schema->now_slot;
    uint32_t args[] = {
        schema_add_variable(graph, "now", now_slot, SCHEMA_NOW, &cel_timestamp_type),
        expand_time(graph, variable),
    };

    return add_call(graph, &metric->metrics->less, args, &cel_duration_type);
}

/* The overload timestamp - timestamp. */
static const CelOverload *find_less(const CelEnv *env) {
    const CelOverload *const *overloads;
    size_t n = cel_env_overloads(env, STR("_-_"), &overloads);

    for (size_t i = 0; i < n; i++)
        if (overloads[i]->args[0]->kind == CEL_T_TIMESTAMP &&
            overloads[i]->args[1]->kind == CEL_T_TIMESTAMP)
            return overloads[i];
    return NULL;
}

/* Properties of a metric other than its value. */
static const struct Aspect {
    const char *name;
    const CelType *type;
    CelExpand *expand;
} aspects[] = {
    {"age", &cel_duration_type, expand_age},
    {"measured", &cel_double_type, expand_measured},
    {"time", &cel_timestamp_type, expand_time},
};

/* metrics.NAME.age, and so on. */
static void add_metric(CelEnv *env, SchemaMetrics *metrics, uint32_t field, Arena *arena) {
    SchemaMetric *metric = &metrics->each[field];
    Str name = metrics->fields[field].name;

    *metric = (SchemaMetric){
        .constant.type = &metrics->type, .metrics = metrics, .gauge = metrics->gauges[field]};
    for (size_t i = 0; i < ELEMENTS_OF(aspects); i++)
        (void)!cel_env_add_meaning(env,
            arena_printf(arena, "metrics.%.*s.%s", STR_FMT(name), aspects[i].name), aspects[i].type,
            aspects[i].expand, metric);
}

void schema_add_metrics(CelEnv *env, SchemaMetrics *metrics, Arena *arena) {
    metrics->less = find_less(env);
    assert(metrics->less); /* every CelEnv has it */
    metrics->type.name = STR("metrics");
    metrics->type.fields = metrics->fields;
    metrics->type.get = get_metric;
    metrics->workload_type.name = STR("workload.metrics");
    metrics->workload_type.fields = metrics->workload_fields;
    metrics->workload_type.get = get_workload_metric;
    metrics->type.noun = metrics->workload_type.noun = METRIC_NOUN;
    metrics->constant.type = &metrics->type;
    (void)!cel_env_add_meaning(
        env, STR("metrics"), cel_record_of(arena, &metrics->type), expand_metrics, metrics);
    for (uint32_t i = 0; i < metrics->type.n_fields; i++)
        add_metric(env, metrics, i, arena);
    (void)!cel_env_add_variable(env, STR("workload.metrics"),
        cel_record_of(arena, &metrics->workload_type), /* max_size= */ 1, SCHEMA_POD,
        &metrics->workload_slot);
}

uint32_t schema_metric_of(const SchemaMetrics *metrics, const CelNodeInfo *note) {
    const CelVariable *variable = note->ref == CEL_REF_VARIABLE ? note->variable : NULL;

    for (size_t i = 0; variable && i < ELEMENTS_OF(aspects); i++)
        if (variable->expand == aspects[i].expand)
            return (uint32_t)((const SchemaMetric *)variable->context - metrics->each);
    return UINT32_MAX;
}

/* The metrics of @type that node @i names: the one selected from it, or all. */
static uint64_t named_at(const CelChecked *checked, uint32_t i, const CelRecordType *type) {
    const CelTree *tree = checked->tree;
    bool is_selected = i + 1 < tree->n_nodes && tree->nodes[i + 1].n_children == 1 &&
                       checked->infos[i + 1].field < type->n_fields;

    if (is_selected)
        return UINT64_C(1) << checked->infos[i + 1].field;
    return type->n_fields == 0 ? 0 : UINT64_MAX >> (SCHEMA_METRICS_MAX - type->n_fields);
}

void schema_metrics_named(const SchemaMetrics *metrics, const CelChecked *checked, uint64_t *ret,
    uint64_t *ret_workload) {
    *ret = *ret_workload = 0;
    for (uint32_t i = 0; i < checked->tree->n_nodes; i++) {
        const CelNodeInfo *note = &checked->infos[i];
        uint32_t metric = schema_metric_of(metrics, note);

        if (note->ref != CEL_REF_VARIABLE)
            continue;
        if (metric < metrics->type.n_fields)
            *ret |= UINT64_C(1) << metric;
        else if (note->variable->expand == expand_metrics)
            *ret |= named_at(checked, i, &metrics->type);
        else if (!note->variable->expand && note->variable->slot == metrics->workload_slot)
            *ret_workload |= named_at(checked, i, &metrics->workload_type);
    }
}
