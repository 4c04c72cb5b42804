/* Lists scenarios, and runs one: its situation, its question, and with --solve its solution. */

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/linediff.h"
#include "base/shell.h"
#include "demo/environment.h"
#include "kube/blocking-client.h"
#include "yaml/document.h"

#define SCENARIOS_MAX 16u
#define SCENARIOS_BUDGET ((size_t)1024 * 1024)

/* Slow enough to read. POD_LIFE is in ticks of POD_MSEC. */
#define PACE_MSEC 350u
#define POD_MSEC 2000u
#define POD_LIFE 10u

#define NAME_MAX_LEN 96u
#define POLICY_MAX ((size_t)64 * 1024)
#define TEXT_MAX ((size_t)64 * 1024)
#define PAGE_BUDGET ((size_t)8 * 1024 * 1024)
#define PAGE_SEC 5
#define WORDS_MAX 16u /* of a command */
#define CHECK_MSEC 20u
#define TIMEOUT_MSEC 20000u

#define COLUMN_POD 27

/* The load that the step "use cpu" adds, as a share of the node's cpu. */
#define BUSY_SHARE 0.87

static const char source[] =
#include "demo-scenarios.inc"
    ;

enum {
    _RUN_CONTINUES,
    RUN_STOPPED, /* by the user */
    RUN_FAILED,  /* a step had an unexpected result: run->error */
};

/* A scenario while it runs. Steps run one after another on the driving thread (demo/environment.h).
 * After an error or Ctrl-C the remaining steps do nothing, and status has the result. */
typedef struct ScenarioRun {
    const YamlNode *scenario;
    Arena *arena; /* of the scenario, and words of commands */
    bool solves;
    unsigned pace_msec; /* between two pods */
    DemoEnvironment env;
    Buf policy;       /* the text of the policy in the folder */
    int status;       /* 0, one of the above, or a negative errno */
    char *error;      /* DAEMON_ERROR_MAX */
    bool has_columns; /* the heading of the placements is printed */
    size_t n_pods, n_placed;
    const Workload *workload; /* the scenario's */
    /* The last attempt; all zero if none was made. Strings live until the next one. */
    Placement placement;

    /* The pod and the node in question. */
    const DemoPod *pod;
    char pod_name[NAME_MAX_LEN]; /* "ml/render-abcde" */
    char node[NAME_MAX_LEN];
    size_t n_there;                /* pods that were placed on this node */
    size_t n_used, n_used_earlier; /* nodes with pods now, and before the cluster was cleared */
    View *before;                  /* in force before the last edit of the policy; NULL: none */
} ScenarioRun;

typedef struct Step {
    const char *name;
    void (*run)(ScenarioRun *run, const struct Step *step, const YamlNode *value);
    const char *lead; /* of a text or a command */
    Style style;
} Step;

static const char *run_url(const ScenarioRun *run) {
    return daemon_url(run->env.daemon, LISTEN_VERBS);
}

static bool run_goes_on(ScenarioRun *run) {
    if (run->status == 0 && (environment_wait(&run->env, 0) || run->env.console.has_failed))
        run->status = RUN_STOPPED;
    return run->status == 0;
}

__attribute__((format(printf, 3, 4))) static void fail(
    ScenarioRun *run, int status, const char *format, ...) {
    va_list arguments;

    run->status = environment_wait(&run->env, 0) ? RUN_STOPPED : status;
    va_start(arguments, format);
    (void)vsnprintf(run->error, DAEMON_ERROR_MAX, format, arguments);
    va_end(arguments);
}

static void fail_memory(ScenarioRun *run) {
    fail(run, -ENOMEM, "out of memory for the scenario");
}

