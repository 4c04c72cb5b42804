/* Draws the screen of `berth top`. */

#include "commands/top-screen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/visible.h"
#include "cli/terminal.h"

#define RULES_SHOWN_MAX 6u
#define LINE_MAX_BYTES ((size_t)4096)
#define KEY_BACKSPACE 127
#define KEY_ESCAPE 27

/* Lines, of which there is a number. */
typedef struct Canvas {
    const TopScreen *screen;
    Paint paint;
    Buf *out;
    size_t n_lines;
} Canvas;

static size_t lines_left(const Canvas *canvas) {
    return canvas->screen->height - canvas->n_lines;
}

/* One line of @text, cut to the width, in @colour. */
static void draw_line(Canvas *canvas, const char *colour, Str text) {
    if (lines_left(canvas) == 0)
        return;
    if (canvas->n_lines++ > 0)
        buf_append_char(canvas->out, '\n');
    buf_append(canvas->out, str_from_c(colour));
    (void)visible_append(canvas->out, visible_take(text, canvas->screen->width));
    buf_append(canvas->out, str_from_c(colour[0] ? canvas->paint.off : ""));
}

static void print_rate(Buf *line, const TopCounter *counter) {
    double rate = top_counter_rate(counter);

    if (rate < 0)
        buf_append(line, STR("-"));
    else if (rate < 10 && rate > 0)
        buf_printf(line, "%.1f", rate);
    else
        buf_append_grouped(line, (uint64_t)(rate + 0.5));
}

static void print_seconds(Buf *line, double sec) {
    if (isnan(sec))
        buf_append(line, STR("-"));
    else if (sec < 0.001)
        buf_printf(line, "%.0f us", sec * 1e6);
    else if (sec < 1)
        buf_printf(line, "%.1f ms", sec * 1e3);
    else
        buf_printf(line, "%.0f s", sec);
}

/* --- the head ------------------------------------------------------------------------------- */

static bool is_healthy(const TopState *state) {
    return strcmp(state->health, "healthy") == 0;
}

static void draw_title(Canvas *canvas, const TopState *state) {
    const TopScreen *screen = canvas->screen;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    buf_printf(&line, "berth top  %s  %s%s%s", screen->server, state->time,
        screen->is_paused ? "  PAUSED" : "",
        screen->only_rejected ? "  only those without a node" : "");
    draw_line(canvas, canvas->paint.bold, buf_str(&line));
}

static void draw_health(Canvas *canvas, const TopState *state) {
    bool has_symbols = canvas->screen->has_symbols;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    if (canvas->screen->problem) {
        buf_printf(&line, "%s not connected: %s", has_symbols ? "×" : "x", canvas->screen->problem);
        draw_line(canvas, canvas->paint.bad, buf_str(&line));
        return;
    }
    if (!state->has_update) {
        draw_line(canvas, canvas->paint.dim, STR("waiting for the first update …"));
        return;
    }
    if (is_healthy(state))
        buf_printf(&line, "%s %s", has_symbols ? "√" : "+", state->summary);
    else
        buf_printf(&line, "%s %s", has_symbols ? "‼" : "!", state->summary);
    draw_line(canvas, is_healthy(state) ? canvas->paint.good : canvas->paint.bad, buf_str(&line));
}

static void draw_figures(Canvas *canvas, const TopState *state) {
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    print_rate(&line, &state->filters);
    buf_append(&line, STR(" filters/s   "));
    print_rate(&line, &state->rejected);
    buf_append(&line, STR(" nodes rejected/s   "));
    buf_append_grouped(&line, (uint64_t)(state->n_pending > 0 ? state->n_pending : 0));
    buf_append(
        &line, state->n_pending == 1 ? STR(" pending pod   p99 ") : STR(" pending pods   p99 "));
    print_seconds(&line, state->p99_sec);
    buf_printf(
        &line, "   errors %.1f %%   ", isnan(state->error_rate) ? 0 : state->error_rate * 100);
    buf_append_grouped(&line, (uint64_t)(state->n_nodes > 0 ? state->n_nodes : 0));
    buf_append(&line, STR(" nodes"));
    draw_line(canvas, "", buf_str(&line));
}

