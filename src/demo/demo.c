/*
 * Two threads: the main one runs the daemon's loop, signals included, as `berth
 * serve` does; the second one drives. The one that ends first ends the other.
 *
 * What policies measure comes from the meter, by way of the daemon's poller, as it would from a
 * Prometheus; but more often, for a demo is short.
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
#include "demo/annotator.h"
#include "demo/driver.h"
#include "demo/handouts.h"
#include "demo/meter.h"
#include "demo/panel.h"
#include "demo/show.h"
#include "demo/tally.h"
#include "demo/world.h"
#include "input/file.h"
#include "input/policies.h"
#include "serve/decisions.h"

/* A call that got no reply may be one that met the end of the daemon: who is asked
 * to stop hears of it within this time. */
#define CUT_OFF_MSEC 6000

/* Sources are asked about once a second; in large clusters, whose answers take longer to make, less
 * often. */
#define POLL_NSEC NSEC_PER_SEC
#define POLL_NODE_NSEC NSEC_PER_MSEC

/* How long the first pod waits for the first numbers, and how often annotations are written. */
#define MEASURED_MSEC 5000u
#define MEASURED_LOOK_MSEC 10u
#define ANNOTATE_NSEC (10 * NSEC_PER_SEC)

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

static const char built_in_policy[] =
#include "demo-policy.inc"
    ;

typedef struct Demo {
    const DemoOptions *options;
    World *world;
    Meter *meter;
    Panel panel;
    int64_t annotated_at_nsec;
    BindHook bind_hook;
    const char *policy_paths[1];
    DaemonOptions daemon_options;
    Daemon *daemon;
    Driver *driver;
    Show show;
    Tally tally;

    Handouts handouts;
    Program *rules;              /* in force when last looked */
    uint64_t policy_fingerprint; /* of the file when last looked */
    int64_t cpu_nsec;

    pthread_mutex_t lock; /* of is_stopped */
    pthread_cond_t stopped;
    bool is_stopped;
    int result; /* the driving thread's */
    char *error;
} Demo;

static int64_t now_sec(void) {
    return clock_wall_nsec() / NSEC_PER_SEC;
}

/* The policy is the built-in one, or the person's. */
static int prepare_files(Demo *demo) {
    const char *own = demo->options->policy;

    demo->policy_paths[0] = own ? own : demo->handouts.policy_path;
    return error_trace(
        handouts_open(&demo->handouts, demo->world, own ? NULL : built_in_policy, demo->error));
}

static int write_files(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->daemon);

    return error_trace(handouts_write(&demo->handouts, demo->world, view, demo->error));
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
        .cluster_path = demo->handouts.cluster_path,
        .pod_path = demo->handouts.pod_path,
        .metrics_path = handouts_have_metrics(demo->rules) ? demo->handouts.metrics_path : NULL,
        .meter_url = meter_url(demo->meter),
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
    meter_follow(demo->meter, demo->rules);
    panel_follow(&demo->panel, demo->rules);
    demo->annotated_at_nsec = 0;
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

/* The world as it is, for all who look at it. */
static int publish(Demo *demo, Snapshot **ret) {
    int r = world_snapshot(demo->world, ret);

    if (r < 0)
        return error_trace(r);
    meter_show(demo->meter, *ret);
    return error_trace(daemon_publish(demo->daemon, *ret));
}

/* Now and then, and if anybody reads them. */
static int annotate(Demo *demo) {
    _cleanup_(view_unrefp) View *view = NULL;
    int64_t now = clock_monotonic_nsec();

    if (!annotator_is_needed(demo->rules) ||
        (demo->annotated_at_nsec > 0 && now - demo->annotated_at_nsec < ANNOTATE_NSEC))
        return 0;
    demo->annotated_at_nsec = now;
    view = daemon_view(demo->daemon);
    return error_trace(annotator_write(demo->world, view, clock_wall_nsec()));
}

static void show_and_note(Demo *demo, const Placement *placement, const View *view) {
    PanelReading reading;
    bool has_reading = panel_read(&demo->panel, view, placement->node, &reading);

    tally_add(&demo->tally, placement);
    panel_note(&demo->panel, view, placement->node);
    show_placement(&demo->show, placement, has_reading ? &reading : NULL);
}