static void run_pause(ScenarioRun *run, unsigned msec) {
    if (run_goes_on(run) && environment_wait(&run->env, msec))
        run->status = RUN_STOPPED;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Replaces {node} and the like in @text. In run->arena. NULL: the run failed. */
static char *expand(ScenarioRun *run, Str text) {
    _cleanup_(buf_done) Buf out = BUF_INIT(TEXT_MAX);
    const BufValue values[] = {
        {STR("{there}"), arena_printf(run->arena, "%zu", run->n_there)},
        {STR("{used}"), arena_printf(run->arena, "%zu", run->n_used)},
        {STR("{used earlier}"), arena_printf(run->arena, "%zu", run->n_used_earlier)},
        {STR("{name}"), yaml_text(yaml_find(run->scenario, STR("name")))},
        {STR("{question}"), yaml_text(yaml_find(run->scenario, STR("question")))},
        {STR("{url}"), str_from_c(run_url(run))},
        {STR("{dashboard}"), str_from_c(daemon_dashboard_url(run->env.daemon))},
        {STR("{metrics}"), str_from_c(mock_metrics_url(run->env.metrics))},
        {STR("{policy}"), str_from_c(run->env.options.policy)},
        {STR("{pod}"), str_from_c(run->pod_name)},
        {STR("{node}"), str_from_c(run->node)},
    };
    char *copy;

    buf_append_template(&out, text, values, ELEMENTS_OF(values));
    copy = arena_alloc(run->arena, out.len + 1);
    if (copy)
        (void)snprintf(copy, out.len + 1, "%.*s", STR_FMT(buf_str(&out)));
    else
        fail_memory(run);
    return copy;
}

static void print(ScenarioRun *run, const Step *step, const YamlNode *value) {
    /* Without --solve it would give the answer away. */
    bool is_hidden = strcmp(step->name, "hidden event") == 0 && !run->solves;
    const char *text = is_hidden ? NULL : expand(run, value->text);

    if (!is_hidden)
        console_say(&run->env.console, step->style, step->lead, "%s", text ? text : "");
}

static void print_heading(ScenarioRun *run, const Step *step, const YamlNode *value) {
    console_print(&run->env.console, STYLE_BOLD, "\n%.*s\n", STR_FMT(value->text));
}

/* Prints the event that `kubectl describe pod` shows, in kube-scheduler's words. */
static void describe(ScenarioRun *run, const Step *step, const YamlNode *value) {
    const Placement *placement = &run->placement;

    if (!placement->pod)
        return;
    buf_printf(&run->env.console.text, "  $ kubectl describe pod -n %.*s %s\n",
        STR_FMT(placement->pod->workload->namespace), placement->pod->name);
    console_paragraph(&run->env.console, "  Status:   ", STR("Pending"));
    console_paragraph(&run->env.console, "  Warning   FailedScheduling  ", placement->fit_error);
}

/* --- placements ------------------------------------------------------------------------------- */

/* Prints a line about the last attempt. */
static void show(ScenarioRun *run, const Step *step, const YamlNode *value) {
    const Placement *placement = &run->placement;

    if (!run_goes_on(run) || !placement->pod)
        return;
    if (!run->has_columns)
        console_print(&run->env.console, STYLE_BOLD, "%-*s %-*s  PASSED\n", COLUMN_POD, "POD",
            PLACEMENT_NODE_COLUMNS, "NODE");
    run->has_columns = true;
    placement_print_head(placement, COLUMN_POD, &run->env.console);
    buf_printf(&run->env.console.text, "  %zu of %zu nodes\n", placement->n_passed,
        placement->n_candidates);
    console_flush(&run->env.console);
}

static void attempt(ScenarioRun *run, const DemoPod *pod) {
    if (environment_place(&run->env, pod, &run->placement) < 0)
        fail_memory(run);
    else if (!str_is_empty(run->placement.error))
        fail(run, RUN_FAILED, "a call to berth failed");
    else
        run->n_placed += !str_is_empty(run->placement.node);
}

static void run_place(ScenarioRun *run, const Workload *workload, uint64_t life) {
    const DemoPod *pod;

    run->placement = (Placement){0};
    if (!run_goes_on(run))
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

/* Counts nodes with pods. */
static void count_used(ScenarioRun *run) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    const NodeTable *table;

    run->n_used = 0;
    if (demo_cluster_snapshot(run->env.cluster, &snapshot) < 0)
        return;
    table = snapshot_table(snapshot);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        run->n_used += pods && pods->n > 0;
    }
}

/* Places pods of the scenario's workload: one, or @value of them; or one of workload @value. With
 * "place fixed", of the workload after it, which is the same with the missing toleration. */
static void place(ScenarioRun *run, const Step *step, const YamlNode *value) {
    bool is_number = value && value->kind == YAML_INT;
    const Workload *workload = run->workload;

    if (value && !is_number)
        workload = demo_workloads_find(demo_cluster_workloads(run->env.cluster), value->text);
    workload += strcmp(step->name, "place fixed") == 0;
    for (int64_t i = 0; i < (is_number ? value->integer : 1); i++) {
        run_place(run, workload, /* life= */ 0);
        show(run, step, NULL);
        run->n_there += str_is(run->placement.node, run->node);
        run_pause(run, run->pace_msec);
    }
    count_used(run);
}