/* --- rules ---------------------------------------------------------------------------------- */

/* The width of the rule's column: the rest, within limits. */
static size_t rule_width(const TopScreen *screen) {
    size_t rest = screen->width > 32 ? screen->width - 32 : 8;

    return rest > 48 ? 48 : rest;
}

static void draw_rule(Canvas *canvas, const TopRule *rule) {
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);
    _cleanup_(buf_done) Buf rate = BUF_INIT(64), all = BUF_INIT(64);
    size_t name = rule_width(canvas->screen);

    print_rate(&rate, &rule->rejected);
    buf_append_grouped(&all, (uint64_t)(rule->rejected.last > 0 ? rule->rejected.last : 0));
    visible_append_padded(&line, visible_take(str_from_c(rule->name), name), name);
    buf_printf(&line, " %10.*s %16.*s", STR_FMT(buf_str(&rate)), STR_FMT(buf_str(&all)));
    draw_line(canvas, "", buf_str(&line));
}

static void draw_rules(Canvas *canvas, const TopState *state) {
    size_t n = state->n_rules < RULES_SHOWN_MAX ? state->n_rules : RULES_SHOWN_MAX;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    if (n == 0)
        return;
    draw_line(canvas, "", STR_NULL);
    visible_append_padded(&line, STR("RULES THAT REJECT"), rule_width(canvas->screen));
    buf_printf(&line, " %10s %16s", "NODES/S", "SINCE START");
    draw_line(canvas, canvas->paint.dim, buf_str(&line));
    for (size_t i = 0; i < n; i++)
        draw_rule(canvas, &state->rules[i]);
}

/* --- decisions ------------------------------------------------------------------------------ */

static bool is_rejected(const TopDecision *decision) {
    return strcmp(decision->verb, "filter") == 0 && decision->asked > 0 && decision->passed == 0;
}

static bool is_shown(const TopScreen *screen, const TopDecision *decision) {
    if (screen->only_rejected && !is_rejected(decision))
        return false;
    return screen->filter[0] == '\0' || strcasestr(decision->pod, screen->filter) ||
           strcasestr(decision->node, screen->filter) ||
           strcasestr(decision->reason, screen->filter);
}

/* The width of the pod's column: the rest, within limits. */
static size_t pod_width(const TopScreen *screen) {
    size_t rest = screen->width > 60 ? screen->width - 60 : 0;

    return 20 + (rest > 28 ? 28 : rest);
}

/* Where it went, or what spoke against it. */
static void print_outcome(Buf *line, const TopScreen *screen, const TopDecision *decision) {
    if (strcmp(decision->verb, "filter") != 0)
        buf_printf(line, "%s ", decision->verb);
    if (decision->node[0])
        buf_printf(line, "%s %s", screen->has_symbols ? "→" : "->", decision->node);
    else if (is_rejected(decision))
        buf_printf(line, "%s %s", screen->has_symbols ? "×" : "x", decision->reason);
    else if (strcmp(decision->verb, "filter") != 0)
        buf_append(line, str_from_c(decision->reason));
}

static void draw_decision(Canvas *canvas, const TopDecision *decision) {
    size_t width = pod_width(canvas->screen);
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    buf_printf(&line, "%-8s ", decision->time);
    visible_append_padded(&line, visible_take(str_from_c(decision->pod), width), width);
    buf_printf(&line, " %6" PRId64 " %6" PRId64 "  ", decision->asked, decision->passed);
    print_outcome(&line, canvas->screen, decision);
    draw_line(canvas, is_rejected(decision) ? canvas->paint.bad : "", buf_str(&line));
}

