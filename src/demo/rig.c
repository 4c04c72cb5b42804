#include "demo/rig.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "board/board.h"
#include "serve/decisions.h"

/* A call that got no reply may be one that met the end of the daemon: who is asked
 * to stop hears of it within this time. */
#define CUT_OFF_MSEC 6000

/* Sources are asked about once a second; in large clusters, whose answers take longer to make, less
 * often. */
#define POLL_NSEC NSEC_PER_SEC
#define POLL_NODE_NSEC NSEC_PER_MSEC

#define LOOK_MSEC 10u
#define HEAR_MSEC 5000u
#define FETCH_MAX ((size_t)4 * 1024 * 1024)
#define FETCH_MSEC 5000L

int64_t rig_now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* --- beginning -------------------------------------------------------------------------------- */

int rig_open(Rig *rig, const RigOptions *options) {
    int r;

    rig->options = *options;
    (void)pthread_mutex_init(&rig->lock, NULL);
    deadline_cond_init(&rig->stopped);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return -ENOMEM;
    daemon_block_signals();
    r = world_new(options->n_nodes, options->seed, rig_now_sec(), &rig->world);
    if (r == 0)
        r = meter_new(&rig->meter);
    if (r == 0 && options->is_watched)
        r = api_server_new(&rig->api);
    return r;
}

static void bind_in_world(void *context, const BindArgs *args, char *error, size_t size) {
    world_bind(context, args, error, size);
}

/* The meter is its Prometheus, and its metrics-server. */
static void use_meter(Rig *rig) {
    DaemonOptions *options = &rig->daemon_options;
    int64_t nsec = (int64_t)rig->options.n_nodes * POLL_NODE_NSEC;

    options->prometheus_url = meter_url(rig->meter);
    options->resource_metrics_url = meter_url(rig->meter);
    options->poll_nsec_max = nsec > POLL_NSEC ? nsec : POLL_NSEC;
}

/* The world comes by way of an API server, which a kubeconfig names. */
static int use_api_server(Rig *rig, const Folder *folder, char *error) {
    static const char name[] = "kubeconfig";
    char text[API_SERVER_KUBECONFIG_MAX];

    api_server_kubeconfig(rig->api, text);
    (void)snprintf(rig->kubeconfig, sizeof(rig->kubeconfig), "%s/%s", folder->path, name);
    rig->daemon_options.live.kubeconfig = rig->kubeconfig;
    return folder_write(folder, name, str_from_c(text), error);
}

static int use_world(Rig *rig, const Folder *folder, char *error) {
    if (rig->api)
        return use_api_server(rig, folder, error);
    rig->bind_hook = (BindHook){.context = rig->world, .bind = bind_in_world};
    rig->daemon_options.bind_hook = &rig->bind_hook;
    rig->daemon_options.is_published = true;
    return 0;
}

/* A row alone may stand for a node that only pods have named so far. */
static bool has_cluster(const View *view, const void *context) {
    const Rig *rig = context;
    size_t n = 0;

    for (uint32_t row = 0; view->table && row < view->table->n_rows; row++)
        n += table_node(view->table, row) != NULL;
    return n >= rig->options.n_nodes;
}

static int start_driver(Rig *rig) {
    rig->driver = driver_new(daemon_url(rig->daemon), rig->options.seed);
    if (!rig->driver)
        return -ENOMEM;
    if (rig->api)
        driver_bind_in(rig->driver, rig->world);
    return 0;
}

/* Series are called as the policies expect it. */
static void follow_rules(Rig *rig) {
    _cleanup_(view_unrefp) View *view = daemon_view(rig->daemon);

    meter_follow(rig->meter, view->program);
}

int rig_start(Rig *rig, const char *policy_path, const Folder *folder, char *error) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    DaemonOptions *options = &rig->daemon_options;
    int r;

    use_meter(rig);
    rig->policy_paths[0] = policy_path;
    options->server = server_default_options();
    options->server.address = rig->options.address;
    options->server.port = rig->options.port;
    options->policy_paths = rig->policy_paths;
    options->n_policy_paths = 1;
    options->board = board_hook();
    options->quiet = true;
    options->n_decisions = DECISIONS_DEFAULT;
    options->decisions_bytes = DECISIONS_BYTES_DEFAULT;
    r = use_world(rig, folder, error);
    if (r == 0 && rig->api) /* who lists before has nothing */
        r = rig_publish(rig, &snapshot);
    if (r == 0)
        r = daemon_new(options, &rig->daemon, error);
    if (r == 0 && !rig->api)
        r = rig_publish(rig, &snapshot);
    if (r == 0)
        r = start_driver(rig);
    if (r == 0)
        follow_rules(rig);
    if (r == 0 && rig->api)
        (void)rig_wait_for(rig, RIG_READY_MSEC, has_cluster, rig);
    return r;
}

/* --- two threads ------------------------------------------------------------------------------ */