/* Tries the pod in question again if it has no node, without printing. */
static void retry(ScenarioRun *run, const Step *step, const YamlNode *value) {
    run->placement = (Placement){0};
    if (!run->pod || !str_is_empty(run->pod->model.node_name))
        return;
    demo_cluster_try(run->env.cluster, run->pod);
    attempt(run, run->pod);
}

/* Makes the last pod the pod in question; with "choose", also its node the node in question. */
static void choose(ScenarioRun *run, const Step *step, const YamlNode *value) {
    const Placement *last = &run->placement;

    if (last->pod) {
        run->pod = last->pod;
        (void)snprintf(run->pod_name, sizeof(run->pod_name), "%s", run->pod->full_name);
    }
    if (strcmp(step->name, "choose") == 0)
        (void)snprintf(run->node, sizeof(run->node), "%.*s", STR_FMT(last->node));
}

static void clear(ScenarioRun *run, const Step *step, const YamlNode *value) {
    run->n_used_earlier = run->n_used;
    demo_cluster_clear(run->env.cluster);
}

/* --- the environment -------------------------------------------------------------------------- */

static void set_weight(ScenarioRun *run, const Step *step, const YamlNode *value) {
    demo_scheduler_set_weight(run->env.scheduler, value->integer);
}

static void use_cpu(ScenarioRun *run, const Step *step, const YamlNode *value) {
    (void)snprintf(run->node, sizeof(run->node), "%.*s", STR_FMT(value->text));
    mock_metrics_add_load(run->env.metrics, value->text, BUSY_SHARE);
}

static void switch_metrics(ScenarioRun *run, const Step *step, const YamlNode *value) {
    mock_metrics_set_down(run->env.metrics, strcmp(step->name, "stop metrics") == 0);
}

static int print_difference(ScenarioRun *run, Str before, Str after) {
    _cleanup_(buf_done) Buf text = BUF_INIT(POLICY_MAX);
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
        buf_append(&run->env.console.text, STR("     "));
        if (line.ptr[0] == ' ')
            buf_append(&run->env.console.text, line);
        else
            console_painted(
                &run->env.console, line.ptr[0] == '-' ? STYLE_BAD : STYLE_GOOD, 0, line);
        buf_append_char(&run->env.console.text, '\n');
    }
    return 0;
}

/* Replaces `from` in the policy with `to`, and prints the difference. */
static void edit(ScenarioRun *run, const Step *step, const YamlNode *value) {
    _cleanup_(buf_done) Buf edited = BUF_INIT(POLICY_MAX);
    const BufValue change = {
        yaml_text(yaml_find(value, STR("from"))), yaml_text(yaml_find(value, STR("to")))};
    Str text = buf_str(&run->policy);

    buf_append_template(&edited, text, &change, 1);
    view_unref(run->before);
    run->before = daemon_view(run->env.daemon);
    if (buf_error(&edited) < 0 || print_difference(run, text, buf_str(&edited)) < 0)
        fail_memory(run);
    else if (str_eq(text, buf_str(&edited)))
        fail(run, RUN_FAILED, "the policy has changed");
    else if (demo_folder_write(&run->env.folder, "policy.yaml", buf_str(&edited), run->error) < 0)
        run->status = RUN_FAILED;
    buf_reset(&run->policy);
    buf_append(&run->policy, buf_str(&edited));
}

/* --- conditions ------------------------------------------------------------------------------- */

/* The highest measured load of node @node ("": of any); -1: no value. */
static double measured_load(const ScenarioRun *run, const char *node) {
    _cleanup_(view_unrefp) View *view = daemon_view(run->env.daemon);
    double most = -1;

    for (uint32_t row = 0; view->table->loads && row < view->table->n_rows; row++) {
        double load = loads_value(view->table->loads, 0, LOAD_MEASURED, row);

        if (load > most && (!node[0] || str_is(view->table->names->names[row], node)))
            most = load;
    }
    return most;
}

