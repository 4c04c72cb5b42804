#include "demo/show.h"

#include <stdio.h>
#include <string.h>

#include "base/nsec.h"
#include "base/shell.h"
#include "demo/panel-print.h"

/* Columns of a placement, and where its reasons begin. */
#define COLUMN_POD 25
#define COLUMN_NODE 18
#define COLUMN_PASSED 8
#define COLUMN_SCORE 6
#define COLUMN_TIME 9
#define COLUMNS (COLUMN_POD + COLUMN_NODE + COLUMN_PASSED + COLUMN_SCORE + COLUMN_TIME + 6)

/* On terminals with less room for reasons than this they get a line of their own. */
#define REASONS_MIN 48u
#define REASONS_INDENT 4u

/* Plain lines are for files and pipes, which have no width. */
#define REASONS_PLAIN 120u

#define HEADING_EVERY 20u

void show_done(Show *show) {
    voice_done(&show->voice);
}

/* In @width columns; a micro sign is one of them, but two bytes. */
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

static void print_explain(Buf *out, const Stage *stage) {
    const struct {
        const char *option, *path;
    } files[] = {
        {"--cluster", stage->cluster_path},
        {"--policy", stage->policy_path},
        {"--pod", stage->pod_path},
        {"--metrics", stage->metrics_path},
    };

    buf_append(out, STR("  "));
    shell_word(out, str_from_c(stage->program));
    buf_append(out, STR(" explain"));
    for (size_t i = 0; i < ELEMENTS_OF(files) && files[i].path; i++) {
        buf_printf(out, " %s ", files[i].option);
        shell_word(out, str_from_c(files[i].path));
    }
    buf_append_char(out, '\n');
}

/* A command that asks the berth that runs here. */
static void print_asking(Buf *out, const Stage *stage, const char *command) {
    buf_append(out, STR("  "));
    shell_word(out, str_from_c(stage->program));
    buf_printf(out, " %s --server %s\n", command, stage->url);
}

/* These work after the end too. */
static void print_commands_for_later(Buf *out, const Stage *stage) {
    print_explain(out, stage);
    buf_append(out, STR("  "));
    shell_word(out, str_from_c(stage->program));
    buf_append(out, STR(" check "));
    shell_word(out, str_from_c(stage->policy_path));
    buf_append_char(out, '\n');
}

/* --- start ------------------------------------------------------------------------ */

/* On a terminal of 80 columns there is room for one narrow column more. */
static PanelWidth panel_width(const Show *show) {
    bool is_narrow = show->voice.is_live && voice_width() < COLUMNS + PANEL_COLUMNS_WIDE;

    return is_narrow ? PANEL_NARROW : PANEL_WIDE;
}

static size_t width_of_columns(const Show *show) {
    return COLUMNS + panel_columns(show->panel, panel_width(show));
}

static void print_columns(Show *show) {
    show->n_columns = width_of_columns(show);
    show->n_shown = 0;
    voice_paint(&show->voice, STYLE_BOLD);
    buf_printf(&show->voice.text, "%-*s %-*s", COLUMN_POD, "POD", COLUMN_NODE, "NODE");
    panel_print_columns(show->panel, panel_width(show), &show->voice.text);
    buf_printf(&show->voice.text,
        " %*s %*s %*s%s",
        COLUMN_PASSED,
        "PASSED",
        COLUMN_SCORE,
        "SCORE",
        COLUMN_TIME,
        "TIME",
        !show->voice.is_live || voice_width() >= width_of_columns(show) + REASONS_MIN
            ? "  REFUSED NODES"
            : "");
    voice_plain(&show->voice);
    buf_append_char(&show->voice.text, '\n');
}

static unsigned most_points(const Program *rules) {
    unsigned most = WIRE_MAX_DEFAULT;

    for (size_t i = 0; i < rules->n_policies; i++)
        most = rules->policies[i].wire_max > most ? rules->policies[i].wire_max : most;
    return most;
}

