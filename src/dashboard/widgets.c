/* Tables, bars, line charts and links that pages are built from. */

#include "dashboard/widgets.h"

#include <math.h>
#include <stdio.h>

#include "base/nsec.h"
#include "base/shell.h"
#include "base/visible.h"

#define COMMAND_MAX ((size_t)64 * 1024)

#define BAR_WIDTH 1000
#define BAR_HEIGHT 40
#define LINE_WIDTH 600
#define LINE_HEIGHT 80

void widget_section(Html *html, const char *id, const char *title) {
    html_write(html, "<section id='%s' data-live><h2>%s</h2>", id, title);
}

void widget_command(Html *html, Str command) {
    _cleanup_(buf_done) Buf shown = BUF_INIT(html->out->ceiling);

    /* A pasted command must be one line. */
    (void)visible_append(&shown, command);
    html_write(html,
        "<div class='command'><pre tabindex='0'><code>%.*s</code></pre>"
        "<button type='button' class='copy' data-copy hidden>Copy</button></div>",
        STR_FMT(buf_str(&shown)));
}

void widget_shell(
    Html *html, const char *command, const Str *words, size_t n, const Server *server) {
    _cleanup_(buf_done) Buf text = BUF_INIT(COMMAND_MAX);
    char url[SERVER_URL_MAX];

    buf_append(&text, str_from_c(command));
    for (size_t i = 0; i < n; i++) {
        if (!words[i].ptr)
            continue;
        buf_append_char(&text, ' ');
        shell_word(&text, words[i]);
    }
    if (server)
        buf_printf(&text, " --server %s", server_url(server, url));
    widget_command(html, buf_str(&text));
}

void widget_curl(Html *html, const Server *server, const char *path) {
    _cleanup_(buf_done) Buf url = BUF_INIT(COMMAND_MAX);
    char base[SERVER_URL_MAX];

    if (!server)
        return;
    buf_printf(&url, "%s%s", server_url(server, base), path);
    widget_shell(html, "curl -s", (Str[]){buf_str(&url)}, 1, NULL);
}

void widget_empty(Html *html, const char *what, const char *next) {
    html_write(html, "<div class='empty'><p>%s</p>", what);
    if (next)
        html_write(html, "<p class='next'>%s</p>", next);
    html_close(html);
}

unsigned widget_problem(Html *html, const char *error) {
    html_write(html, "<p class='problem'>%s</p>", error);
    return 400;
}

void widget_no_decisions(Html *html, bool are_kept, const char *none_yet) {
    if (are_kept)
        widget_empty(html, none_yet,
            "Configure berth as an extender of kube-scheduler (berth config prints how), then "
            "create a pod.");
    else
        widget_empty(html, "Decisions are not kept.", "Start berth serve without --decisions 0.");
}

unsigned widget_no_memory(Html *html, const char *what) {
    char text[128];

    (void)snprintf(text, sizeof(text), "Not enough memory for %s now.", what);
    widget_empty(html, text, "Try again later.");
    return 503;
}

void widget_table(Html *html, const char *id, const char *caption, const char *columns) {
    Str rest = str_from_c(columns), column;

    html_write(html,
        "<div class='scroll' id='%s' data-live role='region' aria-labelledby='caption-%s' "
        "tabindex='0'><table class='data'><caption id='caption-%s'>%s</caption><thead><tr>",
        id, id, id, caption);
    while (rest.len > 0 && str_split(&rest, '|', &column)) {
        bool is_number = column.len > 0 && column.ptr[0] == '#';

        html_write(html, "<th scope='col'>");
        if (is_number)
            html_attr(html, "class", STR("number"));
        html_write(html, "%.*s</th>", STR_FMT(str_skip(column, is_number)));
    }
    html_write(html, "</tr></thead><tbody>");
    html->columns = str_from_c(columns);
}

void widget_table_end(Html *html) {
    html->columns = STR_NULL;
    html_write(html, "</tbody></table></div>");
}

void widget_option(Html *html, Str value, Str text, bool is_selected) {
    html_write(html,
        is_selected ? "<option value='%.*s' selected>%.*s</option>"
                    : "<option value='%.*s'>%.*s</option>",
        STR_FMT(value), STR_FMT(text));
}

/* 87, 87.5: as users would write it. */
static void append_value(Html *html, double value) {
    if (isfinite(value) && value >= 0 && value < 1e15 && value == floor(value))
        html_count(html, (uint64_t)value);
    else
        html_write(html, fabs(value) < 100 ? "%.1f" : "%.0f", value);
}

