/*
 * berth check: reports everything that is wrong with policies, with an installation (--live), or
 * with kube-scheduler's configurations (--offline).
 *
 * All policy files are checked together, because names must be unique across them.
 */

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/diag.h"
#include "checkup/check.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "cluster/store.h"
#include "commands/check-internal.h"
#include "commands/commands.h"
#include "extender/view.h"
#include "input/policies.h"
#include "input/zones.h"
#include "policy/metric.h"
#include "policy/shape.h"
#include "schema/schema.h"
#include "serve/daemon.h"

#define WHO "berth check"
#define LIVE_TEXT_MAX ((size_t)16 * 1024 * 1024)
#define LIVE_BUDGET ((size_t)64 * 1024 * 1024)
#define INDENT 10

static const char *source_name(const Gauge *gauge) {
    return gauge->source == GAUGE_RESOURCES ? "metrics.k8s.io"
           : gauge->source == GAUGE_CUSTOM  ? "custom.metrics.k8s.io"
                                            : "node annotations";
}

/* A line below a metric's own, if there is a remark. */
static void print_detail(Buf *out, const char *what, Str text) {
    if (str_is_empty(text))
        return;
    buf_printf(out, "%*s%s%.*s\n", INDENT, "", what, STR_FMT(text));
}

static void print_examples(
    Buf *out, const char *what, const char examples[JOIN_EXAMPLES_MAX][JOIN_TEXT_MAX], size_t n) {
    size_t shown = 0;

    if (!examples[0][0] || n == 0)
        return;
    buf_printf(out, "%*s%s", INDENT, "", what);
    for (; shown < JOIN_EXAMPLES_MAX && examples[shown][0]; shown++)
        buf_printf(out, "%s%s", shown > 0 ? ", " : "", examples[shown]);
    if (n > shown)
        buf_printf(out, " and %zu more", n - shown);
    buf_append_char(out, '\n');
}

static void print_dropped(Buf *out, const JoinReport *report) {
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        if (report->n_dropped[i] > 0)
            buf_printf(out, "%*s%zu series dropped: %s\n", INDENT, "", report->n_dropped[i],
                join_drop_name((JoinDrop)i));
}

/* Annotations are not queried: they are present or not. */
static const char *state_name(const Gauge *gauge, const PollStatus *status, size_t n_present) {
    if (gauge->source == GAUGE_ANNOTATION)
        return n_present > 0 ? "ok" : "absent";
    return poll_state_name(status->state);
}

static void print_metric(
    Buf *out, const Gauge *gauge, const PollStatus *status, const LoadsFigures *figures) {
    const JoinReport *report = &status->report;
    _cleanup_(buf_done) Buf placements = BUF_INIT(LIVE_TEXT_MAX);
    bool is_prometheus = gauge->source == GAUGE_PROMETHEUS;
    Str from = source_meant(gauge->from);

    metric_describe_placements(gauge, &placements);
    buf_printf(out, "%-*.*s %-9s %zu of %zu nodes   %.*s\n", INDENT - 1, STR_FMT(gauge->name),
        state_name(gauge, status, figures->n_present), figures->n_present, figures->n_nodes,
        STR_FMT(is_prometheus ? from : str_from_c(source_name(gauge))));
    print_detail(out, "", str_from_c(status->error));
    print_detail(out, "the server warns: ", str_from_c(status->warning));
    print_detail(out, "", str_from_c(report->how));
    if (gauge->is_of_pods)
        buf_printf(
            out, "%*s%zu pods, %zu workloads\n", INDENT, "", report->n_pods, report->n_workloads);
    print_dropped(out, report);
    print_examples(out, "not joined: ", report->unmatched,
        report->n_dropped[JOIN_NO_NODE] + report->n_dropped[JOIN_NO_LABEL]);
    print_examples(out, "no value: ", report->uncovered, report->n_nodes - report->n_covered);
    print_detail(out, "placements count: ", buf_str(&placements));
}