static void print_legend(Show *show, const Program *rules) {
    voice_paint(&show->voice, STYLE_DIM);
    buf_printf(&show->voice.text,
        "PASSED  nodes berth let pass, of those offered    SCORE  berth's points, 0 to %u\n"
        "TIME    filter and prioritize, there and back",
        most_points(rules));
    panel_print_legend(show->panel, panel_width(show), &show->voice.text);
    voice_plain(&show->voice);
    buf_append(&show->voice.text, STR("\n\n"));
}

/* With the first rule that has a weight. */
static void print_what_if(Buf *out, const Stage *stage) {
    char command[256];

    if (stage->rules->n_scores == 0)
        return;
    (void)snprintf(command,
        sizeof(command),
        "what-if --set %.*s.%.*s.weight=9",
        STR_FMT(stage->rules->scores[0]->policy->name),
        STR_FMT(stage->rules->scores[0]->name));
    print_asking(out, stage, command);
}

static void print_live_hints(Show *show, const Stage *stage) {
    Buf *out = &show->voice.text;

    voice_heading(&show->voice, "Try in another terminal");
    print_asking(out, stage, "top");
    print_what_if(out, stage);
    buf_printf(out, "  curl -s '%s/readyz?verbose'\n", stage->url);
    if (stage->rules->n_gauges > 0)
        buf_printf(out, "  curl -s '%s/api/v1/sources'\n", stage->url);
    print_explain(out, stage);
    buf_printf(out,
        "or edit %s\nand save it: the next decisions follow it. Ctrl-C ends.\n\n",
        stage->policy_path);
}

void show_start(Show *show, const Stage *stage) {
    Buf *out = &show->voice.text;

    voice_paint(&show->voice, STYLE_BOLD);
    buf_append(out, STR("berth demo"));
    voice_plain(&show->voice);
    buf_printf(out,
        ": %zu node%s, %zu pods running, %zu policies with %zu filters and %zu scores\n",
        stage->figures.n_nodes,
        plural(stage->figures.n_nodes),
        stage->figures.n_running,
        stage->rules->n_policies,
        stage->rules->n_filters,
        stage->rules->n_scores);
    buf_append(out, STR("serving "));
    voice_painted(&show->voice, STYLE_BOLD, 0, str_from_c(stage->url));
    buf_append(out, STR(" to a driver that plays kube-scheduler with the real protocol\n"));
    panel_print_sources(stage->rules, stage->meter_url, out);
    if (stage->dashboard_url) {
        buf_append(out, STR("dashboard "));
        voice_painted(&show->voice, STYLE_BOLD, 0, str_from_c(stage->dashboard_url));
        buf_append_char(out, '\n');
    }
    buf_append_char(out, '\n');
    if (show->voice.is_live)
        print_live_hints(show, stage);
    else {
        voice_heading(&show->voice, "Try, now or later");
        print_commands_for_later(out, stage);
        buf_append_char(out, '\n');
    }
    print_legend(show, stage->rules);
    print_columns(show);
    voice_flush(&show->voice);
}

/* --- placements --------------------------------------------------------------------- */

static void print_facts(Show *show, const Placement *placement, const PanelReading *reading) {
    Buf *out = &show->voice.text;
    char pod[96], passed[32], score[24] = "-";
    int64_t nsec = placement->nsec[VERB_FILTER] + placement->nsec[VERB_PRIORITIZE];

    (void)snprintf(
        pod, sizeof(pod), "%s/%s", placement->pod->workload->namespace, placement->pod->name);
    (void)snprintf(passed, sizeof(passed), "%zu/%zu", placement->n_passed, placement->n_offered);
    if (placement->score >= 0)
        (void)snprintf(score, sizeof(score), "%lld", (long long)placement->score);
    buf_printf(out, "%-*s ", COLUMN_POD, pod);
    if (!str_is_empty(placement->node))
        voice_painted(&show->voice, STYLE_GOOD, COLUMN_NODE, placement->node);
    else
        voice_painted(&show->voice, STYLE_BAD, COLUMN_NODE, STR("pending"));
    if (reading)
        panel_print_reading(show->panel, reading, panel_width(show), out);
    buf_printf(out, " %*s %*s ", COLUMN_PASSED, passed, COLUMN_SCORE, score);
    print_duration(out, nsec, COLUMN_TIME);
}

