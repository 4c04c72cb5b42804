/*
 * The demo: on the driving thread (demo/environment.h) pods are created, placed and printed one
 * after another; between two pods it checks whether the policy was edited.
 */

#include "demo/demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/diag.h"
#include "demo/annotator.h"
#include "demo/demo-files.h"
#include "demo/environment.h"
#include "demo/printer.h"
#include "demo/stats.h"
#include "input/file.h"
#include "input/policies.h"

/* Pauses after a text to read, in paces. */
#define READ_PACES 16u

/* How often annotations are written. */
#define ANNOTATE_NSEC (10 * NSEC_PER_SEC)

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

static const char built_in_policy[] =
#include "demo-policy.inc"
    ;

typedef struct Demo {
    const DemoOptions *options;
    DemoEnvironment env;
    int64_t annotated_at_nsec;
    const char *policy_path;
    DemoPrinter printer;
    DemoStatus status;
    PlacementStats stats;
    Story story;
    unsigned pause_msec; /* before the next pod */

    DemoFiles files;
    Program *rules;              /* in force at the last check */
    uint64_t policy_fingerprint; /* of the file at the last check */
    int result;                  /* the driving thread's */
    char *error;
} Demo;

static int write_files(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->env.daemon);

    return demo_files_write(&demo->files, demo->env.cluster, view, demo->error);
}

/* --- driving --------------------------------------------------------------------------- */

/* The state now, for the printer. */
static const DemoStatus *status_of(Demo *demo) {
    demo->status = (DemoStatus){
        .program = demo->options->program,
        .url = daemon_url(demo->env.daemon),
        .dashboard_url = daemon_dashboard_url(demo->env.daemon),
        .policy_path = demo->policy_path,
        .cluster_path = demo->files.cluster_path,
        .pod_path = demo->files.pod_path,
        .metrics_path = demo_files_have_metrics(demo->rules) ? demo->files.metrics_path : NULL,
        .mock_metrics_url = mock_metrics_server(demo->env.metrics)->url,
        .rules = demo->rules,
    };
    demo_cluster_count(demo->env.cluster, &demo->status.figures);
    return &demo->status;
}

/* Prints when another policy is in force. */
static void check_rules(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->env.daemon);
    bool is_first = !demo->rules;

    if (view->program == demo->rules)
        return;
    program_unref(demo->rules);
    demo->rules = program_ref(view->program);
    mock_metrics_follow(demo->env.metrics, demo->rules);
    demo->annotated_at_nsec = 0;
    if (!is_first)
        printer_reload(&demo->printer, demo->rules);
}

/* Prints the errors of an edited policy: the daemon logs only one line. */
static void check_policy(Demo *demo) {
    _cleanup_(arena_freep) Arena *arena = NULL;
    _cleanup_(program_unrefp) Program *program = NULL;
    uint64_t fingerprint = file_fingerprint(demo->policy_path);
    DiagList diags;

    if (fingerprint == demo->policy_fingerprint)
        return;
    demo->policy_fingerprint = fingerprint;
    arena = arena_new(DIAGS_BUDGET);
    diags = DIAG_LIST_IN(arena);
    if (arena && policies_load(&demo->policy_path, 1, &diags, &program) > 0)
        printer_refusal(&demo->printer, &diags);
}

/* Every ANNOTATE_NSEC, if a policy reads annotations. */
static int annotate(Demo *demo) {
    _cleanup_(view_unrefp) View *view = NULL;
    int64_t now = clock_monotonic_nsec();

    if (!annotator_is_needed(demo->rules) ||
        (demo->annotated_at_nsec > 0 && now - demo->annotated_at_nsec < ANNOTATE_NSEC))
        return 0;
    demo->annotated_at_nsec = now;
    view = daemon_view(demo->env.daemon);
    return annotator_write(demo->env.cluster, view, clock_wall_nsec());
}

static void print_and_count(Demo *demo, const Placement *placement) {
    const DemoStatus *status = status_of(demo);

    stats_add(&demo->stats, placement);
    /* Another attempt that changes nothing is not printed. */
    if (placement->pod->n_attempts == 1 || !str_is_empty(placement->node) ||
        !str_is_empty(placement->error))
        printer_placement(&demo->printer, placement);
    if (story_tell(&demo->story, &demo->printer, status, placement))
        demo->pause_msec = READ_PACES * demo->options->pace_msec;
    printer_status(&demo->printer, status, &demo->stats);
}

static int try_pod(Demo *demo, const DemoPod *pod, bool *ret_is_over) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->env.daemon);
    Placement placement = {0};
    int r = environment_place(&demo->env, pod, &placement);

    if (r < 0)
        return r;
    if (placement.is_cut_off && environment_wait(&demo->env, 0)) {
        *ret_is_over = true;
        return 0;
    }
    print_and_count(demo, &placement);
    *ret_is_over = demo->printer.console.has_failed;
    return demo_files_refresh(&demo->files, demo->env.cluster, view, &placement, demo->error);
}

