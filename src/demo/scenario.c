#include "demo/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/shell.h"

/* Pods come slowly where somebody is to read, and do not stay for ever. */
#define PACE_MSEC 350u
#define VISIT_MSEC 2000u
#define VISIT_LIFE 10u
#define VISITS_PER_RETRY 4u

static const Scenario *const scenarios[] = {
    &scenario_pending,
    &scenario_hot_node,
    &scenario_stale_metrics,
    &scenario_api_down,
    &scenario_bad_policy,
    &scenario_weight_war,
};

const Scenario *scenario_find(const char *name, Str *ret_nearest) {
    Str names[ELEMENTS_OF(scenarios)];

    for (size_t i = 0; i < ELEMENTS_OF(scenarios); i++) {
        if (strcmp(scenarios[i]->name, name) == 0)
            return scenarios[i];
        names[i] = str_from_c(scenarios[i]->name);
    }
    *ret_nearest = str_nearest(str_from_c(name), names, ELEMENTS_OF(names));
    return NULL;
}

void scenario_print_list(Buf *out) {
    for (size_t i = 0; i < ELEMENTS_OF(scenarios); i++)
        buf_printf(out, "  %-14s %s\n", scenarios[i]->name, scenarios[i]->question);
}

/* --- what the person reads -------------------------------------------------------------------- */

static void print_start(Play *play, const Scenario *scenario) {
    Buf *out = &play->voice.text;

    voice_paint(&play->voice, STYLE_BOLD);
    buf_printf(out, "berth demo: scenario %s", scenario->name);
    voice_plain(&play->voice);
    buf_printf(out,
        "\n%zu nodes, made up; berth serves %s to a driver that plays kube-scheduler\n",
        scenario->n_nodes,
        play_url(play));
    if (daemon_dashboard_url(play->rig.daemon))
        buf_printf(out, "dashboard %s\n", daemon_dashboard_url(play->rig.daemon));
    buf_printf(out, "policy    %s\n\n", play->policy_path);
    voice_flush(&play->voice);
}

static void print_question(Play *play, const Scenario *scenario) {
    play_heading(play, "What you see");
    scenario->show(play);
    play_heading(play, "The question");
    play_say(play, "%s", scenario->question);
    if (play->solves)
        return;
    play_heading(
        play, play->voice.is_live ? "Try in another terminal" : "Try, while it runs in a terminal");
    scenario->suggest(play);
    if (daemon_dashboard_url(play->rig.daemon))
        play_say(play,
            "or look at %s/pods in a browser, and edit the policy",
            daemon_dashboard_url(play->rig.daemon));
    play_heading(play, "The answer");
    play_suggest(play, WORDS("demo", "--scenario", scenario->name, "--solve"));
    voice_flush(&play->voice);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Somebody looks around: pods keep coming, and the one without a node is tried again. */
static void linger(Play *play, const Scenario *scenario) {
    _cleanup_(buf_done) Buf line = BUF_INIT(1024);
    Placement placement;

    for (unsigned n = 1; play->status == 0; n++) {
        buf_reset(&line);
        buf_printf(&line,
            "%zu pods, %zu placed | %s | Ctrl-C ends",
            play->n_pods,
            play->n_placed,
            play_url(play));
        voice_status(&play->voice, buf_str(&line));
        play_pause(play, VISIT_MSEC);
        play_place_quietly(play, workload_named(scenario->visitor), VISIT_LIFE, &placement);
        if (n % VISITS_PER_RETRY == 0)
            play_retry(play, &placement);
    }
    voice_clear_status(&play->voice);
    voice_flush(&play->voice);
}

typedef struct Run {
    Play play;
    const Scenario *scenario;
} Run;

static void drive(void *context) {
    Run *run = context;
    Play *play = &run->play;

    print_start(play, run->scenario);
    run->scenario->build(play);
    print_question(play, run->scenario);
    if (play->solves)
        run->scenario->solve(play);
    else if (play->voice.is_live)
        linger(play, run->scenario);
}

static int open_files(Play *play, const Scenario *scenario) {
    int r = folder_open(&play->folder, play->error);

    if (r < 0)
        return r;
    (void)snprintf(
        play->policy_path, sizeof(play->policy_path), "%s/policy.yaml", play->folder.path);
    buf_append(&play->policy, str_from_c(scenario->policy));
    return folder_write(&play->folder, "policy.yaml", str_from_c(scenario->policy), play->error);
}

static int prepare(Play *play, const Scenario *scenario, const ScenarioOptions *options) {
    RigOptions rig = {
        .n_nodes = scenario->n_nodes,
        .seed = scenario->seed,
        .address = options->address,
        .port = options->port,
        .is_watched = scenario->is_watched,
    };
    int r = rig_open(&play->rig, &rig);

    if (r == 0)
        r = open_files(play, scenario);
    if (r == 0)
        r = rig_start(&play->rig, play->policy_path, &play->folder, play->error);
    return r;
}

static int result_of(const Play *play) {
    if (play->status == PLAY_STOPPED)
        return 0;
    return play->status == PLAY_UNSOLVED ? SCENARIO_E_UNSOLVED : play->status;
}

static void run_done(Run *run) {
    rig_done(&run->play.rig);
    folder_done(&run->play.folder);
    voice_done(&run->play.voice);
    buf_done(&run->play.policy);
}

int scenario_run(const Scenario *scenario, const ScenarioOptions *options, char *error) {
    _cleanup_(run_done) Run run = {
        .scenario = scenario,
        .play =
            {
                .program = options->program,
                .solves = options->solves,
                .pace_msec = options->is_live ? PACE_MSEC : 0,
                .voice = VOICE_INIT(options->is_live, options->has_colour),
                .folder = FOLDER_NONE,
                .policy = BUF_INIT(PLAY_POLICY_MAX),
                .error = error,
            },
    };
    int r;

    (void)snprintf(error, SCENARIO_ERROR_MAX, "out of memory");
    r = prepare(&run.play, scenario, options);
    if (r == 0)
        r = rig_run(&run.play.rig, drive, &run);
    return r < 0 ? r : result_of(&run.play);
}