/* Why not elsewhere; nothing when there is nothing to say. */
static void print_why(const Placement *placement, size_t width, Buf *out) {
    if (placement->pod->n_attempts > 1)
        buf_printf(out, "try %u%s", placement->pod->n_attempts, placement->n_reasons ? ": " : "");
    if (!str_is_empty(placement->error))
        buf_printf(out, "error: %.*s", STR_FMT(placement->error));
    else if (placement->n_offered == 0)
        buf_append(out, STR("no node has enough cpu and memory left; berth was not asked"));
    else
        placement_print_reasons(placement, width, out);
}

void show_placement(Show *show, const Placement *placement, const PanelReading *reading) {
    _cleanup_(buf_done) Buf why = BUF_INIT(VOICE_TEXT_MAX);
    size_t width = show->voice.is_live ? voice_width() : SIZE_MAX;
    size_t columns = width_of_columns(show);
    bool is_wide = width >= columns + REASONS_MIN;
    size_t room = is_wide ? width - columns : width - REASONS_INDENT;

    voice_clear_status(&show->voice);
    if ((show->voice.is_live && show->n_shown == HEADING_EVERY) || columns != show->n_columns) {
        buf_append_char(&show->voice.text, '\n');
        print_columns(show);
    }
    show->n_shown++;
    print_facts(show, placement, reading);
    print_why(placement, show->voice.is_live ? room : REASONS_PLAIN, &why);
    if (why.len > 0) {
        if (is_wide)
            buf_append(&show->voice.text, STR("  "));
        else
            buf_printf(&show->voice.text, "\n%*s", (int)REASONS_INDENT, "");
        voice_painted(&show->voice, STYLE_DIM, 0, buf_str(&why));
    }
    buf_append_char(&show->voice.text, '\n');
    voice_flush(&show->voice);
}

/* The first pod that found no node is an occasion to say how to ask why. */
void show_hint(Show *show, const Stage *stage, const Placement *placement) {
    char command[160];

    if (!show->voice.is_live || show->has_hinted || !str_is_empty(placement->node))
        return;
    show->has_hinted = true;
    (void)snprintf(command,
        sizeof(command),
        "explain --last %s/%s",
        placement->pod->workload->namespace,
        placement->pod->name);
    voice_clear_status(&show->voice);
    voice_heading(&show->voice, "-- why? In another terminal:");
    print_asking(&show->voice.text, stage, command);
    voice_flush(&show->voice);
}

void show_status(Show *show, const Stage *stage, const Tally *tally) {
    _cleanup_(buf_done) Buf line = BUF_INIT(VOICE_TEXT_MAX);

    buf_printf(&line,
        "%llu placed, %zu pending | %zu pods on %zu nodes | ",
        (unsigned long long)tally->n_placed,
        stage->figures.n_pending,
        stage->figures.n_running,
        stage->figures.n_nodes);
    buf_printf(&line, "%s | Ctrl-C ends", stage->url);
    voice_status(&show->voice, buf_str(&line));
}

void show_reload(Show *show, const Program *rules) {
    voice_clear_status(&show->voice);
    voice_paint(&show->voice, STYLE_BOLD);
    buf_printf(&show->voice.text,
        "-- policy reloaded: %zu policies, %zu filters, %zu scores",
        rules->n_policies,
        rules->n_filters,
        rules->n_scores);
    voice_plain(&show->voice);
    buf_append_char(&show->voice.text, '\n');
    voice_flush(&show->voice);
}

void show_refusal(Show *show, const DiagList *diags) {
    voice_clear_status(&show->voice);
    voice_paint(&show->voice, STYLE_BAD);
    buf_append(&show->voice.text, STR("-- policy refused, the last good one stays in force"));
    voice_plain(&show->voice);
    buf_append_char(&show->voice.text, '\n');
    diag_list_print(diags, show->voice.has_colour, &show->voice.text);
    voice_flush(&show->voice);
}

/* --- summary ------------------------------------------------------------------------ */

