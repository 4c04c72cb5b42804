/*
 * What changed? The last hour on one axis of time, and all kept changes as a table, the newest
 * first; policies with their differences from those before.
 *
 * For the modules: <p id="changes-verdict">, <figure id="axis">, the table in #changes with
 * <details id="diff-N"> that hold <pre class="diff">.
 */

#include <math.h>
#include <stdio.h>

#include "base/nsec.h"
#include "dashboard/page-parts.h"

#define WIDTH 720
#define ROWS 4 /* of numbers, above the lines */
#define ROW_HEIGHT 16
#define TOP (ROWS * ROW_HEIGHT + 6)
#define BOTTOM (TOP + 110)
#define HEIGHT (BOTTOM + 22)
#define NUMBER_WIDTH 26.0 /* the width of a number, with a margin */
#define MARKS_MAX 100u

#define DIFF_MAX ((size_t)1024 * 1024)   /* of one, to be worked out */
#define DIFF_LINES_MAX 400u              /* of one, to be shown */
#define DIFF_SHOWN_MAX ((size_t)2 << 20) /* bytes of all, on one page */
#define RECENT_NSEC (INT64_C(3600) * NSEC_PER_SEC)

/* The change, in words. */
static const char *const words[] = {
    [CHANGE_STARTED] = "berth started",
    [CHANGE_POLICY] = "policies reloaded",
    [CHANGE_POLICY_REJECTED] = "new policies rejected, the last good ones stay in force",
    [CHANGE_CONFIG] = "file reloaded",
    [CHANGE_CONFIG_REJECTED] = "new file rejected, the last good one stays in force",
    [CHANGE_WATCH_LOST] = "no updates from the API server",
    [CHANGE_WATCH_BACK] = "updates from the API server again",
    [CHANGE_RELIST] = "all objects listed again",
    [CHANGE_METRIC_OLD] = "metric expired",
    [CHANGE_METRIC_BACK] = "metric has values again",
    [CHANGE_LEASE_TAKEN] = "this replica binds now",
    [CHANGE_LEASE_LOST] = "this replica no longer binds",
    [CHANGE_BYPASSED] = "pods bypassed berth",
};

typedef struct ChangesPage {
    const PageContext *context;
    Html *html;
    Change *changes;
    size_t n;
    size_t n_diff_bytes; /* shown so far */
    unsigned span_min;   /* of the axis */
} ChangesPage;

static void draw_verdict(const ChangesPage *view) {
    size_t n_recent = 0, n_bad = 0;

    for (size_t i = 0; i < view->n; i++) {
        bool is_recent = view->context->wall_nsec - view->changes[i].at_nsec < RECENT_NSEC;

        n_recent += is_recent;
        n_bad += is_recent && change_is_bad(view->changes[i].kind);
    }
    html_write(view->html, "<p id='changes-verdict' class='answer' data-live>");
    if (n_recent > 0)
        html_write(view->html, "%zu%s in the last hour, %zu of them problems. Latest: %s, %td.",
            n_recent, n_recent == 1 ? " change" : " changes", n_bad, words[view->changes[0].kind],
            view->changes[0].at_nsec);
    else
        html_write(view->html, "No changes in the last hour: the cause is elsewhere.");
    html_close(view->html);
}

/* The axis: two lines, each over its own range, one whole and one dashed; marks above them, in as
 * many rows as it takes to keep their numbers apart. */

static double rejected_of(const LatencySlot *slot) {
    return (double)slot->n_rejected;
}

/* "Solid line: nodes rejected by filters, highest 40 in 10 s". The second is dashed. */
static const HourChart charts[] = {
    {"Solid line: nodes rejected by filters", "in 10 s", rejected_of},
    {"Dashed line: p99 latency of filters", "ms", slot_p99_msec},
};
#define N_LINES ELEMENTS_OF(charts)

static double highest_of(const LineChart *line) {
    double highest = 0;

    for (size_t i = 0; i < line->n; i++)
        highest = fmax(highest, line->values[i]); /* which passes NaN over */
    return highest;
}

static void draw_line(const ChangesPage *view, const LineChart *line, bool is_dashed) {
    _cleanup_(buf_done) Buf path = BUF_INIT(DASHBOARD_PAGE_MAX);
    double highest = highest_of(line);
    bool is_open = false;

    for (size_t i = 0; i < line->n; i++) {
        double value = line->values[i];
        double x = (double)(i + 1) * WIDTH / (double)(line->n + 1); /* up to the last, open slot */
        double y = BOTTOM - (highest > 0 ? value / highest * (BOTTOM - TOP - 4) : 0);

        if (!isnan(value))
            buf_printf(&path, is_open ? "L%.1f %.1f" : "M%.1f %.1fh1", x, y);
        is_open = !isnan(value);
    }
    if (path.len == 0)
        return;
    html_write(view->html, "<path class='%s' fill='none' d='%.*s'>", is_dashed ? "p99" : "rejected",
        STR_FMT(buf_str(&path)));
    if (is_dashed)
        html_attr(view->html, "stroke-dasharray", STR("5 3"));
    html_close(view->html);
}

