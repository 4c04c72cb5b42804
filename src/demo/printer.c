/* The output of the demo. */

#include "demo/printer.h"

#include <stdio.h>

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

/* In files and pipes, which have no width. */
#define REASONS_PLAIN 120u

#define HEADING_EVERY 20u
#define POLICIES_SHOWN 8u

/* Pads to @width columns; a micro sign is one column, but two bytes. */
static void print_duration(Buf *out, int64_t nsec, int width) {
    if (nsec < 100 * NSEC_PER_MSEC)
        buf_printf(out, "%*.0f µs", width - 3, (double)nsec / 1000);
    else
        buf_printf(out, "%*.0f ms", width - 3, (double)nsec / NSEC_PER_MSEC);
}

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

/* --- commands to paste ------------------------------------------------------------ */

static void print_program(Buf *out, const DemoStatus *status) {
    buf_append(out, STR("  "));
    shell_word(out, str_from_c(status->program));
}

static void print_explain(Buf *out, const DemoStatus *status) {
    const struct {
        const char *option, *path;
    } files[] = {
        {"--cluster", status->cluster_path},
        {"--policy", status->policy_path},
        {"--pod", status->pod_path},
        {"--metrics", status->metrics_path},
    };

    print_program(out, status);
    buf_append(out, STR(" explain"));
    for (size_t i = 0; i < ELEMENTS_OF(files) && files[i].path; i++) {
        buf_printf(out, " %s ", files[i].option);
        shell_word(out, str_from_c(files[i].path));
    }
    buf_append_char(out, '\n');
}

/* A command with --server of this berth. */
__attribute__((format(printf, 3, 4))) static void print_with_server(
    Buf *out, const DemoStatus *status, const char *command, ...) {
    char text[256];
    va_list arguments;

    va_start(arguments, command);
    (void)vsnprintf(text, sizeof(text), command, arguments);
    va_end(arguments);
    print_program(out, status);
    buf_printf(out, " %s --server %s\n", text, status->url);
}

/* --- start ------------------------------------------------------------------------ */

static void print_columns(DemoPrinter *printer) {
    Console *console = &printer->console;
    bool is_wide = !console->is_live || console_width() >= COLUMNS + REASONS_MIN;

    printer->n_shown = 0;
    console_print(console, STYLE_BOLD, "%-*s %-*s %*s %*s %*s%s\n", COLUMN_POD, "POD",
        PLACEMENT_NODE_COLUMNS, "NODE", COLUMN_PASSED, "PASSED", COLUMN_SCORE, "SCORE", COLUMN_TIME,
        "TIME", is_wide ? "  REJECTED NODES" : "");
}

static void print_legend(DemoPrinter *printer, const Program *rules) {
    unsigned most = WIRE_MAX_DEFAULT; /* points */

    for (size_t i = 0; i < rules->n_policies; i++)
        most = rules->policies[i].wire_max > most ? rules->policies[i].wire_max : most;
    console_print(&printer->console, STYLE_DIM,
        "PASSED  nodes that passed berth's filters, of the candidates\n"
        "SCORE   berth's score, 0 to %u    TIME  filter and prioritize, round trip\n",
        most);
    buf_append_char(&printer->console.text, '\n');
}

/* What the policies want: the reasons of their filters. */
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

static void print_sources(const Program *rules, const char *url, Buf *out) {
    print_source(out, rules, GAUGE_PROMETHEUS, url, ", a mock of Prometheus");
    print_source(out, rules, GAUGE_RESOURCES, url, ", a mock of metrics-server");
    print_source(out, rules, GAUGE_CUSTOM, url, ", a mock of an adapter for custom.metrics.k8s.io");
    print_source(
        out, rules, GAUGE_ANNOTATION, "", "annotations of nodes, which the demo keeps writing");
    if (rules->n_gauges > 0)
        buf_append(out, STR("The values are made up: workloads use less or more than they request, "
                            "and some nodes "
                            "have other load.\n"));
}

