/* Answers Prometheus' instant queries and metrics.k8s.io from the latest cluster. */

#include "demo/mock-metrics.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/query.h"
#include "base/clock.h"
#include "base/thread.h"
#include "demo/usage.h"
#include "http/server.h"
#include "json/write.h"

#define FORM_MAX ((size_t)256 * 1024)
#define EXPORTER_PORT 9100 /* node_exporter's */

struct MockMetrics {
    Server *server;
    char url[SERVER_URL_MAX];

    pthread_mutex_t lock; /* of the next fields, and held during a request */
    bool is_down;
    Snapshot *snapshot;                /* NULL: none yet */
    Program *rules;                    /* NULL: none yet */
    char busy_node[NODE_NAME_MAX + 1]; /* used by processes outside pods; empty: none */
    double busy_share;                 /* of its cpu */

    /* Valid during one request. */
    const NodeTable *cluster; /* NULL: none yet */
    int64_t now_nsec;
};

static double measure(const MockMetrics *state, const Usage *usage, uint32_t row) {
    double value = usage_measure(usage, state->cluster, row, state->now_nsec);

    if (isnan(value) || usage->kind != USAGE_USED || usage->resource != TABLE_CPU ||
        !str_is(state->cluster->names->names[row], state->busy_node))
        return value;
    return usage_in_unit(usage, state->cluster, row, state->busy_share);
}

static bool contains(Str text, Str part) {
    return text.ptr && memmem(text.ptr, text.len, part.ptr, part.len);
}

/* The metric of the policies in force with this query; else a guess from its words. */
static Gauge gauge_of(const Program *rules, Str query) {
    for (size_t i = 0; rules && i < rules->n_gauges; i++)
        if (rules->gauges[i].source == GAUGE_PROMETHEUS && str_eq(rules->gauges[i].query, query))
            return rules->gauges[i];
    return (Gauge){
        .source = GAUGE_PROMETHEUS,
        .query = query,
        .is_of_pods = contains(query, STR("pod")),
        .namespace_label = STR("namespace"),
        .pod_label = STR("pod"),
    };
}

/* Writes the end of a series. Prometheus sends the value as a string. */
static void put_value(JsonWriter *writer, int64_t now_nsec, double value) {
    int64_t msec = now_nsec / NSEC_PER_MSEC;
    char text[64];

    (void)snprintf(text, sizeof(text), "[%.3f,\"%.8g\"]", (double)msec / 1000, value);
    json_write(writer, "}, value: ");
    json_write_raw(writer, str_from_c(text));
    json_write(writer, "}");
}

/* The pods of the node; none if it is not ready. */
static const PodList *pods_of(const NodeTable *cluster, uint32_t row) {
    static const PodList none;
    const Node *node = table_node(cluster, row);
    const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

    return pods && node && node->is_ready ? pods : &none;
}

static void answer_query(const MockMetrics *state, Str query, Buf *out) {
    Gauge gauge = gauge_of(state->rules, query);
    Usage usage = usage_of_gauge(&gauge);
    /* Series of exporters have addresses; those of kubelets and the API server have names. */
    bool is_exporters = contains(query, STR("instance")) ||
                        (contains(query, STR("node_")) && !contains(query, STR("kube_")));
    bool is_by_address =
        gauge.identity == GAUGE_BY_IP || (gauge.identity == GAUGE_BY_ANY && is_exporters);
    Str label = is_by_address ? STR("instance") : STR("node");
    JsonWriter writer = JSON_WRITER(out);

    label = str_is_empty(gauge.node_label) ? label : gauge.node_label;
    json_write(&writer, "{status: 'success', data: {resultType: 'vector', result: [");
    for (uint32_t row = 0; row < state->cluster->n_rows; row++) {
        const PodList *pods = pods_of(state->cluster, row);
        const Node *node = table_node(state->cluster, row);
        double value = gauge.is_of_pods ? (double)NAN : measure(state, &usage, row);

        if (node && !isnan(value)) {
            Str address = node->n_addresses > 0 ? node->addresses[0].text : node->name;

            json_write(&writer, "{metric: {%.*s: ", STR_FMT(label));
            if (is_by_address)
                json_write(&writer, "'%.*s:%d'", STR_FMT(address), EXPORTER_PORT);
            else
                json_write_string(&writer, node->name);
            put_value(&writer, state->now_nsec, value);
        }
        for (uint32_t i = 0; gauge.is_of_pods && i < pods->n; i++) {
            const Pod *pod = pods->items[i];

            json_write(&writer, "{metric: {%.*s: %.*s, %.*s: %.*s", STR_FMT(gauge.namespace_label),
                STR_FMT(pod->namespace), STR_FMT(gauge.pod_label), STR_FMT(pod->name));
            put_value(&writer, state->now_nsec, usage_measure_pod(&usage, pod, state->now_nsec));
        }
    }
    json_write(&writer, "]}}");
}

