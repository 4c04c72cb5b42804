#pragma once

/*
 * Scenario: a problem in a cluster, and one question.
 *
 * The situation is created with the real daemon and protocol, and shown with berth's own commands
 * and pages. With --solve these commands run, and the cause and the fix are shown.
 */

#include "demo/demo.h"
#include "demo/scenario-run.h"

#define SCENARIO_ERROR_MAX DAEMON_ERROR_MAX

struct Scenario {
    const char *name;
    const char *question; /* in one line */
    const char *policy;   /* YAML */
    size_t n_nodes;
    uint64_t seed;
    const char *workload; /* workload of the pods that keep arriving */

    void (*build)(ScenarioRun *run);   /* creates the situation */
    void (*show)(ScenarioRun *run);    /* prints the symptoms */
    void (*suggest)(ScenarioRun *run); /* commands to try, after explain */
    void (*solve)(ScenarioRun *run);   /* runs them, and fixes it */
};

extern const Scenario scenario_pending, scenario_hot_node, scenario_stale_metrics,
    scenario_bad_policy, scenario_weight_war;

/* By name; NULL: there is none, and @ret_nearest is a similar name, or empty. */
const Scenario *scenario_find(const char *name, Str *ret_nearest);

/* All of them, a line each. */
void scenario_print_list(Buf *out);

enum {
    _SCENARIO_E_SUCCESS,
    SCENARIO_E_UNSOLVED, /* a step had an unexpected result */
};

/* Of @options it ignores nodes, pods, seed, policy and pace. @solves: --solve; without it, on a
 * terminal, it runs until SIGINT or SIGTERM. 0, one of the above, or a negative errno; then @error
 * (SCENARIO_ERROR_MAX) has the reason. */
int scenario_run(const Scenario *scenario, const DemoOptions *options, bool solves, char *error);
