/*
 * Two threads: the main one runs the daemon's loop, signals included, as `berth
 * serve` does; the second one drives. The one that ends first ends the other.
 */

#include "demo/demo.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/error.h"
#include "demo/driver.h"
#include "demo/folder.h"
#include "demo/show.h"
#include "demo/tally.h"
#include "demo/world.h"
#include "input/file.h"
#include "input/policies.h"
#include "serve/decisions.h"

/* How old the files of the suggested commands may be. */
#define FILES_NSEC (5 * NSEC_PER_SEC)

/* A call that got no reply may be one that met the end of the daemon: who is asked
 * to stop hears of it within this time. */
#define CUT_OFF_MSEC 6000

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)
#define POD_MAX ((size_t)64 * 1024)
#define FILE_PATH_MAX (FOLDER_PATH_MAX + 32u)

static const char built_in_policy[] =
#include "demo-policy.inc"
    ;

typedef struct Demo {
    const DemoOptions *options;
    World *world;
    BindHook bind_hook;
    const char *policy_paths[1];
    DaemonOptions daemon_options;
    Daemon *daemon;
    Driver *driver;
    Show show;
    Tally tally;

    Folder folder;
    char policy_path[FILE_PATH_MAX], cluster_path[FILE_PATH_MAX], pod_path[FILE_PATH_MAX];
    Buf pod;      /* what is, or will be, in pod_path */
    char uid[40]; /* of the pending pod it is; empty: it is a sample */
    int64_t files_at_nsec;

    Program *rules;              /* in force when last looked */
    uint64_t policy_fingerprint; /* of the file when last looked */
    int64_t cpu_nsec;

    pthread_mutex_t lock; /* of is_stopped */
    pthread_cond_t stopped;
    bool is_stopped;
    int result; /* the driving thread's */
    char *error;
} Demo;

/* --- files --------------------------------------------------------------------------- */

static void keep_pod(Demo *demo, const WorldPod *pod, const char *uid) {
    JsonWriter writer = JSON_WRITER(&demo->pod);

    buf_reset(&demo->pod);
    world_write_pod(pod, /* is_typed= */ true, &writer);
    buf_append_char(&demo->pod, '\n');
    (void)snprintf(demo->uid, sizeof(demo->uid), "%s", uid);
}

static int keep_sample(Demo *demo) {
    const WorldPod *pod = world_sample_pod(demo->world, "ws");

    if (!pod)
        return error_origin(-ENOMEM);
    keep_pod(demo, pod, "");
    return 0;
}

/* Cluster and pod together, so that the one fits the other. */
static int write_files(Demo *demo) {
    _cleanup_(buf_done) Buf cluster = BUF_INIT(WORLD_DUMP_MAX);
    int r;

    world_write(demo->world, &cluster);
    if (buf_error(&cluster) < 0 || buf_error(&demo->pod) < 0)
        return error_origin(-ENOMEM);
    r = folder_write(&demo->folder, "cluster.json", buf_str(&cluster), demo->error);
    if (r == 0)
        r = folder_write(&demo->folder, "pod.json", buf_str(&demo->pod), demo->error);
    demo->files_at_nsec = clock_monotonic_nsec();
    return error_trace(r);
}

static int prepare_files(Demo *demo) {
    const char *path = demo->folder.path;
    int r = folder_open(&demo->folder, demo->error);

    if (r < 0)
        return error_trace(r);
    (void)snprintf(demo->cluster_path, FILE_PATH_MAX, "%s/cluster.json", path);
    (void)snprintf(demo->pod_path, FILE_PATH_MAX, "%s/pod.json", path);
    (void)snprintf(demo->policy_path, FILE_PATH_MAX, "%s/policy.yaml", path);
    demo->policy_paths[0] = demo->options->policy ? demo->options->policy : demo->policy_path;
    if (!demo->options->policy) {
        r = folder_write(&demo->folder, "policy.yaml", STR(built_in_policy), demo->error);
        if (r < 0)
            return error_trace(r);
    }
    r = keep_sample(demo);
    if (r == 0)
        r = write_files(demo);
    return error_trace(r);
}

/* The suggested command explains the last pod that found no node. */
static int refresh_files(Demo *demo, const Placement *placement) {
    if (!str_is_empty(placement->node)) /* if it is that pod: it found one after all */
        return strcmp(demo->uid, placement->pod->uid) == 0 ? error_trace(keep_sample(demo)) : 0;
    keep_pod(demo, placement->pod, placement->pod->uid);
    if (clock_monotonic_nsec() - demo->files_at_nsec < FILES_NSEC)
        return 0;
    return error_trace(write_files(demo));
}

static int64_t now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* --- driving --------------------------------------------------------------------------- */

