/*
 * berth top: the decisions of a running berth, live.
 *
 * It reads the event stream of the dashboard. On a terminal the screen is redrawn with every update
 * and key; otherwise it is printed once, after the second update: a rate needs two.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/berth-client.h"
#include "cli/replicas.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/explain-internal.h"
#include "commands/top-screen.h"

#define EVENTS_PATH "/api/v1/events"
#define TOP_BUDGET ((size_t)16 * 1024 * 1024)
#define SCREEN_MAX ((size_t)1024 * 1024)
#define EXPLANATION_MAX ((size_t)64 * 1024 * 1024)
#define STEP_MSEC 500
#define AGAIN_NSEC (2 * NSEC_PER_SEC) /* after the stream broke */
#define ONCE_UPDATES 2u
#define ONCE_LINES 40u
#define ONCE_WIDTH 120u

_Static_assert(TOP_REPLICAS_MAX >= REPLICAS_MAX, "top_state_merge() takes all replicas");

/*
 * The keyboard, while the command controls the terminal: keys arrive one by one, without echo, on
 * the alternate screen; the user's screen comes back at the end. SIGINT, SIGTERM, SIGHUP and
 * SIGWINCH interrupt a wait for a key.
 */

#define ENTER "\033[?1049h\033[?25l" /* the alternate screen, no cursor */
#define LEAVE "\033[?25h\033[?1049l"

static struct termios usual;
static volatile sig_atomic_t was_stopped;

static void note_stop(int signal) {
    was_stopped = 1;
}

static void note_size(int signal) {
    (void)signal; /* interrupting the wait is enough */
}

static void on_signal(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};

    (void)sigaction(signal, &action, NULL);
}

static void send_text(const char *text) {
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

static void keyboard_close(void) {
    send_text(LEAVE);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &usual);
}

/* Takes over the terminal. Returns false if standard input or output is not one. Standard input
 * becomes readable when a key is typed. */
static bool keyboard_open(void) {
    struct termios raw;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &usual) < 0)
        return false;
    raw = usual;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
        return false;
    on_signal(SIGINT, note_stop);
    on_signal(SIGTERM, note_stop);
    on_signal(SIGHUP, note_stop);
    on_signal(SIGWINCH, note_size);
    send_text(ENTER);
    (void)at_quick_exit(keyboard_close);
    return true;
}

/* The next byte; 0: none is there. */
static char read_byte(void) {
    char byte = 0;

    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : 0;
}

/* Reads the rest of "\033[A", which terminals send at once; skips other sequences and returns 0. */
static char read_sequence(void) {
    char byte;

    while ((byte = read_byte()) != 0)
        switch (byte) {
        case 'A':
            return KEYBOARD_UP;
        case 'B':
            return KEYBOARD_DOWN;
        case '5':
        case '6':
            (void)read_byte(); /* '~' */
            return byte == '5' ? KEYBOARD_PAGE_UP : KEYBOARD_PAGE_DOWN;
        default:
            if (byte >= '@')
                return 0;
        }
    return 0;
}

/* The next key that was typed; 0: none is there. After SIGINT, SIGTERM or SIGHUP it is always
 * KEYBOARD_INTERRUPT. */
static char keyboard_read(void) {
    char key, next;

    if (was_stopped)
        return KEYBOARD_INTERRUPT;
    key = read_byte();
    if (key != KEY_ESCAPE)
        return key;
    next = read_byte();
    return next == '[' || next == 'O' ? read_sequence() : key;
}

typedef struct Top Top;

/* The events of one replica. */
typedef struct TopReplica {
    Top *top;
    BerthStream *stream;
    TopState state;
    int64_t again_at_nsec;                /* not connected: when to try again */
    char problem[BERTH_CLIENT_ERROR_MAX]; /* why it is not connected; empty: it is */
    size_t n_updates;
} TopReplica;

