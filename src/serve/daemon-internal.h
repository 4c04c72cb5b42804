#pragma once

/* Shared by daemon.c (start and end) and daemon-loop.c (everything in between). */

#include "history/journal.h"
#include "input/zones.h"
#include "monitor/expiry.h"
#include "serve/files.h"

/* A pod's name, '_', 16 digits, NUL. */
#define REPLICA_NAME_MAX 272u

struct Daemon {
    const DaemonOptions *options;
    char identity[REPLICA_NAME_MAX];
    int signal_fd, stop_fd;
    int load_result; /* of the first load */
    char load_error[DAEMON_ERROR_MAX];

    Current current;
    Files files;
    Server *servers[_LISTENERS]; /* NULL: there is no such listener */
    char urls[_LISTENERS][SERVER_URL_MAX];
    Pages pages;
    Live *live; /* NULL: the cluster is not watched */
    Measuring *measuring;
    Expiry expiry;              /* of the daemon's thread, like the next */
    WatchChanges watch;         /* the state of the watches at the last check */
    Task *refresh;              /* makes a new view when a value of the one in force has expired */
    _Atomic int64_t refresh_at; /* not before: that has just failed */
    Journal *journal;           /* NULL: decisions are in memory only */
    Task *journaling;           /* writes it: a disk can be slow */
    Zones *zones;               /* time zones for expressions */
    /* All this for pages, and what is counted and remembered: the daemon's own. Answers
     * write it, pages read it; each part has its own lock. */
    ApiContext api;
    Answers answers; /* all this for the verbs */
};

/* A descriptor to poll, which does not block; -1: none (daemon-loop.c). @only_end: of the signals
 * that end the process. */
int daemon_open_signals(bool only_end);

/* The functions of the tasks @refresh and @journaling. */
void daemon_refresh(void *daemon, unsigned wanted);
void daemon_write_journal(void *daemon, unsigned wanted);

/* For requests, and a load of policies, to end after a signal; the rest of the promised 5 s is for
 * threads to stop. */
#define DRAIN_NSEC (4 * NSEC_PER_SEC)
#define STOP_NSEC (NSEC_PER_SEC / 2)