/* A new pod, and everything that kube-scheduler tries until the next one. */
static int drive_one(Demo *demo, bool *ret_is_over) {
    const DemoPod *pod;
    int r;

    check_rules(demo);
    if (demo->options->is_live)
        check_policy(demo);
    r = demo_cluster_create_pod(
        demo->env.cluster, /* workload= */ NULL, /* life= */ 0, environment_now_sec(), &pod);
    if (r == 0)
        r = annotate(demo);
    while (r == 0 && !*ret_is_over && (pod = demo_cluster_due_pod(demo->env.cluster)))
        r = try_pod(demo, pod, ret_is_over);
    return r;
}

static void drive(void *context) {
    Demo *demo = context;
    const DemoOptions *options = demo->options;
    bool is_over = false;

    is_over = environment_wait(&demo->env, READ_PACES * options->pace_msec);
    while (demo->result == 0 && !is_over &&
           (options->n_pods == 0 || demo->stats.n_pods < options->n_pods)) {
        demo->pause_msec = options->pace_msec;
        demo->result = drive_one(demo, &is_over);
        is_over |= environment_wait(&demo->env, demo->pause_msec);
    }
}

/* --- run --------------------------------------------------------------------------------- */

/* Waits for metrics, so that the first decision has values. */
static int start_measuring(Demo *demo) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = annotate(demo);

    if (r == 0)
        r = environment_publish(&demo->env, &snapshot);
    if (r < 0)
        return r;
    (void)environment_wait_for(&demo->env, ENVIRONMENT_READY_MSEC, environment_is_measured, NULL);
    return write_files(demo);
}

static int prepare(Demo *demo) {
    const DemoOptions *options = demo->options;
    int64_t pace_nsec = options->pace_msec * NSEC_PER_MSEC;
    int r = environment_open(&demo->env, options);

    if (r == 0)
        r = demo_cluster_use_gpus(demo->env.cluster);
    if (r == 0 && pace_nsec > DEMO_TICK_NSEC)
        demo_cluster_set_tick(demo->env.cluster, pace_nsec);
    demo->policy_path = options->policy ? options->policy : demo->files.policy_path;
    if (r == 0)
        r = demo_files_open(
            &demo->files, demo->env.cluster, options->policy ? NULL : built_in_policy, demo->error);
    if (r < 0)
        return r;
    demo->policy_fingerprint = file_fingerprint(demo->policy_path);
    r = environment_start(&demo->env, demo->policy_path, demo->error);
    if (r < 0)
        return r;
    check_rules(demo);
    return demo->rules->n_gauges > 0 ? start_measuring(demo) : 0;
}

static int finish(Demo *demo) {
    int r = demo->result;

    if (r == 0)
        r = write_files(demo);
    if (r < 0)
        return r;
    printer_end(&demo->printer, status_of(demo), &demo->stats);
    if (demo->stats.n_errors == 0)
        return 0;
    (void)snprintf(demo->error, DEMO_ERROR_MAX, "calls to berth failed");
    return DEMO_E_CALLS;
}

static int run(Demo *demo) {
    int r = prepare(demo);

    if (r < 0)
        return r;
    printer_start(&demo->printer, status_of(demo));
    r = environment_run(&demo->env, drive, demo);
    return r < 0 ? r : finish(demo);
}

static Demo *demo_free(Demo *demo) {
    if (!demo)
        return NULL;
    environment_done(&demo->env);
    program_unref(demo->rules);
    demo_files_done(&demo->files);
    console_done(&demo->printer.console);
    free(demo);
    return NULL;
}
DEFINE_CLEANUP(Demo *, demo_free)

int demo_run(const DemoOptions *options, char *error) {
    _cleanup_(demo_freep) Demo *demo = calloc(1, sizeof(*demo));

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory for the demo");
    if (!demo)
        return -ENOMEM;
    demo->options = options;
    demo->error = error;
    demo->files = DEMO_FILES_NONE;
    demo->printer = PRINTER_INIT(options->is_live, options->has_colour);
    return run(demo);
}

/* 0, or a negative errno. */
static int write_out(const char *path, Str text) {
    bool is_stdout = strcmp(path, "-") == 0;
    FILE *file = is_stdout ? stdout : fopen(path, "we");
    int r = 0;

    if (!file)
        return -errno;
    if (fwrite(text.ptr, 1, text.len, file) != text.len || fflush(file) != 0)
        r = -errno;
    if (!is_stdout && fclose(file) != 0 && r == 0)
        r = -errno;
    return r;
}

int demo_dump(const DemoOptions *options, const char *path, char *error) {
    _cleanup_(demo_cluster_freep) DemoCluster *cluster = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(DEMO_DUMP_MAX);
    int r;

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory for the demo's cluster");
    r = demo_cluster_new(options->n_nodes, options->seed, environment_now_sec(), &cluster);
    if (r == 0)
        r = demo_cluster_use_gpus(cluster);
    if (r < 0)
        return r;
    demo_cluster_write(cluster, &text);
    if (buf_error(&text) < 0)
        return buf_error(&text);
    r = write_out(path, buf_str(&text));
    if (r == 0)
        return 0;
    (void)snprintf(error, DEMO_ERROR_MAX, "cannot write %s: %s", path, strerror(-r));
    return r;
}
