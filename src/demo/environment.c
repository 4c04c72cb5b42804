/* Starts the daemon and the mocks, and runs the two threads. */

#include "demo/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "dashboard/dashboard.h"
#include "history/decisions.h"
#include "kube/blocking-client.h"

/* A call without a reply may be due to the end of the daemon, which is known within this time. */
#define CUT_OFF_MSEC 6000

/* Metrics are polled once a second; in large clusters less often. */
#define POLL_NSEC NSEC_PER_SEC
#define POLL_NODE_NSEC NSEC_PER_MSEC

#define LOOK_MSEC 10u
#define HEAR_MSEC 5000u
#define FETCH_SEC 5

int64_t environment_now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* --- beginning -------------------------------------------------------------------------------- */

int environment_open(DemoEnvironment *environment, const EnvironmentOptions *options) {
    int r;

    environment->options = *options;
    (void)pthread_mutex_init(&environment->lock, NULL);
    deadline_cond_init(&environment->stopped);
    daemon_block_signals();
    r = demo_cluster_new(
        options->n_nodes, options->seed, environment_now_sec(), &environment->cluster);
    if (r == 0)
        r = mock_metrics_new(&environment->metrics);
    if (r == 0 && options->is_watched)
        r = mock_api_server_new(&environment->api);
    return r;
}

static void bind_in_cluster(void *context, const BindArgs *args, char *error, size_t size) {
    demo_cluster_bind(context, args, error, size);
}

/* The mock is Prometheus and metrics-server. */
static void use_metrics(DemoEnvironment *environment) {
    DaemonOptions *options = &environment->daemon_options;
    int64_t nsec = (int64_t)environment->options.n_nodes * POLL_NODE_NSEC;

    options->prometheus_url = mock_metrics_server(environment->metrics)->url;
    options->resource_metrics_url = mock_metrics_server(environment->metrics)->url;
    options->poll_nsec_max = nsec > POLL_NSEC ? nsec : POLL_NSEC;
}

/* berth watches the mock API server, by a kubeconfig. */
static int use_api_server(DemoEnvironment *environment, const DemoFolder *folder, char *error) {
    static const char name[] = "kubeconfig";
    char text[MOCK_API_SERVER_KUBECONFIG_MAX];

    mock_api_server_kubeconfig(environment->api, text);
    (void)snprintf(
        environment->kubeconfig, sizeof(environment->kubeconfig), "%s/%s", folder->path, name);
    environment->daemon_options.live.kubeconfig = environment->kubeconfig;
    return demo_folder_write(folder, name, str_from_c(text), error);
}

static int use_cluster(DemoEnvironment *environment, const DemoFolder *folder, char *error) {
    if (environment->api)
        return use_api_server(environment, folder, error);
    environment->bind_hook = (BindHook){.context = environment->cluster, .bind = bind_in_cluster};
    environment->daemon_options.bind_hook = &environment->bind_hook;
    environment->daemon_options.is_published = true;
    return 0;
}

/* Rows without a node stand for nodes that so far only pods name. */
static bool has_cluster(const View *view, const void *context) {
    const DemoEnvironment *environment = context;
    size_t n = 0;

    for (uint32_t row = 0; view->table && row < view->table->n_rows; row++)
        n += table_node(view->table, row) != NULL;
    return n >= environment->options.n_nodes;
}

static void follow_rules(DemoEnvironment *environment) {
    _cleanup_(view_unrefp) View *view = daemon_view(environment->daemon);

    mock_metrics_follow(environment->metrics, view->program);
}

int environment_start(
    DemoEnvironment *environment, const char *policy_path, const DemoFolder *folder, char *error) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    DaemonOptions *options = &environment->daemon_options;
    int r;

    use_metrics(environment);
    environment->policy_paths[0] = policy_path;
    options->server = server_default_options();
    options->server.address = environment->options.address;
    options->server.port = environment->options.port;
    options->policy_paths = environment->policy_paths;
    options->n_policy_paths = 1;
    options->dashboard = dashboard_hook();
    options->quiet = true;
    options->n_decisions = DECISIONS_DEFAULT;
    options->decisions_bytes = DECISIONS_BYTES_DEFAULT;
    r = use_cluster(environment, folder, error);
    if (r == 0 && environment->api) /* before berth lists objects */
        r = environment_publish(environment, &snapshot);
    if (r == 0)
        r = daemon_new(options, &environment->daemon, error);
    if (r == 0 && !environment->api)
        r = environment_publish(environment, &snapshot);
    if (r == 0)
        r = demo_scheduler_new(daemon_url(environment->daemon),
            environment->options.seed,
            environment->api ? environment->cluster : NULL,
            &environment->scheduler);
    if (r == 0)
        follow_rules(environment);
    if (r == 0 && environment->api)
        (void)environment_wait_for(environment, ENVIRONMENT_READY_MSEC, has_cluster, environment);
    return r;
}

