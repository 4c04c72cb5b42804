#pragma once

/*
 * A Prometheus server for tests whose behaviour is an enum, a cluster of two nodes, and a listener
 * that records what a poller publishes and reports.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/nsec.h"
#include "cluster/test-load.h"
#include "kube/test-server.h"
#include "load/poller.h"

#define HOUR (3600 * NSEC_PER_SEC)
#define TEXT_SIZE 4096u

/* --- the server --- */

/* How it answers from now on. */
typedef enum ServerMode {
    SERVER_OK,   /* a is 0.25, b is 0.5 */
    SERVER_SLOW, /* after 100 ms; y of a is 2.5 */
    SERVER_HANG,
    SERVER_FAILS,    /* 503 */
    SERVER_BUSY,     /* 429 */
    SERVER_BUSY_503, /* Retry-After: 100 */
    SERVER_HTML,
    SERVER_LOGIN, /* HTML without a Content-Type */
    SERVER_LARGE,
    SERVER_ENDLESS,
    SERVER_GARBAGE,
    SERVER_CUT,
    SERVER_BAD_QUERY,
    SERVER_UNAUTHORIZED,
    SERVER_FORBIDDEN,
    SERVER_NOT_FOUND,
    SERVER_GET_ONLY,
    SERVER_REDIRECT,      /* redirects to the same server */
    SERVER_REDIRECT_AWAY, /* redirects to another server */
    SERVER_REDIRECT_LOOP,
    SERVER_EMPTY,
    SERVER_UNKNOWN_NODES, /* series of unknown nodes */
    SERVER_NO_NUMBERS,
    SERVER_WARNING,
    SERVER_LATE_DATE,   /* samples as of the request, and a Date header seconds later */
    SERVER_NO_LOCATION, /* a redirect without a Location */
    SERVER_Y_HANGS,     /* other queries are answered */
    SERVER_Y_FAILS,     /* 503 */
    SERVER_BAD_MEMORY,  /* metrics.k8s.io with a memory usage that is no quantity */
} ServerMode;

typedef struct FakePrometheus {
    TestServer *server;
    atomic_int mode;
    atomic_uint n_requests, n_under_way, n_under_way_most, n_posts, n_gone;
    atomic_uint n_y;             /* requests for y */
    atomic_uint n_nodes, n_pods; /* requests to metrics.k8s.io */
    pthread_mutex_t lock;
    char last[TEXT_SIZE]; /* head and body of the last request */
    char elsewhere[256];  /* a URL */
} FakePrometheus;

static inline void pause_msec(int msec) {
    struct timespec time = {.tv_sec = msec / 1000, .tv_nsec = msec % 1000 * NSEC_PER_MSEC};

    (void)nanosleep(&time, NULL);
}

static inline void send_vector(TestPeer *peer, const char *result, const char *more) {
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);

    buf_printf(&out,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[%s]}%s}", result,
        more);
    test_answer(peer, "200 OK", "Content-Type: application/json\r\n", buf_str(&out));
}

#define SERIES(node, value)                                                                        \
    "{\"metric\":{\"node\":\"" node "\"},\"value\":[1700000000.5,\"" value "\"]}"
#define TWO_SERIES SERIES("a", "0.25") "," SERIES("b", "0.5")

static inline void send_large(TestPeer *peer, bool has_length) {
    static char junk[65536];

    memset(junk, ' ', sizeof(junk));
    test_send(peer, has_length ? STR("HTTP/1.1 200 OK\r\nContent-Length: 600000000\r\n\r\n")
                               : STR("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"));
    for (size_t n = 0; n < (size_t)40 << 20; n += sizeof(junk))
        test_send(peer, str_of(junk, sizeof(junk)));
}