struct Top {
    ServerSource source;
    bool is_once;
    TopScreen screen;
    Replicas replicas;
    TopReplica *items; /* one for each */
    TopState *state;   /* all replicas merged */
    Arena *scratch;    /* for one update */
    bool is_stale;     /* the screen needs a redraw */
    Buf explanation;
};

static void take_line(void *context, Str line) {
    TopReplica *replica = context;
    Top *top = replica->top;

    if (!str_has_prefix(line, STR("data: ")) || top->screen.is_paused)
        return;
    if (!top_state_take(&replica->state, str_skip(line, 6), top->scratch))
        return;
    replica->problem[0] = '\0';
    replica->n_updates++;
    top->is_stale = true;
}

static void connect_again(Top *top, int64_t now) {
    for (size_t i = 0; i < top->replicas.n; i++) {
        TopReplica *replica = &top->items[i];

        if (!replica->stream && now >= replica->again_at_nsec)
            replica->stream = berth_stream_new(
                &top->replicas.items[i], EVENTS_PATH, take_line, replica, replica->problem);
    }
}

/* Waits for an update, or for a key on @fd (-1: none). All streams of a cluster share one client: a
 * wait for one also advances the others. */
static void step(Top *top, int fd) {
    int timeout_msec = STEP_MSEC;

    for (size_t i = 0; i < top->replicas.n; i++) {
        TopReplica *replica = &top->items[i];

        if (!replica->stream)
            continue;
        if (!berth_stream_step(replica->stream, fd, timeout_msec)) {
            replica->stream = berth_stream_free(replica->stream);
            replica->again_at_nsec = clock_monotonic_nsec() + AGAIN_NSEC;
            top->is_stale = true;
        }
        timeout_msec = 0;
    }
    if (timeout_msec > 0)
        (void)usleep(STEP_MSEC * 1000 / 10);
}

static void merge(Top *top) {
    const TopState *states[TOP_REPLICAS_MAX];

    top->screen.problem = NULL;
    for (size_t i = 0; i < top->replicas.n; i++) {
        states[i] = &top->items[i].state;
        if (top->items[i].problem[0] && !top->screen.problem)
            top->screen.problem = top->items[i].problem;
    }
    top_state_merge(states, top->replicas.n, top->state);
}

static bool print_screen(Top *top, const char *before, const char *after) {
    _cleanup_(buf_done) Buf text = BUF_INIT(SCREEN_MAX), whole = BUF_INIT(SCREEN_MAX);
    Str rest, line;

    merge(top);
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
    struct winsize size = {0};
    size_t width, height;

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    width = size.ws_col > 0 ? size.ws_col : 80;
    height = size.ws_row > 0 ? size.ws_row : 24;
    if (!top->is_stale && width == top->screen.width && height == top->screen.height)
        return true;
    top->screen.width = width;
    top->screen.height = height;
    top->is_stale = false;
    return print_screen(top, "\033[H", "\033[K");
}

static void show_text(Top *top, const char *title, Str text) {
    (void)snprintf(top->screen.text_title, sizeof(top->screen.text_title), "%s", title);
    top->screen.text = text;
    top->screen.text_offset = 0;
    top->is_stale = true;
}

/* Shows the output of `berth explain --last` for the selected pod. It may take a moment: the screen
 * says so. Returns false if the terminal is gone. */
static bool explain_selected(Top *top) {
    const TopDecision *decision = top_state_decision(top->state, 0);
    ExplainLastOptions options = {.weight = 1};
    char error[BERTH_CLIENT_ERROR_MAX], title[TOP_TEXT_MAX], pod[TOP_NAME_MAX];

    top->screen.wants_explanation = false;
    for (size_t back = 1; decision && decision->id != top->screen.selected; back++)
        decision = top_state_decision(top->state, back);
    if (!decision)
        return true;
    (void)snprintf(pod, sizeof(pod), "%s", decision->pod);
    (void)snprintf(title, sizeof(title), "berth explain --last %s", pod);
    options.pod = pod;
    show_text(top, title, STR("fetching the decision …"));
    if (!redraw(top))
        return false;
    buf_reset(&top->explanation);
    terminal_command = "explain";
    if (!explain_last_write(
            &options, &top->replicas, /* has_colour= */ false, &top->explanation, error)) {
        buf_reset(&top->explanation);
        buf_printf(&top->explanation, "%s", error);
    }
    terminal_command = "top";
    show_text(top, title, buf_str(&top->explanation));
    return true;
}

