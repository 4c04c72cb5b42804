#include "demo/mock-metrics.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "base/buf.h"
#include "base/clock.h"
#include "demo/mock-server.h"
#include "demo/usage.h"
#include "model/time.h"
#include "json/write.h"

#define FORM_MAX ((size_t)256 * 1024)
#define EXPORTER_PORT 9100 /* node_exporter's */

#define NODE_NAME_MAX 253u

/* A node that is busier than its pods are. */
typedef struct ExtraLoad {
    char node[NODE_NAME_MAX + 1]; /* empty: none */
    double share;
} ExtraLoad;

struct MockMetrics {
    MockServer mock;

    pthread_mutex_t lock; /* of what follows */
    Snapshot *snapshot;   /* NULL: none yet */
    Program *rules;       /* NULL: none yet */
    ExtraLoad extra_load;
};

/* What one request is answered from. */
typedef struct Reading {
    Snapshot *snapshot; /* references */
    Program *rules;
    const NodeTable *cluster;
    ExtraLoad extra_load;
    int64_t now_nsec;
} Reading;

static void reading_begin(MockMetrics *metrics, Reading *ret) {
    *ret = (Reading){.now_nsec = clock_wall_nsec()};
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

static void reading_done(Reading *reading) {
    snapshot_unref(reading->snapshot);
    program_unref(reading->rules);
}

static void write_text(JsonWriter *writer, Str key, Str text) {
    json_write_key(writer, key);
    json_write_string(writer, text);
}

/* What is measured of a node. */
static double measure(const Reading *reading, const Usage *usage, uint32_t row) {
    double value = usage_measure(usage, reading->cluster, row, reading->now_nsec);

    if (isnan(value) || usage->kind != USAGE_USED || usage->resource != TABLE_CPU ||
        !str_is(reading->cluster->names->names[row], reading->extra_load.node))
        return value;
    return usage_in_unit(usage, reading->cluster, row, reading->extra_load.share);
}

/* --- Prometheus ------------------------------------------------------------------------------- */

/* What is asked, and how its series are called. */
typedef struct Asked {
    Usage usage;
    bool is_of_pods;
    Str label; /* of nodes */
    bool is_by_address;
    Str namespace_label, pod_label;
} Asked;

static bool contains(Str text, Str part) {
    return text.len > 0 && memmem(text.ptr, text.len, part.ptr, part.len);
}

/* Exporters know their own address only; what the kubelets and the API server tell is by name. */
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

static Asked read_query(const Program *rules, Str query) {
    const Gauge *gauge = find_gauge(rules, query);
    Asked asked = {
        .usage = gauge ? usage_of_gauge(gauge) : usage_of_query(query),
        .is_of_pods = gauge ? gauge->is_of_pods : contains(query, STR("pod")),
        .is_by_address = is_exporters(query),
        .namespace_label = gauge ? gauge->namespace_label : STR("namespace"),
        .pod_label = gauge ? gauge->pod_label : STR("pod"),
    };

    if (gauge && gauge->identity != GAUGE_BY_ANY)
        asked.is_by_address = gauge->identity == GAUGE_BY_IP;
    asked.label = asked.is_by_address ? STR("instance") : STR("node");
    if (gauge && !str_is_empty(gauge->node_label))
        asked.label = gauge->node_label;
    return asked;
}

static void write_address(JsonWriter *writer, const Node *node) {
    char text[64];
    Str address = node->n_addresses > 0 ? node->addresses[0].text : node->name;

    (void)snprintf(text, sizeof(text), "%.*s:%d", STR_FMT(address), EXPORTER_PORT);
    json_write_string(writer, str_from_c(text));
}

/* The end of a series: its value, which Prometheus sends as a string. */
static void write_value(JsonWriter *writer, int64_t now_nsec, double value) {
    int64_t msec = now_nsec / NSEC_PER_MSEC;
    char text[32];

    json_write_key(writer, STR("value"));
    json_write_array(writer);
    json_write_double(writer, (double)msec / 1000);
    (void)snprintf(text, sizeof(text), "%.8g", value);
    json_write_string(writer, str_from_c(text));
    json_write_end_array(writer);
}

static void write_node_series(
    const Reading *reading, const Asked *asked, uint32_t row, JsonWriter *writer) {
    const Node *node = table_node(reading->cluster, row);
    double value = measure(reading, &asked->usage, row);

    if (!node || isnan(value))
        return;
    json_write_object(writer);
    json_write_key(writer, STR("metric"));
    json_write_object(writer);
    json_write_key(writer, asked->label);
    if (asked->is_by_address)
        write_address(writer, node);
    else
        json_write_string(writer, node->name);
    json_write_end_object(writer);
    write_value(writer, reading->now_nsec, value);
    json_write_end_object(writer);
}

static void write_pod_series(
    const Reading *reading, const Asked *asked, const Pod *pod, JsonWriter *writer) {
    json_write_object(writer);
    json_write_key(writer, STR("metric"));
    json_write_object(writer);
    write_text(writer, asked->namespace_label, pod->namespace);
    write_text(writer, asked->pod_label, pod->name);
    json_write_end_object(writer);
    write_value(
        writer, reading->now_nsec, usage_measure_pod(&asked->usage, pod, reading->now_nsec));
    json_write_end_object(writer);
}

/* The pods of a node that somebody measures. */
static const PodList *pods_of(const NodeTable *cluster, uint32_t row) {
    static const PodList none;
    const Node *node = table_node(cluster, row);
    const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

    return pods && node && node->is_ready ? pods : &none;
}

static void write_series(const Reading *reading, const Asked *asked, JsonWriter *writer) {
    for (uint32_t row = 0; row < reading->cluster->n_rows; row++) {
        const PodList *pods = pods_of(reading->cluster, row);

        if (!asked->is_of_pods)
            write_node_series(reading, asked, row, writer);
        for (uint32_t i = 0; asked->is_of_pods && i < pods->n; i++)
            write_pod_series(reading, asked, pods->items[i], writer);
    }
}

static void answer_query(const Reading *reading, Str query, Buf *out) {
    Asked asked = read_query(reading->rules, query);
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    write_text(&writer, STR("status"), STR("success"));
    json_write_key(&writer, STR("data"));
    json_write_object(&writer);
    write_text(&writer, STR("resultType"), STR("vector"));
    json_write_key(&writer, STR("result"));
    json_write_array(&writer);
    write_series(reading, &asked, &writer);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    json_write_end_object(&writer);
}

/* --- metrics.k8s.io --------------------------------------------------------------------------- */

typedef struct Used {
    double cpu, memory; /* cores, bytes */
} Used;

static void write_used(JsonWriter *writer, const Used *used) {
    char text[48];

    json_write_key(writer, STR("usage"));
    json_write_object(writer);
    (void)snprintf(text, sizeof(text), "%.0fn", used->cpu * 1e9);
    write_text(writer, STR("cpu"), str_from_c(text));
    (void)snprintf(text, sizeof(text), "%.0fKi", used->memory / 1024);
    write_text(writer, STR("memory"), str_from_c(text));
    json_write_end_object(writer);
}

static void write_times(JsonWriter *writer, int64_t now_nsec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);

    time_print(now_nsec / NSEC_PER_SEC, &text);
    write_text(writer, STR("timestamp"), buf_str(&text));
    write_text(writer, STR("window"), STR("15s"));
}

