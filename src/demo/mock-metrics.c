/* Answers Prometheus' instant queries and metrics.k8s.io from the latest cluster. */

#include "demo/mock-metrics.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/query.h"
#include "base/clock.h"
#include "demo/json-put.h"
#include "demo/usage.h"
#include "json/write.h"

#define FORM_MAX ((size_t)256 * 1024)
#define EXPORTER_PORT 9100 /* node_exporter's */

#define NODE_NAME_MAX 253u

/* CPU use of a node by processes outside pods. */
typedef struct ExtraLoad {
    char node[NODE_NAME_MAX + 1]; /* empty: none */
    double share;
} ExtraLoad;

struct MockMetrics {
    MockServer mock;

    pthread_mutex_t lock; /* of the next fields */
    Snapshot *snapshot;   /* NULL: none yet */
    Program *rules;       /* NULL: none yet */
    ExtraLoad extra_load;
};

/* The state of one request, with references. */
typedef struct MetricsState {
    Snapshot *snapshot; /* references */
    Program *rules;
    const NodeTable *cluster;
    ExtraLoad extra_load;
    int64_t now_nsec;
} MetricsState;

static void state_begin(MockMetrics *metrics, MetricsState *ret) {
    *ret = (MetricsState){.now_nsec = clock_wall_nsec()};
    (void)pthread_mutex_lock(&metrics->lock);
    if (metrics->snapshot)
        ret->snapshot = snapshot_ref(metrics->snapshot);
    if (metrics->rules)
        ret->rules = program_ref(metrics->rules);
    ret->extra_load = metrics->extra_load;
    (void)pthread_mutex_unlock(&metrics->lock);
    if (ret->snapshot)
        ret->cluster = snapshot_table(ret->snapshot);
}

static void state_done(MetricsState *state) {
    snapshot_unref(state->snapshot);
    program_unref(state->rules);
}

static double measure(const MetricsState *state, const Usage *usage, uint32_t row) {
    double value = usage_measure(usage, state->cluster, row, state->now_nsec);

    if (isnan(value) || usage->kind != USAGE_USED || usage->resource != TABLE_CPU ||
        !str_is(state->cluster->names->names[row], state->extra_load.node))
        return value;
    return usage_in_unit(usage, state->cluster, row, state->extra_load.share);
}

/* --- Prometheus ------------------------------------------------------------------------------- */

/* A query, and the labels of its series. */
typedef struct SeriesQuery {
    Usage usage;
    bool is_of_pods;
    Str label; /* of nodes */
    bool is_by_address;
    Str namespace_label, pod_label;
} SeriesQuery;

static bool contains(Str text, Str part) {
    return text.ptr && memmem(text.ptr, text.len, part.ptr, part.len);
}

/* Series of exporters have addresses; those of kubelets and the API server have names. */
static bool is_exporters(Str query) {
    return contains(query, STR("instance")) ||
           (contains(query, STR("node_")) && !contains(query, STR("kube_")));
}

static const Gauge *find_gauge(const Program *rules, Str query) {
    for (size_t i = 0; rules && i < rules->n_gauges; i++)
        if (rules->gauges[i].source == GAUGE_PROMETHEUS && str_eq(rules->gauges[i].query, query))
            return &rules->gauges[i];
    return NULL;
}

static SeriesQuery read_query(const Program *rules, Str query) {
    const Gauge *gauge = find_gauge(rules, query);
    SeriesQuery series = {
        .usage = gauge ? usage_of_gauge(gauge) : usage_of_query(query),
        .is_of_pods = gauge ? gauge->is_of_pods : contains(query, STR("pod")),
        .is_by_address = is_exporters(query),
        .namespace_label = gauge ? gauge->namespace_label : STR("namespace"),
        .pod_label = gauge ? gauge->pod_label : STR("pod"),
    };

    if (gauge && gauge->identity != GAUGE_BY_ANY)
        series.is_by_address = gauge->identity == GAUGE_BY_IP;
    series.label = series.is_by_address ? STR("instance") : STR("node");
    if (gauge && !str_is_empty(gauge->node_label))
        series.label = gauge->node_label;
    return series;
}

/* Between the items of a list. */
static const char *comma(const Buf *out) {
    return out->data[out->len - 1] == '[' ? "" : ",";
}

/* The end of a series. Prometheus sends the value as a string. */
static void put_value(Buf *out, int64_t now_nsec, double value) {
    int64_t msec = now_nsec / NSEC_PER_MSEC;

    json_put(out, "},'value':[%.3f,'%.8g']}", (double)msec / 1000, value);
}

/* A label of a metric. The policy defines it, so it may need escapes. */
static void put_label(Buf *out, Str label, Str value) {
    json_quote(out, label);
    buf_append_char(out, ':');
    json_quote(out, value);
}