/* True as soon as the demo is to end, false after @msec. */
static bool wait_stopped(Demo *demo, unsigned msec) {
    struct timespec until;
    int64_t nsec = clock_monotonic_nsec() + (int64_t)msec * NSEC_PER_MSEC;
    bool is_stopped;

    until = (struct timespec){.tv_sec = nsec / NSEC_PER_SEC, .tv_nsec = nsec % NSEC_PER_SEC};
    (void)pthread_mutex_lock(&demo->lock);
    while (!demo->is_stopped && msec > 0)
        if (pthread_cond_timedwait(&demo->stopped, &demo->lock, &until) == ETIMEDOUT)
            break;
    is_stopped = demo->is_stopped;
    (void)pthread_mutex_unlock(&demo->lock);
    return is_stopped;
}

static void stop(Demo *demo) {
    (void)pthread_mutex_lock(&demo->lock);
    demo->is_stopped = true;
    (void)pthread_cond_broadcast(&demo->stopped);
    (void)pthread_mutex_unlock(&demo->lock);
}

static void fill_scene(Demo *demo, Scene *ret) {
    *ret = (Scene){
        .program = demo->options->program,
        .url = daemon_url(demo->daemon),
        .policy_path = demo->policy_paths[0],
        .cluster_path = demo->cluster_path,
        .pod_path = demo->pod_path,
        .rules = demo->rules,
    };
    world_figures(demo->world, &ret->figures);
}

/* Says so when the policy in force is another one than last time. */
static void look_at_rules(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->daemon);
    bool is_first = !demo->rules;

    if (view->program == demo->rules)
        return;
    program_unref(demo->rules);
    demo->rules = program_ref(view->program);
    if (!is_first)
        show_reload(&demo->show, demo->rules);
}

/* Says so when the policy was edited and cannot be used. The daemon notices by
 * itself and logs it in one line; a person at a terminal deserves better. */
static void look_at_policy(Demo *demo) {
    _cleanup_(arena_freep) Arena *arena = NULL;
    _cleanup_(program_unrefp) Program *program = NULL;
    uint64_t fingerprint = file_fingerprint(demo->policy_paths[0]);
    DiagList diags;

    if (fingerprint == demo->policy_fingerprint)
        return;
    demo->policy_fingerprint = fingerprint;
    arena = arena_new(DIAGS_BUDGET);
    diags = DIAG_LIST_IN(arena);
    if (arena && policies_load(demo->policy_paths, 1, &diags, &program) > 0)
        show_refusal(&demo->show, &diags);
}

/* One pod. */
static int drive_one(Demo *demo, bool *ret_is_over) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const WorldPod *pod;
    Placement placement;
    Scene scene;
    int r;

    r = world_next_pod(demo->world, now_sec(), &pod);
    if (r == 0)
        r = world_snapshot(demo->world, &snapshot);
    if (r == 0)
        r = daemon_publish(demo->daemon, snapshot);
    if (r < 0)
        return error_trace(r);
    look_at_rules(demo);
    if (demo->options->is_live)
        look_at_policy(demo);
    r = driver_place(demo->driver, pod, snapshot_table(snapshot), &placement);
    if (r < 0)
        return error_trace(r);
    if (placement.is_cut_off && wait_stopped(demo, CUT_OFF_MSEC)) {
        *ret_is_over = true;
        return 0;
    }
    tally_add(&demo->tally, &placement);
    show_placement(&demo->show, &placement);
    fill_scene(demo, &scene);
    show_status(&demo->show, &scene, &demo->tally);
    *ret_is_over = demo->show.has_failed;
    return error_trace(refresh_files(demo, &placement));
}

static int64_t cpu_nsec(clockid_t clock) {
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* What all other threads of the process have used: the daemon's. */
static int64_t daemon_cpu_nsec(void) {
    return cpu_nsec(CLOCK_PROCESS_CPUTIME_ID) - cpu_nsec(CLOCK_THREAD_CPUTIME_ID);
}

static void *drive(void *context) {
    Demo *demo = context;
    const DemoOptions *options = demo->options;
    int64_t start = daemon_cpu_nsec();
    bool is_over = false;

    while (demo->result == 0 && !is_over &&
           (options->n_pods == 0 || demo->tally.n_pods < options->n_pods)) {
        demo->result = drive_one(demo, &is_over);
        is_over |= wait_stopped(demo, options->pace_msec);
    }
    demo->cpu_nsec = daemon_cpu_nsec() - start;
    demo->driver = driver_free(demo->driver); /* its connection would be waited for */
    daemon_stop(demo->daemon);
    return NULL;
}

/* --- the whole --------------------------------------------------------------------------- */

static void bind_in_world(void *context, const BindArgs *args, char *error, size_t size) {
    world_bind(context, args, error, size);
}

static int start_daemon(Demo *demo) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    DaemonOptions *options = &demo->daemon_options;
    int r;

    demo->bind_hook = (BindHook){.context = demo->world, .bind = bind_in_world};
    options->server = server_default_options();
    options->server.address = demo->options->address;
    options->server.port = demo->options->port;
    options->policy_paths = demo->policy_paths;
    options->n_policy_paths = 1;
    options->bind_hook = &demo->bind_hook;
    options->quiet = true;
    options->n_decisions = DECISIONS_DEFAULT;
    options->decisions_bytes = DECISIONS_BYTES_DEFAULT;
    demo->policy_fingerprint = file_fingerprint(demo->policy_paths[0]);
    r = world_snapshot(demo->world, &snapshot);
    if (r == 0)
        r = daemon_new(options, &demo->daemon, demo->error);
    if (r == 0)
        r = daemon_publish(demo->daemon, snapshot);
    if (r < 0)
        return error_trace(r);
    look_at_rules(demo);
    demo->driver = driver_new(daemon_url(demo->daemon), demo->options->seed);
    return demo->driver ? 0 : error_origin(-ENOMEM);
}

