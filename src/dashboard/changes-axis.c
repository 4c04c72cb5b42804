/*
 * Two lines, each over its own range, one whole and one dashed; marks above them, in as many rows
 * as it takes to keep their numbers apart.
 */

#include "dashboard/page-parts.h"

#include <math.h>
#include <stdio.h>

#include "base/nsec.h"

#define WIDTH 720
#define ROWS 4 /* of numbers, above the lines */
#define ROW_HEIGHT 16
#define TOP (ROWS * ROW_HEIGHT + 6)
#define BOTTOM (TOP + 110)
#define HEIGHT (BOTTOM + 22)
#define NUMBER_WIDTH 26.0 /* the width of a number, with a margin */
#define MARKS_MAX 100u

typedef struct Axis {
    const PageContext *context;
    Html *html;
    const LatencySlot *slots;
    unsigned span_min;
    size_t first; /* slot that is shown */
} Axis;

/* --- lines ------------------------------------------------------------------------------------ */

static double rejected_of(const LatencySlot *slot) {
    return (double)slot->n_rejected;
}

typedef struct AxisLine {
    const char *class;
    const char *label, *unit; /* "nodes rejected: highest 40 in ten seconds" */
    double (*of)(const LatencySlot *slot);
} AxisLine;

static const AxisLine lines[] = {
    {"rejected", "Solid line: nodes rejected by filters", "in 10 s", rejected_of},
    {"p99", "Dashed line: p99 latency of filters", "ms", slot_p99_msec},
};

/* NaN: nothing is known, also before the start. */
static double value_of(const Axis *axis, const AxisLine *line, size_t slot) {
    const LatencySlot *at = &axis->slots[slot];

    return last_hour_covers(axis->context, at) ? line->of(at) : (double)NAN;
}

static double highest_of(const Axis *axis, const AxisLine *line) {
    double highest = 0;

    for (size_t i = axis->first; i < LAST_HOUR_SLOTS; i++)
        highest = fmax(highest, value_of(axis, line, i)); /* which passes NaN over */
    return highest;
}

static void draw_line(const Axis *axis, const AxisLine *line) {
    _cleanup_(buf_done) Buf path = BUF_INIT(DASHBOARD_PAGE_MAX);
    double highest = highest_of(axis, line);
    bool is_open = false;

    for (size_t i = axis->first; i < LAST_HOUR_SLOTS; i++) {
        double value = value_of(axis, line, i);
        double x = (double)(i + 1 - axis->first) * WIDTH / (double)(LATENCY_SLOTS - axis->first);
        double y = BOTTOM - (highest > 0 ? value / highest * (BOTTOM - TOP - 4) : 0);

        if (!isnan(value))
            buf_printf(&path, is_open ? "L%.1f %.1f" : "M%.1f %.1fh1", x, y);
        is_open = !isnan(value);
    }
    if (path.len == 0)
        return;
    html_write(
        axis->html, "<path class='%s' fill='none' d='%.*s'>", line->class, STR_FMT(buf_str(&path)));
    if (line->of == slot_p99_msec)
        html_attr(axis->html, "stroke-dasharray", STR("5 3"));
    html_close(axis->html);
}

/* --- time ------------------------------------------------------------------------------------- */

static void draw_text(const Axis *axis, double x, double y, const char *anchor, const char *text) {
    html_write(
        axis->html, "<text x='%.1f' y='%.1f' text-anchor='%s'>%s</text>", x, y, anchor, text);
}

static void draw_stroke(
    const Axis *axis, const char *class, double x, double y, double to_x, double to_y) {
    html_write(axis->html, "<line class='%s' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'></line>",
        class, x, y, to_x, to_y);
}

/* Quarters of an hour, halves of shorter spans. */
static void draw_time(const Axis *axis) {
    unsigned n = axis->span_min % 4 == 0 ? 4 : 2;
    char text[32];

    draw_stroke(axis, "time", 0, BOTTOM, WIDTH, BOTTOM);
    for (unsigned i = 0; i <= n; i++) {
        double x = (double)WIDTH * i / n;

        (void)snprintf(
            text, sizeof(text), "%u min%s", axis->span_min * (n - i) / n, i == 0 ? " ago" : "");
        draw_stroke(axis, "time", x, BOTTOM, x, BOTTOM + 4);
        draw_text(axis, x, HEIGHT - 4,
            i == 0   ? "start"
            : i == n ? "end"
                     : "middle",
            i == n ? "now" : text);
    }
}

/* --- marks ------------------------------------------------------------------------------------ */

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

static void draw_mark(const Axis *axis, const Change *change, double x, size_t row) {
    bool is_bad = change_is_bad(change->kind);
    double y = row < ROWS ? TOP - 6 - (double)row * ROW_HEIGHT : TOP;
    char number[32];

    draw_stroke(axis, is_bad ? "mark bad" : "mark", x, y, x, BOTTOM);
    if (row == ROWS)
        return;
    (void)snprintf(
        number, sizeof(number), "%llu%s", (unsigned long long)change->id, is_bad ? "!" : "");
    draw_text(axis, x < 12 ? 12 : x > WIDTH - 12 ? WIDTH - 12 : x, y - 2, "middle", number);
}

static void draw_marks(const Axis *axis, const Change *changes, size_t n) {
    double taken[ROWS] = {INFINITY, INFINITY, INFINITY, INFINITY};
    size_t n_drawn = 0;
    int64_t span_nsec = axis->span_min * 60 * NSEC_PER_SEC;

    for (size_t i = 0; i < n && n_drawn < MARKS_MAX; i++) {
        int64_t ago_nsec = axis->context->wall_nsec - changes[i].at_nsec;
        double x;

        if (ago_nsec < 0 || ago_nsec > span_nsec)
            continue;
        x = WIDTH * (1 - (double)ago_nsec / (double)span_nsec);
        draw_mark(axis, &changes[i], x, find_row(x, taken));
        n_drawn++;
    }
}

/* --- the figure ------------------------------------------------------------------------------- */

static void draw_picture(const Axis *axis, const Change *changes, size_t n) {
    html_write(axis->html,
        "<svg class='axis' viewBox='0 0 %d %d' aria-hidden='true' focusable='false'>", WIDTH,
        HEIGHT);
    draw_time(axis);
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        draw_line(axis, &lines[i]);
    draw_marks(axis, changes, n);
    html_close(axis->html);
}

static void draw_caption(const Axis *axis) {
    Html *html = axis->html;

    html_open(html, "figcaption");
    for (size_t i = 0; i < ELEMENTS_OF(lines); i++) {
        double highest = highest_of(axis, &lines[i]);

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

void changes_axis_draw(const PageContext *context, Html *html, const Change *changes, size_t n) {
    const LatencySlot *slots = last_hour_read(context);
    unsigned span_min = last_hour_span_min(context);
    Axis axis = {
        .context = context,
        .html = html,
        .slots = slots,
        .span_min = span_min,
        .first = LATENCY_SLOTS - (size_t)(span_min * 60 / LATENCY_SLOT_SEC),
    };

    if (!slots)
        return;
    html_write(html,
        "<figure id='axis' data-live><div class='scroll' role='region' aria-label='Changes over "
        "time' tabindex='0'>");
    draw_picture(&axis, changes, n);
    html_close(html);
    draw_caption(&axis);
    html_close(html);
}