/* One pod. */
static int drive_one(Demo *demo, bool *ret_is_over) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(view_unrefp) View *view = NULL;
    const WorldPod *pod;
    Placement placement;
    Scene scene;
    int r;

    r = world_next_pod(demo->world, now_sec(), &pod);
    if (r == 0)
        r = annotate(demo);
    if (r == 0)
        r = publish(demo, &snapshot);
    if (r < 0)
        return error_trace(r);
    look_at_rules(demo);
    if (demo->options->is_live)
        look_at_policy(demo);
    view = daemon_view(demo->daemon);
    r = driver_place(demo->driver, pod, snapshot_table(snapshot), &placement);
    if (r < 0)
        return error_trace(r);
    if (placement.is_cut_off && wait_stopped(demo, CUT_OFF_MSEC)) {
        *ret_is_over = true;
        return 0;
    }
    show_and_note(demo, &placement, view);
    fill_scene(demo, &scene);
    show_status(&demo->show, &scene, &demo->tally);
    *ret_is_over = demo->show.has_failed;
    return error_trace(
        handouts_refresh(&demo->handouts, demo->world, view, &placement, demo->error));
}

static int64_t cpu_nsec(clockid_t clock) {
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* What all other threads of the process have used: the daemon's, and the meter's. */
static int64_t daemon_cpu_nsec(const Demo *demo) {
    return cpu_nsec(CLOCK_PROCESS_CPUTIME_ID) - cpu_nsec(CLOCK_THREAD_CPUTIME_ID) -
           meter_cpu_nsec(demo->meter);
}

static void *drive(void *context) {
    Demo *demo = context;
    const DemoOptions *options = demo->options;
    int64_t start = daemon_cpu_nsec(demo);
    bool is_over = false;

    while (demo->result == 0 && !is_over &&
           (options->n_pods == 0 || demo->tally.n_pods < options->n_pods)) {
        demo->result = drive_one(demo, &is_over);
        is_over |= wait_stopped(demo, options->pace_msec);
    }
    demo->cpu_nsec = daemon_cpu_nsec(demo) - start;
    demo->driver = driver_free(demo->driver); /* its connection would be waited for */
    daemon_stop(demo->daemon);
    return NULL;
}

/* --- the whole --------------------------------------------------------------------------- */

static void bind_in_world(void *context, const BindArgs *args, char *error, size_t size) {
    world_bind(context, args, error, size);
}

/* The meter is its Prometheus, and its metrics-server. */
static void use_meter(Demo *demo) {
    DaemonOptions *options = &demo->daemon_options;
    int64_t nsec = (int64_t)demo->options->n_nodes * POLL_NODE_NSEC;

    options->prometheus_url = meter_url(demo->meter);
    options->resource_metrics_url = meter_url(demo->meter);
    options->poll_nsec_max = nsec > POLL_NSEC ? nsec : POLL_NSEC;
    options->is_published = true;
}

static bool is_measured(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->daemon);
    const Program *rules = view->program;

    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source != GAUGE_ANNOTATION &&
            (!view->measurements || !view->measurements->items[i]))
            return false;
    return true;
}

/* So that already the first decision has numbers to go by. */
static int begin_measuring(Demo *demo) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = annotate(demo);

    if (r == 0)
        r = publish(demo, &snapshot);
    for (unsigned msec = 0; r == 0 && msec < MEASURED_MSEC && !is_measured(demo);
         msec += MEASURED_LOOK_MSEC)
        (void)wait_stopped(demo, MEASURED_LOOK_MSEC);
    return r < 0 ? error_trace(r) : error_trace(write_files(demo));
}

static int start_daemon(Demo *demo) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    DaemonOptions *options = &demo->daemon_options;
    int r;

    use_meter(demo);
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
    r = daemon_new(options, &demo->daemon, demo->error);
    if (r == 0)
        r = publish(demo, &snapshot);
    if (r < 0)
        return error_trace(r);
    look_at_rules(demo);
    demo->driver = driver_new(daemon_url(demo->daemon), demo->options->seed);
    if (!demo->driver)
        return error_origin(-ENOMEM);
    return demo->rules->n_gauges > 0 ? error_trace(begin_measuring(demo)) : 0;
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
        r = meter_new(&demo->meter);
        if (r == 0)
            r = start_daemon(demo);
    }
    return error_trace(r);
}

static int finish(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->daemon);
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
    scene.view = view;
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
    demo->handouts = HANDOUTS_NONE;
    demo->show = SHOW_INIT(options->is_live, options->has_colour, &demo->panel);
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
    meter_free(demo->meter);
    world_free(demo->world);
    program_unref(demo->rules);
    handouts_done(&demo->handouts);
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
