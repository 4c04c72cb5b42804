/* The steps of scenarios: texts, placements, edits of the policy, waiting, and commands. */

#include "demo/scenario-run.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/linediff.h"
#include "base/shell.h"

#define TEXT_MAX ((size_t)64 * 1024)
#define PAGE_BUDGET ((size_t)8 * 1024 * 1024)
#define CHECK_MSEC 50u

#define COLUMN_POD 27

const char *run_url(const ScenarioRun *run) {
    return daemon_url(run->env.daemon);
}

/* Whether to do the next step. */
static bool goes_on(ScenarioRun *run) {
    if (run->status == 0 && (environment_wait(&run->env, 0) || run->console.has_failed))
        run->status = RUN_STOPPED;
    return run->status == 0;
}

static void fail(ScenarioRun *run, int status, const char *what) {
    if (environment_wait(&run->env, 0))
        status = RUN_STOPPED;
    run->status = status;
    (void)snprintf(run->error, DAEMON_ERROR_MAX, "%s", what);
}

static void fail_memory(ScenarioRun *run) {
    fail(run, -ENOMEM, "out of memory for the scenario");
}

/* --- texts ------------------------------------------------------------------------------------ */

void run_heading(ScenarioRun *run, const char *text) {
    if (!goes_on(run))
        return;
    console_print(&run->console, STYLE_BOLD, "\n%s\n", text);
}

void run_print(ScenarioRun *run, RunText kind, const char *format, ...) {
    static const struct {
        const char *lead;
        Style style;
    } kinds[] = {
        [RUN_TEXT] = {"  ", STYLE_PLAIN},
        [RUN_EVENT] = {"-- ", STYLE_BOLD},
        [RUN_HIDDEN_EVENT] = {"-- ", STYLE_BOLD},
        [RUN_RESULT] = {"=> ", STYLE_GOOD},
    };
    va_list arguments;

    if (!goes_on(run) || (kind == RUN_HIDDEN_EVENT && !run->solves))
        return;
    va_start(arguments, format);
    console_sayv(&run->console, kinds[kind].style, kinds[kind].lead, format, arguments);
    va_end(arguments);
    console_flush(&run->console);
}

void run_describe(ScenarioRun *run) {
    const Placement *placement = &run->placement;

    if (!goes_on(run) || !placement->pod)
        return;
    buf_printf(&run->console.text, "  $ kubectl describe pod -n %s %s\n",
        placement->pod->workload->namespace, placement->pod->name);
    console_paragraph(&run->console, "  Status:   ", STR("Pending"));
    console_paragraph(&run->console, "  Warning   FailedScheduling  ", placement->fit_error);
    console_flush(&run->console);
}

/* --- placements ------------------------------------------------------------------------------- */

void run_show(ScenarioRun *run) {
    const Placement *placement = &run->placement;

    if (!goes_on(run) || !placement->pod)
        return;
    if (!run->has_columns)
        console_print(&run->console, STYLE_BOLD, "%-*s %-*s  PASSED\n", COLUMN_POD, "POD",
            PLACEMENT_NODE_COLUMNS, "NODE");
    run->has_columns = true;
    placement_print_head(placement, COLUMN_POD, &run->console);
    buf_printf(
        &run->console.text, "  %zu of %zu nodes\n", placement->n_passed, placement->n_candidates);
    console_flush(&run->console);
}

void run_clear(ScenarioRun *run) {
    if (run->status == 0)
        demo_cluster_clear(run->env.cluster);
}

static void attempt(ScenarioRun *run, const DemoPod *pod) {
    if (environment_place(&run->env, pod, &run->placement) < 0)
        fail_memory(run);
    else if (!str_is_empty(run->placement.error))
        fail(run, RUN_FAILED, "a call to berth failed");
    else
        run->n_placed += !str_is_empty(run->placement.node);
}

void run_place_quietly(ScenarioRun *run, const Workload *workload, uint64_t life) {
    const DemoPod *pod;

    run->placement = (Placement){0};
    if (!goes_on(run))
        return;
    if (demo_cluster_create_pod(run->env.cluster, workload, life, environment_now_sec(), &pod) <
        0) {
        fail_memory(run);
        return;
    }
    run->n_pods++;
    demo_cluster_try(run->env.cluster, pod);
    attempt(run, pod);
}

void run_place(ScenarioRun *run, const Workload *workload) {
    run_place_quietly(run, workload, /* life= */ 0);
    run_show(run);
    run_pause(run, run->pace_msec);
}

void run_retry(ScenarioRun *run) {
    run->placement = (Placement){0};
    if (!goes_on(run) || !run->pod || !str_is_empty(run->pod->model.node_name))
        return;
    demo_cluster_try(run->env.cluster, run->pod);
    attempt(run, run->pod);
}

void run_try_due(ScenarioRun *run) {
    const DemoPod *pod;

    while (goes_on(run) && (pod = demo_cluster_due_pod(run->env.cluster)))
        attempt(run, pod);
}

void run_choose_pod(ScenarioRun *run) {
    const Placement *placement = &run->placement;

    if (!goes_on(run) || !placement->pod)
        return;
    run->pod = placement->pod;
    (void)snprintf(run->pod_name, sizeof(run->pod_name), "%s", placement->pod->full_name);
    (void)snprintf(run->node, sizeof(run->node), "%.*s", STR_FMT(placement->node));
}

/* --- the policy ------------------------------------------------------------------------------- */