/* Whether /readyz shows that a file was rejected. */
static bool is_rejected(const ScenarioRun *run) {
    const AccessServer server = {.name = "the demo", .url = run_url(run), .is_direct = true};
    const BlockingRequest request = {.path = "/readyz?verbose", .total_sec = PAGE_SEC};
    _cleanup_(arena_freep) Arena *arena = arena_new(PAGE_BUDGET);
    _cleanup_(access_freep) Access *access = NULL;
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply = {0};

    return arena && access_for_server(&server, &access, error) == 0 &&
           blocking_client_request(access, &request, arena, &reply, error) == 0 &&
           str_contains_nocase(reply.body, STR("degraded"));
}

static bool is_reloaded(const ScenarioRun *run) {
    _cleanup_(view_unrefp) View *view = daemon_view(run->env.daemon);

    return view->program != run->before->program;
}

static const struct {
    const char *name, *meaning;
} conditions[] = {
    {"placed", "the pod has another node"},
    {"there", "the pod is on the node in question"},
    {"pending", "the pod has no node"},
    {"not best", "the pod is not on berth's first choice"},
    {"fewer nodes", "the pods are on fewer nodes than before"},
    {"measured", "the load was measured"},
    {"stale", "the last values were stale"},
    {"busy", "the load of the node was measured"},
    {"rejected", "berth read the file"},
    {"reloaded", "the policy was reloaded"},
};

/* Whether the condition @name holds. */
static bool holds(const ScenarioRun *run, Str name) {
    const Placement *last = &run->placement;
    bool has_node = !str_is_empty(last->node), is_there = str_is(last->node, run->node);

    return str_is(name, "placed")        ? has_node && !is_there
           : str_is(name, "there")       ? is_there
           : str_is(name, "pending")     ? !has_node
           : str_is(name, "not best")    ? last->score < last->best_score
           : str_is(name, "fewer nodes") ? run->n_used < run->n_used_earlier
           : str_is(name, "measured")    ? measured_load(run, "") >= 0
           : str_is(name, "stale")       ? measured_load(run, "") < 0
           : str_is(name, "busy")        ? measured_load(run, run->node) > BUSY_SHARE - 0.01
           : str_is(name, "rejected")    ? is_rejected(run)
                                         : is_reloaded(run);
}

/* Waits for a condition; the step "expect" fails at once unless it holds. */
static void await(ScenarioRun *run, const Step *step, const YamlNode *value) {
    bool is_expected = strcmp(step->name, "expect") == 0;
    size_t i = 0;

    while (i < ELEMENTS_OF(conditions) && !str_is(value->text, conditions[i].name))
        i++;
    if (i == ELEMENTS_OF(conditions)) {
        fail(run, RUN_FAILED, "there is no condition %.*s", STR_FMT(value->text));
        return;
    }
    for (unsigned msec = 0; run_goes_on(run) && !holds(run, value->text); msec += CHECK_MSEC) {
        if (is_expected || msec >= TIMEOUT_MSEC)
            fail(run, RUN_FAILED, "%s %s",
                is_expected ? "expected that" : "timed out waiting until", conditions[i].meaning);
        run_pause(run, CHECK_MSEC);
    }
}

/* --- commands of berth ------------------------------------------------------------------------ */

/* Splits @text into words, terminated by NULL, and expands these: values may contain blanks. */
static void split_words(ScenarioRun *run, Str text, char *words[static WORDS_MAX + 1]) {
    size_t n = 0;
    Str word;

    while (n < WORDS_MAX && str_split(&text, ' ', &word))
        words[n++] = expand(run, word);
    words[n] = NULL;
}

/* Prints a command for the user to type. */
static void suggest(ScenarioRun *run, const Step *step, const YamlNode *value) {
    Buf *out = &run->env.console.text;
    char *words[WORDS_MAX + 1];

    split_words(run, value->text, words);
    buf_append(out, str_from_c(step->lead));
    shell_word(out, str_from_c(run->env.options.program));
    for (size_t i = 0; words[i]; i++) {
        buf_append_char(out, ' ');
        shell_word(out, str_from_c(words[i]));
    }
    buf_append_char(out, '\n');
}

/* Runs this program again with default signals and the same output. */
static int spawn(char *const words[], pid_t *ret) {
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    r = posix_spawn(ret, "/proc/self/exe", NULL, &attributes, words, environ);
    (void)posix_spawnattr_destroy(&attributes);
    return r;
}