/* --- two threads ------------------------------------------------------------------------------ */

bool environment_wait(DemoEnvironment *environment, unsigned msec) {
    int64_t nsec = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;
    struct timespec until = {.tv_sec = nsec / NSEC_PER_SEC, .tv_nsec = nsec % NSEC_PER_SEC};
    bool is_stopped;

    (void)pthread_mutex_lock(&environment->lock);
    while (!environment->is_stopped && msec > 0)
        if (pthread_cond_timedwait(&environment->stopped, &environment->lock, &until) == ETIMEDOUT)
            break;
    is_stopped = environment->is_stopped;
    (void)pthread_mutex_unlock(&environment->lock);
    return is_stopped;
}

static void stop(DemoEnvironment *environment) {
    (void)pthread_mutex_lock(&environment->lock);
    environment->is_stopped = true;
    (void)pthread_cond_broadcast(&environment->stopped);
    (void)pthread_mutex_unlock(&environment->lock);
}

typedef struct DriverThread {
    DemoEnvironment *environment;
    void (*drive)(void *context);
    void *context;
} DriverThread;

static void *drive(void *context) {
    const DriverThread *driving = context;
    DemoEnvironment *environment = driving->environment;

    driving->drive(driving->context);
    environment->scheduler =
        demo_scheduler_free(environment->scheduler); /* the daemon would wait for its connection */
    daemon_stop(environment->daemon);
    return NULL;
}

int environment_run(DemoEnvironment *environment, void (*function)(void *context), void *context) {
    DriverThread driving = {.environment = environment, .drive = function, .context = context};
    pthread_t thread;
    int r = pthread_create(&thread, NULL, drive, &driving);

    if (r != 0)
        return -r;
    daemon_run(environment->daemon);
    stop(environment);
    (void)pthread_join(thread, NULL);
    return 0;
}

void environment_done(DemoEnvironment *environment) {
    demo_scheduler_free(environment->scheduler);
    daemon_free(environment->daemon); /* before the cluster: its workers bind there */
    snapshot_unref(environment->seen);
    mock_api_server_free(environment->api);
    mock_metrics_free(environment->metrics);
    demo_cluster_free(environment->cluster);
    (void)pthread_cond_destroy(&environment->stopped);
    (void)pthread_mutex_destroy(&environment->lock);
}

/* --- at work ---------------------------------------------------------------------------------- */

int environment_publish(DemoEnvironment *environment, Snapshot **ret) {
    int r = demo_cluster_snapshot(environment->cluster, ret);

    if (r < 0)
        return r;
    mock_metrics_show(environment->metrics, *ret);
    return environment->api ? mock_api_server_show(environment->api, *ret)
                            : daemon_publish(environment->daemon, *ret);
}

bool environment_wait_for(
    DemoEnvironment *environment, unsigned msec, ViewCondition *is_so, const void *context) {
    int64_t until = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;

    for (;;) {
        _cleanup_(view_unrefp) View *view = daemon_view(environment->daemon);

        if (is_so(view, context))
            return true;
        if (clock_monotonic_nsec() >= until || environment_wait(environment, LOOK_MSEC))
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

/* Watch events take time: waits until berth knows the last pod. */
static void let_berth_hear(DemoEnvironment *environment, const Snapshot *snapshot) {
    if (environment->api && mock_api_server_is_up(environment->api))
        (void)environment_wait_for(environment, HEAR_MSEC, has_pods, snapshot_table(snapshot));
}

int environment_place(DemoEnvironment *environment, const DemoPod *pod, Placement *ret) {
    int r;

    environment->seen = snapshot_unref(environment->seen);
    r = environment_publish(environment, &environment->seen);
    if (r == 0) {
        let_berth_hear(environment, environment->seen);
        r = demo_scheduler_place(
            environment->scheduler, pod, snapshot_table(environment->seen), ret);
    }
    if (r == 0 && ret->is_cut_off)
        (void)environment_wait(environment, CUT_OFF_MSEC);
    return r;
}

/* --- pages ------------------------------------------------------------------------------------ */

Str environment_fetch(const DemoEnvironment *environment, const char *path, Arena *arena) {
    const AccessServer server = {
        .name = "the demo", .url = daemon_url(environment->daemon), .is_direct = true};
    _cleanup_(access_freep) Access *access = NULL;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply = {0};

    if (access_for_server(&server, &access, error) == 0)
        (void)blocking_client_request(
            access, &(BlockingRequest){.path = path, .sec = FETCH_SEC}, arena, &reply, error);
    return reply.body;
}
