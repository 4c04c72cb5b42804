#pragma once

/*
 * ScenarioRun: a scenario on its stage: what its steps are made of.
 *
 * Steps are taken one after another on the driving thread (demo/rig.h) and tell the person what
 * happens. When one goes wrong, or Ctrl-C is pressed, those that follow do nothing: a scenario is
 * a plain list of them, and play->status says at the end how it went.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "demo/console.h"
#include "demo/demo-folder.h"
#include "demo/demo-scheduler.h"
#include "demo/environment.h"
#include "demo/workload.h"

#define RUN_NAME_MAX 96u
#define RUN_WORDS_MAX 16u /* of a command */
#define RUN_POLICY_MAX ((size_t)64 * 1024)
#define RUN_PATIENCE_MSEC 20000u /* until something that was done shows */

enum {
    _RUN_CONTINUES,
    RUN_STOPPED, /* by the person */
    RUN_FAILED,  /* something did not come out as it should: play->error */
};

typedef struct Scenario Scenario;

typedef struct ScenarioRun {
    const Scenario *scenario;
    const char *program; /* how the person called berth */
    bool solves;
    unsigned pace_msec; /* between two pods */
    DemoEnvironment environment;
    Console console;
    DemoFolder folder;
    char policy_path[DEMO_FOLDER_PATH_MAX + 32];
    Buf policy;       /* what is in policy_path */
    int status;       /* 0, one of the above, or a negative errno */
    char *error;      /* DAEMON_ERROR_MAX */
    bool has_columns; /* a heading stands above the placements */
    size_t n_pods, n_placed;

    /* For scenarios: the pod and the node that it is about. */
    const DemoPod *pod;
    char pod_name[RUN_NAME_MAX]; /* "ml/render-abcde" */
    char node[RUN_NAME_MAX];
    size_t n_nodes_used, n_there;
} ScenarioRun;

const char *run_url(const ScenarioRun *run);

/* --- what is said ----------------------------------------------------------------------------- */

void run_heading(ScenarioRun *run, const char *text);
__attribute__((format(printf, 2, 3))) void run_say(ScenarioRun *run, const char *format, ...);
/* Something happens in the world. */
__attribute__((format(printf, 2, 3))) void run_tell(ScenarioRun *run, const char *format, ...);
/* The same, but only to who has asked for the answer: it would give it away. */
__attribute__((format(printf, 2, 3))) void run_reveal(ScenarioRun *run, const char *format, ...);
/* What is to be read in the answer of a command. */
__attribute__((format(printf, 2, 3))) void run_note(ScenarioRun *run, const char *format, ...);

/* The event that `kubectl describe pod` shows, as kube-scheduler writes it. */
void run_describe(ScenarioRun *run, const Placement *placement);

/* --- what is done ----------------------------------------------------------------------------- */

/* A new pod of @workload wants a node. What became of it is shown and is in @ret: all zero when
 * nothing is done any more. Strings live until the next. */
void run_place(ScenarioRun *run, const Workload *workload, Placement *ret);

/* The same without a word; @life as in world_make_pod(). */
void run_place_quietly(ScenarioRun *run, const Workload *workload, uint64_t life, Placement *ret);

/* Another attempt of the pod that the scenario is about, if it has no node; not shown. */
void run_retry(ScenarioRun *run, Placement *ret);
void run_show(ScenarioRun *run, const Placement *placement); /* a line */

/* The scenario is about this one. */
void run_choose_pod(ScenarioRun *run, const Placement *placement);

/* The person edits the policy: the first @from in it becomes @to, as shown. It is not waited for
 * what berth makes of it. */
void run_edit(ScenarioRun *run, const char *from, const char *to);

/* Until @is_so of the view in force; it is @what that is waited for. */
void run_await(ScenarioRun *run, const char *what, ViewCondition *is_so, const void *context);

/* The same for the text of a page. */
void run_await_page(ScenarioRun *run, const char *what, const char *path, const char *text);

/* This must be so, or the scenario has not come out as it should. */
void run_expect(ScenarioRun *run, bool is_so, const char *what);

/* Time goes by. */
void run_pause(ScenarioRun *run, unsigned msec);

/* --- commands of berth ------------------------------------------------------------------------ */

/* For a person to type; and the same, typed and run: what it prints is shown as it comes. Its exit
 * code is not looked at: a check that finds something fails. */
void run_suggest(ScenarioRun *run, const char *const words[]);
void run_command(ScenarioRun *run, const char *const words[]);

/* A list of words for these. */
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* What a page says: `curl -s`, which not everybody has, is played. */
void run_fetch(ScenarioRun *run, const char *path);
