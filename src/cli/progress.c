/* Draws the line of progress on the terminal, from a thread of its own. */

#include "cli/progress.h"

#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/nsec.h"
#include "base/thread.h"
#include "base/visible.h"
#include "cli/terminal.h"

#define SHOWN_AFTER_NSEC (2 * NSEC_PER_SEC)
#define SHOWN_EVERY_NSEC (200 * NSEC_PER_MSEC)
#define LINE_MAX_BYTES ((size_t)1024)
#define WIDTH_DEFAULT 80u

static struct {
    pthread_mutex_t lock; /* guards all below but @thread */
    pthread_cond_t changed;
    pthread_t thread;
    bool is_running, is_over;
    bool is_shown;
    const char *what;
    size_t done, of;
    int64_t since_nsec;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Draws one column less than the terminal has, so that the line never wraps. */
static void draw(int64_t now) {
    _cleanup_(buf_done) Buf text = BUF_INIT(LINE_MAX_BYTES), line = BUF_INIT(LINE_MAX_BYTES);
    struct winsize size = {0};

    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    buf_printf(&text, "%s", progress.what);
    if (progress.of > 0)
        buf_printf(&text, ": %s of %s", GROUPED(progress.done), GROUPED(progress.of));
    buf_printf(&text, ", %lld s", (long long)((now - progress.since_nsec) / NSEC_PER_SEC));
    buf_append_char(&line, '\r');
    (void)visible_append(
        &line, visible_take(buf_str(&text), (size.ws_col > 1 ? size.ws_col : WIDTH_DEFAULT) - 1));
    buf_append(&line, STR("\033[K"));
    if (buf_error(&line) == 0)
        (void)!write(STDERR_FILENO, line.data, line.len);
    progress.is_shown = true;
}

/* Draws until progress_end(). Holds the lock except while it waits. */
static void *run(void *context) {
    (void)pthread_mutex_lock(&progress.lock);
    while (!progress.is_over) {
        int64_t now = clock_monotonic_nsec(), next = progress.since_nsec + SHOWN_AFTER_NSEC;
        struct timespec until;

        if (now >= next) {
            draw(now);
            next = now + SHOWN_EVERY_NSEC;
        }
        until = (struct timespec){next / NSEC_PER_SEC, next % NSEC_PER_SEC};
        (void)pthread_cond_clockwait(&progress.changed, &progress.lock, CLOCK_MONOTONIC, &until);
    }
    if (progress.is_shown)
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    (void)pthread_mutex_unlock(&progress.lock);
    return NULL;
}

void progress_begin(const char *what) {
    if (!isatty(STDERR_FILENO))
        return;
    (void)pthread_mutex_lock(&progress.lock);
    progress.what = what;
    progress.done = progress.of = 0;
    if (!progress.is_running) {
        progress.is_over = progress.is_shown = false;
        progress.since_nsec = clock_monotonic_nsec();
        /* if the thread cannot start, no progress is shown */
        progress.is_running = thread_start(&progress.thread, "progress", run, NULL) == 0;
    }
    (void)pthread_mutex_unlock(&progress.lock);
}

void progress_count(size_t done, size_t of) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&progress.lock);

    progress.done = done;
    progress.of = of;
}

void progress_end(void) {
    bool was_running;

    (void)pthread_mutex_lock(&progress.lock);
    was_running = progress.is_running;
    progress.is_running = false;
    progress.is_over = true;
    (void)pthread_cond_signal(&progress.changed);
    (void)pthread_mutex_unlock(&progress.lock);
    if (was_running)
        thread_join(progress.thread);
}