static void write_item(
    JsonWriter *writer, int64_t now_nsec, Str namespace, Str name, const Used *used) {
    bool is_pod = !str_is_empty(namespace);

    json_write_object(writer);
    json_write_key(writer, STR("metadata"));
    json_write_object(writer);
    write_text(writer, STR("name"), name);
    if (is_pod)
        write_text(writer, STR("namespace"), namespace);
    json_write_end_object(writer);
    write_times(writer, now_nsec);
    if (is_pod) {
        json_write_key(writer, STR("containers"));
        json_write_array(writer);
        json_write_object(writer);
        write_text(writer, STR("name"), STR("main"));
    }
    write_used(writer, used);
    if (is_pod) {
        json_write_end_object(writer);
        json_write_end_array(writer);
    }
    json_write_end_object(writer);
}

static const Gauge resource_gauges[] = {
    {.source = GAUGE_RESOURCES, .resource = STR("cpu")},
    {.source = GAUGE_RESOURCES, .resource = STR("memory")},
};

static void write_items(const Reading *reading, bool is_of_pods, JsonWriter *writer) {
    const Usage cpu = usage_of_gauge(&resource_gauges[0]),
                memory = usage_of_gauge(&resource_gauges[1]);
    const NodeTable *cluster = reading->cluster;
    int64_t now = reading->now_nsec;

    for (uint32_t row = 0; row < cluster->n_rows; row++) {
        const PodList *pods = pods_of(cluster, row);
        Used used = {.cpu = measure(reading, &cpu, row), .memory = measure(reading, &memory, row)};

        if (!is_of_pods && !isnan(used.cpu))
            write_item(writer, now, STR_NULL, cluster->names->names[row], &used);
        for (uint32_t i = 0; is_of_pods && i < pods->n; i++) {
            const Pod *pod = pods->items[i];

            used = (Used){.cpu = usage_measure_pod(&cpu, pod, now),
                .memory = usage_measure_pod(&memory, pod, now)};
            write_item(writer, now, pod->namespace, pod->name, &used);
        }
    }
}

