/* Starts the daemon and the mocks, and runs the two threads. */

#include "demo/environment.h"

#include <errno.h>

#include "base/clock.h"
#include "base/thread.h"
#include "dashboard/dashboard.h"
#include "history/decisions.h"
#include "kube/blocking-client.h"

/* A call without a reply may mean that the daemon ends, which is known within this time. */
#define CUT_OFF_MSEC 6000

/* As long as the demo's scheduler waits for a reply: a busy machine does not change decisions. */
#define EVALUATE_NSEC (5 * NSEC_PER_SEC)

/* Metrics are polled once a second; in large clusters less often. */
#define POLL_NSEC NSEC_PER_SEC
#define POLL_NODE_NSEC NSEC_PER_MSEC

#define CHECK_MSEC 10u
#define FETCH_SEC 5

int64_t environment_now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* --- start ------------------------------------------------------------------------------------ */

int environment_open(DemoEnvironment *env, const DemoOptions *options) {
    int r;

    env->options = *options;
    (void)pthread_mutex_init(&env->lock, NULL);
    deadline_cond_init(&env->stopped);
    daemon_block_signals();
    r = demo_cluster_new(options->n_nodes, options->seed, environment_now_sec(), &env->cluster);
    if (r == 0)
        r = mock_metrics_new(&env->metrics);
    return r;
}

static void bind_in_cluster(void *context, const BindArgs *args, char *error, size_t size) {
    demo_cluster_bind(context, args, error, size);
}

/* Without a watch berth does not know it. */
static void note_deleted(void *context, const Pod *pod) {
    daemon_note_deleted(context, pod->uid, pod->namespace, pod->name);
}

int environment_start(DemoEnvironment *env, const char *policy_path, char *error) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(view_unrefp) View *view = NULL;
    DaemonOptions *options = &env->daemon_options;
    int64_t poll_nsec = (int64_t)env->options.n_nodes * POLL_NODE_NSEC;
    int r;

    /* The mock is Prometheus and metrics-server. */
    options->prometheus_url = mock_metrics_server(env->metrics)->url;
    options->resource_metrics_url = mock_metrics_server(env->metrics)->url;
    options->poll_nsec_max = poll_nsec > POLL_NSEC ? poll_nsec : POLL_NSEC;
    env->policy_paths[0] = policy_path;
    options->server = server_default_options();
    options->server.address = env->options.address;
    options->server.port = env->options.port;
    options->policy_paths = env->policy_paths;
    options->n_policy_paths = 1;
    options->dashboard = dashboard_hook();
    options->quiet = true;
    options->deadline_nsec = EVALUATE_NSEC;
    options->n_decisions = DECISIONS_DEFAULT;
    options->decisions_bytes = DECISIONS_BYTES_DEFAULT;
    options->is_published = true;
    options->bind_hook = &env->bind_hook;
    env->bind_hook = (BindHook){.context = env->cluster, .bind = bind_in_cluster};
    r = daemon_new(options, &env->daemon, error);
    if (r == 0)
        demo_cluster_on_deleted(env->cluster, note_deleted, env->daemon);
    if (r == 0)
        r = environment_publish(env, &snapshot);
    if (r == 0)
        r = demo_scheduler_new(daemon_url(env->daemon), env->options.seed, &env->scheduler);
    if (r < 0)
        return r;
    view = daemon_view(env->daemon);
    mock_metrics_follow(env->metrics, view->program);
    return 0;
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
    (void)pthread_mutex_lock(&env->lock);
    env->is_stopped = true;
    (void)pthread_cond_broadcast(&env->stopped);
    (void)pthread_mutex_unlock(&env->lock);
    (void)pthread_join(thread, NULL);
    return 0;
}

void environment_done(DemoEnvironment *env) {
    demo_scheduler_free(env->scheduler);
    daemon_free(env->daemon); /* before the cluster: its workers bind pods there */
    snapshot_unref(env->seen);
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
    return daemon_publish(env->daemon, *ret);
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

    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION &&
            (!view->measurements || !view->measurements->items[i]))
            return false;
    return true;
}

int environment_place(DemoEnvironment *env, const DemoPod *pod, Placement *ret) {
    int r;

    env->seen = snapshot_unref(env->seen);
    r = environment_publish(env, &env->seen);
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