static inline void send_resources(FakePrometheus *prometheus, TestPeer *peer, Str path) {
    bool is_of_pods = str_has_suffix(path, STR("/pods"));

    atomic_fetch_add(is_of_pods ? &prometheus->n_pods : &prometheus->n_nodes, 1);
    test_answer(peer, "200 OK", "Content-Type: application/json\r\n",
        atomic_load(&prometheus->mode) == SERVER_BAD_MEMORY
            ? STR("{\"kind\":\"NodeMetricsList\",\"items\":[{\"metadata\":{\"name\":\"a\"},"
                  "\"usage\":{\"cpu\":\"1\",\"memory\":\"much\"}}]}")
        : is_of_pods
            ? STR("{\"kind\":\"PodMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\","
                  "\"items\":[{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\"},\"timestamp\":"
                  "\"2026-01-02T03:04:05Z\",\"window\":\"15s\",\"containers\":[{\"name\":\"c\","
                  "\"usage\":{\"cpu\":\"500m\",\"memory\":\"1Ki\"}}]}]}")
            : STR("{\"kind\":\"NodeMetricsList\",\"apiVersion\":\"metrics.k8s.io/v1beta1\","
                  "\"items\":[{\"metadata\":{\"name\":\"a\"},\"timestamp\":"
                  "\"2026-01-02T03:04:05Z\",\"window\":\"15s\",\"usage\":{\"cpu\":\"1500m\","
                  "\"memory\":\"2Ki\"}}]}"));
}

static inline void send_custom(FakePrometheus *prometheus, TestPeer *peer) {
    atomic_fetch_add(&prometheus->n_nodes, 1);
    test_answer(peer, "200 OK", "Content-Type: application/json\r\n",
        STR("{\"kind\":\"MetricValueList\",\"apiVersion\":\"custom.metrics.k8s.io/v1beta1\","
            "\"items\":[{\"describedObject\":{\"kind\":\"Node\",\"name\":\"a\"},\"metricName\":"
            "\"warm\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"value\":\"36500m\"}]}"));
}

static inline bool send_redirect(
    FakePrometheus *prometheus, TestPeer *peer, const TestRequest *request) {
    char head[512];
    int mode = atomic_load(&prometheus->mode);

    if (mode == SERVER_REDIRECT && str_has_prefix(request->path, STR("/there"))) {
        send_vector(peer, TWO_SERIES, "");
        return true;
    }
    (void)snprintf(head, sizeof(head), "Location: %s\r\n",
        mode == SERVER_REDIRECT_AWAY   ? prometheus->elsewhere
        : mode == SERVER_REDIRECT_LOOP ? "/again"
                                       : "/there/api/v1/query");
    test_answer(peer, "307 Temporary Redirect", head, STR(""));
    return true;
}

static inline void send_late_date(TestPeer *peer) {
    _cleanup_(buf_done) Buf out = BUF_INIT(65536);
    time_t asked = time(NULL), now;
    char head[128];
    struct tm parts;

    pause_msec(4500);
    now = time(NULL);
    (void)strftime(
        head, sizeof(head), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&now, &parts));
    buf_printf(&out,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
        "{\"metric\":{\"node\":\"a\"},\"value\":[%lld,\"1\"]},"
        "{\"metric\":{\"node\":\"b\"},\"value\":[%lld,\"1\"]}]}}",
        (long long)asked, (long long)asked - 60);
    test_answer(peer, "200 OK", head, buf_str(&out));
}

/* Fixed answers. */
static const struct {
    ServerMode mode;
    const char *status, *headers, *body;
} plain_answers[] = {
    {SERVER_FAILS, "503 Service Unavailable", "", "Service Unavailable\nmore"},
    {SERVER_BUSY, "429 Too Many Requests", "Retry-After: 100\r\n", ""},
    {SERVER_BUSY_503, "503 Service Unavailable", "Retry-After: 100\r\n", ""},
    {SERVER_HTML, "200 OK", "Content-Type: text/html; charset=utf-8\r\n", "<html>hello"},
    {SERVER_LOGIN, "200 OK", "", " <!doctype html><title>Log in"},
    {SERVER_GARBAGE, "200 OK", "", "{\"status\":\"succ"},
    {SERVER_BAD_QUERY, "400 Bad Request", "",
        "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"unexpected end of input\"}"},
    {SERVER_UNAUTHORIZED, "401 Unauthorized", "", "no"},
    {SERVER_NO_LOCATION, "307 Temporary Redirect", "", ""},
    {SERVER_FORBIDDEN, "403 Forbidden", "", ""},
    {SERVER_NOT_FOUND, "404 Not Found", "", "404 page not found\n"},
};

