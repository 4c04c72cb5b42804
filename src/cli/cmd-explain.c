/*
 * berth explain: a pod, a policy and a cluster in; which node and why out.
 *
 * The table is for people: passing nodes by score, then rejected ones, as many of
 * each as one reads, and a closing line that groups reasons the way `kubectl
 * describe pod` does. -o json has everything.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/diag.h"
#include "base/visible.h"
#include "cli/cluster-source.h"
#include "cli/commands.h"
#include "cli/explain-last.h"
#include "cli/terminal.h"
#include "extender/explain.h"
#include "input/objects.h"
#include "input/policies.h"
#include "input/zones.h"
#include "model/time.h"
#include "json/write.h"

#define EXPLAIN_BUDGET ((size_t)2 * 1024 * 1024 * 1024)
#define EXPLAIN_TEXT_MAX ((size_t)512 * 1024 * 1024)
#define POLICIES_MAX 16u
#define NAME_COLUMNS_MAX 60u
#define ROWS_SHOWN 20u /* of each kind, unless --all */

typedef struct Settings {
    ClusterSource source;
    const char *pod;  /* a file */
    const char *name; /* NAMESPACE/NAME, instead */
    const char *policies[POLICIES_MAX];
    size_t n_policies;
    const char *node; /* only this one; NULL: all */
    int64_t now_nsec; /* of expressions; 0: the clock's */
    bool all;
    bool json;
    LastQuestion last; /* with a pod: none of the sources above */
} Settings;

static void print_help(FILE *out) {
    (void)fprintf(out,
        "usage: %s explain --cluster FILE --pod FILE [--policy FILE-OR-DIR]... [OPTIONS]\n"
        "       %s explain --kubeconfig FILE NAMESPACE/NAME [OPTIONS]\n"
        "       %s explain --last NAMESPACE/NAME [--server URL] [OPTIONS]\n"
        "\n"
        "Shows for each node whether the pod may go there, which rule says no and why,\n"
        "and how the score comes about.\n"
        "\n"
        "%s"
        "  --pod FILE            the pod, JSON or YAML; \"-\" is standard input\n"
        "  --policy FILE-OR-DIR  placement policies; may be repeated\n"
        "  --node NAME           this node only, with every rule it fails\n"
        "  --all                 every node, not only the first %u of each kind\n"
        "  --now TIME            as if it were 2026-01-31T20:00:00Z            [now]\n"
        "  -o table|json         how to print it                              [table]\n"
        "\n"
        "What was decided lately\n" EXPLAIN_LAST_HELP,
        program_name,
        program_name,
        program_name,
        CLUSTER_SOURCE_HELP,
        ROWS_SHOWN);
}

/* --- the table ---------------------------------------------------------------- */

typedef struct Paint {
    const char *good, *bad, *dim, *off;
} Paint;

static Paint paint_for(bool colour) {
    return colour ? (Paint){"\033[32m", "\033[31m", "\033[2m", "\033[0m"} : (Paint){"", "", "", ""};
}

/* Passing nodes by score, highest first, then rejected ones; ties keep the
 * cluster's order. */
static int compare_nodes(const void *a, const void *b) {
    const NodeExplanation *x = *(const NodeExplanation *const *)a;
    const NodeExplanation *y = *(const NodeExplanation *const *)b;

    if (!x->verdict != !y->verdict)
        return x->verdict ? 1 : -1;
    if (!x->verdict && x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x > y) - (x < y);
}

static const NodeExplanation **sorted_nodes(const Explanation *explanation, Arena *arena) {
    const NodeExplanation **nodes =
        ARENA_ARRAY(arena, const NodeExplanation *, explanation->n_nodes);

    if (!nodes)
        return NULL;
    for (size_t i = 0; i < explanation->n_nodes; i++)
        nodes[i] = &explanation->nodes[i];
    qsort(nodes, explanation->n_nodes, sizeof(*nodes), compare_nodes);
    return nodes;
}