/* Prints and runs a command. The exit code is ignored: a check that finds problems fails. */
static void run_command(ScenarioRun *run, const Step *step, const YamlNode *value) {
    char name[] = "berth", *words[WORDS_MAX + 2] = {name};
    pid_t pid;

    split_words(run, value->text, words + 1);
    buf_append_char(&run->env.console.text, '\n');
    console_paint(&run->env.console, STYLE_BOLD);
    suggest(run, step, value);
    console_paint(&run->env.console, STYLE_PLAIN);
    console_flush(&run->env.console);
    if (run->status != 0 || spawn(words, &pid) != 0) {
        fail(run, RUN_FAILED, "a command could not be started");
        return;
    }
    while (waitpid(pid, /* status= */ NULL, 0) < 0 && errno == EINTR)
        ;
}

/* --- running steps ---------------------------------------------------------------------------- */

static const Step steps[] = {
    {"heading", print_heading},
    {"say", print, "  ", STYLE_PLAIN},
    {"event", print, "-- ", STYLE_BOLD},
    {"hidden event", print, "-- ", STYLE_BOLD},
    {"note", print, "=> ", STYLE_GOOD},
    {"describe", describe},
    {"place", place},
    {"place fixed", place},
    {"retry", retry},
    {"show", show},
    {"choose", choose},
    {"choose pod", choose},
    {"clear", clear},
    {"set weight", set_weight},
    {"use cpu", use_cpu},
    {"stop metrics", switch_metrics},
    {"resume metrics", switch_metrics},
    {"edit", edit},
    {"await", await},
    {"expect", await},
    {"suggest", suggest, "  "},
    {"run", run_command, "$ "},
};

static void take_step(ScenarioRun *run, Str name, const YamlNode *value) {
    size_t i = 0;

    while (i < ELEMENTS_OF(steps) && !str_is(name, steps[i].name))
        i++;
    if (!run_goes_on(run))
        return;
    if (i < ELEMENTS_OF(steps))
        steps[i].run(run, &steps[i], value);
    else
        fail(run, RUN_FAILED, "there is no step %.*s", STR_FMT(name));
    console_flush(&run->env.console);
}

static void run_step(ScenarioRun *run, const char *name, const char *text) {
    const YamlNode value = {.kind = YAML_STRING, .text = str_from_c(text)};

    take_step(run, str_from_c(name), &value);
}

static void run_steps(ScenarioRun *run, const char *part) {
    const YamlNode *list = yaml_find(run->scenario, str_from_c(part));

    for (size_t i = 0; list && i < list->n; i++) {
        const YamlNode *step = list->items[i];

        if (step->kind == YAML_MAPPING)
            take_step(run, step->pairs[0].key->text, step->pairs[0].value);
        else
            take_step(run, step->text, NULL);
    }
}

/* --- a scenario ------------------------------------------------------------------------------- */

/* Reads all scenarios, one per document. 0, or -ENOMEM: the text is valid. */
static int read_all(Arena *arena, YamlStream *ret) {
    DiagList diags = DIAG_LIST_IN(arena);

    return arena && yaml_parse(STR("scenarios"), str_from_c(source), arena, &diags, ret) == 0
               ? 0
               : -ENOMEM;
}

static Str text_of(const YamlNode *scenario, Str key) {
    return yaml_text(yaml_find(scenario, key));
}

void scenario_print_list(Buf *out) {
    _cleanup_(arena_freep) Arena *arena = arena_new(SCENARIOS_BUDGET);
    YamlStream all;

    if (read_all(arena, &all) < 0)
        out->error = -ENOMEM;
    else
        for (size_t i = 0; i < all.n_documents; i++)
            buf_printf(out, "  %-14.*s %.*s\n", STR_FMT(text_of(all.documents[i], STR("name"))),
                STR_FMT(text_of(all.documents[i], STR("question"))));
}

static int find(ScenarioRun *run, const char *name) {
    Str names[SCENARIOS_MAX], nearest;
    YamlStream all;
    size_t i = 0;

    if (read_all(run->arena, &all) < 0)
        return -ENOMEM;
    for (; i < all.n_documents && i < SCENARIOS_MAX; i++) {
        run->scenario = all.documents[i];
        names[i] = text_of(run->scenario, STR("name"));
        if (str_is(names[i], name))
            return 0;
    }
    nearest = str_nearest(str_from_c(name), names, i);
    (void)snprintf(run->error, DEMO_ERROR_MAX,
        str_is_empty(nearest) ? "there is no scenario \"%s\""
                              : "there is no scenario \"%s\"; did you mean \"%.*s\"?",
        name, STR_FMT(nearest));
    return SCENARIO_E_UNKNOWN;
}