/* Writes a NodeMetrics, or a PodMetrics with one container. @cpu in cores, @memory in bytes. */
static void put_item(
    JsonWriter *writer, int64_t now_nsec, Str namespace, Str name, double cpu, double memory) {
    bool is_pod = !str_is_empty(namespace);

    json_write(writer, "{metadata: {name: %.*s, namespace?: %.*s}, timestamp: %.0td, window: '15s'",
        STR_FMT(name), STR_FMT(namespace), now_nsec);
    if (is_pod)
        json_write(writer, "containers: [{name: 'main'");
    json_write(
        writer, "usage: {cpu: '%jdn', memory: '%jdKi'}}", lrint(cpu * 1e9), lrint(memory / 1024));
    if (is_pod)
        json_write(writer, "]}");
}

static void answer_resources(const MockMetrics *state, bool is_of_pods, Buf *out) {
    static const Gauge gauges[] = {
        {.source = GAUGE_RESOURCES, .resource = STR("cpu")},
        {.source = GAUGE_RESOURCES, .resource = STR("memory")},
    };
    const Usage cpu = usage_of_gauge(&gauges[0]), memory = usage_of_gauge(&gauges[1]);
    const NodeTable *cluster = state->cluster;
    JsonWriter writer = JSON_WRITER(out);
    int64_t now = state->now_nsec;

    json_write(&writer, "{kind: %s, apiVersion: 'metrics.k8s.io/v1beta1', metadata: {}, items: [",
        is_of_pods ? "PodMetricsList" : "NodeMetricsList");
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const PodList *pods = pods_of(cluster, row);
        double used = measure(state, &cpu, row);

        if (!is_of_pods && !isnan(used))
            put_item(&writer, now, STR_NULL, cluster->names->names[row], used,
                measure(state, &memory, row));
        for (uint32_t i = 0; is_of_pods && i < pods->n; i++) {
            const Pod *pod = pods->items[i];

            put_item(&writer, now, pod->namespace, pod->name, usage_measure_pod(&cpu, pod, now),
                usage_measure_pod(&memory, pod, now));
        }
    }
    json_write(&writer, "]}");
}

#define CUSTOM_PATH STR("/apis/custom.metrics.k8s.io/v1beta1/nodes/*/")

/* Writes a MetricValueList of all nodes, with values in thousandths. */
static void answer_custom(const MockMetrics *state, Str name, Buf *out) {
    const Gauge gauge = {.source = GAUGE_CUSTOM, .query = name};
    const Usage usage = usage_of_gauge(&gauge);
    const NodeTable *cluster = state->cluster;
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer,
        "{kind: 'MetricValueList', apiVersion: 'custom.metrics.k8s.io/v1beta1', metadata: {}, "
        "items: [");
    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        double value = measure(state, &usage, row);

        if (!isnan(value))
            json_write(&writer,
                "{describedObject: {kind: 'Node', name: %.*s}, metricName: %.*s, "
                "timestamp: %.0td, value: '%jdm'}",
                STR_FMT(cluster->names->names[row]), STR_FMT(name), state->now_nsec,
                lrint(value * 1000));
    }
    json_write(&writer, "]}");
}