static void print_pod(const Pod *pod, const Explanation *explanation, Buf *out) {
    buf_append(out, STR("pod       "));
    (void)visible_append(out, pod->namespace);
    buf_append_char(out, '/');
    (void)visible_append(out, pod->name);
    for (size_t i = 0; i < pod->requests.n; i++) {
        buf_append(out, i ? STR(", ") : STR("  asks "));
        (void)visible_append(out, pod->requests.items[i].name);
        buf_append_char(out, ' ');
        resource_amount_print(pod->requests.items[i].name, pod->requests.items[i].amount, out);
    }
    buf_append(out, STR("\npolicies  "));
    if (explanation->n_policies == 0)
        buf_append(out, STR("none applies to this pod"));
    for (size_t i = 0; i < explanation->n_policies; i++)
        buf_printf(out,
            "%s%.*s%s",
            i ? ", " : "",
            STR_FMT(explanation->policies[i]->name),
            explanation->policies[i]->is_observed ? " (Observe)" : "");
    buf_append(out, STR("\n\n"));
}

static void print_parts(const Explanation *explanation, const NodeExplanation *node, Buf *out) {
    for (size_t i = 0; i < explanation->n_scores; i++)
        buf_printf(out,
            "%s%.*s %.1f × %g",
            i ? " + " : "",
            STR_FMT(explanation->scores[i]->name),
            node->parts[i],
            explanation->scores[i]->weight);
}

static const FailedRule *failure_of(const NodeExplanation *node, const Filter *filter) {
    for (size_t i = 0; i < node->n_failed; i++)
        if (node->failed[i].filter == filter)
            return &node->failed[i];
    return NULL;
}

static void print_failure(const FailedRule *failure, const Paint *paint, Buf *out) {
    buf_printf(out, "%.*s: %.*s", STR_FMT(failure->filter->name), STR_FMT(failure->filter->reason));
    if (!str_is_empty(failure->detail)) {
        buf_printf(out, " %s(", paint->dim);
        (void)visible_append(out, failure->detail);
        buf_printf(out, ")%s", paint->off);
    }
}

/* Why, in one cell: the score's parts, or the rule that speaks against the node. */
static void print_why(
    const Explanation *explanation, const NodeExplanation *node, const Paint *paint, Buf *out) {
    if (node->verdict) {
        print_failure(failure_of(node, node->verdict), paint, out);
        if (node->n_failed > 1)
            buf_printf(out, " %s+%zu more%s", paint->dim, node->n_failed - 1, paint->off);
    } else if (node->is_scored) {
        buf_printf(out, "%.1f = ", node->score);
        print_parts(explanation, node, out);
        if (explanation->n_scores > 1)
            buf_printf(out, " %sof %g%s", paint->dim, explanation->weights, paint->off);
    }
    buf_append_char(out, '\n');
}

static void print_row(const Explanation *explanation, const NodeExplanation *node, size_t width,
    const Paint *paint, Buf *out) {
    const char *verdict = !node->verdict                   ? "pass"
                          : node->verdict->is_unresolvable ? "never"
                                                           : "rejected";
    char score[8] = "-";

    if (node->is_scored)
        (void)snprintf(score, sizeof(score), "%u", node->wire_score);
    visible_append_padded(out, node->node, width);
    buf_printf(out,
        "  %s%-8s%s  %5s  ",
        node->verdict ? paint->bad : paint->good,
        verdict,
        paint->off,
        score);
    print_why(explanation, node, paint, out);
}

/* "188 of 200 nodes rejected: 140 reason a, 48 reason b", as kube-scheduler will
 * group them. */
static void print_reasons(const Explanation *explanation, const Program *program, Buf *out) {
    bool first = true;

    buf_printf(out, "\n%zu of %zu nodes pass", explanation->n_passed, explanation->n_nodes);
    for (size_t f = 0; f < program->n_filters; f++) {
        size_t n = 0;

        for (size_t i = 0; i < explanation->n_nodes; i++)
            n += explanation->nodes[i].verdict == program->filters[f];
        if (n == 0)
            continue;
        buf_printf(out,
            "%s%zu %.*s",
            first ? "; rejected: " : ", ",
            n,
            STR_FMT(program->filters[f]->reason));
        first = false;
    }
    buf_append_char(out, '\n');
}

static size_t name_width(const NodeExplanation **nodes, size_t n) {
    size_t widest = strlen("NODE");

    for (size_t i = 0; i < n; i++) {
        size_t width = visible_width(nodes[i]->node);

        widest = width > widest ? width : widest;
    }
    return widest > NAME_COLUMNS_MAX ? NAME_COLUMNS_MAX : widest;
}

