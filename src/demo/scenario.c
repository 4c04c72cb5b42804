/* Runs a scenario: builds the situation, prints the question, and solves it or waits. */

#include "demo/scenario.h"

#include <stdio.h>

/* Slow enough to read; pods end after some time. */
#define PACE_MSEC 350u
#define POD_MSEC 2000u
#define POD_LIFE 10u

static const Scenario *const scenarios[] = {
    &scenario_pending,
    &scenario_hot_node,
    &scenario_stale_metrics,
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

/* --- texts -------------------------------------------------------------------- */

static void print_start(ScenarioRun *run, const Scenario *scenario) {
    Buf *out = &run->console.text;

    console_print(&run->console, STYLE_BOLD, "berth demo: scenario %s", scenario->name);
    buf_printf(out, "\n%zu simulated nodes; berth serves %s to the demo's kube-scheduler\n",
        scenario->n_nodes, run_url(run));
    if (daemon_dashboard_url(run->env.daemon))
        buf_printf(out, "dashboard %s\n", daemon_dashboard_url(run->env.daemon));
    buf_printf(out, "policy    %s\n\n", run->policy_path);
    console_flush(&run->console);
}

static void print_question(ScenarioRun *run, const Scenario *scenario) {
    run_heading(run, "What you see");
    scenario->show(run);
    run_heading(run, "The question");
    run_say(run, "%s", scenario->question);
    if (run->solves)
        return;
    run_heading(
        run, run->console.is_live ? "Try in another terminal" : "Try, while it runs in a terminal");
    run_suggest(run, WORDS("explain", "--last", run->pod_name, "--server", run_url(run)));
    scenario->suggest(run);
    if (daemon_dashboard_url(run->env.daemon))
        run_say(run, "or look at %s/pods in a browser, and edit the policy",
            daemon_dashboard_url(run->env.daemon));
    run_heading(run, "The answer");
    run_suggest(run, WORDS("demo", "--scenario", scenario->name, "--solve"));
    console_flush(&run->console);
}

/* --- run -------------------------------------------------------------------------------------- */

/* While the user looks around: creates pods, and tries pending ones again. */
static void add_pods(ScenarioRun *run) {
    _cleanup_(buf_done) Buf line = BUF_INIT(1024);

    while (run->status == 0) {
        buf_reset(&line);
        buf_printf(&line, "%zu pods, %zu placed | %s | Ctrl-C ends", run->n_pods, run->n_placed,
            run_url(run));
        console_status(&run->console, buf_str(&line));
        run_pause(run, POD_MSEC);
        run_place_quietly(run, run->workload, POD_LIFE);
        run_try_due(run);
    }
    console_clear_status(&run->console);
    console_flush(&run->console);
}

static void drive(void *context) {
    ScenarioRun *run = context;
    const Scenario *scenario = run->scenario;

    print_start(run, scenario);
    scenario->build(run);
    print_question(run, scenario);
    if (run->solves) {
        run_heading(run, "How to find out");
        scenario->solve(run);
    } else if (run->console.is_live)
        add_pods(run);
}

static int open_files(ScenarioRun *run, const Scenario *scenario) {
    int r = demo_folder_open(&run->folder, run->error);

    if (r < 0)
        return r;
    (void)snprintf(run->policy_path, sizeof(run->policy_path), "%s/policy.yaml", run->folder.path);
    buf_append(&run->policy, str_from_c(scenario->policy));
    return demo_folder_write(&run->folder, "policy.yaml", str_from_c(scenario->policy), run->error);
}

static int prepare(ScenarioRun *run, const Scenario *scenario, const DemoOptions *options) {
    DemoOptions own = *options;
    int r;

    own.n_nodes = scenario->n_nodes;
    own.seed = scenario->seed;
    r = environment_open(&run->env, &own);
    if (r == 0)
        demo_cluster_set_tick(run->env.cluster, POD_MSEC * NSEC_PER_MSEC);
    if (r == 0)
        r = open_files(run, scenario);
    if (r == 0)
        r = environment_start(&run->env, run->policy_path, run->error);
    return r;
}

static void run_done(ScenarioRun *run) {
    environment_done(&run->env);
    demo_folder_done(&run->folder);
    console_done(&run->console);
    buf_done(&run->policy);
}

int scenario_run(const Scenario *scenario, const DemoOptions *options, bool solves, char *error) {
    _cleanup_(run_done) ScenarioRun run = {
        .scenario = scenario,
        .program = options->program,
        .solves = solves,
        .pace_msec = options->is_live ? PACE_MSEC : 0,
        .workload = workload_named(scenario->workload),
        .console = CONSOLE_INIT(options->is_live, options->has_colour),
        .folder = DEMO_FOLDER_NONE,
        .policy = BUF_INIT(RUN_POLICY_MAX),
        .error = error,
    };
    int r;

    (void)snprintf(error, SCENARIO_ERROR_MAX, "out of memory for the scenario");
    r = prepare(&run, scenario, options);
    if (r == 0)
        r = environment_run(&run.env, drive, &run);
    if (r < 0 || run.status == RUN_STOPPED)
        return r;
    return run.status == RUN_FAILED ? SCENARIO_E_UNSOLVED : run.status;
}
