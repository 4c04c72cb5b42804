/* Reads single keys from the terminal for `berth top`. */

#include "commands/top-screen.h"

#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l" /* the other screen, no cursor */
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

int keyboard_fd(void) {
    return STDIN_FILENO;
}

char keyboard_read(void) {
    char key = 0;

    if (was_stopped)
        return KEYBOARD_INTERRUPT;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : 0;
}

void keyboard_size(size_t *ret_width, size_t *ret_height) {
    struct winsize size = {0};

    (void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    *ret_width = size.ws_col > 0 ? size.ws_col : 80;
    *ret_height = size.ws_row > 0 ? size.ws_row : 24;
}
