#pragma once

/*
 * A Prometheus for tests that answers as it is told, a cluster of two nodes, and somebody who
 * notes down what a poller publishes and tells.
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
typedef enum Mood {
    MOOD_OK,   /* a is 0.25, b is 0.5 */
    MOOD_SLOW, /* after a while; of y, a is 2.5 */
    MOOD_HANG,
    MOOD_BROKEN,   /* 503 */
    MOOD_BUSY,     /* 429 */
    MOOD_BUSY_503, /* not before 100 s */
    MOOD_HTML,
    MOOD_LOGIN, /* HTML that does not say so */
    MOOD_LARGE,
    MOOD_ENDLESS,
    MOOD_GARBAGE,
    MOOD_CUT,
    MOOD_BAD_QUERY,
    MOOD_UNAUTHORIZED,
    MOOD_FORBIDDEN,
    MOOD_NOT_FOUND,
    MOOD_GET_ONLY,
    MOOD_MOVED,     /* on the same server */
    MOOD_MOVED_FAR, /* to another */
    MOOD_IN_CIRCLES,
    MOOD_EMPTY,
    MOOD_STRANGERS, /* series of nodes that there are not */
    MOOD_NO_NUMBERS,
    MOOD_WARNING,
    MOOD_LABORIOUS,  /* of the moment in which it was asked, and with a Date seconds later */
    MOOD_NOWHERE,    /* a redirect without a Location */
    MOOD_Y_HANGS,    /* all others are answered */
    MOOD_Y_BROKEN,   /* 503 */
    MOOD_BAD_MEMORY, /* of metrics.k8s.io: what memory says is no quantity */
} Mood;

typedef struct World {
    TestServer *server;
    atomic_int mood;
    atomic_uint n_requests, n_under_way, n_under_way_most, n_posts, n_gone;
    atomic_uint n_y;             /* requests for y */
    atomic_uint n_nodes, n_pods; /* requests to metrics.k8s.io */
    pthread_mutex_t lock;
    char last[TEXT_SIZE]; /* head and body of the last request */
    char elsewhere[256];  /* a URL */
} World;

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

