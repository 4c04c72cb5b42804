/* Starts the daemon and the mocks, runs the two threads, and writes files of the demo's folder. */

#include "demo/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/thread.h"
#include "dashboard/dashboard.h"
#include "demo/annotator.h"
#include "history/decisions.h"

/* After a call without a reply, the driving thread waits this long for the daemon to end. */
#define CUT_OFF_MSEC 6000

/* The timeout of the demo's scheduler, so that a busy machine does not change decisions. */
#define EVALUATE_NSEC (5 * NSEC_PER_SEC)

/* Metrics are polled once a second; in large clusters less often. */
#define POLL_NSEC NSEC_PER_SEC
#define POLL_NODE_NSEC NSEC_PER_MSEC

/* Between two writes of annotations. */
#define ANNOTATE_NSEC (10 * NSEC_PER_SEC)

#define CHECK_MSEC 10u
#define FOLDERS_MAX 32
#define READY_MSEC 10000u

int64_t environment_now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

int environment_open(DemoEnvironment *env, const DemoOptions *options) {
    int r;

    env->options = *options;
    env->console = (Console)CONSOLE_INIT(options->is_live, options->has_colour);
    (void)pthread_mutex_init(&env->lock, NULL);
    deadline_cond_init(&env->stopped);
    daemon_block_signals();
    r = demo_cluster_new(options->n_nodes, options->seed, environment_now_sec(), &env->cluster);
    if (r == 0)
        r = mock_metrics_new(&env->metrics);
    return r;
}

/* Reports a deletion to the daemon, which has no watch here. */
static void note_deleted(void *context, const Pod *pod) {
    daemon_note_deleted(context, pod->uid, pod->namespace, pod->name);
}

/* Makes, opens and locks folder->path. 0 or a negative errno. */
static int acquire(DemoFolder *folder) {
    struct stat info;
    int fd;

    if (mkdir(folder->path, 0700) < 0 && errno != EEXIST)
        return -errno;
    fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* Only this user may write to it: in /tmp another user may have created it. */
    if (fstat(fd, &info) < 0 || info.st_uid != geteuid() || (info.st_mode & 022) != 0 ||
        flock(fd, LOCK_EX | LOCK_NB) < 0) {
        (void)close(fd);
        return -EBUSY;
    }
    folder->fd = fd;
    return 0;
}

static int open_folder(DemoFolder *folder, char *error) {
    const char *root = getenv("TMPDIR");
    unsigned uid = (unsigned)geteuid();
    int r = -EBUSY, n;

    if (!root || !root[0])
        root = "/tmp";
    for (int i = 1; r < 0 && i <= FOLDERS_MAX; i++) {
        n = snprintf(folder->path, DEMO_FOLDER_PATH_MAX,
            i == 1 ? "%s/berth-demo-%u" : "%s/berth-demo-%u-%d", root, uid, i);
        r = n < (int)DEMO_FOLDER_PATH_MAX ? acquire(folder) : -ENAMETOOLONG;
        if (r < 0 && r != -EBUSY && r != -ELOOP && r != -ENOTDIR)
            break;
    }
    if (r < 0) {
        (void)snprintf(error, DEMO_ERROR_MAX,
            "cannot use %s for its files: %s; TMPDIR can name another place", folder->path,
            strerror(-r));
        folder->path[0] = '\0';
    }
    return r;
}

int demo_folder_write(const DemoFolder *folder, const char *name, Str text, char *error) {
    char new_name[64];
    int fd, r;

    (void)snprintf(new_name, sizeof(new_name), ".%s.new", name);
    fd = openat(folder->fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    r = fd < 0 ? -errno : fd_write(fd, text);
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(folder->fd, new_name, folder->fd, name) < 0)
        r = -errno;
    if (r == 0)
        return 0;
    if (fd >= 0)
        (void)unlinkat(folder->fd, new_name, 0);
    (void)snprintf(
        error, DEMO_ERROR_MAX, "cannot write %s/%s: %s", folder->path, name, strerror(-r));
    return r;
}

/* Opens the folder, and writes the policy there unless the user has one. */
static int write_policy(DemoEnvironment *env, Str policy, char *error) {
    int r = open_folder(&env->folder, error);

    if (r < 0 || env->options.policy)
        return r;
    (void)snprintf(env->policy_path, sizeof(env->policy_path), "%s/policy.yaml", env->folder.path);
    env->options.policy = env->policy_path;
    return demo_folder_write(&env->folder, "policy.yaml", policy, error);
}

