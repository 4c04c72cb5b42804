/* The output of the demo, and the statistics for its summary. */

#include "demo/printer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "base/shell.h"

/* Columns of a placement, before its reasons. */
#define COLUMN_POD 25
#define COLUMN_PASSED 8
#define COLUMN_SCORE 6
#define COLUMN_TIME 9
#define COLUMNS                                                                                    \
    (COLUMN_POD + PLACEMENT_NODE_COLUMNS + COLUMN_PASSED + COLUMN_SCORE + COLUMN_TIME + 6)

/* With less room than this, reasons get a line of their own. */
#define REASONS_MIN 48u
#define REASONS_INDENT 4u

/* For reasons in files and pipes, which have no width. */
#define REASONS_PLAIN 120u

#define HEADING_EVERY 20u
#define POLICIES_SHOWN 8u

/* Pads to @width columns; a micro sign is one column, but two bytes. */
static void print_duration(Buf *out, int64_t nsec, int width) {
    bool is_short = nsec < 100 * NSEC_PER_MSEC;

    buf_printf(out, is_short ? "%*.0f µs" : "%*.0f ms", width - 3,
        (double)nsec / (is_short ? 1000 : NSEC_PER_MSEC));
}

static const char *url_of(const DemoPrinter *printer) {
    return daemon_url(printer->env->daemon, LISTEN_VERBS);
}

static const char *dashboard_of(const DemoPrinter *printer) {
    return daemon_dashboard_url(printer->env->daemon);
}

/* --- commands to paste ------------------------------------------------------------ */

static void print_program(DemoPrinter *printer) {
    buf_append(&printer->env->console.text, STR("  "));
    shell_word(&printer->env->console.text, str_from_c(printer->env->options.program));
}

/* Prints a command that explains the last pod without a node, also after the demo has ended. */
static void print_explain(DemoPrinter *printer) {
    Buf *out = &printer->env->console.text;
    char path[DEMO_FOLDER_FILE_MAX];

    (void)snprintf(path, sizeof(path), "%s/" DEMO_BUNDLE, printer->env->folder.path);
    print_program(printer);
    buf_append(out, STR(" explain --bundle "));
    shell_word(out, str_from_c(path));
    buf_printf(out, " %s\n", printer->explained);
}

/* Prints a command with --server of this berth. */
__attribute__((format(printf, 2, 3))) static void print_with_server(
    DemoPrinter *printer, const char *command, ...) {
    char text[256];
    va_list arguments;

    va_start(arguments, command);
    (void)vsnprintf(text, sizeof(text), command, arguments);
    va_end(arguments);
    print_program(printer);
    buf_printf(&printer->env->console.text, " %s --server %s\n", text, url_of(printer));
}

/* --- start ------------------------------------------------------------------------ */

static void print_columns(DemoPrinter *printer) {
    Console *console = &printer->env->console;
    bool is_wide = !console->is_live || console_width() >= COLUMNS + REASONS_MIN;

    printer->n_shown = 0;
    console_print(console, STYLE_BOLD, "%-*s %-*s %*s %*s %*s%s\n", COLUMN_POD, "POD",
        PLACEMENT_NODE_COLUMNS, "NODE", COLUMN_PASSED, "PASSED", COLUMN_SCORE, "SCORE", COLUMN_TIME,
        "TIME", is_wide ? "  REJECTED NODES" : "");
}

/* Prints the policies, with the reasons of their filters. */
static void print_policies(Console *console, const Program *rules) {
    for (size_t i = 0; i < rules->n_policies && i < POLICIES_SHOWN; i++) {
        _cleanup_(buf_done) Buf reasons = BUF_INIT(CONSOLE_TEXT_MAX);
        char lead[64];

        for (size_t k = 0; k < rules->n_filters; k++)
            if (rules->filters[k]->policy == &rules->policies[i])
                buf_printf(&reasons, "%s%.*s", reasons.len > 0 ? "; " : "",
                    STR_FMT(rules->filters[k]->reason));
        (void)snprintf(lead, sizeof(lead), "  %-12.*s ", STR_FMT(rules->policies[i].name));
        console_paragraph(
            console, lead, reasons.len > 0 ? buf_str(&reasons) : STR("(rejects no node)"));
    }
    if (rules->n_policies > POLICIES_SHOWN)
        buf_printf(&console->text, "  and %zu more\n", rules->n_policies - POLICIES_SHOWN);
}