void printer_start(DemoPrinter *printer, const DemoStatus *status) {
    Console *console = &printer->console;
    Buf *out = &console->text;

    console_print(console, STYLE_BOLD, "berth demo");
    buf_printf(out,
        ": %zu node%s, %zu pods running, %zu policies with %zu filters and %zu scores\n",
        status->figures.n_nodes, plural(status->figures.n_nodes), status->figures.n_running,
        status->rules->n_policies, status->rules->n_filters, status->rules->n_scores);
    buf_append(out, STR("serving "));
    console_print(console, STYLE_BOLD, "%s", status->url);
    buf_append(out, STR(" to the demo's kube-scheduler (the real protocol)\n"));
    print_sources(status->rules, status->mock_metrics_url, out);
    if (status->dashboard_url) {
        buf_append(out, STR("dashboard "));
        console_print(console, STYLE_BOLD, "%s\n", status->dashboard_url);
    }
    buf_append_char(out, '\n');
    console_paragraph(console, "",
        STR("The cluster is simulated: nodes in the pools general, workspace, batch and gpu; pods "
            "that are created and end all the time. For each new pod kube-scheduler asks berth "
            "which nodes may run it, and the policies reject nodes for these reasons:"));
    print_policies(console, status->rules);
    buf_append_char(out, '\n');
    print_legend(printer, status->rules);
    print_columns(printer);
    console_flush(console);
}

/* --- placements --------------------------------------------------------------------- */

static void print_facts(DemoPrinter *printer, const Placement *placement) {
    Buf *out = &printer->console.text;
    char passed[32], score[24] = "-";
    int64_t nsec = placement->nsec[VERB_FILTER] + placement->nsec[VERB_PRIORITIZE];

    (void)snprintf(passed, sizeof(passed), "%zu/%zu", placement->n_passed, placement->n_candidates);
    if (placement->score >= 0)
        (void)snprintf(score, sizeof(score), "%lld", (long long)placement->score);
    placement_print_head(placement, COLUMN_POD, &printer->console);
    buf_printf(out, " %*s %*s ", COLUMN_PASSED, passed, COLUMN_SCORE, score);
    print_duration(out, nsec, COLUMN_TIME);
}

void printer_placement(DemoPrinter *printer, const Placement *placement) {
    _cleanup_(buf_done) Buf why = BUF_INIT(CONSOLE_TEXT_MAX);
    size_t width = printer->console.is_live ? console_width() : SIZE_MAX;
    bool is_wide = width >= COLUMNS + REASONS_MIN;
    size_t room = is_wide ? width - COLUMNS : width - REASONS_INDENT;

    console_clear_status(&printer->console);
    if (printer->console.is_live && printer->n_shown == HEADING_EVERY) {
        buf_append_char(&printer->console.text, '\n');
        print_columns(printer);
    }
    printer->n_shown++;
    print_facts(printer, placement);
    if (placement->pod->n_attempts > 1 && !str_is_empty(placement->node)) /* reasons were printed */
        buf_printf(&why, "was pending, placed at attempt %u", placement->pod->n_attempts);
    else
        placement_print_why(placement, printer->console.is_live ? room : REASONS_PLAIN, &why);
    if (why.len > 0) {
        if (is_wide)
            buf_append(&printer->console.text, STR("  "));
        else
            buf_printf(&printer->console.text, "\n%*s", (int)REASONS_INDENT, "");
        console_painted(&printer->console, STYLE_DIM, 0, buf_str(&why));
    }
    buf_append_char(&printer->console.text, '\n');
    console_flush(&printer->console);
}

void printer_status(DemoPrinter *printer, const DemoStatus *status, const PlacementStats *stats) {
    _cleanup_(buf_done) Buf line = BUF_INIT(CONSOLE_TEXT_MAX);

    buf_printf(&line, "%llu placed, %zu pending, %zu running | %s | Ctrl-C ends",
        (unsigned long long)stats->n_placed, status->figures.n_pending, status->figures.n_running,
        status->url);
    console_status(&printer->console, buf_str(&line));
}

void printer_reload(DemoPrinter *printer, const Program *rules) {
    console_clear_status(&printer->console);
    console_print(&printer->console, STYLE_BOLD,
        "-- policy reloaded: %zu policies, %zu filters, %zu scores\n", rules->n_policies,
        rules->n_filters, rules->n_scores);
    console_flush(&printer->console);
}

