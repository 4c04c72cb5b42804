#pragma once

/*
 * Signals: what a daemon is told by them. They are blocked, and read from a descriptor like
 * anything else, by one thread.
 */

#include <stdbool.h>

typedef enum SignalAction {
    SIGNAL_END,    /* SIGTERM, SIGINT */
    SIGNAL_RELOAD, /* SIGHUP */
    SIGNAL_DUMP,   /* SIGUSR2 */
} SignalAction;

/* In this thread and those it starts later; SIGPIPE is ignored from now on. */
void signals_block(void);

/* A descriptor to poll and to close, which does not block; -1: there is none. */
int signals_open(void);

/* The next that has come; false: there is none. */
bool signals_read(int fd, SignalAction *ret);