static inline bool answer_plain(TestPeer *peer, int mode) {
    for (size_t i = 0; i < ELEMENTS_OF(plain_answers); i++) {
        if ((int)plain_answers[i].mode != mode)
            continue;
        test_answer(peer, plain_answers[i].status, plain_answers[i].headers,
            str_from_c(plain_answers[i].body));
        return true;
    }
    return false;
}

static inline bool is_query_of_y(const TestRequest *request) {
    return str_has_prefix(request->body, STR("query=y&"));
}

/* Returns whether the connection stays open. */
static inline bool answer_by_mode(
    FakePrometheus *prometheus, TestPeer *peer, const TestRequest *request) {
    int mode = atomic_load(&prometheus->mode);

    if (mode == SERVER_Y_HANGS && is_query_of_y(request))
        mode = SERVER_HANG;
    if (mode == SERVER_Y_FAILS && is_query_of_y(request))
        return answer_plain(peer, SERVER_FAILS);
    switch (mode) {
    case SERVER_SLOW:
        pause_msec(100);
        send_vector(peer, is_query_of_y(request) ? SERIES("a", "2.5") : TWO_SERIES, "");
        return true;
    case SERVER_HANG:
        test_linger(peer);
        atomic_fetch_add(&prometheus->n_gone, 1);
        return false;
    case SERVER_LARGE:
    case SERVER_ENDLESS:
        send_large(peer, mode == SERVER_LARGE);
        return false;
    case SERVER_CUT:
        test_send(peer, STR("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"status\""));
        return false;
    case SERVER_GET_ONLY:
        if (str_is(request->method, "POST"))
            test_answer(peer, "405 Method Not Allowed", "", STR(""));
        else
            send_vector(peer, TWO_SERIES, "");
        return true;
    case SERVER_REDIRECT:
    case SERVER_REDIRECT_AWAY:
    case SERVER_REDIRECT_LOOP:
        return send_redirect(prometheus, peer, request);
    case SERVER_EMPTY:
        send_vector(peer, "", "");
        return true;
    case SERVER_UNKNOWN_NODES:
        send_vector(peer, SERIES("x", "1") "," SERIES("y", "2"), "");
        return true;
    case SERVER_NO_NUMBERS:
        send_vector(peer, SERIES("a", "NaN") "," SERIES("b", "+Inf"), "");
        return true;
    case SERVER_LATE_DATE:
        send_late_date(peer);
        return true;
    case SERVER_WARNING:
        send_vector(peer, TWO_SERIES, ",\"warnings\":[\"a store is \\u001b[31mdown\"]");
        return true;
    default:
        send_vector(peer, TWO_SERIES, "");
        return true;
    }
}

static inline void note_request(FakePrometheus *prometheus, const TestRequest *request) {
    unsigned n = atomic_fetch_add(&prometheus->n_under_way, 1) + 1;
    unsigned most = atomic_load(&prometheus->n_under_way_most);

    while (n > most && !atomic_compare_exchange_weak(&prometheus->n_under_way_most, &most, n))
        ;
    atomic_fetch_add(&prometheus->n_requests, 1);
    if (str_is(request->method, "POST"))
        atomic_fetch_add(&prometheus->n_posts, 1);
    if (is_query_of_y(request))
        atomic_fetch_add(&prometheus->n_y, 1);
    pthread_mutex_lock(&prometheus->lock);
    (void)snprintf(prometheus->last, sizeof(prometheus->last), "%.*s\n%.*s", STR_FMT(request->head),
        STR_FMT(request->body));
    pthread_mutex_unlock(&prometheus->lock);
}

static inline bool answer_request(void *context, TestPeer *peer, const TestRequest *request) {
    FakePrometheus *prometheus = context;
    bool stays = true;

    note_request(prometheus, request);
    if (str_has_prefix(request->path, STR("/apis/metrics.k8s.io/v1beta1/")))
        send_resources(prometheus, peer, request->path);
    else if (str_is(request->path, "/apis/custom.metrics.k8s.io/v1beta1/nodes/*/warm"))
        send_custom(prometheus, peer);
    else if (!answer_plain(peer, atomic_load(&prometheus->mode)))
        stays = answer_by_mode(prometheus, peer, request);
    atomic_fetch_sub(&prometheus->n_under_way, 1);
    return stays;
}