static void put_node_series(
    const MetricsState *state, const SeriesQuery *query, uint32_t row, Buf *out) {
    const Node *node = table_node(state->cluster, row);
    double value = measure(state, &query->usage, row);
    char address[64];

    if (!node || isnan(value))
        return;
    (void)snprintf(address, sizeof(address), "%.*s:%d",
        STR_FMT(node->n_addresses > 0 ? node->addresses[0].text : node->name), EXPORTER_PORT);
    json_put(out, "%s{'metric':{", comma(out));
    put_label(out, query->label, query->is_by_address ? str_from_c(address) : node->name);
    put_value(out, state->now_nsec, value);
}

static void put_pod_series(
    const MetricsState *state, const SeriesQuery *query, const Pod *pod, Buf *out) {
    json_put(out, "%s{'metric':{", comma(out));
    put_label(out, query->namespace_label, pod->namespace);
    buf_append_char(out, ',');
    put_label(out, query->pod_label, pod->name);
    put_value(out, state->now_nsec, usage_measure_pod(&query->usage, pod, state->now_nsec));
}

/* The pods of a node that is ready. */
static const PodList *pods_of(const NodeTable *cluster, uint32_t row) {
    static const PodList none;
    const Node *node = table_node(cluster, row);
    const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

    return pods && node && node->is_ready ? pods : &none;
}

static void answer_query(const MetricsState *state, Str text, Buf *out) {
    SeriesQuery query = read_query(state->rules, text);

    json_put(out, "{'status':'success','data':{'resultType':'vector','result':[");
    for (uint32_t row = 0; row < state->cluster->n_rows; row++) {
        const PodList *pods = pods_of(state->cluster, row);

        if (!query.is_of_pods)
            put_node_series(state, &query, row, out);
        for (uint32_t i = 0; query.is_of_pods && i < pods->n; i++)
            put_pod_series(state, &query, pods->items[i], out);
    }
    json_put(out, "]}}");
}

/* --- metrics.k8s.io --------------------------------------------------------------------------- */

/* A NodeMetrics, or a PodMetrics with one container. @cpu in cores, @memory in bytes. */
static void put_item(
    Buf *out, int64_t now_nsec, Str namespace, Str name, double cpu, double memory) {
    bool is_pod = !str_is_empty(namespace);
    char time[JSON_TIME_MAX];

    json_put(out, "%s{'metadata':{'name':'%.*s'", comma(out), STR_FMT(name));
    if (is_pod)
        json_put(out, ",'namespace':'%.*s'", STR_FMT(namespace));
    json_put(out,
        "},'timestamp':'%s','window':'15s',%s'usage':{'cpu':'%.0fn','memory':'%.0fKi'}}%s",
        json_time(now_nsec / NSEC_PER_SEC, time), is_pod ? "'containers':[{'name':'main'," : "",
        cpu * 1e9, memory / 1024, is_pod ? "]}" : "");
}

static void answer_resources(const MetricsState *state, bool is_of_pods, Buf *out) {
    static const Gauge gauges[] = {
        {.source = GAUGE_RESOURCES, .resource = STR("cpu")},
        {.source = GAUGE_RESOURCES, .resource = STR("memory")},
    };
    const Usage cpu = usage_of_gauge(&gauges[0]), memory = usage_of_gauge(&gauges[1]);
    const NodeTable *cluster = state->cluster;
    int64_t now = state->now_nsec;

    json_put(out, "{'kind':'%s','apiVersion':'metrics.k8s.io/v1beta1','metadata':{},'items':[",
        is_of_pods ? "PodMetricsList" : "NodeMetricsList");
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const PodList *pods = pods_of(cluster, row);
        double used = measure(state, &cpu, row);

        if (!is_of_pods && !isnan(used))
            put_item(
                out, now, STR_NULL, cluster->names->names[row], used, measure(state, &memory, row));
        for (uint32_t i = 0; is_of_pods && i < pods->n; i++) {
            const Pod *pod = pods->items[i];

            put_item(out, now, pod->namespace, pod->name, usage_measure_pod(&cpu, pod, now),
                usage_measure_pod(&memory, pod, now));
        }
    }
    json_put(out, "]}");
}

#define CUSTOM_PATH STR("/apis/custom.metrics.k8s.io/v1beta1/nodes/*/")