void printer_refusal(DemoPrinter *printer, const DiagList *diags) {
    console_clear_status(&printer->console);
    console_print(
        &printer->console, STYLE_BAD, "-- policy rejected, the last good one stays in force\n");
    diag_list_print(diags, printer->console.has_colour, &printer->console.text);
    console_flush(&printer->console);
}

/* --- summary ------------------------------------------------------------------------ */

static void print_pending(Console *console, const DemoStatus *status, const PlacementStats *stats) {
    if (status->figures.n_pending > 0)
        console_print(console, STYLE_BOLD, "\nPending pods\n");
    for (size_t i = 0; i < n_workloads; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%s/%s", workloads[i].namespace, workloads[i].name);
        if (status->figures.pending[i] > 0)
            buf_printf(&console->text, "  %8zu  %-16s %s\n", status->figures.pending[i], name,
                stats->pending[i]);
    }
}

static void print_reasons(Console *console, const PlacementStats *stats) {
    for (size_t i = 0; i < stats->n_reasons; i++) {
        if (i == 0)
            console_print(console, STYLE_BOLD, "\nRejected nodes by reason\n");
        buf_printf(&console->text, "  %8llu  %s\n", (unsigned long long)stats->reasons[i].n_nodes,
            stats->reasons[i].text);
    }
}

static void print_calls(Console *console, const PlacementStats *stats) {
    static const unsigned permilles[] = {500, 990, 1000};
    Buf *out = &console->text;

    console_print(console, STYLE_BOLD, "\nCalls             n        p50        p99        max\n");
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        if (stats->calls[verb].n == 0)
            continue;
        buf_printf(out, "  %-10s %6llu", verb_name(verb), (unsigned long long)stats->calls[verb].n);
        for (size_t i = 0; i < ELEMENTS_OF(permilles); i++)
            print_duration(out, stats_quantile(stats, verb, permilles[i]), 11);
        buf_append_char(out, '\n');
    }
}

static void print_counts(Console *console, const DemoStatus *status, const PlacementStats *stats) {
    const DemoClusterCounts *figures = &status->figures;
    Buf *out = &console->text;

    console_print(console, STYLE_BOLD, "\n%llu pod%s: %llu placed, %zu pending",
        (unsigned long long)stats->n_pods, plural(stats->n_pods),
        (unsigned long long)stats->n_placed, figures->n_pending);
    if (figures->n_deleted > 0)
        buf_printf(out, ", %zu deleted while pending", figures->n_deleted);
    buf_printf(out, " (%llu further attempt%s). %zu pods ended meanwhile, %zu are running.\n",
        (unsigned long long)stats->n_retries, plural(stats->n_retries), figures->n_ended,
        figures->n_running);
    if (stats->n_errors > 0)
        console_print(console, STYLE_BAD, "%llu attempt%s failed\n",
            (unsigned long long)stats->n_errors, plural(stats->n_errors));
}

void printer_end(DemoPrinter *printer, const DemoStatus *status, PlacementStats *stats) {
    Console *console = &printer->console;
    Buf *out = &console->text;

    stats_sort(stats);
    console_clear_status(console);
    print_counts(console, status, stats);
    print_pending(console, status, stats);
    print_reasons(console, stats);
    print_calls(console, stats);
    buf_printf(out, "\nIt served %s, which is closed now%s%s.\n", status->url,
        status->dashboard_url ? "; the dashboard was " : "",
        status->dashboard_url ? status->dashboard_url : "");
    console_print(console, STYLE_BOLD, "Try next\n");
    print_explain(out, status); /* these also work after the demo has ended */
    print_program(out, status);
    buf_append(out, STR(" check "));
    shell_word(out, str_from_c(status->policy_path));
    buf_append_char(out, '\n');
    console_flush(console);
}

/* --- the story ---------------------------------------------------------------------- */

/* If no pending pod is placed, the suggestions come after this many attempts. */
#define ATTEMPTS_BEFORE_SUGGESTIONS 60u

__attribute__((format(printf, 2, 3))) static void print_text(
    DemoPrinter *printer, const char *format, ...) {
    va_list arguments;

    console_clear_status(&printer->console);
    va_start(arguments, format);
    console_sayv(&printer->console, STYLE_BOLD, "-- ", format, arguments);
    va_end(arguments);
}