static void draw_text(
    const ChangesPage *view, double x, double y, const char *anchor, const char *text) {
    html_write(
        view->html, "<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>", x, y, anchor, text);
}

static void draw_stroke(
    const ChangesPage *view, const char *class, double x, double y, double to_x, double to_y) {
    html_write(view->html, "<line class='%s' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'></line>",
        class, x, y, to_x, to_y);
}

/* Quarters of an hour, halves of shorter spans. */
static void draw_time(const ChangesPage *view) {
    unsigned n = view->span_min % 4 == 0 ? 4 : 2;
    char text[32];

    draw_stroke(view, "time", 0, BOTTOM, WIDTH, BOTTOM);
    for (unsigned i = 0; i <= n; i++) {
        double x = (double)WIDTH * i / n;

        (void)snprintf(
            text, sizeof(text), "%u min%s", view->span_min * (n - i) / n, i == 0 ? " ago" : "");
        draw_stroke(view, "time", x, BOTTOM, x, BOTTOM + 4);
        draw_text(view, x, HEIGHT - 4,
            i == 0   ? "start"
            : i == n ? "end"
                     : "middle",
            i == n ? "now" : text);
    }
}

/* A row in which the last number is far enough from @x, from the right to the left; ROWS: none. */
static size_t find_row(double x, double taken[ROWS]) {
    for (size_t row = 0; row < ROWS; row++) {
        if (taken[row] - x < NUMBER_WIDTH)
            continue;
        taken[row] = x;
        return row;
    }
    return ROWS;
}

static void draw_marks(const ChangesPage *view) {
    double taken[ROWS] = {INFINITY, INFINITY, INFINITY, INFINITY};
    size_t n_drawn = 0;
    int64_t span_nsec = view->span_min * 60 * NSEC_PER_SEC;

    for (size_t i = 0; i < view->n && n_drawn < MARKS_MAX; i++) {
        const Change *change = &view->changes[i];
        int64_t ago_nsec = view->context->wall_nsec - change->at_nsec;
        bool is_bad = change_is_bad(change->kind);
        double x = WIDTH * (1 - (double)ago_nsec / (double)span_nsec), y;
        char number[32];
        size_t row;

        if (ago_nsec < 0 || ago_nsec > span_nsec)
            continue;
        n_drawn++;
        row = find_row(x, taken);
        y = row < ROWS ? TOP - 6 - (double)row * ROW_HEIGHT : TOP;
        draw_stroke(view, is_bad ? "mark bad" : "mark", x, y, x, BOTTOM);
        if (row == ROWS)
            continue;
        (void)snprintf(
            number, sizeof(number), "%llu%s", (unsigned long long)change->id, is_bad ? "!" : "");
        draw_text(view, fmin(fmax(x, 12), WIDTH - 12), y - 2, "middle", number);
    }
}

static void draw_caption(Html *html, const LineChart lines[static N_LINES]) {
    html_open(html, "figcaption");
    for (size_t i = 0; i < N_LINES; i++) {
        double highest = highest_of(&lines[i]);

        html_write(html, "%s, highest ", lines[i].label);
        if (!(highest > 0))
            html_write(html, "0");
        else if (highest == floor(highest))
            html_count(html, (uint64_t)highest);
        else
            html_write(html, "%.1f", highest);
        html_write(html, " %s. ", lines[i].unit);
    }
    html_write(html, "Marks are the row numbers of the table; ! marks a problem.</figcaption>");
}

static void draw_axis(const ChangesPage *view) {
    const LatencySlot *slots = last_hour_read(view->context);
    Html *html = view->html;
    LineChart lines[N_LINES];

    if (!slots)
        return;
    html_write(html,
        "<figure id='axis' data-live><div class='scroll' role='region' aria-label='Changes over "
        "time' tabindex='0'><svg class='axis' viewBox='0 0 %d %d' aria-hidden='true' "
        "focusable='false'>",
        WIDTH, HEIGHT);
    draw_time(view);
    for (size_t i = 0; i < N_LINES; i++) {
        lines[i] = last_hour_values(view->context, slots, &charts[i]);
        draw_line(view, &lines[i], /* is_dashed= */ i > 0);
    }
    draw_marks(view);
    html_write(html, "</svg></div>");
    draw_caption(html, lines);
    html_close(html);
}