static void refuse(unsigned status, const char *why, Buf *out, HttpReply *reply) {
    JsonWriter writer = JSON_WRITER(out);

    reply->status = status;
    json_write(&writer, "{status: 'error', errorType: 'bad_data', error: %s}", why);
}

static void handle_query(
    const MockMetrics *state, const HttpRequest *request, Buf *out, HttpReply *reply) {
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
    const MockMetrics *state, const HttpRequest *request, Buf *out, HttpReply *reply) {
    if (state->is_down || !state->cluster)
        refuse(503, state->is_down ? "overloaded" : "no cluster yet", out, reply);
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

static void handle(void *context, const HttpRequest *request, HttpReply *reply) {
    MockMetrics *metrics = context;
    _unlock_ pthread_mutex_t *held = mutex_hold(&metrics->lock);
    _cleanup_(buf_done) Buf out = BUF_INIT(MOCK_METRICS_REPLY_MAX);
    Str *body = ARENA_NEW(request->arena, Str);

    *reply = (HttpReply){.status = 200, .content_type = "application/json"};
    metrics->now_nsec = clock_wall_nsec();
    metrics->cluster = metrics->snapshot ? snapshot_table(metrics->snapshot) : NULL;
    route(metrics, request, &out, reply);
    if (body)
        *body = arena_copy(request->arena, buf_str(&out));
    if (!body || !body->ptr || buf_error(&out) < 0) {
        *reply = (HttpReply){.status = 503};
        return;
    }
    reply->slices = body;
    reply->n_slices = 1;
}

static bool admit(void *context, const HttpRequest *request, HttpReply *reply) {
    return true;
}

int mock_metrics_new(MockMetrics **ret) {
    _cleanup_(mock_metrics_freep) MockMetrics *metrics = calloc(1, sizeof(*metrics));
    ServerOptions options = server_default_options();
    int r;

    if (!metrics)
        return -ENOMEM;
    (void)pthread_mutex_init(&metrics->lock, NULL);
    options.port = 0; /* any */
    options.n_workers = 1;
    options.body_max = FORM_MAX;
    r = server_new(&options,
        &(ServerCallbacks){.context = metrics, .admit = admit, .handle = handle}, &metrics->server);
    if (r < 0)
        return r;
    (void)server_url(metrics->server, metrics->url);
    *ret = TAKE_PTR(metrics);
    return 0;
}

MockMetrics *mock_metrics_free(MockMetrics *metrics) {
    if (!metrics)
        return NULL;
    server_free(metrics->server);
    snapshot_unref(metrics->snapshot);
    program_unref(metrics->rules);
    (void)pthread_mutex_destroy(&metrics->lock);
    free(metrics);
    return NULL;
}

void mock_metrics_add_load(MockMetrics *metrics, Str node, double share) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&metrics->lock);

    (void)snprintf(metrics->busy_node, sizeof(metrics->busy_node), "%.*s", STR_FMT(node));
    metrics->busy_share = share;
}

void mock_metrics_set_down(MockMetrics *metrics, bool is_down) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&metrics->lock);

    metrics->is_down = is_down;
}

static void set_snapshot(MockMetrics *metrics, Snapshot *snapshot) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&metrics->lock);

    snapshot_unref(metrics->snapshot);
    metrics->snapshot = snapshot_ref(snapshot);
}

/* Calls the server without the lock, because its workers may wait for the lock. */
void mock_metrics_show(MockMetrics *metrics, Snapshot *snapshot) {
    server_tick(metrics->server, clock_monotonic_nsec());
    set_snapshot(metrics, snapshot);
}

bool mock_metrics_follow(MockMetrics *metrics, Program *rules) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&metrics->lock);

    if (rules == metrics->rules)
        return false;
    program_unref(metrics->rules);
    metrics->rules = program_ref(rules);
    return true;
}

const char *mock_metrics_url(const MockMetrics *metrics) {
    return metrics->url;
}
