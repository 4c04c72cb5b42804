/*
 * berth check: reports everything that is wrong with policies, with an installation (--live), or
 * with kube-scheduler's configurations (--offline).
 *
 * All policy files are checked together, because names must be unique across them.
 */

#include "base/diag.h"
#include "cluster/store.h"
#include "commands/check-internal.h"
#include "commands/commands.h"
#include "commands/counting-rules.h"
#include "input/policies.h"
#include "policy/shape.h"
#include "schema/schema.h"
#include "serve/daemon.h"

#define CHECK_BUDGET ((size_t)64 * 1024 * 1024)

/* Reference texts, which need no policy file. */
typedef enum Page {
    PAGE_NONE,
    PAGE_JSON_SCHEMA,
    PAGE_CRD,
    PAGE_FORMAT,
    PAGE_FIELDS,
    PAGE_CODES
} Page;

typedef struct Settings {
    OutputForm form;
    bool shows_costs, shows_cel, is_verbose; /* in text */
    Page page;
    bool fails_on_warning;
    bool is_live;
    bool is_offline;
    bool is_managed;       /* are the rules right for a managed control plane? */
    bool works_managed;    /* the answer */
    ClusterSource cluster; /* a file; with --live any */
    MetricsSource metrics;
    InstallationCheck installation; /* with --live or --offline */
    LoadCheck load;
} Settings;

/* Whether check_live() will check the installation, and so find out who binds. */
static bool checks_installation(const Settings *settings) {
    return settings->is_live && installation_check_is_given(&settings->installation);
}

static void print_program(
    Settings *settings, const DiagList *diags, const Program *program, Buf *out) {
    if (settings->form != OUTPUT_TABLE) {
        check_print_json(
            diags, program, settings->is_managed ? &settings->works_managed : NULL, out);
        return;
    }
    if (!program)
        return;
    if (settings->shows_cel) {
        check_print_cel(program, settings->is_verbose, diags->arena, out);
        return;
    }
    if (settings->shows_costs || settings->is_verbose)
        check_print_costs(program, diags->arena, out);
    if (settings->fails_on_warning && diags->n_warnings > 0)
        return;
    buf_printf(out, "ok: %zu polic%s, %zu filter%s, %zu score%s\n", program->n_policies,
        program->n_policies == 1 ? "y" : "ies", program->n_filters, PLURAL(program->n_filters),
        program->n_scores, PLURAL(program->n_scores));
    for (unsigned i = 0; i < _RELATED_KINDS; i++)
        if (program->related & RELATED_BIT(i))
            buf_printf(out, "needs get, list and watch on %s, which a policy reads\n",
                related_kind_name((RelatedKind)i));
    if (settings->is_managed)
        settings->works_managed = check_print_managed(program, diags->arena, out);
    else if (!checks_installation(settings))
        counting_rules_print_all(program, NULL, BIND_UNKNOWN, out);
}

/* Checks the metrics of valid policies, and the installation if its options are given. */
static int check_live(Settings *settings, Program *program) {
    _cleanup_(buf_done) Buf counts = BUF_INIT(CHECK_BUDGET);
    int r = EXIT_FINE, r_installation = EXIT_FINE;

    if (cluster_source_is_given(&settings->cluster) || !checks_installation(settings))
        r = metrics_check_run(&settings->metrics, &settings->cluster, program);
    if (checks_installation(settings)) {
        (void)terminal_print(stdout, STR("\n"));
        r_installation = installation_check_run(&settings->installation, &settings->cluster);
        counting_rules_print_all(program, NULL, settings->installation.bind, &counts);
        (void)terminal_print(stdout, buf_str(&counts));
    }
    return r != EXIT_FINE ? r : r_installation;
}

static int check(Settings *settings, const Arguments *arguments) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);
    DiagList diags = DIAG_LIST_IN(arguments->arena);
    int r = policies_load(arguments->items, arguments->n, &diags, &program);

    (void)terminal_check(r, "the policies", NULL);
    if (r == 0 && settings->cluster.file && !settings->is_live && settings->load.n_nodes == 0)
        cluster_check_run(&settings->cluster, program, &diags);
    if (settings->form == OUTPUT_TABLE && settings->shows_cel)
        terminal_print_diags(&diags);
    else if (settings->form == OUTPUT_TABLE)
        diag_list_print(&diags, terminal_has_colour(stdout), &out);
    print_program(settings, &diags, program, &out);
    terminal_finish_as(&out, settings->form);
    if (r != 0)
        return r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
    if (settings->is_managed)
        r = settings->works_managed ? EXIT_FINE : EXIT_FAILED;
    else if (settings->load.n_nodes > 0)
        r = load_check_run(&settings->load, &settings->cluster, program);
    else
        r = settings->is_live ? check_live(settings, program) : EXIT_FINE;
    return r == EXIT_FINE && settings->fails_on_warning && diags.n_warnings > 0 ? EXIT_FAILED : r;
}