/* True when every metric has a value of some node. */
static bool print_metrics(Buf *out, const View *view, const PollStatus *statuses) {
    const Program *program = view->program;
    bool is_fine = true;

    if (program->n_gauges == 0)
        buf_append(out, STR("no policy has metrics\n"));
    for (size_t i = 0; i < program->n_gauges; i++) {
        LoadsFigures figures;

        loads_figures(&view->loads, view->table, i, &figures);
        buf_append_char(out, '\n');
        print_metric(out, &program->gauges[i], &statuses[i], &figures);
        is_fine &= figures.n_present > 0;
    }
    return is_fine;
}

static int measure(const MetricsSource *metrics, const ClusterSource *cluster, Program *program,
    const Zones *zones, PollStatus *ret_statuses, View **ret) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    ViewParts parts = {.program = program, .zones = zones_finder(zones)};
    int r = cluster_source_load(cluster, WHO, program->related, &snapshot);

    if (r == 0)
        r = metrics_source_load(metrics, cluster, WHO, program, snapshot, clock_wall_nsec(),
            clock_monotonic_nsec(), &measurements, ret_statuses);
    if (r != 0)
        return r;
    parts.snapshot = snapshot;
    parts.measurements = measurements;
    parts.now_nsec = clock_wall_nsec();
    parts.uptime_nsec = clock_monotonic_nsec();
    r = view_new(&parts, /* before= */ NULL, ret);
    return r < 0 ? terminal_failed(WHO, "the facts about the nodes", r, NULL) : 0;
}

/* Queries every metric source once, and prints which nodes have a value, a paragraph a metric.
 * EXIT_FINE when every metric has a value of some node; EXIT_FAILED when not; or another exit code,
 * after complaining. */
