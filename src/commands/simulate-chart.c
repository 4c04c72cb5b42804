/*
 * Use over time as SVG: three panels, one below the other, a line for each policy in each.
 *
 * Lines differ in colour and in dashes, for print and for colour-blind readers. A value holds until
 * the next sample: lines are steps.
 */
#include <math.h>

#include "base/visible.h"
#include "commands/simulate-report.h"
#include "dashboard/html.h"

#define WIDTH 960
#define LEFT 72
#define RIGHT 24
#define TOP 64
#define PANEL 170
#define GAP 46
#define TICKS 4

enum { PANEL_SHARE, PANEL_USED, PANEL_PENDING, PANELS };

static const char *const titles[PANELS] = {
    [PANEL_SHARE] = "requested cpu of nodes in use, %",
    [PANEL_USED] = "nodes in use",
    [PANEL_PENDING] = "pods pending",
};

static double value_of(const Sample *sample, size_t panel) {
    return panel == PANEL_SHARE
               ? 100 * sample->cpu_share
               : (double)(panel == PANEL_USED ? sample->n_used : sample->n_pending);
}

static const struct {
    const char *colour, *dashes;
} styles[] = {
    {"#4d4d4d", "none"},
    {"#0072b2", "9 3"},
    {"#d55e00", "4 3"},
    {"#009e73", "12 3 3 3"},
    {"#cc79a7", "2 3"},
    {"#7a5c00", "16 4"},
    {"#56b4e9", "6 2 2 2 2 2"},
    {"#000000", "1 4"},
};

typedef struct Scale {
    double x_max, y_max;
    double y; /* of the panel's bottom */
} Scale;

static double x_of(const Scale *scale, double at) {
    return LEFT + (WIDTH - LEFT - RIGHT) * (at / scale->x_max);
}

static double y_of(const Scale *scale, double value) {
    return scale->y - PANEL * (value / scale->y_max);
}

/* The next of 1, 2, 5, 10, 20 …: easy to read between lines. */
static double round_up(double value) {
    double power = pow(10, floor(log10(value)));
    double lead = value / power;

    return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

static Scale find_scale(const SimulateReport *report, size_t panel) {
    Scale scale = {.y = TOP + PANEL + (double)panel * (PANEL + GAP)};

    for (size_t i = 0; i < report->n; i++) {
        const SimulationResult *result = report->runs[i].result;

        for (size_t k = 0; k < result->n_samples; k++) {
            scale.x_max = fmax(scale.x_max, result->samples[k].at);
            scale.y_max = fmax(scale.y_max, value_of(&result->samples[k], panel));
        }
    }
    if (panel == PANEL_SHARE && scale.y_max <= 100)
        scale.y_max = 100;
    else
        scale.y_max = scale.y_max > 0 ? TICKS * round_up(scale.y_max / TICKS) : TICKS;
    scale.x_max = scale.x_max > 0 ? scale.x_max : 1;
    return scale;
}

static void draw_y_axis(const Scale *scale, Buf *out) {
    for (int i = 0; i <= TICKS; i++) {
        double value = scale->y_max * i / TICKS, y = y_of(scale, value);

        buf_printf(out,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\"/>\n"
            "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.10g</text>\n",
            LEFT, y, WIDTH - RIGHT, y, i == 0 ? "#333333" : "#dddddd", LEFT - 8, y + 4, value);
    }
}

static void draw_x_axis(const SimulateReport *report, const Scale *scale, bool is_last, Buf *out) {
    double step = round_up(scale->x_max / 8);

    for (size_t i = 0; (double)i * step <= scale->x_max * 1.0001; i++)
        buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.10g</text>\n",
            x_of(scale, (double)i * step), scale->y + 16, (double)i * step);
    if (is_last)
        buf_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, scale->y + 36,
            report->input->is_timed ? "seconds since the start" : "pods that have arrived");
}

static void draw_line(
    const SimulationResult *result, size_t panel, const Scale *scale, size_t style, Buf *out) {
    buf_printf(out,
        "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"",
        styles[style % ELEMENTS_OF(styles)].colour, styles[style % ELEMENTS_OF(styles)].dashes);
    for (size_t k = 0; k < result->n_samples; k++) {
        const Sample *sample = &result->samples[k];

        buf_printf(out, k == 0 ? "M%.1f %.1f" : "H%.1fV%.1f", x_of(scale, sample->at),
            y_of(scale, value_of(sample, panel)));
    }
    buf_append(out, STR("\"/>\n"));
}

static void draw_legend(const SimulateReport *report, Buf *out) {
    Html html = HTML(out);
    int x = LEFT;

    for (size_t i = 0; i < report->n; i++) {
        Str name = visible_take(report->runs[i].name, 40);

        buf_printf(out,
            "<line x1=\"%d\" y1=\"22\" x2=\"%d\" y2=\"22\" stroke=\"%s\" stroke-width=\"2\" "
            "stroke-dasharray=\"%s\"/>\n<text x=\"%d\" y=\"26\">",
            x, x + 36, styles[i % ELEMENTS_OF(styles)].colour,
            styles[i % ELEMENTS_OF(styles)].dashes, x + 42);
        html_text(&html, name); /* it comes from a file */
        buf_append(out, STR("</text>\n"));
        x += 62 + 8 * (int)visible_width(name);
    }
}

void simulate_chart(const SimulateReport *report, Buf *out) {
    int height = TOP + PANELS * (PANEL + GAP) + 10;

    buf_printf(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\">\n"
        "<title>berth simulate: use over time</title>\n"
        "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
        WIDTH, height, WIDTH, height, WIDTH, height);
    draw_legend(report, out);
    for (size_t p = 0; p < PANELS; p++) {
        Scale scale = find_scale(report, p);

        buf_printf(out, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n", LEFT,
            scale.y - PANEL - 8, titles[p]);
        draw_y_axis(&scale, out);
        draw_x_axis(report, &scale, p + 1 == PANELS, out);
        for (size_t i = 0; i < report->n; i++)
            draw_line(report->runs[i].result, p, &scale, i, out);
    }
    buf_append(out, STR("</svg>\n"));
}