static int prepare(Demo *demo) {
    int r;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_origin(-ENOMEM);
    r = world_new(demo->options->n_nodes, demo->options->seed, now_sec(), &demo->world);
    if (r == 0)
        r = prepare_files(demo);
    if (r == 0) {
        daemon_block_signals();
        r = start_daemon(demo);
    }
    return error_trace(r);
}

static int finish(Demo *demo) {
    uint64_t n_calls = 0;
    Scene scene;
    int r = demo->result;

    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        n_calls += demo->tally.calls[verb].n;
    if (r == 0)
        r = write_files(demo);
    if (r < 0)
        return error_trace(r);
    fill_scene(demo, &scene);
    scene.cpu_nsec_per_call = n_calls > 0 ? demo->cpu_nsec / (int64_t)n_calls : 0;
    show_end(&demo->show, &scene, &demo->tally);
    if (demo->tally.n_errors == 0)
        return 0;
    (void)snprintf(demo->error, DEMO_ERROR_MAX, "calls to berth went wrong");
    return DEMO_E_CALLS;
}

static int run(Demo *demo) {
    pthread_t driving;
    Scene scene;
    int r = prepare(demo);

    if (r < 0)
        return error_trace(r);
    fill_scene(demo, &scene);
    show_start(&demo->show, &scene);
    r = pthread_create(&driving, NULL, drive, demo);
    if (r != 0)
        return error_origin(-r);
    daemon_run(demo->daemon);
    stop(demo);
    (void)pthread_join(driving, NULL);
    return finish(demo);
}

static void demo_init(Demo *demo, const DemoOptions *options, char *error) {
    pthread_condattr_t attributes;

    demo->options = options;
    demo->error = error;
    demo->folder = FOLDER_NONE;
    demo->pod = BUF_INIT(POD_MAX);
    demo->show = SHOW_INIT(options->is_live, options->has_colour);
    (void)pthread_mutex_init(&demo->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&demo->stopped, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

static Demo *demo_free(Demo *demo) {
    if (!demo)
        return NULL;
    driver_free(demo->driver);
    daemon_free(demo->daemon); /* before the world: its workers bind there */
    world_free(demo->world);
    program_unref(demo->rules);
    folder_done(&demo->folder);
    buf_done(&demo->pod);
    show_done(&demo->show);
    (void)pthread_cond_destroy(&demo->stopped);
    (void)pthread_mutex_destroy(&demo->lock);
    free(demo);
    return NULL;
}
DEFINE_CLEANUP(Demo *, demo_free)

int demo_run(const DemoOptions *options, char *error) {
    _cleanup_(demo_freep) Demo *demo = calloc(1, sizeof(*demo));

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory");
    if (!demo)
        return error_origin(-ENOMEM);
    demo_init(demo, options, error);
    return run(demo);
}

int demo_dump(const DemoOptions *options, const char *path, char *error) {
    _cleanup_(world_freep) World *world = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(WORLD_DUMP_MAX);
    FILE *file = NULL;
    bool is_good;
    int r;

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory");
    r = world_new(options->n_nodes, options->seed, now_sec(), &world);
    if (r < 0)
        return error_trace(r);
    world_write(world, &text);
    if (buf_error(&text) < 0)
        return error_origin(buf_error(&text));
    file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    is_good = file && fwrite(text.data, 1, text.len, file) == text.len && fflush(file) == 0;
    r = errno;
    if (file && file != stdout && fclose(file) != 0)
        is_good = false;
    if (is_good)
        return 0;
    (void)snprintf(error, DEMO_ERROR_MAX, "cannot write %s: %s", path, strerror(r));
    return error_origin(-r);
}