static int check_metric_sources(
    const MetricsSource *metrics, const ClusterSource *cluster, Program *program) {
    _cleanup_(arena_freep) Arena *arena = arena_new(LIVE_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(LIVE_TEXT_MAX);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(view_unrefp) View *view = NULL;
    PollStatus *statuses = arena ? ARENA_ARRAY(arena, PollStatus, program->n_gauges + 1) : NULL;
    bool is_fine;
    int r;

    if (!statuses || !zones)
        return terminal_out_of_memory(WHO, "the states of the metrics", arena);
    r = measure(metrics, cluster, program, zones, statuses, &view);
    if (r != 0)
        return r;
    is_fine = print_metrics(&out, view, statuses);
    if (!terminal_print(stdout, buf_str(&out)))
        return EXIT_UNREACHABLE;
    return is_fine ? EXIT_FINE : EXIT_FAILED;
}

#define CHECK_BUDGET ((size_t)64 * 1024 * 1024)

/* The output for valid policies. */
typedef enum Show { SHOW_SUMMARY, SHOW_COSTS, SHOW_CEL, SHOW_JSON } Show;

/* The output without files. */
typedef enum Page { PAGE_NONE, PAGE_JSON_SCHEMA, PAGE_FORMAT, PAGE_FIELDS, PAGE_CODES } Page;

typedef struct Settings {
    Show show;
    OutputForm form; /* of SHOW_JSON */
    Page page;
    bool is_verbose;
    bool fails_on_warning;
    bool is_live;
    bool is_offline;
    ClusterSource cluster; /* a file; with --live any */
    MetricsSource metrics;
    InstallationCheck installation; /* with --live or --offline */
    LoadCheck load;
} Settings;

static void print_summary(const Program *program, Buf *out) {
    buf_printf(out, "ok: %zu polic%s, %zu filter%s, %zu score%s\n", program->n_policies,
        program->n_policies == 1 ? "y" : "ies", program->n_filters,
        program->n_filters == 1 ? "" : "s", program->n_scores, program->n_scores == 1 ? "" : "s");
    for (unsigned i = 0; i < _RELATED_KINDS; i++)
        if (program->related & RELATED_BIT(i))
            buf_printf(out, "needs get, list and watch on %s, which a policy reads\n",
                related_kind_name((RelatedKind)i));
}

/* Whether a check of the installation follows, which finds out who binds. */
static bool checks_installation(const Settings *settings) {
    return settings->is_live && installation_check_is_given(&settings->installation);
}

static void print_diags(const Settings *settings, const DiagList *diags, Buf *out) {
    if (settings->show == SHOW_CEL)
        terminal_print_diags(diags);
    else if (settings->show != SHOW_JSON)
        diag_list_print(diags, terminal_has_colour(stdout), out);
}

static void print_program(
    const Settings *settings, const DiagList *diags, const Program *program, Buf *out) {
    if (settings->show == SHOW_JSON) {
        check_print_json(diags, program, out);
        return;
    }
    if (!program)
        return;
    if (settings->show == SHOW_CEL) {
        check_print_cel(program, settings->is_verbose, out);
        return;
    }
    if (settings->show == SHOW_COSTS)
        check_print_costs(program, out);
    if (settings->fails_on_warning && diags->n_warnings > 0)
        return;
    print_summary(program, out);
    if (!checks_installation(settings))
        check_print_counts(program, BIND_UNKNOWN, out);
}

static bool has_cluster(const ClusterSource *cluster) {
    return cluster->file || cluster_source_is_live(cluster);
}

/* After policy files that are valid. */
static int check_live(Settings *settings, Program *program) {
    _cleanup_(buf_done) Buf counts = BUF_INIT(CHECK_BUDGET);
    int r = EXIT_FINE, r_installation = EXIT_FINE;

    if (has_cluster(&settings->cluster) || !checks_installation(settings))
        r = check_metric_sources(&settings->metrics, &settings->cluster, program);
    if (checks_installation(settings)) {
        (void)terminal_print(stdout, STR("\n"));
        r_installation = installation_check_run(&settings->installation, &settings->cluster);
        check_print_counts(program, settings->installation.bind, &counts);
        (void)terminal_print(stdout, buf_str(&counts));
    }
    return r != EXIT_FINE ? r : r_installation;
}

/* What goes beyond the policies themselves. */
static int check_further(Settings *settings, Program *program) {
    if (settings->load.n_nodes > 0)
        return load_check_run(&settings->load, &settings->cluster, program);
    return settings->is_live ? check_live(settings, program) : EXIT_FINE;
}

static int check(Settings *settings, const char *const *paths, size_t n_paths) {
    _cleanup_(arena_freep) Arena *arena = arena_new(CHECK_BUDGET);
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);
    DiagList diags = DIAG_LIST_IN(arena);
    int r = arena ? policies_load(paths, n_paths, &diags, &program) : -ENOMEM, r_cluster = 0;

    if (r < 0)
        return terminal_failed(WHO, "the policies", r, NULL);
    if (r == 0 && settings->cluster.file && !settings->is_live && settings->load.n_nodes == 0)
        r_cluster = cluster_check_run(&settings->cluster, program, &diags);
    print_diags(settings, &diags, &out);
    print_program(settings, &diags, program, &out);
    if (terminal_finish_as(&out, settings->form, WHO) != EXIT_FINE)
        return EXIT_UNREACHABLE;
    if (r != 0)
        return r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
    if (r_cluster != 0)
        return r_cluster;
    r = check_further(settings, program);
    return r == EXIT_FINE && settings->fails_on_warning && diags.n_warnings > 0 ? EXIT_FAILED : r;
}

static int run_check(Settings *settings, const char *const *paths, size_t n_paths) {
    if (settings->show != SHOW_JSON)
        settings->form = OUTPUT_TABLE;
    settings->installation.form = settings->form;
    if (settings->is_offline)
        return installation_check_run_offline(&settings->installation, paths, n_paths);
    if (n_paths == 0)
        return installation_check_run(&settings->installation, &settings->cluster);
    return check(settings, paths, n_paths);
}

/* --- options --------------------------------------------------------------------- */

static const char *show_cel(void *context, const char *value) {
    ((Settings *)context)->show = SHOW_CEL;
    return NULL;
}

static const char *show_costs(void *context, const char *value) {
    Settings *settings = context;

    if (settings->show == SHOW_SUMMARY)
        settings->show = SHOW_COSTS;
    return NULL;
}

static const char *be_verbose(void *context, const char *value) {
    ((Settings *)context)->is_verbose = true;
    return show_costs(context, value);
}

static const char *set_output(void *context, const char *value) {
    Settings *settings = context;

    settings->form = strcmp(value, "yaml") == 0 ? OUTPUT_YAML : OUTPUT_JSON;
    if (strcmp(value, "json") == 0 || settings->form == OUTPUT_YAML)
        settings->show = SHOW_JSON;
    else if (strcmp(value, "text") != 0)
        return "expected text, json or yaml";
    return NULL;
}

