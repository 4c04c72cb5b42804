#include "demo/show.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
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

typedef enum Style {
    STYLE_BOLD,
    STYLE_DIM,
    STYLE_GOOD,
    STYLE_BAD,
} Style;

void show_done(Show *show) {
    buf_done(&show->text);
}

/* --- writing --------------------------------------------------------------------- */

static void paint(Show *show, Style style) {
    static const char *const codes[] = {
        [STYLE_BOLD] = "\033[1m",
        [STYLE_DIM] = "\033[2m",
        [STYLE_GOOD] = "\033[32m",
        [STYLE_BAD] = "\033[33;1m",
    };

    if (show->has_colour)
        buf_append(&show->text, str_from_c(codes[style]));
}

static void paint_off(Show *show) {
    if (show->has_colour)
        buf_append(&show->text, STR("\033[0m"));
}

/* A word of @width columns in a style. */
static void painted(Show *show, Style style, int width, Str word) {
    paint(show, style);
    buf_printf(&show->text, "%.*s", STR_FMT(word));
    paint_off(show);
    if (word.len < (size_t)width)
        buf_append_repeat(&show->text, ' ', (size_t)width - word.len);
}

static void heading(Show *show, const char *text) {
    paint(show, STYLE_BOLD);
    buf_append(&show->text, str_from_c(text));
    paint_off(show);
    buf_append_char(&show->text, '\n');
}

static void flush_text(Show *show) {
    Str rest = buf_str(&show->text);

    while (rest.len > 0 && !show->has_failed) {
        ssize_t n = write(STDOUT_FILENO, rest.ptr, rest.len);

        if (n >= 0)
            rest = str_skip(rest, (size_t)n);
        else if (errno != EINTR)
            show->has_failed = true;
    }
    buf_reset(&show->text);
}

/* Makes room for lines where the figures stood. */
static void clear_status(Show *show) {
    if (show->has_status)
        buf_append(&show->text, STR("\r\033[K"));
    show->has_status = false;
}

