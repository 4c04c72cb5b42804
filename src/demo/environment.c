/* Starts the daemon and the mocks, and runs the two threads. */

#include "demo/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "dashboard/dashboard.h"
#include "history/decisions.h"
#include "kube/blocking-client.h"

/* A call without a reply may mean that the daemon ends, which is known within this time. */
#define CUT_OFF_MSEC 6000

/* Metrics are polled once a second; in large clusters less often. */
#define POLL_NSEC NSEC_PER_SEC
#define POLL_NODE_NSEC NSEC_PER_MSEC

#define CHECK_MSEC 10u
#define EVENTS_MSEC 5000u
#define FETCH_SEC 5

int64_t environment_now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* --- start ------------------------------------------------------------------------------------ */

int environment_open(DemoEnvironment *env, const EnvironmentOptions *options) {
    int r;

    env->options = *options;
    (void)pthread_mutex_init(&env->lock, NULL);
    deadline_cond_init(&env->stopped);
    daemon_block_signals();
    r = demo_cluster_new(options->n_nodes, options->seed, environment_now_sec(), &env->cluster);
    if (r == 0)
        r = mock_metrics_new(&env->metrics);
    if (r == 0 && options->is_watched)
        r = mock_api_server_new(&env->api);
    return r;
}

static void bind_in_cluster(void *context, const BindArgs *args, char *error, size_t size) {
    demo_cluster_bind(context, args, error, size);
}

/* Without a watch berth does not know it. */
static void note_deleted(void *context, const Pod *pod) {
    daemon_note_deleted(context, pod->uid, pod->namespace, pod->name);
}

/* The mock is Prometheus and metrics-server. */
static void use_metrics(DemoEnvironment *env) {
    DaemonOptions *options = &env->daemon_options;
    int64_t nsec = (int64_t)env->options.n_nodes * POLL_NODE_NSEC;

    options->prometheus_url = mock_metrics_server(env->metrics)->url;
    options->resource_metrics_url = mock_metrics_server(env->metrics)->url;
    options->poll_nsec_max = nsec > POLL_NSEC ? nsec : POLL_NSEC;
}

/* berth watches the mock API server, by a kubeconfig. */
static int use_api_server(DemoEnvironment *env, const DemoFolder *folder, char *error) {
    static const char name[] = "kubeconfig";
    char text[MOCK_API_SERVER_KUBECONFIG_MAX];

    mock_api_server_kubeconfig(env->api, text);
    (void)snprintf(env->kubeconfig, sizeof(env->kubeconfig), "%s/%s", folder->path, name);
    env->daemon_options.live.kubeconfig = env->kubeconfig;
    return demo_folder_write(folder, name, str_from_c(text), error);
}

static int use_cluster(DemoEnvironment *env, const DemoFolder *folder, char *error) {
    if (env->api)
        return use_api_server(env, folder, error);
    env->bind_hook = (BindHook){.context = env->cluster, .bind = bind_in_cluster};
    env->daemon_options.bind_hook = &env->bind_hook;
    env->daemon_options.is_published = true;
    return 0;
}

/* A row without a node belongs to a node that only pods name so far. */
static bool has_cluster(const View *view, const void *context) {
    const DemoEnvironment *env = context;
    size_t n = 0;

    for (uint32_t row = 0; view->table && row < view->table->n_rows; row++)
        n += table_node(view->table, row) != NULL;
    return n >= env->options.n_nodes;
}

static void follow_rules(DemoEnvironment *env) {
    _cleanup_(view_unrefp) View *view = daemon_view(env->daemon);

    mock_metrics_follow(env->metrics, view->program);
}

int environment_start(
    DemoEnvironment *env, const char *policy_path, const DemoFolder *folder, char *error) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    DaemonOptions *options = &env->daemon_options;
    int r;

    use_metrics(env);
    env->policy_paths[0] = policy_path;
    options->server = server_default_options();
    options->server.address = env->options.address;
    options->server.port = env->options.port;
    options->policy_paths = env->policy_paths;
    options->n_policy_paths = 1;
    options->dashboard = dashboard_hook();
    options->quiet = true;
    options->n_decisions = DECISIONS_DEFAULT;
    options->decisions_bytes = DECISIONS_BYTES_DEFAULT;
    r = use_cluster(env, folder, error);
    if (r == 0 && env->api) /* before berth lists objects */
        r = environment_publish(env, &snapshot);
    if (r == 0)
        r = daemon_new(options, &env->daemon, error);
    if (r == 0)
        demo_cluster_on_deleted(env->cluster, note_deleted, env->daemon);
    if (r == 0 && !env->api)
        r = environment_publish(env, &snapshot);
    if (r == 0)
        r = demo_scheduler_new(daemon_url(env->daemon), env->options.seed,
            env->api ? env->cluster : NULL, &env->scheduler);
    if (r == 0)
        follow_rules(env);
    if (r == 0 && env->api)
        (void)environment_wait_for(env, ENVIRONMENT_READY_MSEC, has_cluster, env);
    return r;
}