static const char *add_only(void *context, const char *value) {
    InstallationCheck *check = &((Settings *)context)->installation;

    return installation_check_only(check->only, &check->n_only, value);
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"cost", OPTION_FLAG, .set = show_costs,
        .help = "each rule: how often it is evaluated, and its maximum cost"},
    {"print-cel", OPTION_FLAG, .set = show_cel,
        .help = "each rule as CEL, built-in ones too; errors and warnings go to standard error"},
    {"verbose", OPTION_FLAG, 'v', .set = be_verbose,
        .help = "with --print-cel: the messages, too; otherwise the same as --cost"},
    {"output", OPTION_CUSTOM, 'o', .argument = "text|json|yaml", .set = set_output, .initial = "text",
        .help = "everything as JSON or YAML (docs/policy.md)"},

    {"fail-on", OPTION_CHOICE, .argument = "error|warning", AT(fails_on_warning), .initial = "error",
        .help = "warning: exit code 1 for warnings, too, as CI wants it"},

    OPTION_GROUP("Are the policies right for a cluster?",
        "With --cluster FILE and without --live: warnings about resources, labels, values and "
        "namespaces that nothing in it has, and about rules that reject all of its nodes."),
    {"cluster", OPTION_FILE, .argument = "FILE", AT(cluster.file),
        .help = "nodes and pods, from `kubectl get nodes,pods -A -o json`"},

    OPTION_GROUP("Can berth serve load the policies on a large cluster?",
        "The cost of evaluating them for all nodes is estimated from some made-up nodes, or from "
        "those of --cluster, --kubeconfig or --in-cluster. Exit code 1 when it exceeds the budget."),
    {"nodes", OPTION_NUMBER, .argument = "N", AT(load.n_nodes), .min = 1, .max = STORE_NODES_MAX,
        .help = "the size of the cluster"},
    {"load-time", OPTION_DURATION, .argument = "TIME", AT(load.cpu_nsec), .min = DAEMON_LOAD_TIME_MIN,
        .max = DAEMON_LOAD_TIME_MAX, .initial = "10s", .help = "as of berth serve"},
    {"load-memory", OPTION_SIZE, .argument = "SIZE", AT(load.bytes), .initial = "512Mi",
        .help = "as of berth serve"},

    OPTION_GROUP("Does the installation work?"),
    {"live", OPTION_FLAG, AT(is_live),
        .help = "check running berths, kube-scheduler's configuration, permissions and the cluster, as "
                "far as they are named; print what is wrong, and the command or line that fixes it. "
                "Exit code 1 when a check failed, 3 when nothing could be reached"},
    {"offline", OPTION_FLAG, AT(is_offline),
        .help = "check only configurations of kube-scheduler; nothing is contacted"},
    CHECK_INSTALLATION_OPTIONS(Settings, installation),

    OPTION_GROUP("Are the metrics of policies available?",
        "With --live and policy files every source is queried once: which nodes have a value, how "
        "series were joined to nodes, and which were not. Exit code 1 when a metric has none. The "
        "installation is checked, too, when one of its own options is given (--server, ...)."),
    CLUSTER_SOURCE_LIVE_OPTIONS(Settings, cluster),
    METRICS_SOURCE_LIVE_OPTIONS(Settings, metrics),

    OPTION_GROUP("Without files"),
    {"json-schema", OPTION_VALUE, AT(page), .min = PAGE_JSON_SCHEMA,
        .help = "the format of a policy as a JSON Schema, for editors"},
    {"format", OPTION_VALUE, AT(page), .min = PAGE_FORMAT,
        .help = "every field of a policy file, as Markdown"},
    {"fields", OPTION_VALUE, AT(page), .min = PAGE_FIELDS,
        .help = "every field that expressions can read, as Markdown"},
    {"codes", OPTION_VALUE, AT(page), .min = PAGE_CODES,
        .help = "every check of --live, with its code, as Markdown"},
    {0},
};
/* clang-format on */

