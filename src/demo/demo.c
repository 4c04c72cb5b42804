/*
 * On a second thread (demo/rig.h) a pod after another: made by the world, placed by the driver,
 * shown to the person. Between two pods one looks whether the policy was edited.
 */

#include "demo/demo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/diag.h"
#include "demo/annotator.h"
#include "demo/handouts.h"
#include "demo/panel.h"
#include "demo/rig.h"
#include "demo/show.h"
#include "demo/tally.h"
#include "input/file.h"
#include "input/policies.h"

/* How often annotations are written. */
#define ANNOTATE_NSEC (10 * NSEC_PER_SEC)

#define DIAGS_BUDGET ((size_t)16 * 1024 * 1024)

static const char built_in_policy[] =
#include "demo-policy.inc"
    ;

typedef struct Demo {
    const DemoOptions *options;
    Rig rig;
    Panel panel;
    int64_t annotated_at_nsec;
    const char *policy_path;
    Show show;
    Tally tally;

    Handouts handouts;
    Program *rules;              /* in force when last looked */
    uint64_t policy_fingerprint; /* of the file when last looked */
    int64_t cpu_nsec;
    int result; /* the driving thread's */
    char *error;
} Demo;

/* The policy is the built-in one, or the person's. */
static int prepare_files(Demo *demo) {
    const char *own = demo->options->policy;

    demo->policy_path = own ? own : demo->handouts.policy_path;
    return handouts_open(
        &demo->handouts, demo->rig.world, own ? NULL : built_in_policy, demo->error);
}

static int write_files(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->rig.daemon);

    return handouts_write(&demo->handouts, demo->rig.world, view, demo->error);
}

/* --- driving --------------------------------------------------------------------------- */

static void fill_stage(Demo *demo, Stage *ret) {
    *ret = (Stage){
        .program = demo->options->program,
        .url = daemon_url(demo->rig.daemon),
        .dashboard_url = daemon_dashboard_url(demo->rig.daemon),
        .policy_path = demo->policy_path,
        .cluster_path = demo->handouts.cluster_path,
        .pod_path = demo->handouts.pod_path,
        .metrics_path = handouts_have_metrics(demo->rules) ? demo->handouts.metrics_path : NULL,
        .meter_url = meter_url(demo->rig.meter),
        .rules = demo->rules,
    };
    world_figures(demo->rig.world, &ret->figures);
}

/* Says so when the policy in force is another one than last time. */
static void look_at_rules(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->rig.daemon);
    bool is_first = !demo->rules;

    if (view->program == demo->rules)
        return;
    program_unref(demo->rules);
    demo->rules = program_ref(view->program);
    meter_follow(demo->rig.meter, demo->rules);
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
    uint64_t fingerprint = file_fingerprint(demo->policy_path);
    DiagList diags;

    if (fingerprint == demo->policy_fingerprint)
        return;
    demo->policy_fingerprint = fingerprint;
    arena = arena_new(DIAGS_BUDGET);
    diags = DIAG_LIST_IN(arena);
    if (arena && policies_load(&demo->policy_path, 1, &diags, &program) > 0)
        show_refusal(&demo->show, &diags);
}

/* Now and then, and if anybody reads them. */
static int annotate(Demo *demo) {
    _cleanup_(view_unrefp) View *view = NULL;
    int64_t now = clock_monotonic_nsec();

    if (!annotator_is_needed(demo->rules) ||
        (demo->annotated_at_nsec > 0 && now - demo->annotated_at_nsec < ANNOTATE_NSEC))
        return 0;
    demo->annotated_at_nsec = now;
    view = daemon_view(demo->rig.daemon);
    return annotator_write(demo->rig.world, view, clock_wall_nsec());
}

static void show_and_note(
    Demo *demo, const Placement *placement, const View *view, const Stage *stage) {
    PanelReading reading;
    bool has_reading = panel_read(&demo->panel, view, placement->node, &reading);

    tally_add(&demo->tally, placement);
    panel_note(&demo->panel, view, placement->node);
    show_placement(&demo->show, placement, has_reading ? &reading : NULL);
    show_hint(&demo->show, stage, placement);
    show_status(&demo->show, stage, &demo->tally);
}

/* The policy may have been edited since the last pod. */
static void look_around(Demo *demo) {
    look_at_rules(demo);
    if (demo->options->is_live)
        look_at_policy(demo);
}

/* One pod. */
static int drive_one(Demo *demo, bool *ret_is_over) {
    _cleanup_(view_unrefp) View *view = NULL;
    const WorldPod *pod;
    Placement placement = {0};
    Stage stage;
    int r;

    look_around(demo);
    r = world_next_pod(demo->rig.world, rig_now_sec(), &pod);
    if (r == 0)
        r = annotate(demo);
    view = daemon_view(demo->rig.daemon);
    if (r == 0)
        r = rig_place(&demo->rig, pod, &placement);
    if (r < 0)
        return r;
    if (placement.is_cut_off && rig_wait(&demo->rig, 0)) {
        *ret_is_over = true;
        return 0;
    }
    fill_stage(demo, &stage);
    show_and_note(demo, &placement, view, &stage);
    *ret_is_over = demo->show.voice.has_failed;
    return handouts_refresh(&demo->handouts, demo->rig.world, view, &placement, demo->error);
}