static int watch(Top *top) {
    bool is_over = false;
    char key;

    top->is_stale = true;
    while (!is_over) {
        connect_again(top, clock_monotonic_nsec());
        if (!redraw(top))
            return EXIT_FAILED;
        step(top, STDIN_FILENO);
        while (!is_over && (key = keyboard_read()) != 0) {
            is_over = top_screen_key(&top->screen, top->state, key);
            top->is_stale = true;
        }
        if (top->screen.wants_explanation && !explain_selected(top))
            return EXIT_FAILED;
    }
    return EXIT_FINE;
}

static int show_once(Top *top) {
    size_t n_awaited, n_lost;

    top->screen.is_once = true;
    top->screen.width = ONCE_WIDTH;
    top->screen.height = ONCE_LINES;
    connect_again(top, clock_monotonic_nsec());
    do {
        n_awaited = n_lost = 0;
        for (size_t i = 0; i < top->replicas.n; i++) {
            n_lost += top->items[i].problem[0] != '\0';
            n_awaited += !top->items[i].problem[0] && top->items[i].n_updates < ONCE_UPDATES;
        }
        if (n_awaited > 0)
            step(top, /* fd= */ -1);
    } while (n_awaited > 0);
    if (n_lost == top->replicas.n)
        terminal_fail("%s", top->items[0].problem);
    return print_screen(top, "", "") && printf("\n") > 0 ? EXIT_FINE : EXIT_FAILED;
}

static int show(Top *top) {
    int r;

    top->screen.server = replicas_describe(&top->replicas);
    top->screen.has_colour = terminal_has_colour(stdout);
    top->screen.has_symbols = terminal_has_symbols(stdout);
    if (top->is_once || !keyboard_open())
        return show_once(top);
    r = watch(top);
    keyboard_close();
    return r;
}

/* clang-format off */
static const Option options[] = {
    {"once", OPTION_FLAG, OPTION_AT(Top, is_once), .help = "print once, after two seconds, and end"},

    SERVER_SOURCE_GROUP(Top, source),
    {0},
};
/* clang-format on */

static const char *check(void *context, const Arguments *arguments) {
    return server_source_check(&((Top *)context)->source);
}

static int run(void *context, const Arguments *arguments) {
    Top *top = context;
    int r;

    replicas_open(&top->source, &top->replicas);
    top->explanation = (Buf)BUF_INIT(EXPLANATION_MAX);
    top->scratch = terminal_arena("the updates of the screen", TOP_BUDGET);
    top->state = ARENA_NEW(arguments->arena, TopState);
    top->items = ARENA_ARRAY(arguments->arena, TopReplica, top->replicas.n + 1);
    for (size_t i = 0; i < top->replicas.n; i++)
        top->items[i].top = top;
    r = show(top);
    for (size_t i = 0; i < top->replicas.n; i++)
        berth_stream_free(top->items[i].stream);
    buf_done(&top->explanation);
    arena_free(top->scratch);
    replicas_done(&top->replicas);
    return r;
}

const Command top_command = {
    .name = "top",
    .summary = "watch the decisions of a running berth",
    .usage = "[OPTIONS]",
    .about =
        "Shows the decisions of a running berth live, of several replicas together: pods per "
        "second, the rules that reject nodes, the newest decisions. Keys: q quit, arrows select, "
        "Enter explains the selected pod, g back to the newest, p pause, / filter, w only pods "
        "without a node. "
        "Without a terminal it prints once and ends.",
    .options = options,
    .budget = (size_t)64 * 1024 * 1024,
    .memory_for = "the updates of the screen",
    .settings_size = sizeof(Top),
    .check = check,
    .run = run,
};
