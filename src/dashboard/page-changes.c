/*
 * What changed? Charts of the last hour, and all kept changes as a table, the newest first;
 * policies with their differences from those before.
 *
 * For the modules: <p id="changes-verdict">, <section id="hour"> of lines, the table in #changes
 * with <details id="diff-N"> that hold <pre class="diff">.
 */

#include "base/nsec.h"
#include "dashboard/page-parts.h"

#define MARKS_MAX 100u

#define DIFF_MAX ((size_t)1024 * 1024)   /* bytes of one difference */
#define DIFF_LINES_MAX 400u              /* lines that are shown of it */
#define DIFF_SHOWN_MAX ((size_t)2 << 20) /* bytes of all differences on one page */
#define RECENT_NSEC (INT64_C(3600) * NSEC_PER_SEC)

typedef struct ChangesPage {
    const PageContext *context;
    Html *html;
    Change *changes;
    size_t n;
    size_t n_diff_bytes; /* shown so far */
} ChangesPage;

static void draw_verdict(const ChangesPage *view) {
    size_t n_recent = 0, n_bad = 0;

    for (size_t i = 0; i < view->n; i++) {
        bool is_recent = view->context->wall_nsec - view->changes[i].at_nsec < RECENT_NSEC;

        n_recent += is_recent;
        n_bad += is_recent && change_kinds[view->changes[i].kind].is_bad;
    }
    html_write(view->html, "<p id='changes-verdict' class='answer' data-live>");
    if (n_recent > 0)
        html_write(view->html, "%zu%s in the last hour, %zu of them problems. Latest: %s, %td.",
            n_recent, n_recent == 1 ? " change" : " changes", n_bad,
            change_kinds[view->changes[0].kind].words, view->changes[0].at_nsec);
    else
        html_write(view->html, "No changes in the last hour: the cause is elsewhere.");
    html_close(view->html);
}

static double rejected_of(const LatencySlot *slot) {
    return (double)slot->n_rejected;
}

/* Rejections and latency, with the changes as marks: an effect begins at its cause. */
static void draw_charts(const ChangesPage *view) {
    static const HourChart charts[] = {
        {"Nodes rejected by filters", "in 10 s", rejected_of},
        {"Filter p99 latency", "ms", slot_p99_msec},
    };
    int64_t span_nsec = last_hour_span_min(view->context) * 60 * NSEC_PER_SEC;
    ChartMark marks[MARKS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < view->n && n < MARKS_MAX; i++) {
        const Change *change = &view->changes[i];
        int64_t ago_nsec = view->context->wall_nsec - change->at_nsec;

        if (ago_nsec >= 0 && ago_nsec <= span_nsec)
            marks[n++] = (ChartMark){
                1 - (double)ago_nsec / (double)span_nsec, change_kinds[change->kind].is_bad};
    }
    last_hour_draw(view->context, view->html, charts, ELEMENTS_OF(charts), marks, n);
    if (n > 0)
        html_write(view->html,
            "<p class='quiet'>Vertical lines in the charts are changes; those of full height are "
            "problems.</p>");
}

/* @is_name: the line is one of the two with names that begin a file. */
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
        if (change_kinds[change->kind].is_bad)
            html_write(html, "<strong class='bad'>! </strong>");
        html_write(html, "%s</td><td>%.*s</td><td>%.*s", change_kinds[change->kind].words,
            STR_FMT(change->what), STR_FMT(change->text));
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
    };
    size_t n;

    if (!view.changes)
        return widget_no_memory(html, "this page");
    n = changes_read(context->api->changes, context->arena, view.changes, CHANGES_MAX);
    for (size_t i = 0; i < n; i++)
        if (context->at_nsec == 0 || view.changes[i].at_nsec <= context->at_nsec)
            view.changes[view.n++] = view.changes[i];
    draw_verdict(&view);
    draw_charts(&view);
    draw_table(&view);
    widget_curl(html, context->api->server, "/api/v1/changes");
    return 200;
}
