/*
 * berth explain: a pod, a policy and a cluster in; which node and why out.
 *
 * Here the options and the sources; explain-print.h prints.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/visible.h"
#include "cli/cluster-source.h"
#include "cli/command.h"
#include "cli/metrics-source.h"
#include "cli/policy-files.h"
#include "cli/terminal.h"
#include "cli/usage.h"
#include "cli/values.h"
#include "commands/explain-bundle.h"
#include "commands/explain-last.h"
#include "commands/explain-print.h"
#include "extender/explain.h"
#include "input/objects.h"
#include "input/zones.h"
#include "model/time.h"

#define WHO "berth explain"
#define EXPLAIN_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define EXPLAIN_TEXT_MAX ((size_t)512 * 1024 * 1024)
#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)
#define WEIGHT_MAX 1000000000

typedef struct Settings {
    ClusterSource source;
    MetricsSource metrics;
    const char *pod;  /* a file */
    const char *name; /* NAMESPACE/NAME, instead */
    PolicyPaths policies;
    const char *node; /* only this one; NULL: all */
    int64_t now_nsec; /* of expressions; 0: the clock's */
    bool all;
    bool json;
    int64_t weight;
    LastQuestion last;  /* with a pod: none of the sources above */
    const char *bundle; /* a file: none of them either */
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s explain --cluster FILE --pod FILE [--policy FILE-OR-DIR]... [OPTIONS]\n"
        "       %s explain --kubeconfig FILE NAMESPACE/NAME [OPTIONS]\n"
        "       %s explain --last NAMESPACE/NAME [--server URL] [OPTIONS]\n"
        "       %s explain --bundle FILE NAMESPACE/NAME [--policy FILE-OR-DIR]... [OPTIONS]\n"
        "\n"
        "Shows how many nodes the pod may go to and the best of them with the parts of their\n"
        "score; and which rules say no to how many, from which values, and what it would take.\n"
        "\n"
        "%s" METRICS_SOURCE_HELP
        "  --pod FILE            the pod, JSON or YAML; \"-\" is standard input\n"
        "  --policy FILE-OR-DIR  placement policies; may be repeated\n"
        "  --node NAME           this node only, with every rule and all values (why not NAME?)\n"
        "  --all                 every node, not only the best and examples\n"
        "  --now TIME            as if it were 2026-01-31T20:00:00Z                 [now]\n"
        "  --weight N            the extender's in kube-scheduler's configuration     [1]\n"
        "  -o, --output table|json  how to print it                               [table]\n"
        "\n"
        "What was decided lately\n" EXPLAIN_LAST_HELP
        "  --bundle FILE         or, in full, the newest filter about the pod in such a file\n"
        "                        (berth bundle), with its policies or those of --policy\n",
        program_name,
        program_name,
        program_name,
        program_name,
        CLUSTER_SOURCE_HELP);
}

/* --- the command -------------------------------------------------------------------------- */

/* What is no mistake of the person's. */
static int internal_error(int r) {
    if (r == -ENOMEM)
        return terminal_out_of_memory(WHO);
    (void)fprintf(stderr, WHO ": internal error (code %d); please report it\n", -r);
    return EXIT_UNREACHABLE;
}

static int load_view(
    const Settings *settings, const Zones *zones, int64_t now_nsec, Arena *arena, View **ret) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    ViewParts parts = {.zones = zones_finder(zones), .now_nsec = now_nsec};
    int r = policy_files_load(&settings->policies, WHO, arena, &program);

    if (r == 0)
        r = cluster_source_load(&settings->source, WHO, &snapshot);
    parts.uptime_nsec = clock_monotonic_nsec();
    if (r == 0)
        r = metrics_source_load(&settings->metrics,
            &settings->source,
            WHO,
            program,
            snapshot,
            now_nsec,
            parts.uptime_nsec,
            &measurements,
            /* ret_statuses= */ NULL);
    if (r != 0)
        return r;
    parts.snapshot = snapshot;
    parts.program = program;
    parts.measurements = measurements;
    r = view_new(&parts, /* before= */ NULL, ret);
    return r < 0 ? internal_error(r) : 0;
}

