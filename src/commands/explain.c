/*
 * berth explain: which nodes are eligible for a pod, and why.
 *
 * Options and sources are here; explain-internal.h has the rest.
 */

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/visible.h"
#include "cli/bundle-source.h"
#include "cli/cluster-source.h"
#include "cli/policy-files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/explain-internal.h"
#include "extender/explain.h"
#include "input/zones.h"
#include "model/time.h"
#include "replay/replayed-decision.h"

#define SCRATCH_BUDGET ((size_t)256 * 1024 * 1024)
#define WEIGHT_MAX 1000000000

typedef struct Settings {
    ClusterSource source;
    MetricsSource metrics;
    const char *file; /* pods and workloads */
    const char *name; /* NAMESPACE/NAME of a live cluster; with a file, one of its objects */
    PolicyPaths policies;
    int64_t now_nsec;        /* when it is evaluated; 0: now */
    ExplainLastOptions last; /* how to print; with a pod, the sources above are not used */
    const char *bundle;      /* a file; the sources above are not used */
} Settings;

static View *load_view(
    const Settings *settings, const Zones *zones, int64_t now_nsec, Arena *arena) {
    _cleanup_(program_unrefp) Program *program = policy_files_load(&settings->policies, arena);
    _cleanup_(snapshot_unrefp) Snapshot *snapshot =
        cluster_source_load(&settings->source, program->related);
    int64_t uptime_nsec = clock_monotonic_nsec();
    _cleanup_(measurements_unrefp) Measurements *measurements = metrics_source_load(
        &settings->metrics, &settings->source, program, snapshot, now_nsec, uptime_nsec,
        /* ret_statuses= */ NULL);
    const ViewParts parts = {
        .snapshot = snapshot,
        .program = program,
        .measurements = measurements,
        .zones = zones_finder(zones),
        .now_nsec = now_nsec,
        .uptime_nsec = uptime_nsec,
    };
    View *view = NULL;

    progress_begin("evaluating the policies");
    (void)terminal_check(
        view_new(&parts, /* before= */ NULL, &view), "the facts about the nodes", NULL);
    return view;
}

static void print(
    const Settings *settings, const Explanation *explanation, const Pod *pod, int64_t now) {
    _cleanup_(arena_freep) Arena *scratch = terminal_arena(EXPLAIN_MEMORY_FOR, SCRATCH_BUDGET);
    _cleanup_(buf_done) Buf out = BUF_INIT(EXPLAIN_TEXT_MAX);
    JsonWriter writer = {.out = &out, .indent = 2};
    bool colour = terminal_has_colour(stdout);
    const NodeExplanation *only = NULL;
    ExplainPrinter printer = {
        .explanation = explanation,
        .pod = pod,
        .now_nsec = now,
        .weight = settings->last.weight,
        .all = settings->last.all,
        .colour = colour,
        .paint = paint_for(colour),
        .scratch = scratch,
        .out = &out,
    };

    if (settings->last.node &&
        !(only = explain_print_find(&printer, str_from_c(settings->last.node))))
        terminal_fail("the cluster has no node \"%s\"", settings->last.node);
    if (settings->last.form != OUTPUT_TABLE) {
        explain_print_json(&printer, only, &writer);
        buf_append_char(&out, '\n');
    } else {
        visible_print(&out, "pod       {}/{}", pod->namespace, pod->name);
        explain_print_requests(&printer);
        buf_append_char(&out, '\n');
        explain_print_policies(&printer);
        buf_append_char(&out, '\n');
        if (only)
            explain_print_one(&printer, only);
        else {
            explain_print_summary(&printer);
            explain_print_nodes(&printer);
        }
    }
    terminal_finish_as(&out, settings->last.form);
}

static void explain_pod(
    const Settings *settings, const View *view, const Pod *pod, int64_t now_nsec, Arena *arena) {
    Explanation explanation;
    int r = extender_explain(view, now_nsec, pod, arena, &explanation);

    progress_end();
    (void)terminal_check(r, "the explanation", arena);
    print(settings, &explanation, pod, now_nsec);
}

/* Explains the named pod or template of the file, or the only one; else prints a row for each. */
static void explain_file(
    const Settings *settings, const View *view, int64_t now_nsec, Arena *arena) {
    char error[OBJECTS_ERROR_MAX + WORKLOAD_NAME_ERROR_MAX];
    const WorkloadPod *one;
    WorkloadList list;
    int r;

    progress_begin("reading the pods");
    r = workloads_load(settings->file, NULL, arena, &list, error);
    if (r < 0)
        terminal_fail_with(r, error);
    one = settings->name ? workloads_find(&list, settings->name, error) : list.items;
    if (!one)
        terminal_exit(EXIT_USAGE, "%s", error);
    if (settings->name || list.n == 1) {
        explain_pod(settings, view, &one->pod, now_nsec, arena);
        return;
    }
    if (settings->last.node)
        terminal_exit(EXIT_USAGE, "--node needs one pod: name one of those in the file");
    explain_workloads(view, &list, now_nsec, settings->last.form);
}

