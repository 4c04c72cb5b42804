/* The series, functions and labels that promql-infer.c knows. */

#include "policy/promql-internal.h"

#include "base/cleanup.h"

#define MINUTE INT64_C(60000000000)

const PromqlUsed promql_used_cpu = {{6, 3}, {0.75, 0.3}};
const PromqlUsed promql_used_memory = {{10, 1}, {0.625, 0.125}};

/* Shares and amounts of the two probe nodes, and series that only add labels. */
#define CPU_SHARE(title, range)                                                                    \
    {                                                                                              \
        .name = (title), .resource = PROMQL_OF_CPU, .at = {0.75, 0.3}, .first = AGG_ANY,           \
        .then = AGG_ANY, .range_nsec = (range)                                                     \
    }
#define MEMORY(title, a, b)                                                                        \
    {                                                                                              \
        .name = (title), .resource = PROMQL_OF_MEMORY, .at = {a, b}, .first = AGG_ANY,             \
        .then = AGG_ANY                                                                            \
    }
#define OF_PODS(title, its_resource, a, b, ...)                                                    \
    {                                                                                              \
        .name = (title), .resource = (its_resource), .at = {a, b}, .first = AGG_SUM,               \
        .then = AGG_SUM, __VA_ARGS__                                                               \
    }
#define JOIN(title)                                                                                \
    { .name = (title), .at = {1, 1}, .first = AGG_ANY, .then = AGG_ANY }
#define RECORDED_CPU "node_namespace_pod_container:container_cpu_usage_seconds_total:"

static const PromqlSeries known_series[] = {
    {"node_cpu_seconds_total", PROMQL_OF_CPU, {0.25, 0.7}, .is_counter = true, .is_idle = true,
        .first = AGG_AVG, .then = AGG_AVG | AGG_MAX | AGG_MIN},
    CPU_SHARE("instance:node_cpu_utilisation:rate5m", 5 * MINUTE),
    CPU_SHARE("instance:node_cpu_utilisation:rate1m", MINUTE),
    CPU_SHARE("instance:node_cpu:ratio", 5 * MINUTE),
    OF_PODS("container_cpu_usage_seconds_total", PROMQL_OF_CPU, 6, 3, .is_counter = true),
    OF_PODS(RECORDED_CPU "sum_irate", PROMQL_OF_CPU, 6, 3, .range_nsec = 0),
    OF_PODS(RECORDED_CPU "sum_rate", PROMQL_OF_CPU, 6, 3, .range_nsec = 5 * MINUTE),
    OF_PODS(RECORDED_CPU "sum_rate5m", PROMQL_OF_CPU, 6, 3, .range_nsec = 5 * MINUTE),
    MEMORY("node_memory_MemAvailable_bytes", 6, 7),
    MEMORY("node_memory_MemTotal_bytes", 16, 8),
    MEMORY("instance:node_memory_utilisation:ratio", 0.625, 0.125),
    OF_PODS("container_memory_working_set_bytes", PROMQL_OF_MEMORY, 10, 1, .range_nsec = 0),
    OF_PODS("node_namespace_pod_container:container_memory_working_set_bytes", PROMQL_OF_MEMORY, 10,
        1, .range_nsec = 0),
    JOIN("kube_pod_info"),
    JOIN("kube_node_info"),
    JOIN("node_uname_info"),
    JOIN("node_namespace_pod:kube_pod_info:"),
};

const PromqlSeries *promql_series(Str name) {
    for (size_t i = 0; i < ELEMENTS_OF(known_series); i++)
        if (str_is(name, known_series[i].name))
            return &known_series[i];
    return NULL;
}

static const PromqlFunction functions[] = {
    {"rate", FUNCTION_RATE, 0},
    {"irate", FUNCTION_IRATE, 0},
    {"avg_over_time", FUNCTION_KEEPS, 0},
    {"last_over_time", FUNCTION_KEEPS, 0},
    {"clamp", FUNCTION_KEEPS, 0},
    {"clamp_max", FUNCTION_KEEPS, 0},
    {"clamp_min", FUNCTION_KEEPS, 0},
    {"label_join", FUNCTION_KEEPS, 0},
    {"label_replace", FUNCTION_KEEPS, 0},
    {"round", FUNCTION_KEEPS, 0},
    {"avg", FUNCTION_AGGREGATES, AGG_AVG},
    {"sum", FUNCTION_AGGREGATES, AGG_SUM},
    {"max", FUNCTION_AGGREGATES, AGG_MAX},
    {"min", FUNCTION_AGGREGATES, AGG_MIN},
};

const PromqlFunction *promql_function(Str name) {
    for (size_t i = 0; i < ELEMENTS_OF(functions); i++)
        if (str_is(name, functions[i].name))
            return &functions[i];
    return NULL;
}

/* Matchers that leave out no node and no pod. */
typedef enum LabelRule {
    LABEL_FREE,     /* any: it names the scraper */
    LABEL_NO_PARTS, /* may leave out series that are not a container */
    LABEL_PRESENT,  /* !="" and the like */
} LabelRule;

typedef struct LabelName {
    const char *name;
    LabelRule rule;
    const char *equal; /* may be this very value, too */
} LabelName;

static const LabelName label_names[] = {
    {"job", LABEL_FREE, NULL},
    {"cluster", LABEL_FREE, NULL},
    {"endpoint", LABEL_FREE, NULL},
    {"metrics_path", LABEL_FREE, NULL},
    {"service", LABEL_FREE, NULL},
    {"container", LABEL_NO_PARTS, NULL},
    {"container_name", LABEL_NO_PARTS, NULL},
    {"image", LABEL_NO_PARTS, NULL},
    {"name", LABEL_NO_PARTS, NULL},
    {"cpu", LABEL_PRESENT, "total"},
    {"id", LABEL_PRESENT, "/"},
    {"instance", LABEL_PRESENT, NULL},
    {"namespace", LABEL_PRESENT, NULL},
    {"node", LABEL_PRESENT, NULL},
    {"pod", LABEL_PRESENT, NULL},
    {"pod_name", LABEL_PRESENT, NULL},
};

static bool matches_all(const PromqlMatcher *matcher) {
    return (str_is(matcher->op, "!=") && str_is_empty(matcher->value)) ||
           (str_is(matcher->op, "=~") &&
               (str_is(matcher->value, ".+") || str_is(matcher->value, ".*")));
}

bool promql_keeps_all(const PromqlMatcher *matcher) {
    for (size_t i = 0; i < ELEMENTS_OF(label_names); i++) {
        const LabelName *label = &label_names[i];

        if (!str_is(matcher->label, label->name))
            continue;
        return label->rule == LABEL_FREE || matches_all(matcher) ||
               (label->rule == LABEL_NO_PARTS && matcher->op.ptr[0] == '!') ||
               (label->equal && str_is(matcher->op, "=") && str_is(matcher->value, label->equal));
    }
    return false;
}