static inline void prometheus_init(FakePrometheus *prometheus) {
    *prometheus = (FakePrometheus){0};
    pthread_mutex_init(&prometheus->lock, NULL);
    prometheus->server =
        test_server_new(&(TestServerOptions){.handler = answer_request, .context = prometheus});
}

static inline void prometheus_done(FakePrometheus *prometheus) {
    test_server_free(prometheus->server);
    pthread_mutex_destroy(&prometheus->lock);
}

/* Whether the last request has @text in it. */
static inline bool prometheus_received(FakePrometheus *prometheus, const char *text) {
    bool is_there;

    pthread_mutex_lock(&prometheus->lock);
    is_there = strstr(prometheus->last, text) != NULL;
    pthread_mutex_unlock(&prometheus->lock);
    return is_there;
}

/* --- the cluster --- */

static inline Snapshot *two_nodes(void) {
    _cleanup_(store_freep) Store *store = store_new();

    assert_non_null(store);
    test_load_node(store, STR("{\"metadata\":{\"name\":\"a\"}}"));
    test_load_node(store, STR("{\"metadata\":{\"name\":\"b\"}}"));
    test_load_pod(
        store, STR("{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"
                   "\"nodeName\":\"b\",\"containers\":[{\"name\":\"c\"}]}}"));
    return test_load_publish(store);
}

static inline Gauge gauge_of(const char *query, int64_t interval_nsec) {
    return (Gauge){
        .name = str_from_c(query),
        .source = GAUGE_PROMETHEUS,
        .query = str_from_c(query),
        .node_label = STR("node"),
        .identity = GAUGE_BY_NAME,
        .namespace_label = STR("namespace"),
        .pod_label = STR("pod"),
        .interval_nsec = interval_nsec,
        .max_age_nsec = HOUR,
    };
}

/* --- callbacks ----- */

typedef struct Notice {
    PollState is;
    char gauge[64], source[64], query[64], error[POLLER_ERROR_MAX];
    int64_t down_nsec;
} Notice;

typedef struct Listener {
    pthread_mutex_t lock;
    Snapshot *snapshot; /* NULL: no cluster is known */
    Measurements *last;
    size_t n_published, n_notices;
    Notice notices[16];
    int publish_msec; /* duration of a publish */
    atomic_uint n_snapshots_read;
} Listener;

static inline Snapshot *give_snapshot(void *context) {
    Listener *listener = context;
    Snapshot *snapshot;

    atomic_fetch_add(&listener->n_snapshots_read, 1);
    pthread_mutex_lock(&listener->lock);
    snapshot = listener->snapshot ? snapshot_ref(listener->snapshot) : NULL;
    pthread_mutex_unlock(&listener->lock);
    return snapshot;
}

static inline void take_published(void *context, Measurements *measurements) {
    Listener *listener = context;

    pthread_mutex_lock(&listener->lock);
    measurements_unref(listener->last);
    listener->last = measurements_ref(measurements);
    listener->n_published++;
    pthread_mutex_unlock(&listener->lock);
    if (listener->publish_msec > 0)
        pause_msec(listener->publish_msec);
}

static inline void take_notice(void *context, const PollerNotice *notice) {
    Listener *listener = context;
    Notice *record;

    pthread_mutex_lock(&listener->lock);
    assert_true(listener->n_notices < ELEMENTS_OF(listener->notices));
    record = &listener->notices[listener->n_notices++];
    record->is = notice->is;
    record->down_nsec = notice->down_nsec;
    (void)snprintf(record->gauge, sizeof(record->gauge), "%.*s", STR_FMT(notice->gauge));
    (void)snprintf(record->source, sizeof(record->source), "%.*s", STR_FMT(notice->source));
    (void)snprintf(record->query, sizeof(record->query), "%.*s", STR_FMT(notice->query));
    (void)snprintf(record->error, sizeof(record->error), "%s", notice->error);
    pthread_mutex_unlock(&listener->lock);
}