static int64_t process_cpu_nsec(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

/* What all other threads of the process have used, but for the meter's answers: the daemon's. */
static int64_t daemon_cpu_nsec(const Demo *demo) {
    return process_cpu_nsec() - clock_thread_cpu_nsec() - meter_cpu_nsec(demo->rig.meter);
}

static void drive(void *context) {
    Demo *demo = context;
    const DemoOptions *options = demo->options;
    int64_t start = daemon_cpu_nsec(demo);
    bool is_over = false;

    while (demo->result == 0 && !is_over &&
           (options->n_pods == 0 || demo->tally.n_pods < options->n_pods)) {
        demo->result = drive_one(demo, &is_over);
        is_over |= rig_wait(&demo->rig, options->pace_msec);
    }
    demo->cpu_nsec = daemon_cpu_nsec(demo) - start;
}

/* --- the whole --------------------------------------------------------------------------- */

/* So that already the first decision has numbers to go by. */
static int begin_measuring(Demo *demo) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = annotate(demo);

    if (r == 0)
        r = rig_publish(&demo->rig, &snapshot);
    if (r < 0)
        return r;
    (void)rig_wait_for(&demo->rig, RIG_READY_MSEC, rig_is_measured, NULL);
    return write_files(demo);
}

static int prepare(Demo *demo) {
    const DemoOptions *options = demo->options;
    RigOptions rig = {
        .n_nodes = options->n_nodes,
        .seed = options->seed,
        .address = options->address,
        .port = options->port,
    };
    int r = rig_open(&demo->rig, &rig);

    if (r == 0)
        r = prepare_files(demo);
    if (r < 0)
        return r;
    demo->policy_fingerprint = file_fingerprint(demo->policy_path);
    r = rig_start(&demo->rig, demo->policy_path, &demo->handouts.folder, demo->error);
    if (r < 0)
        return r;
    look_at_rules(demo);
    return demo->rules->n_gauges > 0 ? begin_measuring(demo) : 0;
}

static int finish(Demo *demo) {
    _cleanup_(view_unrefp) View *view = daemon_view(demo->rig.daemon);
    uint64_t n_calls = 0;
    Stage stage;
    int r = demo->result;

    for (Verb verb = 0; verb < _VERB_MAX; verb++)
        n_calls += demo->tally.calls[verb].n;
    if (r == 0)
        r = write_files(demo);
    if (r < 0)
        return r;
    fill_stage(demo, &stage);
    stage.view = view;
    stage.cpu_nsec_per_call = n_calls > 0 ? demo->cpu_nsec / (int64_t)n_calls : 0;
    show_end(&demo->show, &stage, &demo->tally);
    if (demo->tally.n_errors == 0)
        return 0;
    (void)snprintf(demo->error, DEMO_ERROR_MAX, "calls to berth went wrong");
    return DEMO_E_CALLS;
}

static int run(Demo *demo) {
    Stage stage;
    int r = prepare(demo);

    if (r < 0)
        return r;
    fill_stage(demo, &stage);
    show_start(&demo->show, &stage);
    r = rig_run(&demo->rig, drive, demo);
    return r < 0 ? r : finish(demo);
}

static Demo *demo_free(Demo *demo) {
    if (!demo)
        return NULL;
    rig_done(&demo->rig);
    program_unref(demo->rules);
    handouts_done(&demo->handouts);
    show_done(&demo->show);
    free(demo);
    return NULL;
}
DEFINE_CLEANUP(Demo *, demo_free)

int demo_run(const DemoOptions *options, char *error) {
    _cleanup_(demo_freep) Demo *demo = calloc(1, sizeof(*demo));

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory");
    if (!demo)
        return -ENOMEM;
    demo->options = options;
    demo->error = error;
    demo->handouts = HANDOUTS_NONE;
    demo->show = SHOW_INIT(options->is_live, options->has_colour, &demo->panel);
    return run(demo);
}

/* 0, or a negative errno. */
static int write_out(const char *path, Str text) {
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    int r = 0;

    if (!file)
        return -errno;
    if (fwrite(text.ptr, 1, text.len, file) != text.len || fflush(file) != 0)
        r = -errno;
    if (file != stdout && fclose(file) != 0 && r == 0)
        r = -errno;
    return r;
}

int demo_dump(const DemoOptions *options, const char *path, char *error) {
    _cleanup_(world_freep) World *world = NULL;
    _cleanup_(buf_done) Buf text = BUF_INIT(WORLD_DUMP_MAX);
    int r;

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory");
    r = world_new(options->n_nodes, options->seed, rig_now_sec(), &world);
    if (r < 0)
        return r;
    world_write(world, &text);
    if (buf_error(&text) < 0)
        return buf_error(&text);
    r = write_out(path, buf_str(&text));
    if (r == 0)
        return 0;
    (void)snprintf(error, DEMO_ERROR_MAX, "cannot write %s: %s", path, strerror(-r));
    return r;
}