static void draw_decisions(Canvas *canvas, const TopState *state) {
    size_t n_skipped = 0;
    const TopDecision *decision;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    draw_line(canvas, "", STR_NULL);
    buf_printf(&line, "%-8s %-*s %6s %6s  %s", "TIME", (int)pod_width(canvas->screen), "POD",
        "NODES", "PASSED", "NODE, OR MAIN REASON");
    draw_line(canvas, canvas->paint.dim, buf_str(&line));
    for (size_t back = 0; lines_left(canvas) > 1; back++) {
        decision = top_state_decision(state, back);
        if (!decision)
            break;
        if (!is_shown(canvas->screen, decision))
            continue;
        if (n_skipped++ >= canvas->screen->offset)
            draw_decision(canvas, decision);
    }
}

/* --- the foot ------------------------------------------------------------------------------- */

static void draw_help(Canvas *canvas) {
    static const char *const lines[] = {
        "",
        "  q        quit",
        "  p        pause, and go on",
        "  /        show only rows with this text in pod, node or reason; Esc: everything",
        "  w        only pods that no node was found for",
        "  j, k     further down, and up; g: to the newest",
        "  ?        this help",
        "",
        "  Why was a pod refused?   berth explain --last NAMESPACE/NAME",
        "  In a browser: the address above",
    };

    for (size_t i = 0; i < ELEMENTS_OF(lines); i++)
        draw_line(canvas, "", str_from_c(lines[i]));
}

static void draw_foot(Canvas *canvas) {
    const TopScreen *screen = canvas->screen;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    while (lines_left(canvas) > 1)
        draw_line(canvas, "", STR_NULL);
    if (screen->is_typing)
        buf_printf(&line, "/%s_", screen->filter);
    else if (screen->filter[0])
        buf_printf(&line, "/%s   Esc: all   q quit   p pause   ? help", screen->filter);
    else
        buf_append(
            &line, STR("q quit   p pause   / filter   w without a node   j k scroll   ? help"));
    draw_line(canvas, canvas->paint.dim, buf_str(&line));
}

void top_screen_draw(const TopScreen *screen, const TopState *state, Buf *out) {
    Canvas canvas = {.screen = screen, .paint = paint_for(screen->has_colour), .out = out};

    draw_title(&canvas, state);
    draw_health(&canvas, state);
    draw_figures(&canvas, state);
    if (screen->shows_help)
        draw_help(&canvas);
    else {
        draw_rules(&canvas, state);
        draw_decisions(&canvas, state);
    }
    if (!screen->is_once)
        draw_foot(&canvas);
}

/* --- keys ----------------------------------------------------------------------------------- */

static void type(TopScreen *screen, char key) {
    size_t n = strlen(screen->filter);

    if (key == '\r' || key == '\n')
        screen->is_typing = false;
    else if (key == KEY_ESCAPE) {
        screen->filter[0] = '\0';
        screen->is_typing = false;
    } else if (key == KEY_BACKSPACE || key == '\b')
        screen->filter[n > 0 ? n - 1 : 0] = '\0';
    else if ((unsigned char)key >= ' ' && n + 1 < sizeof(screen->filter)) {
        screen->filter[n] = key;
        screen->filter[n + 1] = '\0';
    }
}

bool top_screen_key(TopScreen *screen, char key) {
    if (key == KEYBOARD_INTERRUPT)
        return true;
    if (screen->is_typing) {
        type(screen, key);
        return false;
    }
    switch (key) {
    case 'q':
        return true;
    case 'p':
    case ' ':
        screen->is_paused = !screen->is_paused;
        break;
    case '/':
        screen->is_typing = true;
        screen->filter[0] = '\0';
        break;
    case KEY_ESCAPE:
        screen->filter[0] = '\0';
        break;
    case 'w':
        screen->only_rejected = !screen->only_rejected;
        break;
    case 'j':
        screen->offset++;
        break;
    case 'k':
        screen->offset -= screen->offset > 0;
        break;
    case 'g':
        screen->offset = 0;
        break;
    case '?':
        screen->shows_help = !screen->shows_help;
        break;
    default:
        break;
    }
    return false;
}