static int load_pod(const Settings *settings, Arena *arena, Pod *ret) {
    char error[OBJECTS_ERROR_MAX];
    int r;

    if (settings->name)
        return cluster_source_pod(&settings->source, WHO, settings->name, arena, ret);
    r = pod_load(settings->pod, arena, ret, error);
    if (r == 0)
        return 0;
    terminal_complain(WHO, error);
    return r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static int print(
    const Settings *settings, const Explanation *explanation, const Pod *pod, int64_t now) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(SCRATCH_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(EXPLAIN_TEXT_MAX);
    bool colour = terminal_has_colour(stdout);
    const NodeExplanation *only = NULL;
    Telling telling = {
        .explanation = explanation,
        .pod = pod,
        .now_nsec = now,
        .weight = settings->weight,
        .all = settings->all,
        .colour = colour,
        .paint = paint_for(colour),
        .scratch = scratch,
        .out = &out,
    };

    if (!scratch)
        return terminal_out_of_memory(WHO);
    if (settings->node && !(only = telling_find(&telling, str_from_c(settings->node)))) {
        (void)fprintf(stderr, WHO ": the cluster has no node \"%s\"\n", settings->node);
        return EXIT_UNREACHABLE;
    }
    if (settings->json)
        telling_json(&telling, only);
    else if (only)
        telling_node(&telling, only);
    else
        telling_table(&telling);
    if (telling.error < 0)
        return internal_error(telling.error);
    if (buf_error(&out) < 0)
        return internal_error(buf_error(&out));
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int explain(const Settings *settings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(EXPLAIN_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(view_unrefp) View *view = NULL;
    int64_t now_nsec = settings->now_nsec ? settings->now_nsec : clock_wall_nsec();
    Explanation explanation;
    Pod pod;
    int r;

    if (!arena || !zones)
        return terminal_out_of_memory(WHO);
    r = load_view(settings, zones, now_nsec, arena, &view);
    if (r == 0)
        r = load_pod(settings, arena, &pod);
    if (r != 0)
        return r;
    r = extender_explain(view, now_nsec, &pod, arena, &explanation);
    if (r < 0)
        return internal_error(r);
    return print(settings, &explanation, &pod, now_nsec);
}

static void print_when(const Settings *settings, const BundleCase *found) {
    _cleanup_(buf_done) Buf out = BUF_INIT(EXPLAIN_TEXT_MAX);

    buf_append(&out, STR("as of "));
    time_print(found->now_nsec / NSEC_PER_SEC, &out);
    buf_printf(&out, ", decision %llu of ", (unsigned long long)found->id);
    (void)visible_append(&out, str_from_c(settings->bundle));
    buf_append(&out, STR("\n\n"));
    (void)terminal_print(stdout, buf_str(&out));
}

/* The cluster, the policies, the pod and the time are of then. */
static int explain_of_bundle(const Settings *settings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(EXPLAIN_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(bundle_case_done) BundleCase found = {0};
    int r;

    if (!arena || !zones)
        return terminal_out_of_memory(WHO);
    r = explain_bundle(settings->bundle, settings->name, &settings->policies, zones, arena, &found);
    if (r != 0)
        return r;
    if (!settings->json)
        print_when(settings, &found);
    return print(settings, &found.explanation, &found.pod, found.now_nsec);
}

static int misused(const char *what) {
    return usage_error("explain", what, print_help);
}

static int set_output(Settings *settings, const char *value) {
    unsigned choice = 0;
    int r = value_choice("explain", "output", value, "table|json", &choice);

    settings->json = choice == 1;
    return r;
}

static int set_option(Settings *settings, int option) {
    switch (option) {
    case 't':
        return value_time("explain", "now", optarg, &settings->now_nsec);
    case 'p':
        settings->pod = optarg;
        return 0;
    case 'P':
        return policy_paths_add(&settings->policies, "explain", optarg);
    case 'B':
        settings->bundle = optarg;
        return 0;
    case 'n':
        settings->node = optarg;
        return 0;
    case 'a':
        settings->all = true;
        return 0;
    case 'w':
        return value_number("explain", "weight", optarg, 1, WEIGHT_MAX, &settings->weight);
    case 'o':
        return set_output(settings, optarg);
    default:
        if (cluster_source_set(&settings->source, option, optarg) ||
            metrics_source_set(&settings->metrics, option, optarg) ||
            explain_last_set(&settings->last, option, optarg))
            return 0;
        return misused(NULL);
    }
}

/* The same for --last. */
static const char *check_last(const Settings *settings) {
    const ClusterSource *source = &settings->source;

    if (settings->name || settings->pod || settings->policies.n > 0 || source->file ||
        cluster_source_is_live(source))
        return "--last asks a running berth: it takes no cluster, policy or other pod";
    if (!strchr(settings->last.pod, '/'))
        return "a pod is named NAMESPACE/NAME";
    return server_source_check(&settings->last.source);
}

/* The same for --bundle. */
static const char *check_bundle(const Settings *settings) {
    const ClusterSource *source = &settings->source;

    if (settings->pod || source->file || cluster_source_is_live(source) || settings->last.pod ||
        server_source_is_given(&settings->last.source) || settings->now_nsec != 0)
        return "--bundle has the cluster, the pod and the time in it";
    if (!settings->name || !strchr(settings->name, '/'))
        return "--bundle FILE and a pod are needed: NAMESPACE/NAME";
    return NULL;
}

static int explain_past(Settings *settings) {
    settings->last.node = settings->node;
    settings->last.all = settings->all;
    settings->last.json = settings->json;
    settings->last.weight = settings->weight;
    return explain_last(&settings->last);
}

/* Whether what was given as a pod's name is rather a file. */
static bool looks_like_file(const char *name) {
    Str text = str_from_c(name);

    return str_has_suffix(text, STR(".yaml")) || str_has_suffix(text, STR(".yml")) ||
           str_has_suffix(text, STR(".json")) || access(name, F_OK) == 0;
}

/* NULL when all that is needed was given, once; else what is wrong. */
static const char *check_settings(const Settings *settings) {
    const char *wrong;

    if (settings->bundle)
        return check_bundle(settings);
    if (settings->last.pod)
        return check_last(settings);
    if (server_source_is_given(&settings->last.source))
        return "--server, --ca, --cert, --key and --token-file go with --last";
    if (settings->name && !cluster_source_is_live(&settings->source))
        return looks_like_file(settings->name) ? "a pod in a file is given with --pod FILE"
                                               : "a pod by name needs --kubeconfig or --in-cluster";
    if (settings->name && !strchr(settings->name, '/'))
        return "a pod is named NAMESPACE/NAME";
    if (!settings->name == !settings->pod)
        return "--cluster and --pod are needed, or --kubeconfig and NAMESPACE/NAME";
    wrong = cluster_source_check(&settings->source);
    return wrong ? wrong : metrics_source_check(&settings->metrics, &settings->source);
}

int cmd_explain(int argc, char *argv[]) {
    static const struct option options[] = {
        CLUSTER_SOURCE_OPTIONS,
        METRICS_SOURCE_OPTIONS,
        EXPLAIN_LAST_OPTIONS,
        {"bundle", required_argument, NULL, 'B'},
        {"pod", required_argument, NULL, 'p'},
        {"policy", required_argument, NULL, 'P'},
        {"node", required_argument, NULL, 'n'},
        {"all", no_argument, NULL, 'a'},
        {"weight", required_argument, NULL, 'w'},
        {"now", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    Settings settings = {.weight = 1};
    const char *wrong;
    int option;

    while ((option = getopt_long(argc, argv, "ho:", options, NULL)) != -1) {
        int r;

        if (option == 'h') {
            print_help(stdout);
            return EXIT_FINE;
        }
        r = set_option(&settings, option);
        if (r != 0)
            return r;
    }
    if (optind < argc)
        settings.name = argv[optind++];
    if (optind < argc)
        return misused("it takes one pod");
    wrong = check_settings(&settings);
    if (wrong)
        return misused(wrong);
    if (settings.bundle)
        return explain_of_bundle(&settings);
    return settings.last.pod ? explain_past(&settings) : explain(&settings);
}