static int print_difference(ScenarioRun *run, Str before, Str after) {
    _cleanup_(buf_done) Buf text = BUF_INIT(RUN_POLICY_MAX);
    LinediffText from = {.text = before}, to = {.text = after};
    int r = linediff_write(&from, &to, /* context= */ 1, &text, NULL);
    Str rest = buf_str(&text), line;

    if (r < 0)
        return r;
    while (str_split(&rest, '\n', &line)) {
        bool is_head = str_has_prefix(line, STR("---")) || str_has_prefix(line, STR("+++")) ||
                       str_has_prefix(line, STR("@@"));

        if (is_head || str_is_empty(line))
            continue;
        buf_append(&run->console.text, STR("     "));
        if (line.ptr[0] == ' ')
            buf_append(&run->console.text, line);
        else
            console_painted(&run->console, line.ptr[0] == '-' ? STYLE_BAD : STYLE_GOOD, 0, line);
        buf_append_char(&run->console.text, '\n');
    }
    console_flush(&run->console);
    return 0;
}

void run_edit(ScenarioRun *run, const char *from, const char *to) {
    _cleanup_(buf_done) Buf edited = BUF_INIT(RUN_POLICY_MAX);
    Str text = buf_str(&run->policy);
    const char *found;
    size_t at;

    if (!goes_on(run))
        return;
    found = memmem(text.ptr, text.len, from, strlen(from));
    if (!found) {
        fail(run, RUN_FAILED, "the policy has changed");
        return;
    }
    at = (size_t)(found - text.ptr);
    buf_append(&edited, str_take(text, at));
    buf_append(&edited, str_from_c(to));
    buf_append(&edited, str_skip(text, at + strlen(from)));
    if (print_difference(run, text, buf_str(&edited)) < 0)
        fail_memory(run);
    buf_reset(&run->policy);
    buf_append(&run->policy, buf_str(&edited));
    if (demo_folder_write(&run->folder, "policy.yaml", buf_str(&edited), run->error) < 0)
        run->status = -EIO;
}

/* --- waiting ---------------------------------------------------------------------------------- */

void run_pause(ScenarioRun *run, unsigned msec) {
    if (goes_on(run) && environment_wait(&run->env, msec))
        run->status = RUN_STOPPED;
}

static void fail_waiting(ScenarioRun *run, const char *what) {
    char text[256];

    (void)snprintf(text, sizeof(text), "timed out waiting until %s", what);
    fail(run, RUN_FAILED, text);
}

void run_await(ScenarioRun *run, const char *what, ViewCondition *is_so, const void *context) {
    if (goes_on(run) && !environment_wait_for(&run->env, RUN_TIMEOUT_MSEC, is_so, context))
        fail_waiting(run, what);
}

void run_await_page(ScenarioRun *run, const char *what, const char *path, const char *text) {
    for (unsigned msec = 0; goes_on(run); msec += CHECK_MSEC) {
        _cleanup_(arena_freep) Arena *arena = arena_new(PAGE_BUDGET);
        Str page = arena ? environment_fetch(&run->env, path, arena) : STR_NULL;

        if (page.ptr && memmem(page.ptr, page.len, text, strlen(text)))
            return;
        if (msec >= RUN_TIMEOUT_MSEC)
            fail_waiting(run, what);
        run_pause(run, CHECK_MSEC);
    }
}

static bool is_other(const View *view, const void *context) {
    return view->program != context;
}

void run_reload(ScenarioRun *run, const char *from, const char *to) {
    _cleanup_(view_unrefp) View *before = daemon_view(run->env.daemon);

    run_edit(run, from, to);
    run_await(run, "the policy was reloaded", is_other, before->program);
    run_tell(run, "reloaded");
}

void run_expect(ScenarioRun *run, bool is_so, const char *what) {
    if (goes_on(run) && !is_so)
        fail(run, RUN_FAILED, what);
}

/* --- commands --------------------------------------------------------------------------------- */

static void print_command(ScenarioRun *run, const char *prompt, const char *const words[]) {
    Buf *out = &run->console.text;

    buf_append(out, str_from_c(prompt));
    shell_word(out, str_from_c(run->program));
    for (size_t i = 0; words[i]; i++) {
        buf_append_char(out, ' ');
        shell_word(out, str_from_c(words[i]));
    }
    buf_append_char(out, '\n');
}

void run_suggest(ScenarioRun *run, const char *const words[]) {
    if (goes_on(run))
        print_command(run, "  ", words);
}

/* Runs this program again with default signals and the same output. */
static int spawn(const char *const words[], pid_t *ret) {
    char *arguments[RUN_WORDS_MAX + 2] = {strdup("berth")};
    posix_spawnattr_t attributes;
    sigset_t none;
    size_t n = 1;
    int r;

    for (size_t i = 0; words[i] && n <= RUN_WORDS_MAX; i++)
        arguments[n++] = strdup(words[i]);
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    r = posix_spawn(ret, "/proc/self/exe", NULL, &attributes, arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    for (size_t i = 0; i < n; i++)
        free(arguments[i]);
    return r;
}

void run_command(ScenarioRun *run, const char *const words[]) {
    pid_t pid;

    if (!goes_on(run))
        return;
    buf_append_char(&run->console.text, '\n');
    console_paint(&run->console, STYLE_BOLD);
    print_command(run, "$ ", words);
    console_paint(&run->console, STYLE_PLAIN);
    console_flush(&run->console);
    if (spawn(words, &pid) != 0) {
        fail(run, RUN_FAILED, "a command could not be started");
        return;
    }
    while (waitpid(pid, /* status= */ NULL, 0) < 0 && errno == EINTR)
        ;
}

void run_explain(ScenarioRun *run, const char *node) {
    run_command(run, WORDS("explain", "--last", run->pod_name, node ? "--node" : "--server",
                         node ? node : run_url(run), node ? "--server" : NULL, run_url(run)));
}
