#pragma once

/* Shared by daemon.c (start and end) and daemon-loop.c (its thread). */

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
    Expiry expiry;              /* used by the daemon's thread, like the next */
    WatchChanges watch;         /* the state of the watches at the last check */
    Task *refresh;              /* replaces the view when a value in it has expired */
    _Atomic int64_t refresh_at; /* not earlier, after a failure */
    Journal *journal;           /* NULL: decisions are only in memory */
    Task *journaling;           /* writes the journal, because a disk can be slow */
    Zones *zones;               /* time zones for expressions */
    /* For pages; also what is counted and kept. Answers write it, pages read it; each part has its
     * own lock. */
    ApiContext api;
    Answers answers; /* for verbs */
};

/* Returns a non-blocking descriptor to poll, or -1 (daemon-loop.c). @only_end: only for signals
 * that end the process. */
int daemon_open_signals(bool only_end);

/* The functions of the tasks refresh and journaling. */
void daemon_refresh(void *daemon, unsigned wanted);
void daemon_write_journal(void *daemon, unsigned wanted);

/* After a signal, requests and a load of policies may take 4 s, and threads half a second. */
#define DRAIN_NSEC (4 * NSEC_PER_SEC)
#define STOP_NSEC (NSEC_PER_SEC / 2)