static void explain(const Settings *settings, const Zones *zones, Arena *arena) {
    int64_t now_nsec = settings->now_nsec ? settings->now_nsec : clock_wall_nsec();
    _cleanup_(view_unrefp) View *view = load_view(settings, zones, now_nsec, arena);
    Pod pod;

    if (settings->file) {
        explain_file(settings, view, now_nsec, arena);
        return;
    }
    cluster_source_pod(&settings->source, settings->name, arena, &pod);
    explain_pod(settings, view, &pod, now_nsec, arena);
}

/* The newest filter for @name, NAMESPACE/NAME; NULL: none. */
static const RecordedDecision *find_decision(const Recording *recording, const char *name) {
    Str rest = str_from_c(name), namespace;

    if (!str_split(&rest, '/', &namespace))
        return NULL;
    for (size_t i = recording->n; i-- > 0;) {
        const RecordedDecision *decision = &recording->decisions[i];

        if (decision->verb == VERB_FILTER && str_eq(decision->pod_namespace, namespace) &&
            str_eq(decision->pod_name, rest))
            return decision;
    }
    return NULL;
}

static const RecordedDecision *choose_decision(
    const Settings *settings, const Recording *recording) {
    const RecordedDecision *decision = find_decision(recording, settings->name), *newest;

    if (!decision && recording->n == 0)
        terminal_fail("%s: it has no decisions", settings->bundle);
    if (decision)
        return decision;
    newest = &recording->decisions[recording->n - 1];
    /* names may be hashed, so the message names a pod that exists */
    terminal_fail("%s: it has no filter for %s; the newest decision is about %.*s/%.*s",
        settings->bundle, settings->name, STR_FMT(str_take(newest->pod_namespace, 64)),
        STR_FMT(str_take(newest->pod_name, 64)));
}

/* Takes the cluster, pod and time of the recorded decision, and the policies of the bundle unless
 * others were given. */
static void explain_of_bundle(const Settings *settings, const Zones *zones, Arena *arena) {
    _cleanup_(bundle_case_done) BundleCase found = {0};
    _cleanup_(buf_done) Buf out = BUF_INIT(EXPLAIN_TEXT_MAX);
    _cleanup_(program_unrefp) Program *program = NULL;
    const RecordedDecision *decision;
    int r;

    bundle_source_load(settings->bundle, &found.bundle);
    program = settings->policies.n > 0 ? policy_files_load(&settings->policies, arena)
                                       : policy_texts_compile(found.bundle.policies,
                                             found.bundle.n_policies, NULL, 0, EXIT_FAILED, arena);
    decision = choose_decision(settings, &found.bundle.recording);
    r = bundle_case_explain(&found, decision, program, /* nodes= */ NULL, 0, zones, arena);
    if (terminal_check(r, "the explanation", arena) > 0)
        terminal_fail("%s: %s", settings->bundle, replayed_decision_error(r));
    if (settings->last.form == OUTPUT_TABLE) {
        buf_append(&out, STR("as of "));
        time_print(decision->now_nsec / NSEC_PER_SEC, &out);
        buf_printf(&out, ", decision %llu of ", (unsigned long long)decision->id);
        visible_print(&out, "{}\n\n", str_from_c(settings->bundle));
        (void)terminal_print(stdout, buf_str(&out));
    }
    print(settings, &found.explanation, &found.pod, decision->now_nsec);
}

#define AT(member) OPTION_AT(Settings, member)

/* clang-format off */
static const Option options[] = {
    CLUSTER_SOURCE_OPTIONS(Settings, source),
    METRICS_SOURCE_OPTIONS(Settings, metrics),
    {"pod", OPTION_FILE, 'f', .argument = "FILE", AT(file),
        .help = "pods, Deployments, Jobs and other objects with pods, JSON or YAML, as from kustomize "
                "or helm template; \"-\" is standard input"},
    POLICY_PATHS_OPTION(Settings, policies, .help = "placement policies; may be repeated"),
    {"node", OPTION_TEXT, .argument = "NAME", AT(last.node), .complete = COMPLETE_NODES,
        .help = "only this node, with every rule and all values (why not NAME?)"},
    {"all", OPTION_FLAG, AT(last.all), .help = "every node, not only the best and examples"},
    {"now", OPTION_TIME, .argument = "TIME", AT(now_nsec), .initial = "now",
        .help = "as if it were 2026-01-31T20:00:00Z"},
    {"weight", OPTION_NUMBER, .argument = "N", AT(last.weight), .min = 1, .max = WEIGHT_MAX, .initial = "1",
        .help = "the extender's weight in kube-scheduler's configuration"},
    {"output", OPTION_CHOICE, 'o', .argument = "table|json|yaml", AT(last.form), .initial = "table",
        .help = "output format"},

    OPTION_GROUP("Past decisions", "Without --policy the last decision of the running berth is "
                                   "shown. All replicas in a cluster are found and asked through "
                                   "its API server; or one, by --server."),
    {"last", OPTION_TEXT, .argument = "NAMESPACE/NAME", AT(last.pod), .complete = COMPLETE_PODS,
        .help = "the last decision of a running berth about this pod, and why"},
    SERVER_SOURCE_OPTIONS(Settings, last.source),
    SERVER_SOURCE_NAMESPACE_OPTION(Settings, last.source),
    {"bundle", OPTION_FILE, .argument = "FILE", AT(bundle),
        .help = "in full, the newest filter decision about the pod in this file (berth bundle), with "
                "its policies or those of --policy"},
    {0},
};
/* clang-format on */