static void print_source(
    Buf *out, const Program *rules, GaugeSource source, const char *url, const char *who) {
    size_t n = 0;

    for (size_t i = 0; i < rules->n_gauges; i++)
        if (rules->gauges[i].source == source)
            buf_printf(
                out, "%s%.*s", n++ == 0 ? "measuring " : ", ", STR_FMT(rules->gauges[i].name));
    if (n > 0)
        buf_printf(out, ": from %s%s\n", url, who);
}

void printer_start(DemoPrinter *printer) {
    Console *console = &printer->env->console;
    const Program *rules = printer->rules;
    DemoClusterCounts counts;
    Buf *out = &console->text;
    const char *url = mock_metrics_url(printer->env->metrics);
    unsigned most = WIRE_MAX_DEFAULT; /* points */

    demo_cluster_count(printer->env->cluster, &counts);
    console_print(console, STYLE_BOLD, "berth demo");
    buf_printf(out,
        ": %zu node%s, %zu pods running, %zu policies with %zu filters and %zu scores\n",
        counts.n_nodes, PLURAL(counts.n_nodes), counts.n_running, rules->n_policies,
        rules->n_filters, rules->n_scores);
    buf_append(out, STR("serving "));
    console_print(console, STYLE_BOLD, "%s", url_of(printer));
    buf_append(out, STR(" to the demo's kube-scheduler (the real protocol)\n"));
    print_source(out, rules, GAUGE_PROMETHEUS, url, ", a mock of Prometheus");
    print_source(out, rules, GAUGE_RESOURCES, url, ", a mock of metrics-server");
    print_source(out, rules, GAUGE_CUSTOM, url, ", a mock of an adapter for custom.metrics.k8s.io");
    print_source(
        out, rules, GAUGE_ANNOTATION, "", "annotations of nodes, which the demo keeps writing");
    if (rules->n_gauges > 0)
        buf_append(out, STR("The values are made up: workloads use less or more than they request, "
                            "and some nodes have other load.\n"));
    if (dashboard_of(printer)) {
        buf_append(out, STR("dashboard "));
        console_print(console, STYLE_BOLD, "%s\n", dashboard_of(printer));
    }
    buf_append_char(out, '\n');
    console_paragraph(console, "",
        STR("The cluster is simulated: nodes in the pools general, workspace, batch and gpu; pods "
            "that are created and end all the time. For each new pod kube-scheduler asks berth "
            "which nodes may run it, and the policies reject nodes for these reasons:"));
    print_policies(console, rules);
    buf_append_char(out, '\n');
    for (size_t i = 0; i < rules->n_policies; i++)
        most = rules->policies[i].wire_max > most ? rules->policies[i].wire_max : most;
    console_print(console, STYLE_DIM,
        "PASSED  nodes that passed berth's filters, of the candidates\n"
        "SCORE   berth's score, 0 to %u    TIME  filter and prioritize, round trip\n",
        most);
    buf_append_char(out, '\n');
    print_columns(printer);
    console_flush(console);
}

/* --- placements --------------------------------------------------------------------- */

