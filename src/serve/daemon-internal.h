#pragma once

/* Shared by daemon.c (start and end) and daemon-loop.c (everything in between). */

#include "api/pages.h"
#include "history/changes.h"
#include "history/decisions.h"
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
    Decisions *decisions; /* NULL: none are kept */
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
    Pages *pages; /* NULL: there is no second listener */
    Live *live;   /* NULL: the cluster is not watched */
    Measuring *measuring;
    Expiry *expiry;     /* of the daemon's thread, like the next */
    WatchChanges watch; /* the state of the watches at the last check */
    int64_t refresh_at; /* not before: making a view because of its age has just failed */
    Records records;
    PageWorkers *workers;
    Updates *updates;
    Zones *zones;    /* time zones for expressions */
    ApiContext api;  /* all this for pages, ... */
    Answers answers; /* ... and for the verbs */
};

/* A descriptor to poll, which does not block; -1: none (daemon-loop.c). */
int daemon_open_signals(void);