static int run(void *context, const Arguments *arguments) {
    static void (*const print_page[])(Buf * out) = {
        [PAGE_JSON_SCHEMA] = policy_json_schema,
        [PAGE_CRD] = policy_crd,
        [PAGE_FORMAT] = policy_describe,
        [PAGE_FIELDS] = schema_describe,
        [PAGE_CODES] = checkup_print_codes,
    };
    _cleanup_(buf_done) Buf out = BUF_INIT(CHECK_BUDGET);
    Settings *settings = context;

    if (settings->page != PAGE_NONE) {
        print_page[settings->page](&out);
        terminal_finish(&out);
        return EXIT_FINE;
    }
    settings->installation.form = settings->form;
    if (settings->is_offline && arguments->n > FACTS_CONFIGS_MAX)
        terminal_exit(EXIT_USAGE, "more than %u files", FACTS_CONFIGS_MAX);
    for (size_t i = 0; settings->is_offline && i < arguments->n; i++)
        settings->installation.configs[i] = arguments->items[i];
    if (settings->is_offline)
        settings->installation.n_configs = arguments->n;
    settings->installation.prints_counts = arguments->n == 0 && !settings->is_offline;
    if (arguments->n == 0 || settings->is_offline)
        return installation_check_run(&settings->installation, &settings->cluster);
    return check(settings, arguments);
}

static const char *check_name(const char *value) {
    Str rest = str_from_c(value), namespace;

    return str_split(&rest, '/', &namespace) && !str_is_empty(namespace) && !str_is_empty(rest) &&
                   str_find(rest, '/') == SIZE_MAX
               ? NULL
               : "expected NAMESPACE/NAME";
}

static const char *check_url(const char *value) {
    Str url = str_from_c(value);

    return str_has_prefix(url, STR("http://")) || str_has_prefix(url, STR("https://"))
               ? NULL
               : "expected http://HOST:PORT or https://HOST:PORT";
}

/* Adds the names of "rights,B201". */
static const char *add_only(void *context, const char *value) {
    InstallationCheck *check = &((Settings *)context)->installation;
    Str rest = str_from_c(value), name;

    while (str_split(&rest, ',', &name)) {
        if (str_is_empty(str_trim(name)))
            continue;
        if (check->n_only == CHECKUP_ONLY_MAX)
            return "expected fewer names";
        check->only[check->n_only++] = str_trim(name);
    }
    return NULL;
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    {"cost", OPTION_FLAG, AT(shows_costs),
        .help = "each rule: how often it is evaluated, and its maximum cost"},
    {"print-cel", OPTION_FLAG, AT(shows_cel),
        .help = "each rule as CEL, built-in ones too; errors and warnings go to standard error"},
    {"verbose", OPTION_FLAG, 'v', AT(is_verbose),
        .help = "with --print-cel: the messages, too; otherwise the same as --cost"},
    {"output", OPTION_CHOICE, 'o', .argument = "text|json|yaml", AT(form), .initial = "text",
        .help = "everything as JSON or YAML (docs/policy.md)"},

    {"fail-on", OPTION_CHOICE, .argument = "error|warning", AT(fails_on_warning), .initial = "error",
        .help = "warning: exit code 1 for warnings, too, as CI wants it"},

    {"managed", OPTION_FLAG, AT(is_managed),
        .help = "for each rule, whether it works with the default scheduler of a managed control plane "
                "(EKS, GKE, AKS), and what to write instead; exit code 1 when one does not (docs/managed.md)"},

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
    {"server", OPTION_LIST, .argument = "URL", .check = check_url,
        OPTION_LIST_AT(Settings, installation.collect.servers, installation.collect.n_servers),
        .initial = SERVER_SOURCE_DEFAULT, .help = "a running berth; may be repeated"},
    SERVER_SOURCE_ACCESS_OPTIONS(Settings, installation.source),
    {"scheduler-config", OPTION_LIST, .argument = "FILE", .complete = COMPLETE_FILES,
        OPTION_LIST_AT(Settings, installation.configs, installation.n_configs),
        .help = "a configuration of kube-scheduler; may be repeated. With --kubeconfig or "
                "--in-cluster it is found in the cluster, and permissions, clocks and berth's "
                "pods are checked, too"},
    {"scheduler-pod", OPTION_LIST, .argument = "NAMESPACE/NAME", .complete = COMPLETE_PODS,
        .check = check_name,
        OPTION_LIST_AT(Settings, installation.collect.scheduler_pods, installation.collect.n_scheduler_pods),
        .help = "a kube-scheduler that is not found automatically"},
    {"url", OPTION_TEXT, .argument = "URL", AT(installation.collect.url),
        .check = check_url,
        .help = "berth's URL in configurations, if it is not that of --server"},
    {"service-account", OPTION_TEXT, .argument = "NAMESPACE/NAME",
        AT(installation.collect.service_account), .check = check_name,
        .initial = "that of berth's pods", .help = "whose permissions to check"},
    {"user", OPTION_TEXT, .argument = "NAME", AT(installation.collect.user),
        .help = "or a user's"},
    {"only", OPTION_CUSTOM, .argument = "NAME,...", .complete = COMPLETE_CHECKS, .set = add_only,
        .help = "these groups (scheduler, berth, rights, cluster, policies, installation) or "
                "codes (B201)"},
    {"wait", OPTION_DURATION, .argument = "TIME", AT(installation.wait_nsec),
        .min = NSEC_PER_SEC, .max = INT64_C(3600) * NSEC_PER_SEC,
        .help = "repeat every second until nothing fails, for up to TIME (60s)"},

    OPTION_GROUP("Are the metrics of policies available?",
        "With --live and policy files every source is queried once: which nodes have a value, how "
        "series were joined to nodes, and which were not. Exit code 1 when a metric has none. The "
        "installation is checked, too, when one of its own options is given (--server, ...)."),
    CLUSTER_SOURCE_LIVE_OPTIONS(Settings, cluster),
    METRICS_SOURCE_LIVE_OPTIONS(Settings, metrics),

    OPTION_GROUP("Without files"),
    {"json-schema", OPTION_VALUE, AT(page), .min = PAGE_JSON_SCHEMA,
        .help = "the format of a policy as a JSON Schema, for editors"},
    {"crd", OPTION_VALUE, AT(page), .min = PAGE_CRD,
        .help = "the same as a CustomResourceDefinition, for policies in the cluster (berth serve "
                "--policies-from-cluster)"},
    {"format", OPTION_VALUE, AT(page), .min = PAGE_FORMAT,
        .help = "every field of a policy file, as Markdown"},
    {"fields", OPTION_VALUE, AT(page), .min = PAGE_FIELDS,
        .help = "every field that expressions can read, as Markdown"},
    {"codes", OPTION_VALUE, AT(page), .min = PAGE_CODES,
        .help = "every check of --live, with its code, as Markdown"},
    {0},
};
/* clang-format on */