static void open_svg(Html *html, const char *class, int width, int height) {
    html_write(html,
        "<svg class='%s' viewBox='0 0 %d %d' preserveAspectRatio='none' aria-hidden='true' "
        "focusable='false'>",
        class, width, height);
}

static void draw_rect(Html *html, int x, int width, int height, unsigned colour) {
    html_write(html, "<rect x='%d' y='0' width='%d' height='%d' fill='url(#fill-%u)'></rect>", x,
        width, height, (colour + WIDGET_COLOURS - 1) % WIDGET_COLOURS + 1);
}

void widget_bar(Html *html, const BarPart *parts, size_t n, double whole) {
    double sum = 0, place;
    int from = 0;

    html_write(html, "<div class='bars'>");
    open_svg(html, "bar", BAR_WIDTH, BAR_HEIGHT);
    for (size_t i = 0; i < n; i++) {
        int to;

        if (!(parts[i].value > 0))
            continue;
        sum += parts[i].value;
        place = whole > 0 ? sum / whole * BAR_WIDTH : 0;
        to = place >= BAR_WIDTH ? BAR_WIDTH : (int)(place + 0.5);
        if (to > from)
            draw_rect(html, from, to - from, BAR_HEIGHT, parts[i].colour);
        from = to;
    }
    html_write(html, "</svg><ul class='legend'>");
    for (size_t i = 0; i < n; i++) {
        html_open(html, "li");
        open_svg(html, "swatch", 20, 20);
        draw_rect(html, 0, 20, 20, parts[i].colour);
        html_write(html, "</svg> <b>");
        append_value(html, parts[i].value);
        html_write(html, "</b> %.*s</li>", STR_FMT(parts[i].label));
    }
    if (n == 0)
        html_write(html, "<li>nothing</li>");
    html_write(html, "</ul></div>");
}

/* Draws a single point between gaps as a short stroke, to be visible. */
static void append_path(Buf *out, const LineChart *line, double highest) {
    bool is_open = false;

    for (size_t i = 0; i < line->n; i++) {
        double x = line->n > 1 ? (double)i / (double)(line->n - 1) * LINE_WIDTH : 0;
        double share = highest > 0 && line->values[i] > 0 ? line->values[i] / highest : 0;

        if (isfinite(line->values[i]))
            buf_printf(out, is_open ? "L%.1f %.1f" : "M%.1f %.1fh2", x,
                (1 - share) * (LINE_HEIGHT - 4) + 2);
        is_open = isfinite(line->values[i]);
    }
}

static void draw_marks(Html *html, const LineChart *line) {
    for (size_t i = 0; i < line->n_marks; i++) {
        const ChartMark *mark = &line->marks[i];
        double x = mark->place * LINE_WIDTH;

        html_write(html,
            "<path class='%s' vector-effect='non-scaling-stroke' d='M%.1f %dV%d'></path>",
            mark->is_bad ? "mark bad" : "mark", x, mark->is_bad ? 0 : LINE_HEIGHT / 2, LINE_HEIGHT);
    }
}

static void draw_figure(Html *html, const char *what, double value, const char *unit) {
    html_write(html, "%s <b>", what);
    if (unit && strcmp(unit, "ms") == 0) {
        html_duration(html, (int64_t)(value * (double)NSEC_PER_MSEC));
    } else {
        append_value(html, value);
        if (unit && unit[0])
            html_write(html, " %s", unit);
    }
    html_close(html);
}

void widget_line(Html *html, const LineChart *line) {
    _cleanup_(buf_done) Buf path = BUF_INIT(html->out->ceiling);
    double highest = (double)NAN, last = (double)NAN; /* no value */

    for (size_t i = 0; i < line->n; i++) {
        if (!isfinite(line->values[i]))
            continue;
        last = line->values[i];
        highest = fmax(highest, last);
    }
    html_write(html, "<figure class='line'>");
    if (isnan(last)) {
        html_write(html, "<figcaption><span class='label'>%s</span>: no data yet", line->label);
    } else {
        append_path(&path, line, highest);
        open_svg(html, "line", LINE_WIDTH, LINE_HEIGHT);
        draw_marks(html, line);
        html_write(html,
            "<path d='%.*s' fill='none' vector-effect='non-scaling-stroke'></path></svg>"
            "<figcaption><span class='label'>%s</span>",
            STR_FMT(buf_str(&path)), line->label);
        draw_figure(html, ": last", last, line->unit);
        draw_figure(html, ", highest", highest, line->unit);
    }
    html_write(html, "</figcaption></figure>");
}
