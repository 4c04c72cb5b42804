/* Draws the screen of `berth top`. */

#include "commands/top-screen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/visible.h"
#include "cli/terminal.h"

#define WRAPPED_MIN 16u /* columns; a narrower text is not indented */
#define RULES_SHOWN_MAX 6u
#define LINE_MAX_BYTES ((size_t)64 * 1024)
#define NARROW 100u          /* with fewer columns, both counts share one */
#define OUTCOME_LINES_MAX 3u /* of one decision */

/* The screen while it is drawn. Its lines are counted; each is cut or wrapped to the width. */
typedef struct Canvas {
    const TopScreen *screen;
    Paint paint;
    Buf *out;
    size_t n_lines;
} Canvas;

static size_t lines_left(const Canvas *canvas) {
    return canvas->screen->height - canvas->n_lines;
}

/* Draws one line of @text, cut to the width, in @colour. */
static void draw_line(Canvas *canvas, const char *colour, Str text) {
    if (lines_left(canvas) == 0)
        return;
    if (canvas->n_lines++ > 0)
        buf_append_char(canvas->out, '\n');
    buf_append(canvas->out, str_from_c(colour));
    (void)visible_append(canvas->out, visible_take(text, canvas->screen->width));
    buf_append(canvas->out, str_from_c(colour[0] ? canvas->paint.off : ""));
}

/* Cuts a line of at most @width columns off the front of @text, between words where possible.
 * Returns false if there is none left. */
static bool cut_line(Str *text, size_t width, Str *ret_line) {
    Str line = visible_take(*text, width);
    size_t space;

    if (str_is_empty(*text))
        return false;
    if (line.len < text->len) {
        space = text->ptr[line.len] == ' ' ? line.len : str_find_last(line, ' ');
        if (space != SIZE_MAX && !str_is_empty(str_trim(str_take(line, space))))
            line = str_take(line, space);
    }
    if (str_is_empty(line)) /* a character that is wider than the line */
        line = str_take(*text, 1);
    *ret_line = line;
    *text = str_skip(*text, line.len);
    while (text->len > 0 && text->ptr[0] == ' ')
        *text = str_skip(*text, 1);
    return true;
}

/* Draws as many lines as @text needs; all but the first begin with @indent spaces. */
static void draw_wrapped(Canvas *canvas, const char *colour, Str text, size_t indent) {
    size_t width = canvas->screen->width;
    Str line;

    if (str_is_empty(text))
        draw_line(canvas, colour, text);
    if (indent + WRAPPED_MIN > canvas->screen->width)
        indent = 0;
    for (bool is_first = true; cut_line(&text, width, &line); is_first = false) {
        _cleanup_(buf_done) Buf whole = BUF_INIT(LINE_MAX_BYTES);

        buf_append_repeat(&whole, ' ', is_first ? 0 : indent);
        buf_append(&whole, line);
        draw_line(canvas, colour, buf_str(&whole));
        width = canvas->screen->width - indent;
    }
}

/* C strings that live until the end of the block. */
#define RATE(counter) print_rate((counter), (char[GROUPED_MAX]){"-"})
#define SECONDS(sec) print_seconds((sec), (char[GROUPED_MAX]){"-"})

static const char *print_rate(const TopCounter *counter, char ret[static GROUPED_MAX]) {
    double rate = top_counter_rate(counter);

    if (rate >= 10 || rate == 0)
        return terminal_grouped((uint64_t)(rate + 0.5), ret);
    if (rate > 0)
        (void)snprintf(ret, GROUPED_MAX, "%.1f", rate);
    return ret;
}

static const char *print_seconds(double sec, char ret[static GROUPED_MAX]) {
    bool is_short = sec < 0.001;

    if (sec >= 1)
        (void)snprintf(ret, GROUPED_MAX, "%.0f s", sec);
    else if (!isnan(sec))
        (void)snprintf(
            ret, GROUPED_MAX, is_short ? "%.0f µs" : "%.1f ms", is_short ? sec * 1e6 : sec * 1e3);
    return ret;
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
        draw_wrapped(canvas, canvas->paint.bad, buf_str(&line), 2);
        return;
    }
    if (!state->has_update) {
        draw_line(canvas, canvas->paint.dim, STR("waiting for the first update …"));
        return;
    }
    if (top_state_is_healthy(state))
        buf_printf(&line, "%s %s", has_symbols ? "✓" : "+", state->summary);
    else
        buf_printf(&line, "%s %s", has_symbols ? "‼" : "!", state->summary);
    draw_wrapped(canvas, top_state_is_healthy(state) ? canvas->paint.good : canvas->paint.bad,
        buf_str(&line), 2);
}

