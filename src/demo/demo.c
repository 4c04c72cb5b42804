/*
 * The demo: on the driving thread (demo/environment.h) pods are created, placed and printed one
 * after another; between two pods it checks whether the policy was edited.
 */

#include "demo/demo.h"

#include <stdio.h>

#include "demo/printer.h"
#include "input/file.h"
#include "input/policies.h"

/* Pauses after a text to read, in paces. */
#define READ_PACES 16u

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

static const char built_in_policy[] =
#include "demo-policy.inc"
    ;

typedef struct Demo {
    DemoEnvironment env;
    DemoPrinter printer;
    Program *rules;              /* in force at the last check */
    uint64_t policy_fingerprint; /* of the file at the last check */
    unsigned pause_msec;         /* before the next pod */
    int result;                  /* of the driving thread */
    char *error;
} Demo;

/* Saves the decisions for the command that is suggested at the end; if they are too many, it is not
 * suggested. */
static int save_bundle(Demo *demo) {
    _cleanup_(buf_done) Buf bundle = BUF_INIT(DAEMON_BUNDLE_MAX);

    if (daemon_write_bundle(demo->env.daemon, &bundle) == 0)
        return demo_folder_write(&demo->env.folder, DEMO_BUNDLE, buf_str(&bundle), demo->error);
    demo->printer.explained[0] = '\0';
    return 0;
}

/* Reports a new policy in force. */
static void check_rules(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->env.daemon);
    bool is_first = !demo->rules;

    if (view->program == demo->rules)
        return;
    program_unref(demo->rules);
    demo->printer.rules = demo->rules = program_ref(view->program);
    if (!is_first)
        printer_reload(&demo->printer);
}

/* Prints the errors of an edited policy: the daemon logs only one line. */
static void check_policy(Demo *demo) {
    _cleanup_(arena_freep) Arena *arena = NULL;
    _cleanup_(program_unrefp) Program *program = NULL;
    uint64_t fingerprint = file_fingerprint(demo->env.options.policy);
    DiagList diags;

    if (fingerprint == demo->policy_fingerprint)
        return;
    demo->policy_fingerprint = fingerprint;
    arena = arena_new(DIAGS_BUDGET);
    diags = DIAG_LIST_IN(arena);
    if (arena && policies_load(&demo->env.options.policy, 1, &diags, &program) > 0)
        printer_refusal(&demo->printer, &diags);
}

static int try_pod(Demo *demo, const DemoPod *pod, bool *ret_is_over) {
    Placement placement = {0};
    int r = environment_place(&demo->env, pod, &placement);

    if (r < 0)
        return r;
    if (placement.is_cut_off && environment_wait(&demo->env, 0)) {
        *ret_is_over = true;
        return 0;
    }
    if (printer_placement(&demo->printer, &placement))
        demo->pause_msec = READ_PACES * demo->env.options.pace_msec;
    *ret_is_over = demo->env.console.has_failed;
    return 0;
}

/* Creates a pod, and makes all attempts that are due before the next one. */
static int drive_one(Demo *demo, bool *ret_is_over) {
    const DemoPod *pod;
    int r;

    check_rules(demo);
    if (demo->env.options.is_live)
        check_policy(demo);
    r = demo_cluster_create_pod(
        demo->env.cluster, /* workload= */ NULL, /* life= */ 0, environment_now_sec(), &pod);
    while (r == 0 && !*ret_is_over && (pod = demo_cluster_due_pod(demo->env.cluster)))
        r = try_pod(demo, pod, ret_is_over);
    return r;
}

static void drive(void *context) {
    Demo *demo = context;
    const DemoOptions *options = &demo->env.options;
    bool is_over = environment_wait(&demo->env, READ_PACES * options->pace_msec);

    while (demo->result == 0 && !is_over &&
           (options->n_pods == 0 || demo->printer.stats.n_pods < options->n_pods)) {
        demo->pause_msec = options->pace_msec;
        demo->result = drive_one(demo, &is_over);
        is_over |= environment_wait(&demo->env, demo->pause_msec);
    }
}

static int prepare(Demo *demo, const DemoOptions *options) {
    int64_t pace_nsec = options->pace_msec * NSEC_PER_MSEC;
    int r = environment_open(&demo->env, options);

    if (r == 0)
        r = demo_cluster_use_gpus(demo->env.cluster);
    if (r == 0 && pace_nsec > DEMO_TICK_NSEC)
        demo_cluster_set_tick(demo->env.cluster, pace_nsec);
    if (r == 0)
        r = environment_start(&demo->env, str_from_c(built_in_policy), demo->error);
    if (r < 0)
        return r;
    demo->policy_fingerprint = file_fingerprint(demo->env.options.policy);
    environment_wait_for_metrics(&demo->env); /* the first decision has values */
    check_rules(demo);
    return 0;
}

static void demo_done(Demo *demo) {
    environment_done(&demo->env);
    program_unref(demo->rules);
}

int demo_run(const DemoOptions *options, char *error) {
    _cleanup_(demo_done) Demo demo = {.error = error, .printer.env = &demo.env};
    int r;

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory for the demo");
    r = prepare(&demo, options);
    if (r < 0)
        return r;
    printer_start(&demo.printer);
    r = environment_run(&demo.env, drive, &demo);
    if (r == 0)
        r = demo.result;
    if (r == 0)
        r = save_bundle(&demo);
    if (r < 0)
        return r;
    printer_end(&demo.printer);
    if (demo.printer.stats.n_errors == 0)
        return 0;
    (void)snprintf(error, DEMO_ERROR_MAX, "calls to berth failed");
    return DEMO_E_CALLS;
}

int demo_dump(const DemoOptions *options, Buf *out) {
    _cleanup_(demo_cluster_freep) DemoCluster *cluster = NULL;
    int r = demo_cluster_new(options->n_nodes, options->seed, environment_now_sec(), &cluster);

    if (r == 0)
        r = demo_cluster_use_gpus(cluster);
    if (r < 0)
        return r;
    demo_cluster_write(cluster, out);
    return buf_error(out);
}