static bool has_metrics(const MetricsSource *metrics) {
    return metrics->prometheus || metrics->sources;
}

/* Checks the options of --live with policy files. Returns NULL or the error. */
static const char *check_metrics(const Settings *settings) {
    const ClusterSource *cluster = &settings->cluster;
    bool is_checkup = installation_check_is_given(&settings->installation);
    const char *wrong = NULL;

    if (settings->form != OUTPUT_TABLE)
        return "--live prints text when there are policy files; a running berth has its "
               "metrics as JSON at /api/v1/sources";
    if (is_checkup)
        wrong = installation_check_validate(&settings->installation, cluster);
    if (!wrong && (!is_checkup || cluster_source_is_given(cluster)))
        wrong = cluster_source_check(cluster);
    return wrong ? wrong : metrics_source_check(&settings->metrics, cluster);
}

static bool is_about_rules(const Settings *settings) {
    return settings->form == OUTPUT_TABLE &&
           (settings->shows_costs || settings->shows_cel || settings->is_verbose);
}

static const char *check_installation(const Settings *settings) {
    if (is_about_rules(settings))
        return "--cost, --print-cel and --verbose are about policy files";
    if (settings->is_live && (has_metrics(&settings->metrics) || settings->cluster.file))
        return "--cluster, --prometheus and --sources need a policy file";
    if (has_metrics(&settings->metrics) || settings->cluster.file)
        return "--cluster, --kubeconfig, --prometheus and the like need --live";
    return installation_check_validate(&settings->installation, &settings->cluster);
}

static const char *check_load(const Settings *settings, size_t n_files) {
    if (settings->is_live || settings->is_offline || settings->form != OUTPUT_TABLE)
        return "--nodes goes with policy files and text output only, without --live and --offline";
    if (n_files == 0)
        return "a file is needed";
    if (has_metrics(&settings->metrics))
        return "--prometheus and --sources need --live";
    return cluster_source_check(&settings->cluster);
}

static const char *check_settings(void *context, const Arguments *arguments) {
    Settings *settings = context;
    size_t n_files = arguments->n;

    settings->installation.collect.is_offline = settings->is_offline;
    if (settings->page != PAGE_NONE)
        return NULL;
    if (settings->is_live && settings->is_offline)
        return "--offline is instead of --live";
    if (settings->is_managed && (settings->is_live || settings->is_offline ||
                                    settings->load.n_nodes > 0 || is_about_rules(settings)))
        return "--managed goes with policy files and -o json only";
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

const Command check_command = {
    .name = "check",
    .summary = "check policy files, or an installation",
    .usage = "[OPTIONS] FILE-OR-DIR...\n"
             "--live [--server URL]... [OPTIONS] [FILE-OR-DIR...]\n"
             "--offline [OPTIONS] SCHEDULER-CONFIG...",
    .about = "Reads placement policies and prints everything that is wrong with them: "
             "file:line:column, the line, and how to fix it. \"-\" is standard input. Exit code: 0 "
             "when they can be used (warnings are allowed without --fail-on warning), 1 when not, "
             "3 when one cannot be read.",
    .options = options,
    .complete = COMPLETE_FILES,
    .max_completed = SIZE_MAX,
    .budget = CHECK_BUDGET,
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.load = {.cpu_nsec = DAEMON_LOAD_TIME_DEFAULT,
                                      .bytes = DAEMON_LOAD_MEMORY_DEFAULT}},
    .check = check_settings,
    .run = run,
};