/* Draws each figure on the current line if it fits, else on a new one. */
static void draw_figures(Canvas *canvas, const TopState *state) {
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);
    char all[512];
    Str rest, figure;

    (void)snprintf(all, sizeof(all),
        "%s filters/s|%s nodes rejected/s|%s pending pod%s|p99 %s|errors %.1f %%|%s nodes",
        RATE(&state->filters), RATE(&state->rejected), GROUPED_COUNT(state->n_pending),
        PLURAL(state->n_pending), SECONDS(state->p99_sec),
        isnan(state->error_rate) ? 0 : state->error_rate * 100, GROUPED_COUNT(state->n_nodes));
    rest = str_from_c(all);
    while (str_split(&rest, '|', &figure)) {
        if (line.len > 0 && line.len + 3 + figure.len > canvas->screen->width) {
            draw_line(canvas, "", buf_str(&line));
            buf_reset(&line);
        }
        buf_printf(&line, "%s%.*s", line.len > 0 ? "   " : "", STR_FMT(figure));
    }
    draw_line(canvas, "", buf_str(&line));
}

static void draw_rules(Canvas *canvas, const TopState *state) {
    size_t n = state->n_rules < RULES_SHOWN_MAX ? state->n_rules : RULES_SHOWN_MAX;
    /* the rule's column has the rest, within limits */
    size_t rest = canvas->screen->width > 32 ? canvas->screen->width - 32 : 8;
    size_t width = rest > 48 ? 48 : rest;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    if (n == 0)
        return;
    draw_line(canvas, "", STR_NULL);
    visible_append_padded(&line, STR("RULES THAT REJECT"), width);
    buf_printf(&line, " %10s %16s", "NODES/S", "SINCE START");
    draw_line(canvas, canvas->paint.dim, buf_str(&line));
    for (size_t i = 0; i < n; i++) {
        const TopRule *rule = &state->rules[i];

        buf_reset(&line);
        visible_append_padded(&line, visible_take(str_from_c(rule->name), width), width);
        buf_printf(&line, " %10s %16s", RATE(&rule->rejected), GROUPED_COUNT(rule->rejected.last));
        draw_line(canvas, "", buf_str(&line));
    }
}

static bool is_rejected(const TopDecision *decision) {
    return strcmp(decision->verb, "filter") == 0 && decision->asked > 0 && decision->passed == 0;
}

bool top_screen_shows(const TopScreen *screen, const TopDecision *decision) {
    if (screen->only_rejected && !is_rejected(decision))
        return false;
    return screen->filter[0] == '\0' || strcasestr(decision->pod, screen->filter) ||
           strcasestr(decision->node, screen->filter) ||
           strcasestr(decision->reason, screen->filter);
}

/* Columns: the time, a mark, the pod, how many nodes passed, the outcome. The outcome gets most of
 * the width: it is what users look for. */
typedef struct Columns {
    size_t pod, counts, outcome;
} Columns;

static Columns columns_of(const TopScreen *screen) {
    Columns columns = {.counts = screen->width < NARROW ? 11 : 13};
    size_t used = 8 + 1 + 1 + columns.counts + 2;
    size_t left = screen->width > used ? screen->width - used : 0, pod = left * 2 / 5;

    columns.pod = pod < 20 ? 20 : pod > 48 ? 48 : pod;
    columns.outcome = left > columns.pod + 8 ? left - columns.pod : 8;
    return columns;
}

/* Prints the node of the pod, or why it has none. */
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

static void print_counts(Buf *line, const TopScreen *screen, const TopDecision *decision) {
    char both[64];

    if (screen->width >= NARROW) {
        buf_printf(line, "%6" PRId64 " %6" PRId64, decision->asked, decision->passed);
        return;
    }
    (void)snprintf(both, sizeof(both), "%" PRId64 "/%" PRId64, decision->passed, decision->asked);
    buf_printf(line, "%11s", both);
}

/* Draws a decision and returns its number of lines; only counts them if @canvas is NULL. */
static size_t draw_decision(Canvas *canvas, const TopScreen *screen, const TopDecision *decision) {
    Columns columns = columns_of(screen);
    bool is_selected = screen->selected == decision->id && !screen->is_once;
    _cleanup_(buf_done) Buf outcome = BUF_INIT(LINE_MAX_BYTES), line = BUF_INIT(LINE_MAX_BYTES);
    Str rest, part = STR_NULL;
    size_t n = 0;

    print_outcome(&outcome, screen, decision);
    rest = buf_str(&outcome);
    while (cut_line(&rest, columns.outcome, &part) || n == 0) {
        buf_reset(&line);
        if (n == 0) {
            buf_printf(&line, "%-8s%c", decision->time, is_selected ? '>' : ' ');
            visible_append_padded(
                &line, visible_take(str_from_c(decision->pod), columns.pod), columns.pod);
            buf_append_char(&line, ' ');
            print_counts(&line, screen, decision);
            buf_append(&line, STR("  "));
        } else {
            buf_append_repeat(&line, ' ', 8 + 1 + columns.pod + 1 + columns.counts + 2);
        }
        buf_append(&line, part);
        if (++n == OUTCOME_LINES_MAX && rest.len > 0)
            buf_append(&line, STR("…"));
        if (canvas)
            draw_line(canvas,
                is_selected             ? canvas->paint.bold
                : is_rejected(decision) ? canvas->paint.bad
                                        : "",
                buf_str(&line));
        if (n == OUTCOME_LINES_MAX)
            break;
    }
    return n;
}