/* Each of these returns NULL when the options are consistent, or the error. */
static const char *check_last(Settings *settings) {
    const ClusterSource *source = &settings->source;

    if (settings->name || settings->file || settings->policies.n > 0 || source->file)
        return "--last queries a running berth: it takes no cluster file, policy or other pod";
    if (!strchr(settings->last.pod, '/'))
        return "a pod is named NAMESPACE/NAME";
    settings->last.source.cluster = *source;
    return server_source_check(&settings->last.source);
}

/* Whether a pod is named, and no other input that the running berth has anyway. */
static bool is_for_running_berth(const Settings *settings) {
    const MetricsSource *metrics = &settings->metrics;

    return settings->name && !settings->file && settings->policies.n == 0 &&
           !settings->source.file && settings->now_nsec == 0 && !metrics->file &&
           !metrics->prometheus && !metrics->sources;
}

static const char *check_bundle(const Settings *settings) {
    const ClusterSource *source = &settings->source;

    if (settings->file || source->file || cluster_source_is_live(source) || settings->last.pod ||
        server_source_is_given(&settings->last.source) || settings->now_nsec != 0)
        return "--bundle contains the cluster, the pod and the time";
    if (!settings->name || !strchr(settings->name, '/'))
        return "--bundle FILE and a pod are needed: NAMESPACE/NAME";
    return NULL;
}

static bool looks_like_file(const char *name) {
    Str text = str_from_c(name);

    return str_has_suffix(text, STR(".yaml")) || str_has_suffix(text, STR(".yml")) ||
           str_has_suffix(text, STR(".json")) || access(name, F_OK) == 0;
}

static const char *check(void *context, const Arguments *arguments) {
    Settings *settings = context;
    const char *wrong;

    if (arguments->n > 1)
        return "it takes one pod";
    settings->name = arguments->n == 1 ? arguments->items[0] : NULL;
    if (settings->bundle)
        return check_bundle(settings);
    if (settings->last.pod)
        return check_last(settings);
    if (settings->name && !settings->file && looks_like_file(settings->name))
        return "a pod in a file is given with --pod FILE";
    if (settings->name && !settings->file && !strchr(settings->name, '/'))
        return "a pod is named NAMESPACE/NAME";
    if (is_for_running_berth(settings)) {
        settings->last.pod = settings->name;
        settings->last.source.prefers_cluster = true;
        settings->name = NULL;
        return check_last(settings);
    }
    if (server_source_is_given(&settings->last.source) || settings->last.source.namespace)
        return "--server, --ca, --cert, --key, --token-file and --berth-namespace are for a "
               "running berth, which has policies of its own";
    if (settings->name && !settings->file && settings->source.file)
        return "a pod by name is read from the API server: no --cluster";
    if (!settings->name && !settings->file)
        return "a pod is needed: NAMESPACE/NAME, or --pod FILE";
    wrong = cluster_source_check(&settings->source);
    return wrong ? wrong : metrics_source_check(&settings->metrics, &settings->source);
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(zones_freep) Zones *zones = terminal_need(zones_new(), "the explanation");
    Settings *settings = context;

    if (settings->bundle)
        explain_of_bundle(settings, zones, arguments->arena);
    else if (settings->last.pod)
        explain_last(&settings->last);
    else
        explain(settings, zones, arguments->arena);
    return EXIT_FINE;
}

const Command explain_command = {
    .name = "explain",
    .summary = "show which nodes are eligible for a pod, and why",
    .usage = "NAMESPACE/NAME [--context NAME | --server URL] [OPTIONS]\n"
             "NAMESPACE/NAME --policy FILE-OR-DIR... [--context NAME] [OPTIONS]\n"
             "--cluster FILE --pod FILE [NAME] [--policy FILE-OR-DIR]... [OPTIONS]\n"
             "--bundle FILE NAMESPACE/NAME [--policy FILE-OR-DIR]... [OPTIONS]",
    .about =
        "Shows how many nodes are eligible for the pod, and the best of them with the parts of "
        "their scores; which rules reject how many nodes, because of which values, and what "
        "would make them pass. A file with several pods or pod templates has a row for each; NAME "
        "or KIND/NAME chooses one.",
    .options = options,
    .complete = COMPLETE_PODS,
    .max_completed = 1,
    .budget = EXPLAIN_BUDGET,
    .memory_for = "the explanation",
    .settings_size = sizeof(Settings),
    .defaults = &(const Settings){.last.weight = 1},
    .check = check,
    .run = run,
};