static void print_pending(Show *show, const Tally *tally) {
    if (tally->n_pending == 0 || tally->pending[0].n == 0)
        return;
    buf_append_char(&show->voice.text, '\n');
    voice_heading(&show->voice, "Pods that found no node");
    for (size_t i = 0; i < tally->n_pending && tally->pending[i].n > 0; i++) {
        const PendingTally *pending = &tally->pending[i];
        char name[64];

        (void)snprintf(
            name, sizeof(name), "%s/%s", pending->workload->namespace, pending->workload->name);
        buf_printf(&show->voice.text, "  %8zu  %-16s %s\n", pending->n, name, pending->why);
    }
}

static void print_reasons(Show *show, const Tally *tally) {
    if (tally->n_reasons == 0)
        return;
    buf_append_char(&show->voice.text, '\n');
    voice_heading(&show->voice, "Nodes refused, by reason");
    for (size_t i = 0; i < tally->n_reasons; i++)
        buf_printf(&show->voice.text,
            "  %8llu  %s\n",
            (unsigned long long)tally->reasons[i].n_nodes,
            tally->reasons[i].text);
}

static void print_measured(Show *show, const Stage *stage) {
    if (show->panel->n == 0 || !stage->view)
        return;
    buf_append_char(&show->voice.text, '\n');
    voice_heading(&show->voice, PANEL_SUMMARY_HEADING);
    panel_print_summaries(show->panel, stage->view, &show->voice.text);
}

static void print_calls(Show *show, const Stage *stage, const Tally *tally) {
    static const unsigned permilles[] = {500, 990, 1000};
    Buf *out = &show->voice.text;

    buf_append_char(out, '\n');
    voice_heading(&show->voice, "Calls             n        p50        p99        max");
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        if (tally->calls[verb].n == 0)
            continue;
        buf_printf(out, "  %-10s %6llu", verb_name(verb), (unsigned long long)tally->calls[verb].n);
        for (size_t i = 0; i < ELEMENTS_OF(permilles); i++)
            print_duration(out, tally_quantile(tally, verb, permilles[i]), 11);
        buf_append_char(out, '\n');
    }
    if (stage->cpu_nsec_per_call > 0)
        buf_printf(out,
            "  berth's own threads used %.0f µs of CPU a call\n",
            (double)stage->cpu_nsec_per_call / 1000);
}

static void print_outcome(Show *show, const Stage *stage, const Tally *tally) {
    Buf *out = &show->voice.text;

    voice_paint(&show->voice, STYLE_BOLD);
    buf_printf(out,
        "%llu pod%s: %llu placed, %llu not",
        (unsigned long long)tally->n_pods,
        plural(tally->n_pods),
        (unsigned long long)tally->n_placed,
        (unsigned long long)(tally->n_pods - tally->n_placed));
    voice_plain(&show->voice);
    buf_printf(out,
        " (%llu further attempt%s). %zu pods ended meanwhile, %zu are running.\n",
        (unsigned long long)tally->n_retries,
        plural(tally->n_retries),
        stage->figures.n_ended,
        stage->figures.n_running);
    if (tally->n_errors > 0) {
        voice_paint(&show->voice, STYLE_BAD);
        buf_printf(out,
            "%llu attempt%s ended in an error\n",
            (unsigned long long)tally->n_errors,
            plural(tally->n_errors));
        voice_plain(&show->voice);
    }
}

void show_end(Show *show, const Stage *stage, Tally *tally) {
    Buf *out = &show->voice.text;

    tally_sort(tally);
    voice_clear_status(&show->voice);
    buf_append_char(out, '\n');
    print_outcome(show, stage, tally);
    print_pending(show, tally);
    print_reasons(show, tally);
    print_measured(show, stage);
    print_calls(show, stage, tally);
    buf_printf(out, "\nIt served %s, which is closed now", stage->url);
    if (stage->dashboard_url)
        buf_printf(out, "; the dashboard was %s", stage->dashboard_url);
    buf_append(out, STR(".\n"));
    voice_heading(&show->voice, "Try next");
    print_commands_for_later(out, stage);
    voice_flush(&show->voice);
}