/* --- two threads ------------------------------------------------------------------------------ */

bool environment_wait(DemoEnvironment *env, unsigned msec) {
    int64_t nsec = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;
    struct timespec until = {.tv_sec = nsec / NSEC_PER_SEC, .tv_nsec = nsec % NSEC_PER_SEC};
    bool is_stopped;

    (void)pthread_mutex_lock(&env->lock);
    while (!env->is_stopped && msec > 0)
        if (pthread_cond_timedwait(&env->stopped, &env->lock, &until) == ETIMEDOUT)
            break;
    is_stopped = env->is_stopped;
    (void)pthread_mutex_unlock(&env->lock);
    return is_stopped;
}

static void stop(DemoEnvironment *env) {
    (void)pthread_mutex_lock(&env->lock);
    env->is_stopped = true;
    (void)pthread_cond_broadcast(&env->stopped);
    (void)pthread_mutex_unlock(&env->lock);
}

typedef struct DriverThread {
    DemoEnvironment *env;
    void (*drive)(void *context);
    void *context;
} DriverThread;

static void *drive(void *context) {
    const DriverThread *driving = context;
    DemoEnvironment *env = driving->env;

    driving->drive(driving->context);
    env->scheduler =
        demo_scheduler_free(env->scheduler); /* else the daemon waits for its connection */
    daemon_stop(env->daemon);
    return NULL;
}

int environment_run(DemoEnvironment *env, void (*function)(void *context), void *context) {
    DriverThread driving = {.env = env, .drive = function, .context = context};
    pthread_t thread;
    int r = pthread_create(&thread, NULL, drive, &driving);

    if (r != 0)
        return -r;
    daemon_run(env->daemon);
    stop(env);
    (void)pthread_join(thread, NULL);
    return 0;
}

void environment_done(DemoEnvironment *env) {
    demo_scheduler_free(env->scheduler);
    daemon_free(env->daemon); /* before the cluster: its workers bind pods there */
    snapshot_unref(env->seen);
    mock_api_server_free(env->api);
    mock_metrics_free(env->metrics);
    demo_cluster_free(env->cluster);
    (void)pthread_cond_destroy(&env->stopped);
    (void)pthread_mutex_destroy(&env->lock);
}

/* --- placements ------------------------------------------------------------------------------- */

int environment_publish(DemoEnvironment *env, Snapshot **ret) {
    int r = demo_cluster_snapshot(env->cluster, ret);

    if (r < 0)
        return r;
    mock_metrics_show(env->metrics, *ret);
    return env->api ? mock_api_server_show(env->api, *ret) : daemon_publish(env->daemon, *ret);
}

bool environment_wait_for(
    DemoEnvironment *env, unsigned msec, ViewCondition *is_so, const void *context) {
    int64_t until = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;

    for (;;) {
        _cleanup_(view_unrefp) View *view = daemon_view(env->daemon);

        if (is_so(view, context))
            return true;
        if (clock_monotonic_nsec() >= until || environment_wait(env, CHECK_MSEC))
            return false;
    }
}

bool environment_is_measured(const View *view, const void *context) {
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

int environment_place(DemoEnvironment *env, const DemoPod *pod, Placement *ret) {
    int r;

    env->seen = snapshot_unref(env->seen);
    r = environment_publish(env, &env->seen);
    /* Watch events take time: waits until berth knows the last pod. */
    if (r == 0 && env->api && mock_api_server_is_up(env->api))
        (void)environment_wait_for(env, EVENTS_MSEC, has_pods, snapshot_table(env->seen));
    if (r == 0)
        r = demo_scheduler_place(env->scheduler, pod, snapshot_table(env->seen), ret);
    if (r == 0 && ret->is_cut_off)
        (void)environment_wait(env, CUT_OFF_MSEC);
    return r;
}

/* --- pages ------------------------------------------------------------------------------------ */

Str environment_fetch(const DemoEnvironment *env, const char *path, Arena *arena) {
    const AccessServer server = {
        .name = "the demo", .url = daemon_url(env->daemon), .is_direct = true};
    _cleanup_(access_freep) Access *access = NULL;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply = {0};

    if (access_for_server(&server, &access, error) == 0)
        (void)blocking_client_request(
            access, &(BlockingRequest){.path = path, .sec = FETCH_SEC}, arena, &reply, error);
    return reply.body;
}