static inline void send_resources(World *world, TestPeer *peer, Str path) {
    bool is_of_pods = str_has_suffix(path, STR("/pods"));

    atomic_fetch_add(is_of_pods ? &world->n_pods : &world->n_nodes, 1);
    test_answer(peer, "200 OK", "Content-Type: application/json\r\n",
        atomic_load(&world->mood) == MOOD_BAD_MEMORY
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

static inline bool send_moved(World *world, TestPeer *peer, const TestRequest *request) {
    char head[512];
    int mood = atomic_load(&world->mood);

    if (mood == MOOD_MOVED && str_has_prefix(request->path, STR("/there"))) {
        send_vector(peer, TWO_SERIES, "");
        return true;
    }
    (void)snprintf(head, sizeof(head), "Location: %s\r\n",
        mood == MOOD_MOVED_FAR    ? world->elsewhere
        : mood == MOOD_IN_CIRCLES ? "/again"
                                  : "/there/api/v1/query");
    test_answer(peer, "307 Temporary Redirect", head, STR(""));
    return true;
}

static inline void send_laboriously(TestPeer *peer) {
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

/* Texts that need no thought. */
static const struct {
    Mood mood;
    const char *status, *headers, *body;
} plain_answers[] = {
    {MOOD_BROKEN, "503 Service Unavailable", "", "Service Unavailable\nmore"},
    {MOOD_BUSY, "429 Too Many Requests", "Retry-After: 100\r\n", ""},
    {MOOD_BUSY_503, "503 Service Unavailable", "Retry-After: 100\r\n", ""},
    {MOOD_HTML, "200 OK", "Content-Type: text/html; charset=utf-8\r\n", "<html>hello"},
    {MOOD_LOGIN, "200 OK", "", " <!doctype html><title>Log in"},
    {MOOD_GARBAGE, "200 OK", "", "{\"status\":\"succ"},
    {MOOD_BAD_QUERY, "400 Bad PollRequest", "",
        "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"unexpected end of input\"}"},
    {MOOD_UNAUTHORIZED, "401 Unauthorized", "", "no"},
    {MOOD_NOWHERE, "307 Temporary Redirect", "", ""},
    {MOOD_FORBIDDEN, "403 Forbidden", "", ""},
    {MOOD_NOT_FOUND, "404 Not Found", "", "404 page not found\n"},
};

static inline bool answer_plain(TestPeer *peer, int mood) {
    for (size_t i = 0; i < ELEMENTS_OF(plain_answers); i++) {
        if ((int)plain_answers[i].mood != mood)
            continue;
        test_answer(peer, plain_answers[i].status, plain_answers[i].headers,
            str_from_c(plain_answers[i].body));
        return true;
    }
    return false;
}

static inline bool asks_for_y(const TestRequest *request) {
    return str_has_prefix(request->body, STR("query=y&"));
}

/* Whether the connection stays. */
static inline bool answer_by_mood(World *world, TestPeer *peer, const TestRequest *request) {
    int mood = atomic_load(&world->mood);

    if (mood == MOOD_Y_HANGS && asks_for_y(request))
        mood = MOOD_HANG;
    if (mood == MOOD_Y_BROKEN && asks_for_y(request))
        return answer_plain(peer, MOOD_BROKEN);
    switch (mood) {
    case MOOD_SLOW:
        pause_msec(100);
        send_vector(peer, asks_for_y(request) ? SERIES("a", "2.5") : TWO_SERIES, "");
        return true;
    case MOOD_HANG:
        test_linger(peer);
        atomic_fetch_add(&world->n_gone, 1);
        return false;
    case MOOD_LARGE:
    case MOOD_ENDLESS:
        send_large(peer, mood == MOOD_LARGE);
        return false;
    case MOOD_CUT:
        test_send(peer, STR("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"status\""));
        return false;
    case MOOD_GET_ONLY:
        if (str_is(request->method, "POST"))
            test_answer(peer, "405 Method Not Allowed", "", STR(""));
        else
            send_vector(peer, TWO_SERIES, "");
        return true;
    case MOOD_MOVED:
    case MOOD_MOVED_FAR:
    case MOOD_IN_CIRCLES:
        return send_moved(world, peer, request);
    case MOOD_EMPTY:
        send_vector(peer, "", "");
        return true;
    case MOOD_STRANGERS:
        send_vector(peer, SERIES("x", "1") "," SERIES("y", "2"), "");
        return true;
    case MOOD_NO_NUMBERS:
        send_vector(peer, SERIES("a", "NaN") "," SERIES("b", "+Inf"), "");
        return true;
    case MOOD_LABORIOUS:
        send_laboriously(peer);
        return true;
    case MOOD_WARNING:
        send_vector(peer, TWO_SERIES, ",\"warnings\":[\"a store is \\u001b[31mdown\"]");
        return true;
    default:
        send_vector(peer, TWO_SERIES, "");
        return true;
    }
}

static inline void note_request(World *world, const TestRequest *request) {
    unsigned n = atomic_fetch_add(&world->n_under_way, 1) + 1;
    unsigned most = atomic_load(&world->n_under_way_most);

    while (n > most && !atomic_compare_exchange_weak(&world->n_under_way_most, &most, n))
        ;
    atomic_fetch_add(&world->n_requests, 1);
    if (str_is(request->method, "POST"))
        atomic_fetch_add(&world->n_posts, 1);
    if (asks_for_y(request))
        atomic_fetch_add(&world->n_y, 1);
    pthread_mutex_lock(&world->lock);
    (void)snprintf(world->last, sizeof(world->last), "%.*s\n%.*s", STR_FMT(request->head),
        STR_FMT(request->body));
    pthread_mutex_unlock(&world->lock);
}

static inline bool answer_world(void *context, TestPeer *peer, const TestRequest *request) {
    World *world = context;
    bool stays = true;

    note_request(world, request);
    if (str_has_prefix(request->path, STR("/apis/metrics.k8s.io/v1beta1/")))
        send_resources(world, peer, request->path);
    else if (!answer_plain(peer, atomic_load(&world->mood)))
        stays = answer_by_mood(world, peer, request);
    atomic_fetch_sub(&world->n_under_way, 1);
    return stays;
}

static inline void world_init(World *world) {
    *world = (World){0};
    pthread_mutex_init(&world->lock, NULL);
    world->server =
        test_server_new(&(TestServerOptions){.handler = answer_world, .context = world});
}

static inline void world_done(World *world) {
    test_server_free(world->server);
    pthread_mutex_destroy(&world->lock);
}

/* Whether the last request has @text in it. */
static inline bool world_saw(World *world, const char *text) {
    bool is_there;

    pthread_mutex_lock(&world->lock);
    is_there = strstr(world->last, text) != NULL;
    pthread_mutex_unlock(&world->lock);
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

/* --- who is told --- */

typedef struct Told {
    PollState was, is;
    char gauge[64], source[64], query[64], error[POLLER_ERROR_MAX];
    int64_t down_nsec;
} Told;

typedef struct Listener {
    pthread_mutex_t lock;
    Snapshot *snapshot; /* NULL: no cluster is known */
    Measurements *last;
    size_t n_published, n_told;
    Told told[16];
    int publish_msec; /* how long it takes */
    atomic_uint n_looks;
} Listener;

static inline Snapshot *give_snapshot(void *context) {
    Listener *listener = context;
    Snapshot *snapshot;

    atomic_fetch_add(&listener->n_looks, 1);
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
    Told *told;

    pthread_mutex_lock(&listener->lock);
    assert_true(listener->n_told < ELEMENTS_OF(listener->told));
    told = &listener->told[listener->n_told++];
    told->was = notice->was;
    told->is = notice->is;
    told->down_nsec = notice->down_nsec;
    (void)snprintf(told->gauge, sizeof(told->gauge), "%.*s", STR_FMT(notice->gauge));
    (void)snprintf(told->source, sizeof(told->source), "%.*s", STR_FMT(notice->source));
    (void)snprintf(told->query, sizeof(told->query), "%.*s", STR_FMT(notice->query));
    (void)snprintf(told->error, sizeof(told->error), "%s", notice->error);
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

/* --- all together --- */

typedef struct Scene {
    World world;
    Listener listener;
    char url[64];
    MetricSource source;
    MetricSources sources;
    Poller *poller;
} Scene;

static inline void scene_init_at(Scene *scene, const char *path) {
    const PollerCallbacks callbacks = callbacks_of(&scene->listener);
    char error[POLLER_ERROR_MAX];

    world_init(&scene->world);
    listener_init(&scene->listener);
    (void)snprintf(scene->url, sizeof(scene->url), "http://127.0.0.1:%u%s",
        test_server_port(scene->world.server), path);
    scene->source = (MetricSource){.name = STR("default"), .url = scene->url};
    scene->sources = (MetricSources){.items = &scene->source, .n = 1};
    assert_int_equal(poller_new(&(PollerOptions){.sources = &scene->sources, .seed = 1}, &callbacks,
                         &scene->poller, error),
        0);
}

static inline void scene_init(Scene *scene) {
    scene_init_at(scene, "");
}

/* With the API server, for metrics.k8s.io, and no source at all. */
static inline void scene_init_api(Scene *scene) {
    const PollerCallbacks callbacks = callbacks_of(&scene->listener);
    char error[POLLER_ERROR_MAX];

    world_init(&scene->world);
    listener_init(&scene->listener);
    assert_int_equal(poller_new(&(PollerOptions){.sources = &(MetricSources){0},
                                    .access = test_server_access(scene->world.server)},
                         &callbacks, &scene->poller, error),
        0);
}

static inline void scene_done(Scene *scene) {
    poller_free(scene->poller);
    world_done(&scene->world);
    listener_done(&scene->listener);
}

/* Gauges from now on; what is known of them is dropped. */
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

/* Until @condition holds; a test that waits for long has failed. */
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

static inline size_t count_told(Listener *listener) {
    size_t n;

    pthread_mutex_lock(&listener->lock);
    n = listener->n_told;
    pthread_mutex_unlock(&listener->lock);
    return n;
}

/* The value of node @name; NaN: none. */
static inline double value_of(const Measurement *measurement, const char *name) {
    return measurement->values[names_find(measurement->names, str_from_c(name))];
}