static void print_placement(DemoPrinter *printer, const Placement *placement) {
    _cleanup_(buf_done) Buf why = BUF_INIT(CONSOLE_TEXT_MAX);
    Console *console = &printer->env->console;
    size_t width = console->is_live ? console_width() : SIZE_MAX;
    bool is_wide = width >= COLUMNS + REASONS_MIN;
    size_t room = is_wide ? width - COLUMNS : width - REASONS_INDENT;
    Buf *out = &console->text;
    char passed[32], score[24] = "-";
    int64_t nsec = placement->nsec[VERB_FILTER] + placement->nsec[VERB_PRIORITIZE];

    console_clear_status(console);
    if (console->is_live && printer->n_shown == HEADING_EVERY) {
        buf_append_char(out, '\n');
        print_columns(printer);
    }
    printer->n_shown++;
    (void)snprintf(passed, sizeof(passed), "%zu/%zu", placement->n_passed, placement->n_candidates);
    if (placement->score >= 0)
        (void)snprintf(score, sizeof(score), "%lld", (long long)placement->score);
    placement_print_head(placement, COLUMN_POD, console);
    buf_printf(out, " %*s %*s ", COLUMN_PASSED, passed, COLUMN_SCORE, score);
    print_duration(out, nsec, COLUMN_TIME);
    if (placement->pod->n_attempts > 1 && !str_is_empty(placement->node)) /* reasons were printed */
        buf_printf(&why, "was pending, placed at attempt %u", placement->pod->n_attempts);
    else
        placement_print_why(placement, console->is_live ? room : REASONS_PLAIN, &why);
    if (why.len > 0) {
        buf_printf(out, "%s%*s", is_wide ? "" : "\n", is_wide ? 2 : (int)REASONS_INDENT, "");
        console_painted(console, STYLE_DIM, 0, buf_str(&why));
    }
    buf_append_char(out, '\n');
    console_flush(console);
}

void printer_reload(DemoPrinter *printer) {
    console_clear_status(&printer->env->console);
    console_print(&printer->env->console, STYLE_BOLD,
        "-- policy reloaded: %zu policies, %zu filters, %zu scores\n", printer->rules->n_policies,
        printer->rules->n_filters, printer->rules->n_scores);
    console_flush(&printer->env->console);
}

void printer_refusal(DemoPrinter *printer, const DiagList *diags) {
    Console *console = &printer->env->console;

    console_clear_status(console);
    console_print(console, STYLE_BAD, "-- policy rejected, the last good one stays in force\n");
    diag_list_print(diags, console->has_colour, &console->text);
    console_flush(console);
}

/* --- counts ------------------------------------------------------------------------- */

void stats_add(PlacementStats *stats, const Placement *placement) {
    _cleanup_(buf_done) Buf why = BUF_INIT((size_t)64 * 1024);
    bool is_new = placement->pod->n_attempts == 1, is_placed = !str_is_empty(placement->node);

    stats->n_pods += is_new;
    stats->n_retries += !is_new;
    stats->n_placed += is_placed;
    stats->n_errors += !str_is_empty(placement->error);
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        CallStats *calls = &stats->calls[verb];

        if (placement->nsec[verb] > 0)
            calls->samples[calls->n++ % STATS_SAMPLES] = placement->nsec[verb];
    }
    for (size_t i = 0; i < placement->n_reasons; i++) {
        const NodeReason *reason = &placement->reasons[i];
        size_t n = stats->n_reasons;
        size_t k = reasons_count(
            stats->reasons, &stats->n_reasons, STATS_REASONS_MAX, reason->text, reason->n_nodes);

        if (k < n)
            continue;
        (void)snprintf(stats->texts[k], STATS_TEXT_MAX, "%.*s", STR_FMT(reason->text));
        stats->reasons[k].text = str_from_c(stats->texts[k]);
    }
    if (is_placed)
        return;
    placement_print_why(placement, STATS_TEXT_MAX, &why);
    (void)snprintf(stats->pending[placement->pod->workload->number], STATS_TEXT_MAX, "%.*s",
        STR_FMT(buf_str(&why)));
}

static int by_duration(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

int64_t stats_quantile(const PlacementStats *stats, Verb verb, unsigned permille) {
    const CallStats *calls = &stats->calls[verb];
    size_t n = calls->n < STATS_SAMPLES ? (size_t)calls->n : STATS_SAMPLES;
    int64_t sorted[STATS_SAMPLES];

    if (n == 0)
        return 0;
    memcpy(sorted, calls->samples, n * sizeof(sorted[0]));
    qsort(sorted, n, sizeof(sorted[0]), by_duration);
    return sorted[(n - 1) * permille / 1000];
}

/* --- summary ------------------------------------------------------------------------ */

static void print_pending(DemoPrinter *printer, const DemoClusterCounts *counts) {
    const DemoWorkloads *workloads = demo_cluster_workloads(printer->env->cluster);
    Console *console = &printer->env->console;

    if (counts->n_pending > 0)
        console_print(console, STYLE_BOLD, "\nPending pods\n");
    for (size_t i = 0; i < workloads->n; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%.*s/%.*s", STR_FMT(workloads->items[i].namespace),
            STR_FMT(workloads->items[i].name));
        if (counts->pending[i] > 0)
            buf_printf(&console->text, "  %8zu  %-16s %s\n", counts->pending[i], name,
                printer->stats.pending[i]);
    }
}

