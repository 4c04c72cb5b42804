#pragma once

/* Shared by daemon.c (start and end) and daemon-loop.c (everything in between). */

#include "api/pages.h"
#include "history/changes.h"
#include "history/decisions.h"
#include "history/journal.h"
#include "history/recent-pods.h"
#include "input/zones.h"
#include "live/current.h"
#include "live/measuring.h"
#include "monitor/expiry.h"
#include "monitor/latency.h"
#include "monitor/metrics.h"
#include "monitor/warnings.h"
#include "monitor/watch-changes.h"
#include "serve/answers.h"
#include "serve/daemon.h"
#include "serve/files.h"
#include "serve/task.h"

/* A pod's name, '_', 16 digits, NUL. */
#define REPLICA_NAME_MAX 272u

/* What the daemon counts and remembers. Observers (serve/observers.h) write it, pages read it; each
 * part has its own lock. */
typedef struct Records {
    Metrics *metrics;
    Warnings *warnings;
    Changes *changes;
    Latency *latency;
    RecentPods *recent_pods;
    Decisions *decisions;     /* NULL: none are kept */
    NominationLog *nominated; /* NULL: berth nominates nothing */
} Records;

struct Daemon {
    const DaemonOptions *options;
    char url[SERVER_URL_MAX];
    char identity[REPLICA_NAME_MAX];
    int64_t started_at_sec;  /* since 1970, and ... */
    int64_t started_at_nsec; /* ... monotonic */
    int signal_fd, stop_fd;

    Current current;
    Files files;
    Server *server;
    Pages *pages;      /* NULL: there is no second listener */
    Server *admission; /* NULL: there is none for AdmissionReviews */
    Live *live;        /* NULL: the cluster is not watched */
    Measuring *measuring;
    Expiry *expiry;             /* of the daemon's thread, like the next */
    WatchChanges watch;         /* the state of the watches at the last check */
    Task *refresh;              /* makes a new view when a value of the one in force has expired */
    _Atomic int64_t refresh_at; /* not before: that has just failed */
    Records records;
    Journal *journal; /* NULL: decisions are in memory only */
    Task *journaling; /* writes it: a disk can be slow */
    PageWorkers *workers;
    Updates *updates;
    Zones *zones;    /* time zones for expressions */
    ApiContext api;  /* all this for pages, ... */
    Answers answers; /* ... and for the verbs */
};

/* A descriptor to poll, which does not block; -1: none (daemon-loop.c). The second has only the
 * signals that end the process. */
int daemon_open_signals(void);
int daemon_open_end_signals(void);

/* The functions of the tasks @refresh and @journaling. */
void daemon_refresh(void *daemon, unsigned wanted);
void daemon_write_journal(void *daemon, unsigned wanted);

/* Writes the status of policies of the cluster (policy-report.c); about once a second. */
void daemon_report_policies(Daemon *daemon, int64_t now_nsec);

/* For requests, and a load of policies, to end after a signal; the rest of the promised 5 s is for
 * threads to stop. */
#define DRAIN_NSEC (4 * NSEC_PER_SEC)
#define STOP_NSEC (NSEC_PER_SEC / 2)