/* At most ROWS_SHOWN from @begin to @end, unless all are asked for. */
static void print_rows(const Explanation *explanation, const NodeExplanation **nodes, size_t begin,
    size_t end, const Settings *settings, const Paint *paint, Buf *out) {
    size_t shown = settings->all || end - begin <= ROWS_SHOWN ? end : begin + ROWS_SHOWN;
    size_t width = name_width(nodes, explanation->n_nodes);

    for (size_t i = begin; i < shown; i++)
        print_row(explanation, nodes[i], width, paint, out);
    if (shown < end)
        buf_printf(out,
            "%s… %zu more like these; --all shows them%s\n",
            paint->dim,
            end - shown,
            paint->off);
}

static void print_table(const Explanation *explanation, const View *view, const Pod *pod,
    const Settings *settings, Arena *arena, Buf *out) {
    Paint paint = paint_for(terminal_has_colour(stdout));
    const NodeExplanation **nodes = sorted_nodes(explanation, arena);

    if (!nodes)
        return;
    print_pod(pod, explanation, out);
    visible_append_padded(out, STR("NODE"), name_width(nodes, explanation->n_nodes));
    buf_append(out, STR("  VERDICT   SCORE  WHY\n"));
    print_rows(explanation, nodes, 0, explanation->n_passed, settings, &paint, out);
    print_rows(
        explanation, nodes, explanation->n_passed, explanation->n_nodes, settings, &paint, out);
    print_reasons(explanation, view->program, out);
}

/* --node: everything about one. */
static void print_node(
    const Explanation *explanation, const NodeExplanation *node, const Pod *pod, Buf *out) {
    Paint paint = paint_for(terminal_has_colour(stdout));

    print_pod(pod, explanation, out);
    (void)visible_append(out, node->node);
    buf_printf(out,
        ": %s\n",
        !node->verdict                   ? "passes"
        : node->verdict->is_unresolvable ? "rejected; preemption cannot help"
                                         : "rejected");
    for (size_t i = 0; i < node->n_failed; i++) {
        buf_printf(out,
            "  %s✗%s %.*s/",
            paint.bad,
            paint.off,
            STR_FMT(node->failed[i].filter->policy->name));
        print_failure(&node->failed[i], &paint, out);
        buf_append(out,
            node->failed[i].filter->policy->is_observed ? STR(" (Observe: not acted upon)\n")
                                                        : STR("\n"));
    }
    if (!node->is_scored)
        return;
    buf_printf(out, "  score %u of 10: ", node->wire_score);
    print_why(explanation, node, &paint, out);
}

/* --- JSON ----------------------------------------------------------------------- */