static inline void listener_init(Listener *listener) {
    *listener = (Listener){.snapshot = two_nodes()};
    pthread_mutex_init(&listener->lock, NULL);
}

static inline void listener_done(Listener *listener) {
    measurements_unref(listener->last);
    snapshot_unref(listener->snapshot);
    pthread_mutex_destroy(&listener->lock);
}

static inline PollerCallbacks callbacks_of(Listener *listener) {
    return (PollerCallbacks){
        .context = listener,
        .snapshot = give_snapshot,
        .publish = take_published,
        .notice = take_notice,
    };
}

/* --- fixture -------- */

typedef struct Scene {
    FakePrometheus prometheus;
    Listener listener;
    char url[64];
    MetricSource source;
    MetricSources sources;
    Poller *poller;
} Scene;

static inline void scene_init_at(Scene *scene, const char *path) {
    const PollerCallbacks callbacks = callbacks_of(&scene->listener);
    char error[ACCESS_ERROR_MAX];

    prometheus_init(&scene->prometheus);
    listener_init(&scene->listener);
    (void)snprintf(scene->url, sizeof(scene->url), "http://127.0.0.1:%u%s",
        test_server_port(scene->prometheus.server), path);
    scene->source = (MetricSource){.name = STR("default"), .server.url = scene->url};
    scene->sources = (MetricSources){.items = &scene->source, .n = 1};
    assert_int_equal(poller_new(&(PollerOptions){.sources = &scene->sources, .seed = 1}, &callbacks,
                         &scene->poller, error),
        0);
}

static inline void scene_init(Scene *scene) {
    scene_init_at(scene, "");
}

/* With the API server, for metrics.k8s.io, and no source. */
static inline void scene_init_api(Scene *scene) {
    const PollerCallbacks callbacks = callbacks_of(&scene->listener);
    char error[ACCESS_ERROR_MAX];

    prometheus_init(&scene->prometheus);
    listener_init(&scene->listener);
    assert_int_equal(poller_new(&(PollerOptions){.sources = &(MetricSources){0},
                                    .access = test_server_access(scene->prometheus.server)},
                         &callbacks, &scene->poller, error),
        0);
}

static inline void scene_done(Scene *scene) {
    poller_free(scene->poller);
    prometheus_done(&scene->prometheus);
    listener_done(&scene->listener);
}

/* Sets the gauges; drops the measurements known so far. */
static inline void scene_follow(Scene *scene, const Gauge *gauges, size_t n, uint64_t owner) {
    Measurements *known = NULL;

    assert_int_equal(poller_follow(scene->poller, gauges, n, owner, &known), 0);
    assert_true(known->owner == owner);
    assert_int_equal(known->n, n);
    measurements_unref(known);
}

static inline PollStatus scene_status(Scene *scene, size_t gauge) {
    PollStatus statuses[16];
    uint64_t owner;
    size_t n = poller_status(scene->poller, statuses, ELEMENTS_OF(statuses), &owner);

    assert_true(gauge < n);
    return statuses[gauge];
}

/* Waits until @condition holds; fails after 20 s. */
#define await(condition)                                                                           \
    do {                                                                                           \
        for (int _i = 0; !(condition); _i++) {                                                     \
            if (_i == 4000) {                                                                      \
                print_error("%s does not come true\n", #condition);                                \
                _fail(__FILE__, __LINE__);                                                         \
            }                                                                                      \
            pause_msec(5);                                                                         \
        }                                                                                          \
    } while (0)

static inline bool state_is(Scene *scene, size_t gauge, PollState state) {
    return scene_status(scene, gauge).state == state;
}

static inline size_t count_published(Listener *listener) {
    size_t n;

    pthread_mutex_lock(&listener->lock);
    n = listener->n_published;
    pthread_mutex_unlock(&listener->lock);
    return n;
}

static inline size_t count_notices(Listener *listener) {
    size_t n;

    pthread_mutex_lock(&listener->lock);
    n = listener->n_notices;
    pthread_mutex_unlock(&listener->lock);
    return n;
}

/* The value of node @name; NaN: none. */
static inline double value_of(const Measurement *measurement, const char *name) {
    return measurement->values[names_find(measurement->names, str_from_c(name))];
}