static void print_question(ScenarioRun *run) {
    run_step(run, "heading", "What you see");
    run_steps(run, "symptoms");
    run_step(run, "heading", "The question");
    run_step(run, "say", "{question}");
    if (run->solves)
        return;
    run_step(run, "heading",
        run->env.console.is_live ? "Try in another terminal" : "Try, while it runs in a terminal");
    run_step(run, "suggest", "explain --last {pod} --server {url}");
    run_steps(run, "suggestions");
    if (daemon_dashboard_url(run->env.daemon))
        run_step(run, "say", "or look at {dashboard}/pods in a browser, and edit the policy");
    run_step(run, "heading", "The answer");
    run_step(run, "suggest", "demo --scenario {name} --solve");
}

/* Creates pods and tries pending ones again while the user looks around. */
static void add_pods(ScenarioRun *run) {
    _cleanup_(buf_done) Buf line = BUF_INIT(1024);
    const DemoPod *pod;

    while (run_goes_on(run)) {
        buf_reset(&line);
        buf_printf(&line, "%zu pods, %zu placed | %s | Ctrl-C ends", run->n_pods, run->n_placed,
            run_url(run));
        console_status(&run->env.console, buf_str(&line));
        run_pause(run, POD_MSEC);
        run_place(run, run->workload, POD_LIFE);
        while (run_goes_on(run) && (pod = demo_cluster_due_pod(run->env.cluster)))
            attempt(run, pod);
    }
    console_clear_status(&run->env.console);
    console_flush(&run->env.console);
}

static void drive(void *context) {
    ScenarioRun *run = context;
    Buf *out = &run->env.console.text;

    console_print(&run->env.console, STYLE_BOLD, "berth demo: scenario %.*s",
        STR_FMT(text_of(run->scenario, STR("name"))));
    buf_printf(out, "\n%zu simulated nodes; berth serves %s to the demo's kube-scheduler\n",
        run->env.options.n_nodes, run_url(run));
    if (daemon_dashboard_url(run->env.daemon))
        buf_printf(out, "dashboard %s\n", daemon_dashboard_url(run->env.daemon));
    buf_printf(out, "policy    %s\n\n", run->env.options.policy);
    console_flush(&run->env.console);
    run_steps(run, "situation");
    print_question(run);
    if (run->solves) {
        run_step(run, "heading", "How to find out");
        run_steps(run, "solution");
    } else if (run->env.console.is_live)
        add_pods(run);
}

static int prepare(ScenarioRun *run, const DemoOptions *options) {
    DemoOptions own = *options;
    int r;

    own.policy = NULL;
    own.n_nodes = (size_t)yaml_find(run->scenario, STR("nodes"))->integer;
    own.seed = (uint64_t)yaml_find(run->scenario, STR("seed"))->integer;
    r = environment_open(&run->env, &own);
    if (r < 0)
        return r;
    demo_cluster_set_tick(run->env.cluster, POD_MSEC * NSEC_PER_MSEC);
    run->workload = demo_workloads_find(
        demo_cluster_workloads(run->env.cluster), text_of(run->scenario, STR("workload")));
    buf_append(&run->policy, text_of(run->scenario, STR("policy")));
    return environment_start(&run->env, buf_str(&run->policy), run->error);
}

static void run_done(ScenarioRun *run) {
    view_unref(run->before);
    environment_done(&run->env);
    buf_done(&run->policy);
    arena_free(run->arena);
}

int scenario_run(const char *name, const DemoOptions *options, bool solves, char *error) {
    _cleanup_(run_done) ScenarioRun run = {
        .arena = arena_new(SCENARIOS_BUDGET),
        .solves = solves,
        .pace_msec = options->is_live ? PACE_MSEC : 0,
        .policy = BUF_INIT(POLICY_MAX),
        .error = error,
    };
    int r;

    (void)snprintf(error, DEMO_ERROR_MAX, "out of memory for the scenario");
    r = find(&run, name);
    if (r == 0)
        r = prepare(&run, options);
    if (r == 0)
        r = environment_run(&run.env, drive, &run);
    if (r != 0 || run.status == RUN_STOPPED)
        return r;
    return run.status == RUN_FAILED ? SCENARIO_E_UNSOLVED : run.status;
}