int environment_start(DemoEnvironment *env, Str policy, char *error) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(view_unrefp) View *view = NULL;
    DaemonOptions *options = &env->daemon_options;
    int64_t poll_nsec = (int64_t)env->options.n_nodes * POLL_NODE_NSEC;
    int r = write_policy(env, policy, error);

    if (r < 0)
        return r;
    /* One mock serves all three APIs. */
    options->measuring.prometheus_url = mock_metrics_url(env->metrics);
    options->measuring.resource_metrics_url = mock_metrics_url(env->metrics);
    options->measuring.poll_nsec_max = poll_nsec > POLL_NSEC ? poll_nsec : POLL_NSEC;
    options->server = server_default_options();
    options->server.address = env->options.address;
    options->server.port = env->options.port;
    options->policy_paths = &env->options.policy;
    options->n_policy_paths = 1;
    options->dashboard = &dashboard_hook;
    options->quiet = true;
    options->deadline_nsec = EVALUATE_NSEC;
    options->n_decisions = DECISIONS_DEFAULT;
    options->decisions_bytes = DECISIONS_BYTES_DEFAULT;
    options->is_published = true;
    options->bind_hook = &env->bind_hook;
    env->bind_hook = (BindHook){.context = env->cluster, .bind = demo_cluster_bind};
    r = daemon_new(options, &env->daemon, error);
    if (r == 0)
        demo_cluster_on_deleted(env->cluster, note_deleted, env->daemon);
    if (r == 0)
        r = environment_publish(env, &snapshot);
    if (r == 0)
        r = demo_scheduler_new(
            daemon_url(env->daemon, LISTEN_VERBS), env->options.seed, &env->scheduler);
    if (r < 0)
        return r;
    view = daemon_view(env->daemon);
    if (!annotator_is_needed(view->program))
        return 0;
    snapshot = snapshot_unref(snapshot);
    return environment_publish(env, &snapshot); /* with the first annotations */
}

bool environment_wait(DemoEnvironment *env, unsigned msec) {
    struct timespec until = deadline_in((int64_t)msec * NSEC_PER_MSEC);
    _unlock_ pthread_mutex_t *held = mutex_hold(&env->lock);

    while (!env->is_stopped && msec > 0)
        if (pthread_cond_timedwait(&env->stopped, &env->lock, &until) == ETIMEDOUT)
            break;
    return env->is_stopped;
}

static void *drive(void *context) {
    DemoEnvironment *env = context;

    env->drive(env->drive_context);
    env->scheduler =
        demo_scheduler_free(env->scheduler); /* else the daemon waits for its connection */
    daemon_stop(env->daemon);
    return NULL;
}

static void stop_driving(DemoEnvironment *env) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&env->lock);

    env->is_stopped = true;
    (void)pthread_cond_broadcast(&env->stopped);
}

int environment_run(DemoEnvironment *env, void (*function)(void *context), void *context) {
    pthread_t thread;
    int r;

    env->drive = function;
    env->drive_context = context;
    r = thread_start(&thread, "demo", drive, env);
    if (r < 0)
        return r;
    daemon_run(env->daemon);
    stop_driving(env);
    thread_join(thread);
    return 0;
}

void environment_done(DemoEnvironment *env) {
    demo_scheduler_free(env->scheduler);
    daemon_free(env->daemon); /* before the cluster: its workers bind pods there */
    snapshot_unref(env->seen);
    mock_metrics_free(env->metrics);
    demo_cluster_free(env->cluster);
    if (env->folder.path[0])
        (void)close(env->folder.fd);
    buf_done(&env->console.text);
    (void)pthread_cond_destroy(&env->stopped);
    (void)pthread_mutex_destroy(&env->lock);
}

/* Makes the mock serve the metrics of the policies in force, and writes their annotations. */
static int follow_policies(DemoEnvironment *env) {
    _cleanup_(view_unrefp) View *view = daemon_view(env->daemon);
    int64_t now = clock_monotonic_nsec();

    if (mock_metrics_follow(env->metrics, view->program))
        env->annotated_at_nsec = 0;
    if (view->table->n_rows == 0 || !annotator_is_needed(view->program) ||
        (env->annotated_at_nsec > 0 && now - env->annotated_at_nsec < ANNOTATE_NSEC))
        return 0;
    env->annotated_at_nsec = now;
    return annotator_write(env->cluster, view, clock_wall_nsec());
}

int environment_publish(DemoEnvironment *env, Snapshot **ret) {
    int r = follow_policies(env);

    if (r == 0)
        r = demo_cluster_snapshot(env->cluster, ret);
    if (r < 0)
        return r;
    mock_metrics_show(env->metrics, *ret);
    return daemon_publish(env->daemon, *ret);
}

static bool is_measured(const View *view) {
    const Program *rules = view->program;

    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION &&
            (!view->measurements || !view->measurements->items[i]))
            return false;
    return true;
}

void environment_wait_for_metrics(DemoEnvironment *env) {
    bool is_over = false;

    for (unsigned msec = 0; !is_over && msec < READY_MSEC; msec += CHECK_MSEC) {
        _cleanup_(view_unrefp) View *view = daemon_view(env->daemon);

        is_over = is_measured(view) || environment_wait(env, CHECK_MSEC);
    }
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