static void write_failed(const NodeExplanation *node, JsonWriter *writer) {
    json_write_key(writer, STR("failed"));
    json_write_array(writer);
    for (size_t i = 0; i < node->n_failed; i++) {
        const Filter *filter = node->failed[i].filter;

        json_write_object(writer);
        json_write_key(writer, STR("policy"));
        json_write_string(writer, filter->policy->name);
        json_write_key(writer, STR("rule"));
        json_write_string(writer, filter->name);
        json_write_key(writer, STR("reason"));
        json_write_string(writer, filter->reason);
        json_write_key(writer, STR("detail"));
        json_write_string(writer, node->failed[i].detail);
        json_write_key(writer, STR("unresolvable"));
        json_write_bool(writer, filter->is_unresolvable);
        json_write_key(writer, STR("observed"));
        json_write_bool(writer, filter->policy->is_observed);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_score(
    const Explanation *explanation, const NodeExplanation *node, JsonWriter *writer) {
    json_write_key(writer, STR("score"));
    json_write_double(writer, node->score);
    json_write_key(writer, STR("wireScore"));
    json_write_int(writer, node->wire_score);
    json_write_key(writer, STR("parts"));
    json_write_array(writer);
    for (size_t i = 0; i < explanation->n_scores; i++) {
        const Score *score = explanation->scores[i];

        json_write_object(writer);
        json_write_key(writer, STR("policy"));
        json_write_string(writer, score->policy->name);
        json_write_key(writer, STR("rule"));
        json_write_string(writer, score->name);
        json_write_key(writer, STR("value"));
        json_write_double(writer, node->parts[i]);
        json_write_key(writer, STR("weight"));
        json_write_double(writer, score->weight);
        json_write_end_object(writer);
    }
    json_write_end_array(writer);
}

static void write_node(
    const Explanation *explanation, const NodeExplanation *node, JsonWriter *writer) {
    json_write_object(writer);
    json_write_key(writer, STR("node"));
    json_write_string(writer, node->node);
    json_write_key(writer, STR("verdict"));
    json_write_string(writer,
        !node->verdict                   ? STR("pass")
        : node->verdict->is_unresolvable ? STR("unresolvable")
                                         : STR("rejected"));
    if (node->verdict) {
        json_write_key(writer, STR("rule"));
        json_write_string(writer, node->verdict->name);
        json_write_key(writer, STR("reason"));
        json_write_string(writer, node->verdict->reason);
    }
    write_failed(node, writer);
    if (node->is_scored)
        write_score(explanation, node, writer);
    json_write_end_object(writer);
}

static void print_json(
    const Explanation *explanation, const NodeExplanation *only, const Pod *pod, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    writer.indent = 2;
    json_write_object(&writer);
    json_write_key(&writer, STR("pod"));
    json_write_object(&writer);
    json_write_key(&writer, STR("namespace"));
    json_write_string(&writer, pod->namespace);
    json_write_key(&writer, STR("name"));
    json_write_string(&writer, pod->name);
    json_write_end_object(&writer);
    json_write_key(&writer, STR("policies"));
    json_write_array(&writer);
    for (size_t i = 0; i < explanation->n_policies; i++)
        json_write_string(&writer, explanation->policies[i]->name);
    json_write_end_array(&writer);
    json_write_key(&writer, STR("passed"));
    json_write_int(&writer, (int64_t)explanation->n_passed);
    json_write_key(&writer, STR("nodes"));
    json_write_array(&writer);
    for (size_t i = 0; i < explanation->n_nodes; i++)
        if (!only || only == &explanation->nodes[i])
            write_node(explanation, &explanation->nodes[i], &writer);
    json_write_end_array(&writer);
    json_write_end_object(&writer);
    buf_append_char(out, '\n');
}

/* --- the command ------------------------------------------------------------------ */

static int load_view(const Settings *settings, const Zones *zones, Arena *arena, View **ret) {
    _cleanup_(program_unrefp) Program *program = NULL;
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    _cleanup_(buf_done) Buf problems = BUF_INIT(EXPLAIN_TEXT_MAX);
    DiagList diags = DIAG_LIST_IN(arena);
    int r = policies_load(settings->policies, settings->n_policies, &diags, &program);

    diag_list_print(&diags, terminal_has_colour(stderr), &problems);
    (void)terminal_print(stderr, buf_str(&problems));
    if (r != 0)
        return r == POLICIES_E_UNREADABLE ? EXIT_UNREACHABLE : EXIT_FAILED;
    r = cluster_source_load(&settings->source, "berth explain", &snapshot);
    if (r != 0)
        return r;
    if (view_new(snapshot, program, zones_finder(zones), /* before= */ NULL, ret) < 0) {
        (void)fprintf(stderr, "berth explain: out of memory\n");
        return EXIT_UNREACHABLE;
    }
    return 0;
}

static int load_pod(const Settings *settings, Arena *arena, Pod *ret) {
    char error[OBJECTS_ERROR_MAX];
    int r;

    if (settings->name)
        return cluster_source_pod(&settings->source, "berth explain", settings->name, arena, ret);
    r = pod_load(settings->pod, arena, ret, error);
    if (r == 0)
        return 0;
    terminal_complain("berth explain", error);
    return r == -EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static const NodeExplanation *find_node(const Explanation *explanation, const char *name) {
    for (size_t i = 0; i < explanation->n_nodes; i++)
        if (str_is(explanation->nodes[i].node, name))
            return &explanation->nodes[i];
    return NULL;
}

static int explain(const Settings *settings) {
    _cleanup_(arena_freep) Arena *arena = arena_new(EXPLAIN_BUDGET);
    _cleanup_(zones_freep) Zones *zones = zones_new();
    _cleanup_(view_unrefp) View *view = NULL;
    _cleanup_(buf_done) Buf out = BUF_INIT(EXPLAIN_TEXT_MAX);
    const NodeExplanation *only = NULL;
    Moment moment = {.now_nsec = settings->now_nsec ? settings->now_nsec : clock_wall_nsec()};
    Explanation explanation;
    Pod pod;
    int r = arena && zones ? load_view(settings, zones, arena, &view) : EXIT_UNREACHABLE;

    if (r == 0)
        r = load_pod(settings, arena, &pod);
    if (r != 0)
        return r;
    if (extender_explain(view, &moment, &pod, arena, &explanation) < 0) {
        (void)fprintf(stderr, "berth explain: out of memory\n");
        return EXIT_UNREACHABLE;
    }
    if (settings->node && !(only = find_node(&explanation, settings->node))) {
        (void)fprintf(stderr, "berth explain: the cluster has no node \"%s\"\n", settings->node);
        return EXIT_UNREACHABLE;
    }
    if (settings->json)
        print_json(&explanation, only, &pod, &out);
    else if (only)
        print_node(&explanation, only, &pod, &out);
    else
        print_table(&explanation, view, &pod, settings, arena, &out);
    return terminal_print(stdout, buf_str(&out)) ? EXIT_FINE : EXIT_UNREACHABLE;
}

static int usage_error(const char *what) {
    (void)fprintf(stderr, "berth explain: %s\n\n", what);
    print_help(stderr);
    return EXIT_USAGE;
}

static int set_now(Settings *settings, const char *value) {
    int64_t sec = 0;

    if (!time_parse(str_from_c(value), &sec) ||
        __builtin_mul_overflow(sec, NSEC_PER_SEC, &settings->now_nsec))
        return usage_error("--now takes a time like 2026-01-31T20:00:00Z");
    return 0;
}

static int set_option(Settings *settings, int option) {
    switch (option) {
    case 't':
        return set_now(settings, optarg);
    case 'p':
        settings->pod = optarg;
        return 0;
    case 'P':
        if (settings->n_policies == POLICIES_MAX)
            return usage_error("too many policies; put them into one folder");
        settings->policies[settings->n_policies++] = optarg;
        return 0;
    case 'n':
        settings->node = optarg;
        return 0;
    case 'a':
        settings->all = true;
        return 0;
    case 'o':
        if (strcmp(optarg, "json") != 0 && strcmp(optarg, "table") != 0)
            return usage_error("-o takes table or json");
        settings->json = strcmp(optarg, "json") == 0;
        return 0;
    default:
        if (cluster_source_set(&settings->source, option, optarg) ||
            explain_last_set(&settings->last, option, optarg))
            return 0;
        print_help(stderr);
        return EXIT_USAGE;
    }
}

/* The same for --last. */
static const char *check_last(const Settings *settings) {
    const ClusterSource *source = &settings->source;

    if (settings->name || settings->pod || settings->n_policies > 0 || source->file ||
        cluster_source_is_live(source))
        return "--last asks a running berth: it takes no cluster, policy or other pod";
    if (!strchr(settings->last.pod, '/'))
        return "a pod is named NAMESPACE/NAME";
    if (!settings->last.access.cert != !settings->last.access.key)
        return "--cert and --key go together";
    return NULL;
}

static int explain_past(Settings *settings) {
    settings->last.node = settings->node;
    settings->last.all = settings->all;
    settings->last.json = settings->json;
    return explain_last(&settings->last);
}

/* NULL when all that is needed was given, once; else what is wrong. */
static const char *check_settings(const Settings *settings) {
    if (settings->last.pod)
        return check_last(settings);
    if (settings->last.access.server)
        return "--server goes with --last";
    if (settings->name && !cluster_source_is_live(&settings->source))
        return "a pod by name needs --kubeconfig or --in-cluster";
    if (settings->name && !strchr(settings->name, '/'))
        return "a pod is named NAMESPACE/NAME";
    if (!settings->name == !settings->pod)
        return "--cluster and --pod are needed, or --kubeconfig and NAMESPACE/NAME";
    return cluster_source_check(&settings->source);
}

int cmd_explain(int argc, char *argv[]) {
    static const struct option options[] = {
        CLUSTER_SOURCE_OPTIONS,
        EXPLAIN_LAST_OPTIONS,
        {"pod", required_argument, NULL, 'p'},
        {"policy", required_argument, NULL, 'P'},
        {"node", required_argument, NULL, 'n'},
        {"all", no_argument, NULL, 'a'},
        {"now", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    Settings settings = {0};
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
        return usage_error("it takes one pod");
    wrong = check_settings(&settings);
    if (wrong)
        return usage_error(wrong);
    return settings.last.pod ? explain_past(&settings) : explain(&settings);
}