static void print_counts(
    Console *console, const DemoClusterCounts *figures, const PlacementStats *stats) {
    Buf *out = &console->text;

    console_print(console, STYLE_BOLD, "\n%llu pod%s: %llu placed, %zu pending",
        (unsigned long long)stats->n_pods, PLURAL(stats->n_pods),
        (unsigned long long)stats->n_placed, figures->n_pending);
    if (figures->n_deleted > 0)
        buf_printf(out, ", %zu deleted while pending", figures->n_deleted);
    buf_printf(out, " (%llu further attempt%s). %zu pods ended meanwhile, %zu are running.\n",
        (unsigned long long)stats->n_retries, PLURAL(stats->n_retries), figures->n_ended,
        figures->n_running);
    if (stats->n_errors > 0)
        console_print(console, STYLE_BAD, "%llu attempt%s failed\n",
            (unsigned long long)stats->n_errors, PLURAL(stats->n_errors));
}

void printer_end(DemoPrinter *printer) {
    static const unsigned permilles[] = {500, 990, 1000};
    Console *console = &printer->env->console;
    PlacementStats *stats = &printer->stats;
    const char *dashboard = dashboard_of(printer);
    DemoClusterCounts counts;
    Buf *out = &console->text;

    reasons_sort(stats->reasons, stats->n_reasons);
    demo_cluster_count(printer->env->cluster, &counts);
    console_clear_status(console);
    print_counts(console, &counts, stats);
    print_pending(printer, &counts);
    for (size_t i = 0; i < stats->n_reasons; i++) {
        if (i == 0)
            console_print(console, STYLE_BOLD, "\nRejected nodes by reason\n");
        buf_printf(&console->text, "  %8zu  %.*s\n", stats->reasons[i].n_nodes,
            STR_FMT(stats->reasons[i].text));
    }
    console_print(console, STYLE_BOLD, "\nCalls             n        p50        p99        max\n");
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        if (stats->calls[verb].n == 0)
            continue;
        buf_printf(out, "  %-10s %6llu", verb_name(verb), (unsigned long long)stats->calls[verb].n);
        for (size_t i = 0; i < ELEMENTS_OF(permilles); i++)
            print_duration(out, stats_quantile(stats, verb, permilles[i]), 11);
        buf_append_char(out, '\n');
    }
    buf_printf(&console->text, "\nIt served %s, which is closed now%s%s.\n", url_of(printer),
        dashboard ? "; the dashboard was " : "", dashboard ? dashboard : "");
    console_print(console, STYLE_BOLD, "Try next\n");
    if (printer->explained[0])
        print_explain(printer);
    print_program(printer);
    buf_append(&console->text, STR(" check "));
    shell_word(&console->text, str_from_c(printer->env->options.policy));
    buf_append_char(&console->text, '\n');
    console_flush(console);
}

/* --- explanations ------------------------------------------------------------------- */

/* If no pending pod is placed, the suggestions come after this many attempts. */
#define ATTEMPTS_BEFORE_SUGGESTIONS 60u

static bool explain_placed(DemoPrinter *printer, const Placement *placement) {
    if (placement->pod->n_attempts > 1) {
        if (printer->has_retried)
            return false;
        printer->has_retried = true;
        console_say(&printer->env->console, STYLE_BOLD, "-- ",
            "placed at last: %s was pending until another pod ended. kube-scheduler tried it again "
            "(attempt %u), and %.*s had room.",
            placement->pod->name, placement->pod->n_attempts, STR_FMT(placement->node));
        return true;
    }
    if (printer->has_placed || placement->score < 0 ||
        placement->n_passed == placement->n_candidates)
        return false;
    printer->has_placed = true;
    console_say(&printer->env->console, STYLE_BOLD, "-- ",
        "placed: %zu nodes have room for %s, so kube-scheduler asked berth about them. %zu passed "
        "the filters of the policies; the others are counted by reason. berth scored those that "
        "passed, kube-scheduler added its own scores, and %.*s was the best.",
        placement->n_candidates, placement->pod->name, placement->n_passed,
        STR_FMT(placement->node));
    return true;
}

