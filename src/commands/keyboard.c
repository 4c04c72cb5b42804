/* Reads single keys from the terminal for `berth top`. */

#include "commands/top-screen.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l" /* the other screen, no cursor */
#define KEY_ESCAPE 27
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static bool is_open;
static volatile sig_atomic_t was_stopped;

static void note_stop(int signal) {
    was_stopped = 1;
}

static void note_size(int signal) {
    (void)signal; /* it is enough to be woken */
}

static void on_signal(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};

    (void)sigaction(signal, &action, NULL);
}

static void say(const char *text) {
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

bool keyboard_open(void) {
    struct termios raw;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0)
        return false;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
        return false;
    on_signal(SIGINT, note_stop);
    on_signal(SIGTERM, note_stop);
    on_signal(SIGHUP, note_stop);
    on_signal(SIGWINCH, note_size);
    is_open = true;
    say(ENTER);
    return true;
}

void keyboard_close(void) {
    if (!is_open)
        return;
    is_open = false;
    say(LEAVE);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* The next byte; 0: none waits. */
static char read_byte(void) {
    char byte = 0;

    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : 0;
}

/* The rest of "\033[A", which terminals send at once; other sequences are skipped. */
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

char keyboard_read(void) {
    char key, next;

    if (was_stopped)
        return KEYBOARD_INTERRUPT;
    key = read_byte();
    if (key != KEY_ESCAPE)
        return key;
    next = read_byte();
    return next == '[' || next == 'O' ? read_sequence() : key;
}

void keyboard_size(size_t *ret_width, size_t *ret_height) {
    struct winsize size = {0};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_width = size.ws_col > 0 ? size.ws_col : 80;
    *ret_height = size.ws_row > 0 ? size.ws_row : 24;
}