/* A MetricValueList of all nodes; values in thousandths. */
static void answer_custom(const MetricsState *state, Str name, Buf *out) {
    const Gauge gauge = {.source = GAUGE_CUSTOM, .query = name};
    const Usage usage = usage_of_gauge(&gauge);
    const NodeTable *cluster = state->cluster;
    char time[JSON_TIME_MAX];

    json_put(out, "{'kind':'MetricValueList','apiVersion':'custom.metrics.k8s.io/v1beta1',"
                  "'metadata':{},'items':[");
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        double value = measure(state, &usage, row);

        if (!isnan(value))
            json_put(out,
                "%s{'describedObject':{'kind':'Node','name':'%.*s'},'metricName':'%.*s',"
                "'timestamp':'%s','value':'%.0fm'}",
                comma(out), STR_FMT(cluster->names->names[row]), STR_FMT(name),
                json_time(state->now_nsec / NSEC_PER_SEC, time), value * 1000);
    }
    json_put(out, "]}");
}

/* --- requests --------------------------------------------------------------------------------- */

static void refuse(unsigned status, const char *why, Buf *out, HttpReply *reply) {
    reply->status = status;
    json_put(out, "{'status':'error','errorType':'bad_data','error':");
    json_quote(out, str_from_c(why));
    buf_append_char(out, '}');
}

static void handle_query(
    const MetricsState *state, const HttpRequest *request, Buf *out, HttpReply *reply) {
    static const Str names[] = {
        STR("query"), STR("time"), STR("timeout"), STR("limit"), STR("lookback_delta")};
    Str form = request->body_size > 0 ? request->body : request->query;
    char error[QUERY_ERROR_MAX];
    Query query;

    if (!query_parse(form, names, ELEMENTS_OF(names), request->arena, &query, error))
        refuse(400, error, out, reply);
    else if (str_is_empty(query_get(&query, STR("query"))))
        refuse(400, "no query", out, reply);
    else
        answer_query(state, query_get(&query, STR("query")), out);
}

static void route(
    const MetricsState *state, const HttpRequest *request, Buf *out, HttpReply *reply) {
    if (!state->cluster)
        refuse(503, "no cluster yet", out, reply);
    else if (str_is(request->path, "/api/v1/query"))
        handle_query(state, request, out, reply);
    else if (str_is(request->path, "/apis/metrics.k8s.io/v1beta1/nodes"))
        answer_resources(state, /* is_of_pods= */ false, out);
    else if (str_is(request->path, "/apis/metrics.k8s.io/v1beta1/pods"))
        answer_resources(state, /* is_of_pods= */ true, out);
    else if (str_has_prefix(request->path, CUSTOM_PATH))
        answer_custom(state, str_skip(request->path, CUSTOM_PATH.len), out);
    else
        refuse(404, "there is /api/v1/query here, and metrics.k8s.io", out, reply);
}

static void answer(void *context, const HttpRequest *request, Buf *out, HttpReply *reply) {
    _cleanup_(state_done) MetricsState state;

    state_begin(context, &state);
    route(&state, request, out, reply);
}

/* --- start and stop --------------------------------------------------------------------------- */

int mock_metrics_new(MockMetrics **ret) {
    _cleanup_(mock_metrics_freep) MockMetrics *metrics = calloc(1, sizeof(*metrics));
    int r;

    if (!metrics)
        return -ENOMEM;
    (void)pthread_mutex_init(&metrics->lock, NULL);
    metrics->mock = (MockServer){.answer = answer,
        .context = metrics,
        .reply_max = MOCK_METRICS_REPLY_MAX,
        .body_max = FORM_MAX};
    r = mock_server_open(&metrics->mock);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(metrics);
    return 0;
}

MockMetrics *mock_metrics_free(MockMetrics *metrics) {
    if (!metrics)
        return NULL;
    mock_server_done(&metrics->mock);
    snapshot_unref(metrics->snapshot);
    program_unref(metrics->rules);
    (void)pthread_mutex_destroy(&metrics->lock);
    free(metrics);
    return NULL;
}

void mock_metrics_add_load(MockMetrics *metrics, Str node, double share) {
    (void)pthread_mutex_lock(&metrics->lock);
    (void)snprintf(
        metrics->extra_load.node, sizeof(metrics->extra_load.node), "%.*s", STR_FMT(node));
    metrics->extra_load.share = share;
    (void)pthread_mutex_unlock(&metrics->lock);
}

void mock_metrics_show(MockMetrics *metrics, Snapshot *snapshot) {
    Snapshot *before;

    mock_server_tick(&metrics->mock);
    (void)pthread_mutex_lock(&metrics->lock);
    before = metrics->snapshot;
    metrics->snapshot = snapshot_ref(snapshot);
    (void)pthread_mutex_unlock(&metrics->lock);
    snapshot_unref(before);
}

void mock_metrics_follow(MockMetrics *metrics, Program *rules) {
    Program *before;

    (void)pthread_mutex_lock(&metrics->lock);
    before = metrics->rules;
    metrics->rules = program_ref(rules);
    (void)pthread_mutex_unlock(&metrics->lock);
    program_unref(before);
}

MockServer *mock_metrics_server(MockMetrics *metrics) {
    return &metrics->mock;
}