bool rig_wait(Rig *rig, unsigned msec) {
    int64_t nsec = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;
    struct timespec until = {.tv_sec = nsec / NSEC_PER_SEC, .tv_nsec = nsec % NSEC_PER_SEC};
    bool is_stopped;

    (void)pthread_mutex_lock(&rig->lock);
    while (!rig->is_stopped && msec > 0)
        if (pthread_cond_timedwait(&rig->stopped, &rig->lock, &until) == ETIMEDOUT)
            break;
    is_stopped = rig->is_stopped;
    (void)pthread_mutex_unlock(&rig->lock);
    return is_stopped;
}

static void stop(Rig *rig) {
    (void)pthread_mutex_lock(&rig->lock);
    rig->is_stopped = true;
    (void)pthread_cond_broadcast(&rig->stopped);
    (void)pthread_mutex_unlock(&rig->lock);
}

typedef struct Driving {
    Rig *rig;
    void (*drive)(void *context);
    void *context;
} Driving;

static void *drive(void *context) {
    const Driving *driving = context;
    Rig *rig = driving->rig;

    driving->drive(driving->context);
    rig->driver = driver_free(rig->driver); /* its connection would be waited for */
    daemon_stop(rig->daemon);
    return NULL;
}

int rig_run(Rig *rig, void (*function)(void *context), void *context) {
    Driving driving = {.rig = rig, .drive = function, .context = context};
    pthread_t thread;
    int r = pthread_create(&thread, NULL, drive, &driving);

    if (r != 0)
        return -r;
    daemon_run(rig->daemon);
    stop(rig);
    (void)pthread_join(thread, NULL);
    return 0;
}

void rig_done(Rig *rig) {
    driver_free(rig->driver);
    daemon_free(rig->daemon); /* before the world: its workers bind there */
    snapshot_unref(rig->seen);
    api_server_free(rig->api);
    meter_free(rig->meter);
    world_free(rig->world);
    (void)pthread_cond_destroy(&rig->stopped);
    (void)pthread_mutex_destroy(&rig->lock);
}

/* --- at work ---------------------------------------------------------------------------------- */

int rig_publish(Rig *rig, Snapshot **ret) {
    int r = world_snapshot(rig->world, ret);

    if (r < 0)
        return r;
    meter_show(rig->meter, *ret);
    return rig->api ? api_server_show(rig->api, *ret) : daemon_publish(rig->daemon, *ret);
}

bool rig_wait_for(Rig *rig, unsigned msec, RigCondition *is_so, const void *context) {
    int64_t until = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;

    for (;;) {
        _cleanup_(view_unrefp) View *view = daemon_view(rig->daemon);

        if (is_so(view, context))
            return true;
        if (clock_monotonic_nsec() >= until || rig_wait(rig, LOOK_MSEC))
            return false;
    }
}

bool rig_is_measured(const View *view, const void *context) {
    const Program *rules = view->program;

    (void)context;
    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION &&
            (!view->measurements || !view->measurements->items[i]))
            return false;
    return true;
}

static size_t count_pods(const NodeTable *cluster) {
    size_t n = 0;

    for (uint32_t row = 0; cluster && row < cluster->n_rows; row++)
        n += table_chunk(cluster, row)->n_pods[table_slot(row)];
    return n;
}

static bool has_pods(const View *view, const void *context) {
    return count_pods(view->table) == count_pods(context);
}

/* What comes by a watch takes its time; a scheduler that is not in a hurry meets a berth that has
 * heard of its last pod. */
static void let_berth_hear(Rig *rig, const Snapshot *snapshot) {
    if (rig->api && api_server_is_up(rig->api))
        (void)rig_wait_for(rig, HEAR_MSEC, has_pods, snapshot_table(snapshot));
}

int rig_place(Rig *rig, const WorldPod *pod, Placement *ret) {
    int r;

    rig->seen = snapshot_unref(rig->seen);
    r = rig_publish(rig, &rig->seen);
    if (r == 0) {
        let_berth_hear(rig, rig->seen);
        r = driver_place(rig->driver, pod, snapshot_table(rig->seen), ret);
    }
    if (r == 0 && ret->is_cut_off)
        (void)rig_wait(rig, CUT_OFF_MSEC);
    return r;
}

/* --- pages ------------------------------------------------------------------------------------ */

static size_t take_bytes(char *bytes, size_t size, size_t n, void *context) {
    Buf *out = context;

    buf_append(out, str_of(bytes, size * n));
    return buf_error(out) < 0 ? 0 : size * n;
}

Str rig_fetch(const Rig *rig, const char *path, Arena *arena) {
    _cleanup_(buf_done) Buf out = BUF_INIT(FETCH_MAX);
    CURL *curl = curl_easy_init();
    char url[SERVER_URL_MAX + 256];
    CURLcode code = CURLE_FAILED_INIT;

    (void)snprintf(url, sizeof(url), "%s%s", daemon_url(rig->daemon), path);
    if (curl) {
        (void)curl_easy_setopt(curl, CURLOPT_URL, url);
        (void)curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
        (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, FETCH_MSEC);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, &out);
        code = curl_easy_perform(curl);
        curl_easy_cleanup(curl);
    }
    return code == CURLE_OK ? arena_copy(arena, buf_str(&out)) : STR_NULL;
}