/* @is_name: it is one of the two lines with names that a file begins with. */
static const char *line_tag(Str line, bool is_name) {
    char sign = (char)(is_name ? '@' : line.len > 0 ? line.ptr[0] : ' ');

    return sign == '+' ? "ins" : sign == '-' ? "del" : sign == '@' ? "b" : "span";
}

/* Whether a file begins at @diff: its names, and its first hunk. */
static bool begins_file(Str diff) {
    Str first, second;

    return str_split(&diff, '\n', &first) && str_split(&diff, '\n', &second) &&
           str_has_prefix(first, STR("--- ")) && str_has_prefix(second, STR("+++ ")) &&
           str_has_prefix(diff, STR("@@ "));
}

/* Each line has its sign in the text: colour is not the only mark. Returns the bytes left out. */
static size_t draw_lines(Html *html, Str diff) {
    size_t n = 0, n_names = 0;

    html_write(html, "<pre class='diff' tabindex='0'>");
    for (; diff.len > 0 && n < DIFF_LINES_MAX; n++) {
        size_t end = str_find(diff, '\n');
        Str line = str_take(diff, end);

        n_names = begins_file(diff) ? 2 : n_names > 0 ? n_names - 1 : 0;
        html_open(html, line_tag(line, n_names > 0));
        html_write(html, "%.*s</>\n", STR_FMT(line));
        diff = str_skip(diff, end == SIZE_MAX ? diff.len : end + 1);
    }
    html_close(html);
    return diff.len;
}

static void draw_diff(ChangesPage *view, const Change *change) {
    _cleanup_(buf_done) Buf diff = BUF_INIT(DIFF_MAX);
    Html *html = view->html;
    char digest[DIGEST_TEXT_MAX];
    bool is_whole = view->n_diff_bytes < DIFF_SHOWN_MAX &&
                    changes_diff(view->context->api->changes, change->digest, &diff) &&
                    !buf_error(&diff);

    html_write(html, "<details id='diff-%zu'><summary>Show the difference</summary>", change->id);
    if (is_whole) {
        view->n_diff_bytes += diff.len;
        is_whole = draw_lines(html, buf_str(&diff)) == 0;
    }
    html_open(html, "p");
    if (!is_whole)
        html_write(html, "The difference is cut off here. ");
    html_write(html, "<a href='/api/v1/changes?diff=%s'>The difference as JSON</a></p></details>",
        digest_print(change->digest, digest));
}

static void draw_table(ChangesPage *view) {
    Html *html = view->html;
    char digest[DIGEST_TEXT_MAX];

    if (view->n == 0) {
        widget_empty(html, "No changes yet.",
            "Earlier changes are in the log of the previous container: kubectl logs --previous.");
        return;
    }
    widget_table(html, "changes", "Changes since the start, newest first",
        "#No.|When|Change|Object|Details");
    for (size_t i = 0; i < view->n; i++) {
        const Change *change = &view->changes[i];

        html_write(html, "<tr><td class='number'>%zu</td><td data-value='%zu'>%td</td><td>",
            change->id, (size_t)(change->at_nsec / NSEC_PER_MSEC), change->at_nsec);
        if (change_is_bad(change->kind))
            html_write(html, "<strong class='bad'>! </strong>");
        html_write(html, "%s</td><td>%.*s</td><td>%.*s", words[change->kind], STR_FMT(change->what),
            STR_FMT(change->text));
        if (change->kind == CHANGE_POLICY)
            html_write(html, "%snow <code>%.*s</code>", str_is_empty(change->text) ? "" : "; ", 12,
                digest_print(change->digest, digest));
        if (change->kind == CHANGE_POLICY && change->has_diff)
            draw_diff(view, change);
        html_write(html, "</td></tr>");
    }
    widget_table_end(html);
}

unsigned page_changes(const PageContext *context, Html *html) {
    ChangesPage view = {
        .context = context,
        .html = html,
        .changes = ARENA_RAW(context->arena, Change, CHANGES_MAX),
        .span_min = last_hour_span_min(context),
    };
    size_t n;

    if (!view.changes)
        return widget_no_memory(html, "this page");
    n = changes_read(context->api->changes, context->arena, view.changes, CHANGES_MAX);
    for (size_t i = 0; i < n; i++)
        if (context->at_nsec == 0 || view.changes[i].at_nsec <= context->at_nsec)
            view.changes[view.n++] = view.changes[i];
    draw_verdict(&view);
    draw_axis(&view);
    draw_table(&view);
    widget_curl(html, context->api->server, "/api/v1/changes");
    return 200;
}