/* How many decisions to leave out at the top, so that the selected one fits. */
static size_t count_skipped(const Canvas *canvas, const TopState *state) {
    const TopScreen *screen = canvas->screen;
    size_t room = lines_left(canvas) > 1 ? lines_left(canvas) - 1 : 0, used = 0, skipped = 0;
    size_t heights[TOP_DECISIONS_MAX], n = 0;
    const TopDecision *decision;

    for (size_t back = 0; (decision = top_state_decision(state, back)); back++) {
        if (!top_screen_shows(screen, decision))
            continue;
        heights[n] = draw_decision(NULL, screen, decision);
        used += heights[n++];
        while (used > room && skipped + 1 < n)
            used -= heights[skipped++];
        if (decision->id == screen->selected)
            return skipped;
    }
    return 0; /* the selected decision is no longer kept */
}

static void draw_decisions(Canvas *canvas, const TopState *state) {
    const TopScreen *screen = canvas->screen;
    Columns columns = columns_of(screen);
    size_t n_skipped, n_seen = 0;
    const TopDecision *decision;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    draw_line(canvas, "", STR_NULL);
    buf_printf(&line, "%-8s %-*s ", "TIME", (int)columns.pod, "POD");
    if (screen->width >= NARROW)
        buf_printf(&line, "%6s %6s", "NODES", "PASSED");
    else
        buf_printf(&line, "%11s", "PASSED");
    buf_append(&line, STR("  NODE, OR MAIN REASON"));
    draw_line(canvas, canvas->paint.dim, buf_str(&line));
    n_skipped = screen->selected ? count_skipped(canvas, state) : 0;
    for (size_t back = 0; lines_left(canvas) > 1; back++) {
        decision = top_state_decision(state, back);
        if (!decision)
            break;
        if (top_screen_shows(screen, decision) && n_seen++ >= n_skipped &&
            draw_decision(NULL, screen, decision) < lines_left(canvas))
            (void)draw_decision(canvas, screen, decision);
        else if (n_seen > n_skipped)
            break; /* no room for all of its lines */
    }
}

static void draw_text(Canvas *canvas) {
    const TopScreen *screen = canvas->screen;
    Str rest = screen->text, line;

    draw_line(canvas, canvas->paint.bold, str_from_c(screen->text_title));
    for (size_t i = 0; lines_left(canvas) > 1 && str_split(&rest, '\n', &line); i++)
        if (i >= screen->text_offset) {
            size_t indent = 0;

            while (indent < line.len && line.ptr[indent] == ' ')
                indent++;
            draw_wrapped(canvas, "", line, indent + 2);
        }
}

static void draw_foot(Canvas *canvas) {
    const TopScreen *screen = canvas->screen;
    _cleanup_(buf_done) Buf line = BUF_INIT(LINE_MAX_BYTES);

    while (lines_left(canvas) > 1)
        draw_line(canvas, "", STR_NULL);
    if (screen->text.ptr)
        buf_append(&line, STR("Esc back   ↑ ↓ scroll   Space next page   Ctrl-C quit"));
    else if (screen->is_typing)
        buf_printf(&line, "/%s_", screen->filter);
    else if (screen->filter[0])
        buf_printf(&line, "/%s   Esc: all   q quit   p pause", screen->filter);
    else
        buf_append(&line,
            STR("q quit   ↑ ↓ select   Enter explain   / filter   w no node   g newest   p pause"));
    draw_line(canvas, canvas->paint.dim, buf_str(&line));
}

void top_screen_draw(const TopScreen *screen, const TopState *state, Buf *out) {
    Canvas canvas = {
        .screen = screen,
        .paint = paint_for(screen->has_colour),
        .out = out,
    };

    if (screen->text.ptr) {
        draw_text(&canvas);
        draw_foot(&canvas);
        return;
    }
    draw_title(&canvas, state);
    draw_health(&canvas, state);
    draw_figures(&canvas, state);
    draw_rules(&canvas, state);
    draw_decisions(&canvas, state);
    if (!screen->is_once)
        draw_foot(&canvas);
}
