#pragma once

/*
 * ScenarioRun: a scenario while it runs, and the steps that scenarios are made of.
 *
 * Steps run one after another on the driving thread (demo/environment.h). After an error or Ctrl-C
 * the remaining steps do nothing: a scenario is a plain list of steps, and run->status has the
 * result.
 */

#include "demo/console.h"
#include "demo/demo-folder.h"
#include "demo/demo-scheduler.h"
#include "demo/environment.h"
#include "demo/workload.h"

#define RUN_NAME_MAX 96u
#define RUN_WORDS_MAX 16u /* of a command */
#define RUN_POLICY_MAX ((size_t)64 * 1024)
#define RUN_TIMEOUT_MSEC 20000u

enum {
    _RUN_CONTINUES,
    RUN_STOPPED, /* by the user */
    RUN_FAILED,  /* a step had an unexpected result: run->error */
};

typedef struct Scenario Scenario;

typedef struct ScenarioRun {
    const Scenario *scenario;
    const char *program; /* how the user called berth */
    bool solves;
    unsigned pace_msec; /* between two pods */
    DemoEnvironment env;
    Console console;
    DemoFolder folder;
    char policy_path[DEMO_FOLDER_PATH_MAX + 32];
    Buf policy;       /* the text of policy_path */
    int status;       /* 0, one of the above, or a negative errno */
    char *error;      /* DAEMON_ERROR_MAX */
    bool has_columns; /* a heading is above the placements */
    size_t n_pods, n_placed;
    const Workload *workload; /* the scenario's */
    /* The last update: all zero at the end of the run. Strings live until the next. */
    Placement placement;

    /* For scenarios: the pod and the node in question. */
    const DemoPod *pod;
    char pod_name[RUN_NAME_MAX]; /* "ml/render-abcde" */
    char node[RUN_NAME_MAX];
    size_t n_nodes_used, n_there;
} ScenarioRun;

const char *run_url(const ScenarioRun *run);

/* --- texts ------------------------------------------------------------------------------------ */

typedef enum RunText {
    RUN_TEXT,
    RUN_EVENT,        /* something happens in the cluster */
    RUN_HIDDEN_EVENT, /* the same, printed with --solve only: it would give the answer away */
    RUN_RESULT,       /* part of a command's output */
} RunText;

void run_heading(ScenarioRun *run, const char *text);
__attribute__((format(printf, 3, 4))) void run_print(
    ScenarioRun *run, RunText kind, const char *format, ...);

#define run_say(run, ...) run_print(run, RUN_TEXT, __VA_ARGS__)
#define run_tell(run, ...) run_print(run, RUN_EVENT, __VA_ARGS__)
#define run_reveal(run, ...) run_print(run, RUN_HIDDEN_EVENT, __VA_ARGS__)
#define run_note(run, ...) run_print(run, RUN_RESULT, __VA_ARGS__)

/* The event that `kubectl describe pod` shows, as kube-scheduler writes it. */
void run_describe(ScenarioRun *run);

/* --- actions ---------------------------------------------------------------------------------- */

void run_clear(ScenarioRun *run); /* ends all pods */

/* Creates a pod of @workload, places it, and prints the result. */
void run_place(ScenarioRun *run, const Workload *workload);

/* The same without printing; @life as in demo_cluster_next_pod(). */
void run_place_quietly(ScenarioRun *run, const Workload *workload, uint64_t life);

/* Tries to place run->pod again, if it has no node; without printing. */
void run_retry(ScenarioRun *run);
/* Tries all pods that kube-scheduler would try now; without printing. */
void run_try_due(ScenarioRun *run);
void run_show(ScenarioRun *run); /* prints a line about run->placement */

/* Sets run->pod to the pod of run->placement. */
void run_choose_pod(ScenarioRun *run);

/* Replaces the first @from in the policy with @to, and prints the difference. Does not wait for
 * berth to reload it. */
void run_edit(ScenarioRun *run, const char *from, const char *to);
/* The same, and waits until the new policy is in force. */
void run_reload(ScenarioRun *run, const char *from, const char *to);

/* Waits until @is_so holds for the view in force; @what is for the error message. */
void run_await(ScenarioRun *run, const char *what, ViewCondition *is_so, const void *context);
/* The same until the page at @path contains @text. */
void run_await_page(ScenarioRun *run, const char *what, const char *path, const char *text);

/* Fails the run with @what unless @is_so. */
void run_expect(ScenarioRun *run, bool is_so, const char *what);
void run_pause(ScenarioRun *run, unsigned msec);

/* --- commands of berth ------------------------------------------------------------------------ */

/* Print a command to type; print and run it. The exit code is ignored: a check that finds problems
 * fails. */
void run_suggest(ScenarioRun *run, const char *const words[]);
void run_command(ScenarioRun *run, const char *const words[]);
void run_explain(ScenarioRun *run, const char *node); /* of run->pod; @node may be NULL */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