static bool tell_placed(Story *story, DemoPrinter *printer, const Placement *placement) {
    if (placement->pod->n_attempts > 1) {
        if (story->has_retried)
            return false;
        story->has_retried = true;
        print_text(printer,
            "placed at last: %s was pending until another pod ended. kube-scheduler tried it again "
            "(attempt %u), and %.*s had room.",
            placement->pod->name, placement->pod->n_attempts, STR_FMT(placement->node));
        return true;
    }
    if (story->has_placed || placement->score < 0 || placement->n_passed == placement->n_candidates)
        return false;
    story->has_placed = true;
    print_text(printer,
        "placed: %zu nodes have room for %s, so kube-scheduler asked berth about them. %zu passed "
        "the filters of the policies; the others are counted by reason. berth scored those that "
        "passed, kube-scheduler added its own scores, and %.*s was the best.",
        placement->n_candidates, placement->pod->name, placement->n_passed,
        STR_FMT(placement->node));
    return true;
}

static bool tell_pending(
    Story *story, DemoPrinter *printer, const DemoStatus *status, const Placement *placement) {
    const char *why = printer->console.is_live ? " Why, and what would help:" : "";

    if (story->n_pending == ELEMENTS_OF(story->pending) || placement->n_candidates == 0 ||
        !str_is_empty(placement->error))
        return false;
    for (size_t i = 0; i < story->n_pending; i++)
        if (story->pending[i] == placement->pod->workload)
            return false;
    if (story->n_pending == 0)
        print_text(printer,
            "pending: %s fits on %zu nodes, and the policies rejected all of them. kube-scheduler "
            "tries it again when the cluster has changed, after 1 s, 2 s, 4 s, up to 10 s.%s",
            placement->pod->name, placement->n_candidates, why);
    else
        print_text(printer,
            "pending, too, for other reasons: %s. Owners delete pods that are pending for %d s.%s",
            placement->pod->name, (int)(DEMO_PATIENCE_NSEC / NSEC_PER_SEC), why);
    story->pending[story->n_pending++] = placement->pod->workload;
    if (printer->console.is_live)
        print_with_server(
            &printer->console.text, status, "explain --last %s", placement->pod->full_name);
    return true;
}

static void print_suggestions(DemoPrinter *printer, const DemoStatus *status) {
    const Program *rules = status->rules;
    Buf *out = &printer->console.text;

    console_print(&printer->console, STYLE_BOLD, "Try in another terminal\n");
    print_with_server(out, status, "top");
    if (rules->n_scores > 0) /* the first rule that has a weight */
        print_with_server(out, status, "what-if --set %.*s.%.*s.weight=9",
            STR_FMT(rules->scores[0]->policy->name), STR_FMT(rules->scores[0]->name));
    buf_printf(out, "  curl -s '%s/readyz?verbose'\n", status->url);
    if (rules->n_gauges > 0)
        buf_printf(out, "  curl -s '%s/api/v1/sources'\n", status->url);
    print_explain(out, status);
    buf_printf(
        out, "or edit %s\nand save it: the next decisions follow it.\n\n", status->policy_path);
}

/* On a terminal, after the rest of the story. */
static void suggest(Story *story, DemoPrinter *printer, const DemoStatus *status) {
    story->has_suggested = true;
    if (!printer->console.is_live)
        return;
    print_text(printer, "It goes on until Ctrl-C. Open %s in a browser.",
        status->dashboard_url ? status->dashboard_url : status->url);
    print_suggestions(printer, status);
}

bool story_tell(
    Story *story, DemoPrinter *printer, const DemoStatus *status, const Placement *placement) {
    bool is_told;

    if (str_is_empty(placement->node))
        is_told = tell_pending(story, printer, status, placement);
    else
        is_told = tell_placed(story, printer, placement);
    story->n_attempts++;
    if (!story->has_suggested &&
        (story->has_retried || story->n_attempts > ATTEMPTS_BEFORE_SUGGESTIONS)) {
        suggest(story, printer, status);
        is_told = true;
    }
    console_flush(&printer->console);
    return is_told;
}