static size_t terminal_width(void) {
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
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

static void print_explain(Buf *out, const Scene *scene) {
    const struct {
        const char *option, *path;
    } files[] = {
        {"--cluster", scene->cluster_path},
        {"--policy", scene->policy_path},
        {"--pod", scene->pod_path},
        {"--metrics", scene->metrics_path},
    };

    buf_append(out, STR("  "));
    shell_word(out, str_from_c(scene->program));
    buf_append(out, STR(" explain"));
    for (size_t i = 0; i < ELEMENTS_OF(files) && files[i].path; i++) {
        buf_printf(out, " %s ", files[i].option);
        shell_word(out, str_from_c(files[i].path));
    }
    buf_append_char(out, '\n');
}

/* These work after the end too. */
static void print_commands_for_later(Buf *out, const Scene *scene) {
    print_explain(out, scene);
    buf_append(out, STR("  "));
    shell_word(out, str_from_c(scene->program));
    buf_append(out, STR(" check "));
    shell_word(out, str_from_c(scene->policy_path));
    buf_append_char(out, '\n');
}

/* --- start ------------------------------------------------------------------------ */

/* On a terminal of 80 columns there is room for one narrow column more. */
static PanelWidth panel_width(const Show *show) {
    bool is_narrow = show->is_live && terminal_width() < COLUMNS + PANEL_COLUMNS_WIDE;

    return is_narrow ? PANEL_NARROW : PANEL_WIDE;
}

static size_t width_of_columns(const Show *show) {
    return COLUMNS + panel_columns(show->panel, panel_width(show));
}

static void print_columns(Show *show) {
    show->n_columns = width_of_columns(show);
    show->n_shown = 0;
    paint(show, STYLE_BOLD);
    buf_printf(&show->text, "%-*s %-*s", COLUMN_POD, "POD", COLUMN_NODE, "NODE");
    panel_print_columns(show->panel, panel_width(show), &show->text);
    buf_printf(&show->text,
        " %*s %*s %*s%s",
        COLUMN_PASSED,
        "PASSED",
        COLUMN_SCORE,
        "SCORE",
        COLUMN_TIME,
        "TIME",
        !show->is_live || terminal_width() >= width_of_columns(show) + REASONS_MIN
            ? "  REFUSED NODES"
            : "");
    paint_off(show);
    buf_append_char(&show->text, '\n');
}

static unsigned most_points(const Program *rules) {
    unsigned most = WIRE_MAX_DEFAULT;

    for (size_t i = 0; i < rules->n_policies; i++)
        most = rules->policies[i].wire_max > most ? rules->policies[i].wire_max : most;
    return most;
}

static void print_legend(Show *show, const Program *rules) {
    paint(show, STYLE_DIM);
    buf_printf(&show->text,
        "PASSED  nodes berth let pass, of those offered    SCORE  berth's points, 0 to %u\n"
        "TIME    filter and prioritize, there and back",
        most_points(rules));
    panel_print_legend(show->panel, panel_width(show), &show->text);
    paint_off(show);
    buf_append(&show->text, STR("\n\n"));
}

void show_start(Show *show, const Scene *scene) {
    Buf *out = &show->text;

    paint(show, STYLE_BOLD);
    buf_append(out, STR("berth demo"));
    paint_off(show);
    buf_printf(out,
        ": %zu node%s, %zu pods running, %zu policies with %zu filters and %zu scores\n",
        scene->figures.n_nodes,
        plural(scene->figures.n_nodes),
        scene->figures.n_running,
        scene->rules->n_policies,
        scene->rules->n_filters,
        scene->rules->n_scores);
    buf_append(out, STR("serving "));
    painted(show, STYLE_BOLD, 0, str_from_c(scene->url));
    buf_append(out, STR(" to a driver that plays kube-scheduler with the real protocol\n"));
    panel_print_sources(scene->rules, scene->meter_url, out);
    buf_append_char(out, '\n');
    if (show->is_live) {
        heading(show, "Try in another terminal");
        buf_printf(out, "  curl -s '%s/readyz?verbose'\n", scene->url);
        if (scene->rules->n_gauges > 0)
            buf_printf(out, "  curl -s '%s/api/v1/sources'\n", scene->url);
        print_explain(out, scene);
        buf_printf(out,
            "or edit %s\nand save it: the next decisions follow it. Ctrl-C ends.\n\n",
            scene->policy_path);
    } else {
        heading(show, "Try, now or later");
        print_commands_for_later(out, scene);
        buf_append_char(out, '\n');
    }
    print_legend(show, scene->rules);
    print_columns(show);
    flush_text(show);
}

/* --- placements --------------------------------------------------------------------- */

static void print_facts(Show *show, const Placement *placement, const PanelReading *reading) {
    Buf *out = &show->text;
    char pod[96], passed[32], score[24] = "-";
    int64_t nsec = placement->nsec[VERB_FILTER] + placement->nsec[VERB_PRIORITIZE];

    (void)snprintf(
        pod, sizeof(pod), "%s/%s", placement->pod->workload->namespace, placement->pod->name);
    (void)snprintf(passed, sizeof(passed), "%zu/%zu", placement->n_passed, placement->n_offered);
    if (placement->score >= 0)
        (void)snprintf(score, sizeof(score), "%lld", (long long)placement->score);
    buf_printf(out, "%-*s ", COLUMN_POD, pod);
    if (!str_is_empty(placement->node))
        painted(show, STYLE_GOOD, COLUMN_NODE, placement->node);
    else
        painted(show, STYLE_BAD, COLUMN_NODE, STR("pending"));
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
    _cleanup_(buf_done) Buf why = BUF_INIT(SHOW_TEXT_MAX);
    size_t width = show->is_live ? terminal_width() : SIZE_MAX;
    size_t columns = width_of_columns(show);
    bool is_wide = width >= columns + REASONS_MIN;
    size_t room = is_wide ? width - columns : width - REASONS_INDENT;

    clear_status(show);
    if ((show->is_live && show->n_shown == HEADING_EVERY) || columns != show->n_columns) {
        buf_append_char(&show->text, '\n');
        print_columns(show);
    }
    show->n_shown++;
    print_facts(show, placement, reading);
    print_why(placement, show->is_live ? room : REASONS_PLAIN, &why);
    if (why.len > 0) {
        if (is_wide)
            buf_append(&show->text, STR("  "));
        else
            buf_printf(&show->text, "\n%*s", (int)REASONS_INDENT, "");
        painted(show, STYLE_DIM, 0, buf_str(&why));
    }
    buf_append_char(&show->text, '\n');
    flush_text(show);
}

void show_status(Show *show, const Scene *scene, const Tally *tally) {
    _cleanup_(buf_done) Buf line = BUF_INIT(SHOW_TEXT_MAX);

    if (!show->is_live)
        return;
    clear_status(show);
    buf_printf(&line,
        "%llu placed, %zu pending | %zu pods on %zu nodes | ",
        (unsigned long long)tally->n_placed,
        scene->figures.n_pending,
        scene->figures.n_running,
        scene->figures.n_nodes);
    buf_printf(&line, "%s | Ctrl-C ends", scene->url);
    painted(show, STYLE_BOLD, 0, str_take(buf_str(&line), terminal_width() - 1));
    show->has_status = true;
    flush_text(show);
}

void show_reload(Show *show, const Program *rules) {
    clear_status(show);
    paint(show, STYLE_BOLD);
    buf_printf(&show->text,
        "-- policy reloaded: %zu policies, %zu filters, %zu scores",
        rules->n_policies,
        rules->n_filters,
        rules->n_scores);
    paint_off(show);
    buf_append_char(&show->text, '\n');
    flush_text(show);
}

void show_refusal(Show *show, const DiagList *diags) {
    clear_status(show);
    paint(show, STYLE_BAD);
    buf_append(&show->text, STR("-- policy refused, the last good one stays in force"));
    paint_off(show);
    buf_append_char(&show->text, '\n');
    diag_list_print(diags, show->has_colour, &show->text);
    flush_text(show);
}

/* --- summary ------------------------------------------------------------------------ */

static void print_pending(Show *show, const Tally *tally) {
    if (tally->n_pending == 0 || tally->pending[0].n == 0)
        return;
    buf_append_char(&show->text, '\n');
    heading(show, "Pods that found no node");
    for (size_t i = 0; i < tally->n_pending && tally->pending[i].n > 0; i++) {
        const PendingTally *pending = &tally->pending[i];
        char name[64];

        (void)snprintf(
            name, sizeof(name), "%s/%s", pending->workload->namespace, pending->workload->name);
        buf_printf(&show->text, "  %8zu  %-16s %s\n", pending->n, name, pending->why);
    }
}

static void print_reasons(Show *show, const Tally *tally) {
    if (tally->n_reasons == 0)
        return;
    buf_append_char(&show->text, '\n');
    heading(show, "Nodes refused, by reason");
    for (size_t i = 0; i < tally->n_reasons; i++)
        buf_printf(&show->text,
            "  %8llu  %s\n",
            (unsigned long long)tally->reasons[i].n_nodes,
            tally->reasons[i].text);
}

static void print_measured(Show *show, const Scene *scene) {
    if (show->panel->n == 0 || !scene->view)
        return;
    buf_append_char(&show->text, '\n');
    heading(show, PANEL_SUMMARY_HEADING);
    panel_print_summaries(show->panel, scene->view, &show->text);
}

static void print_calls(Show *show, const Scene *scene, const Tally *tally) {
    static const unsigned permilles[] = {500, 990, 1000};
    Buf *out = &show->text;

    buf_append_char(out, '\n');
    heading(show, "Calls             n        p50        p99        max");
    for (Verb verb = 0; verb < _VERB_MAX; verb++) {
        if (tally->calls[verb].n == 0)
            continue;
        buf_printf(out, "  %-10s %6llu", verb_name(verb), (unsigned long long)tally->calls[verb].n);
        for (size_t i = 0; i < ELEMENTS_OF(permilles); i++)
            print_duration(out, tally_quantile(tally, verb, permilles[i]), 11);
        buf_append_char(out, '\n');
    }
    if (scene->cpu_nsec_per_call > 0)
        buf_printf(out,
            "  berth's own threads used %.0f µs of CPU a call\n",
            (double)scene->cpu_nsec_per_call / 1000);
}

static void print_outcome(Show *show, const Scene *scene, const Tally *tally) {
    Buf *out = &show->text;

    paint(show, STYLE_BOLD);
    buf_printf(out,
        "%llu pod%s: %llu placed, %llu not",
        (unsigned long long)tally->n_pods,
        plural(tally->n_pods),
        (unsigned long long)tally->n_placed,
        (unsigned long long)(tally->n_pods - tally->n_placed));
    paint_off(show);
    buf_printf(out,
        " (%llu further attempt%s). %zu pods ended meanwhile, %zu are running.\n",
        (unsigned long long)tally->n_retries,
        plural(tally->n_retries),
        scene->figures.n_ended,
        scene->figures.n_running);
    if (tally->n_errors > 0) {
        paint(show, STYLE_BAD);
        buf_printf(out,
            "%llu attempt%s ended in an error\n",
            (unsigned long long)tally->n_errors,
            plural(tally->n_errors));
        paint_off(show);
    }
}

void show_end(Show *show, const Scene *scene, Tally *tally) {
    Buf *out = &show->text;

    tally_sort(tally);
    clear_status(show);
    buf_append_char(out, '\n');
    print_outcome(show, scene, tally);
    print_pending(show, tally);
    print_reasons(show, tally);
    print_measured(show, scene);
    print_calls(show, scene, tally);
    buf_printf(out, "\nIt served %s, which is closed now.\n", scene->url);
    heading(show, "Try next");
    print_commands_for_later(out, scene);
    flush_text(show);
}