static int print_page(Page page) {
    static void (*const print[])(Buf * out) = {
        [PAGE_JSON_SCHEMA] = policy_json_schema,
        [PAGE_FORMAT] = policy_describe,
        [PAGE_FIELDS] = schema_describe,
        [PAGE_CODES] = checkup_print_codes,
    };
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);

    print[page](&out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static bool has_metrics(const MetricsSource *metrics) {
    return metrics->prometheus || metrics->sources;
}

/* --live with policy files. NULL, or the error, as for all three. */
static const char *check_metrics(const Settings *settings) {
    const ClusterSource *cluster = &settings->cluster;
    bool is_checkup = installation_check_is_given(&settings->installation);
    const char *wrong = NULL;

    if (settings->show == SHOW_JSON)
        return "--live prints text when there are policy files; a running berth has its "
               "metrics as JSON at /api/v1/sources";
    if (is_checkup)
        wrong = installation_check_validate(&settings->installation, cluster);
    if (!wrong && (!is_checkup || has_cluster(cluster)))
        wrong = cluster_source_check(cluster);
    return wrong ? wrong : metrics_source_check(&settings->metrics, cluster);
}

static const char *check_installation(const Settings *settings) {
    if (settings->show != SHOW_SUMMARY && settings->show != SHOW_JSON)
        return "--cost, --print-cel and --verbose are about policy files";
    if (settings->is_live && (has_metrics(&settings->metrics) || settings->cluster.file))
        return "--cluster, --prometheus and --sources need a policy file";
    if (has_metrics(&settings->metrics) || settings->cluster.file)
        return "--cluster, --kubeconfig, --prometheus and the like need --live";
    return installation_check_validate(&settings->installation, &settings->cluster);
}

static const char *check_load(const Settings *settings, size_t n_files) {
    if (settings->is_live || settings->is_offline || settings->show == SHOW_JSON)
        return "--nodes goes with policy files and text output only, without --live and --offline";
    if (n_files == 0)
        return "a file is needed";
    if (has_metrics(&settings->metrics))
        return "--prometheus and --sources need --live";
    return has_cluster(&settings->cluster) ? cluster_source_check(&settings->cluster) : NULL;
}

static const char *check_settings(void *context, const Arguments *arguments) {
    Settings *settings = context;
    size_t n_files = arguments->n;

    settings->installation.collect.is_offline = settings->is_offline;
    if (settings->page != PAGE_NONE)
        return NULL;
    if (settings->is_live && settings->is_offline)
        return "--offline is instead of --live";
    if (settings->load.n_nodes > 0)
        return check_load(settings, n_files);
    if (n_files == 0 && !settings->is_live)
        return "a file is needed";
    if (settings->is_offline || (settings->is_live && n_files == 0))
        return check_installation(settings);
    if (settings->is_live)
        return check_metrics(settings);
    if (cluster_source_is_live(&settings->cluster) || has_metrics(&settings->metrics))
        return "--kubeconfig, --in-cluster, --prometheus and --sources need --live";
    if (installation_check_is_given(&settings->installation))
        return "--server, --only and the like need --live or --offline";
    return NULL;
}

static void init_settings(void *context) {
    *(Settings *)context = (Settings){
        .load = {.cpu_nsec = DAEMON_LOAD_TIME_DEFAULT, .bytes = DAEMON_LOAD_MEMORY_DEFAULT}};
}

static int run(void *context, const Arguments *arguments) {
    Settings *settings = context;

    if (settings->page != PAGE_NONE)
        return print_page(settings->page);
    return run_check(settings, (const char *const *)arguments->items, arguments->n);
}

const Command check_command = {
    .name = "check",
    .summary = "check policy files, or an installation",
    .usage = "[OPTIONS] FILE-OR-DIR...\n"
             "--live [--server URL]... [OPTIONS] [FILE-OR-DIR...]\n"
             "--offline [OPTIONS] SCHEDULER-CONFIG...",
    .about = "Reads placement policies and prints everything that is wrong with them: "
             "file:line:column, the line, and how to fix it. \"-\" is standard input. Exit code: 0 "
             "when they can be used (warnings are allowed without --fail-on warning), 1 when not, "
             "3 when "
             "one cannot be read.",
    .options = options,
    .complete = COMPLETE_FILES,
    .max_completed = SIZE_MAX,
    .settings_size = sizeof(Settings),
    .init = init_settings,
    .check = check_settings,
    .run = run,
};