static void answer_resources(const Reading *reading, bool is_of_pods, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write_object(&writer);
    write_text(&writer, STR("kind"), is_of_pods ? STR("PodMetricsList") : STR("NodeMetricsList"));
    write_text(&writer, STR("apiVersion"), STR("metrics.k8s.io/v1beta1"));
    json_write_key(&writer, STR("metadata"));
    json_write_object(&writer);
    json_write_end_object(&writer);
    json_write_key(&writer, STR("items"));
    json_write_array(&writer);
    write_items(reading, is_of_pods, &writer);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
}

/* --- requests --------------------------------------------------------------------------------- */

static void refuse(unsigned status, const char *why, Buf *out, HttpReply *reply) {
    JsonWriter writer = JSON_WRITER(out);

    reply->status = status;
    json_write_object(&writer);
    write_text(&writer, STR("status"), STR("error"));
    write_text(&writer, STR("errorType"), STR("bad_data"));
    write_text(&writer, STR("error"), str_from_c(why));
    json_write_end_object(&writer);
}

static void handle_query(
    const Reading *reading, const HttpRequest *request, Buf *out, HttpReply *reply) {
    static const Str names[] = {
        STR("query"), STR("time"), STR("timeout"), STR("limit"), STR("lookback_delta")};
    Str form = request->has_body ? request->body : request->query;
    char error[QUERY_ERROR_MAX];
    Query query;

    if (!query_parse(form, names, ELEMENTS_OF(names), request->arena, &query, error))
        refuse(400, error, out, reply);
    else if (str_is_empty(query_get(&query, STR("query"))))
        refuse(400, "no query", out, reply);
    else
        answer_query(reading, query_get(&query, STR("query")), out);
}

static void route(const Reading *reading, const HttpRequest *request, Buf *out, HttpReply *reply) {
    if (!reading->cluster)
        refuse(503, "no cluster yet", out, reply);
    else if (str_is(request->path, "/api/v1/query"))
        handle_query(reading, request, out, reply);
    else if (str_is(request->path, "/apis/metrics.k8s.io/v1beta1/nodes"))
        answer_resources(reading, /* is_of_pods= */ false, out);
    else if (str_is(request->path, "/apis/metrics.k8s.io/v1beta1/pods"))
        answer_resources(reading, /* is_of_pods= */ true, out);
    else
        refuse(404, "there is /api/v1/query here, and metrics.k8s.io", out, reply);
}

static bool answer(void *context, const HttpRequest *request, Buf *out, HttpReply *reply) {
    _cleanup_(reading_done) Reading reading;

    reading_begin(context, &reading);
    route(&reading, request, out, reply);
    return false;
}

/* --- life ------------------------------------------------------------------------------------- */

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

int mock_metrics_resume(MockMetrics *metrics) {
    return mock_server_resume(&metrics->mock);
}

void mock_metrics_stop(MockMetrics *metrics) {
    mock_server_stop(&metrics->mock);
}

int mock_metrics_add_load(MockMetrics *metrics, Str node, double share) {
    if (node.len > NODE_NAME_MAX)
        return -EINVAL;
    (void)pthread_mutex_lock(&metrics->lock);
    (void)snprintf(
        metrics->extra_load.node, sizeof(metrics->extra_load.node), "%.*s", STR_FMT(node));
    metrics->extra_load.share = share;
    (void)pthread_mutex_unlock(&metrics->lock);
    return 0;
}

const char *mock_metrics_url(const MockMetrics *metrics) {
    return metrics->mock.url;
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

int64_t mock_metrics_cpu_nsec(const MockMetrics *metrics) {
    return atomic_load(&metrics->mock.cpu_nsec);
}