static bool explain_pending(DemoPrinter *printer, const Placement *placement) {
    const char *why = printer->env->console.is_live ? " Why, and what would help:" : "";

    if (printer->n_pending == ELEMENTS_OF(printer->pending) || placement->n_candidates == 0 ||
        !str_is_empty(placement->error))
        return false;
    for (size_t i = 0; i < printer->n_pending; i++)
        if (printer->pending[i] == placement->pod->workload)
            return false;
    if (printer->n_pending == 0)
        console_say(&printer->env->console, STYLE_BOLD, "-- ",
            "pending: %s fits on %zu nodes, and the policies rejected all of them. kube-scheduler "
            "tries it again when the cluster has changed, after 1 s, 2 s, 4 s, up to 10 s.%s",
            placement->pod->name, placement->n_candidates, why);
    else
        console_say(&printer->env->console, STYLE_BOLD, "-- ",
            "pending, too, for other reasons: %s. Owners delete pods that are pending for %d s.%s",
            placement->pod->name, (int)(DEMO_PATIENCE_NSEC / NSEC_PER_SEC), why);
    printer->pending[printer->n_pending++] = placement->pod->workload;
    if (printer->env->console.is_live)
        print_with_server(printer, "explain --last %s", placement->pod->full_name);
    return true;
}

/* Prints commands to try, on a terminal only. */
static void suggest(DemoPrinter *printer) {
    Console *console = &printer->env->console;
    const Program *rules = printer->rules;

    printer->has_suggested = true;
    if (!console->is_live)
        return;
    console_say(console, STYLE_BOLD, "-- ", "It goes on until Ctrl-C. Open %s in a browser.",
        dashboard_of(printer) ? dashboard_of(printer) : url_of(printer));
    console_print(console, STYLE_BOLD, "Try in another terminal\n");
    print_with_server(printer, "top");
    if (rules->n_scores > 0) /* the first rule that has a weight */
        print_with_server(printer, "what-if --set %.*s.%.*s.weight=9",
            STR_FMT(rules->scores[0]->policy->name), STR_FMT(rules->scores[0]->name));
    buf_printf(&console->text, "  curl -s '%s/readyz?verbose'\n", url_of(printer));
    if (rules->n_gauges > 0)
        buf_printf(&console->text, "  curl -s '%s/api/v1/sources'\n", url_of(printer));
    buf_printf(&console->text, "or edit %s\nand save it: the next decisions follow it.\n\n",
        printer->env->options.policy);
}

bool printer_placement(DemoPrinter *printer, const Placement *placement) {
    _cleanup_(buf_done) Buf line = BUF_INIT(CONSOLE_TEXT_MAX);
    DemoClusterCounts counts;
    bool is_explained;

    stats_add(&printer->stats, placement);
    if (!printer->explained[0] || str_is_empty(placement->node))
        (void)snprintf(
            printer->explained, sizeof(printer->explained), "%s", placement->pod->full_name);
    /* Another attempt that changes nothing is not printed. */
    if (placement->pod->n_attempts == 1 || !str_is_empty(placement->node) ||
        !str_is_empty(placement->error))
        print_placement(printer, placement);
    is_explained = str_is_empty(placement->node) ? explain_pending(printer, placement)
                                                 : explain_placed(printer, placement);
    printer->n_attempts++;
    if (!printer->has_suggested &&
        (printer->has_retried || printer->n_attempts > ATTEMPTS_BEFORE_SUGGESTIONS)) {
        suggest(printer);
        is_explained = true;
    }
    console_flush(&printer->env->console);
    demo_cluster_count(printer->env->cluster, &counts);
    buf_printf(&line, "%llu placed, %zu pending, %zu running | %s | Ctrl-C ends",
        (unsigned long long)printer->stats.n_placed, counts.n_pending, counts.n_running,
        url_of(printer));
    console_status(&printer->env->console, buf_str(&line));
    return is_explained;
}
