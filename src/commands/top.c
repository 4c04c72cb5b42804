/*
 * berth top: the decisions of a running berth, live.
 *
 * It reads the event stream of the dashboard. On a terminal the screen is redrawn with every update
 * and key; otherwise it is printed once, after the second update: a rate needs two.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/berth-client.h"
#include "cli/server-source.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/top-screen.h"

#define WHO "berth top"
#define EVENTS_PATH "/api/v1/events"
#define TOP_BUDGET ((size_t)16 * 1024 * 1024)
#define SCREEN_MAX ((size_t)1024 * 1024)
#define STEP_MSEC 500
#define AGAIN_NSEC (2 * NSEC_PER_SEC) /* after the stream broke */
#define ONCE_UPDATES 2u
#define ONCE_LINES 40u
#define ONCE_WIDTH 120u

typedef struct Top {
    ServerSource source;
    bool is_once;
    TopScreen screen;
    TopState *state;
    Arena *arena;   /* what lives as long as the command */
    Arena *scratch; /* one update */
    BerthStream *stream;
    int64_t again_at_nsec;                /* not connected: when to try again */
    char problem[BERTH_CLIENT_ERROR_MAX]; /* why it is not; the stream that knew is gone */
    size_t n_updates;
    bool is_stale; /* the screen needs a redraw */
} Top;

/* --- what comes in -------------------------------------------------------------------------- */

static void take_line(void *context, Str line) {
    Top *top = context;

    if (!str_has_prefix(line, STR("data: ")) || top->screen.is_paused)
        return;
    if (!top_state_take(top->state, str_skip(line, 6), top->scratch))
        return;
    top->n_updates++;
    top->is_stale = true;
}

/* Connects when it is time to. */
static bool connect_again(Top *top, int64_t now) {
    if (top->stream || now < top->again_at_nsec)
        return true;
    top->stream = berth_stream_new(&top->source.access, EVENTS_PATH, take_line, top);
    return top->stream != NULL;
}

static void lose(Top *top, int64_t now) {
    (void)snprintf(top->problem, sizeof(top->problem), "%s", berth_stream_error(top->stream));
    top->stream = berth_stream_free(top->stream);
    top->again_at_nsec = now + AGAIN_NSEC;
    top->screen.problem = top->problem;
    top->is_stale = true;
}

/* Waits for an update, or for a key on @fd (-1: none). */
static void step(Top *top, int fd) {
    size_t before = top->n_updates;

    if (!top->stream) {
        (void)usleep(STEP_MSEC * 1000 / 10);
        return;
    }
    if (!berth_stream_step(top->stream, fd, STEP_MSEC))
        lose(top, clock_monotonic_nsec());
    else if (top->n_updates > before)
        top->screen.problem = NULL;
}

/* --- screen --------------------------------------------------------------------------------- */

static bool print_screen(Top *top, const char *before, const char *after) {
    _cleanup_(buf_done) Buf text = BUF_INIT(SCREEN_MAX), whole = BUF_INIT(SCREEN_MAX);
    Str rest, line;

    top_screen_draw(&top->screen, top->state, &text);
    buf_append(&whole, str_from_c(before));
    rest = buf_str(&text);
    while (str_split(&rest, '\n', &line)) {
        buf_append(&whole, line);
        buf_append(&whole, str_from_c(after));
        if (rest.ptr)
            buf_append_char(&whole, '\n');
    }
    return terminal_print(stdout, buf_str(&whole));
}

/* Overwrites the old lines one by one, so that nothing flickers. */
static bool redraw(Top *top) {
    size_t width, height;

    keyboard_size(&width, &height);
    if (!top->is_stale && width == top->screen.width && height == top->screen.height)
        return true;
    top->screen.width = width;
    top->screen.height = height;
    top->is_stale = false;
    return print_screen(top, "\033[H", "\033[K");
}

static int out_of_memory(void) {
    terminal_complain(WHO, "out of memory for the updates of the screen");
    return EXIT_FAILED;
}

static int watch(Top *top) {
    bool is_over = false;
    char key;

    top->is_stale = true;
    while (!is_over) {
        if (!connect_again(top, clock_monotonic_nsec()))
            return out_of_memory();
        if (!redraw(top))
            return EXIT_FAILED;
        step(top, keyboard_fd());
        while (!is_over && (key = keyboard_read()) != 0) {
            is_over = top_screen_key(&top->screen, key);
            top->is_stale = true;
        }
    }
    return EXIT_FINE;
}

static int show_once(Top *top) {
    top->screen.is_once = true;
    top->screen.width = ONCE_WIDTH;
    top->screen.height = ONCE_LINES;
    if (!connect_again(top, clock_monotonic_nsec()))
        return out_of_memory();
    while (top->n_updates < ONCE_UPDATES) {
        step(top, /* fd= */ -1);
        if (top->screen.problem)
            return terminal_complain(WHO, top->screen.problem);
    }
    return print_screen(top, "", "") && printf("\n") > 0 ? EXIT_FINE : EXIT_FAILED;
}

static int show(Top *top) {
    int r;

    top->screen.server = top->source.access.server;
    top->screen.has_colour = terminal_has_colour(stdout);
    top->screen.has_symbols = terminal_has_symbols(stdout);
    if (top->is_once || !keyboard_open())
        return show_once(top);
    r = watch(top);
    keyboard_close();
    return r;
}

/* --- the command ---------------------------------------------------------------------------- */

/* clang-format off */
static const Option options[] = {
    SERVER_SOURCE_OPTIONS(Top, source),
    {"once", OPTION_FLAG, OPTION_AT(Top, is_once), .help = "print once, after two seconds, and end"},
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return server_source_check(&((Top *)context)->source);
}

static int run(void *context, const Arguments *arguments) {
    Top *top = context;
    int r;

    top->arena = arena_new(TOP_BUDGET);
    top->scratch = arena_new(TOP_BUDGET);
    top->state = calloc(1, sizeof(*top->state));
    if (!top->arena || !top->scratch || !top->state)
        r = out_of_memory();
    else
        r = server_source_open(&top->source, WHO);
    if (r == EXIT_FINE)
        r = show(top);
    berth_stream_free(top->stream);
    free(top->state);
    arena_free(top->scratch);
    arena_free(top->arena);
    return r;
}

const Command top_command = {
    .name = "top",
    .summary = "watch the decisions of a running berth",
    .usage = "[OPTIONS]",
    .about = "Shows the decisions of a running berth live: pods per second, the rules that reject "
             "nodes, the newest decisions. Keys: q quit, p pause, / filter, w only pods without a "
             "node, j k scroll, ? help. Without a terminal it prints once and ends.",
    .options = options,
    .settings_size = sizeof(Top),
    .check = check,
    .run = run,
};
