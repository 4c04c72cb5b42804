#pragma once

/*
 * Files: configuration on disk, read at the start and again whenever it has changed.
 *
 * Policies, a cluster, metric sources, certificates and tokens; and beside files the policies of
 * the cluster, as the watch shows them (live/cluster-policies.h). If a file cannot be used, the
 * last good one stays in force, which the log, /metrics and /readyz?verbose report.
 *
 * Reading policies, the cluster and sources can take long. So a Task reads them again, in this
 * order, and the daemon's thread never waits for them. A policy that changes while it is loaded is
 * loaded again.
 *
 * Threads: the daemon's; any may read reloads and tls.
 */

#include <stdatomic.h>

#include "api/listeners.h"
#include "cluster/snapshot.h"
#include "history/changes.h"
#include "http/tls.h"
#include "live/cluster-policies.h"
#include "live/current.h"
#include "live/live.h"
#include "live/measuring.h"
#include "monitor/reload.h"
#include "policy/program.h"
#include "serve/daemon.h"
#include "serve/task.h"

typedef struct Files {
    const DaemonOptions *options; /* borrowed, like the next two */
    Current *current;             /* where the new configuration is applied */
    Measuring *measuring;         /* reads the sources; NULL: not yet */
    Live *live;                   /* the watched cluster; NULL: none. Borrowed */
    TlsStore *tls;                /* the certificates; NULL: plain HTTP */
    PagesTokens tokens;           /* of the pages' listener */
    bool is_crl_overdue;          /* a CRL has expired, and that was logged */
    Changes *changes;             /* the log of changes; borrowed, may be NULL */
    Reloads reloads;
    uint64_t fingerprints[_RELOAD_MAX]; /* of the files when last read */
    PolicyObjects *objects;             /* policies of the cluster; NULL: none. Written by live */
    ClusterPolicies *cluster;           /* chooses their versions in force */
    uint64_t objects_version;           /* of objects, when last read */
    Task *task;                         /* reads slow files; NULL: not yet */
    atomic_bool is_cancelled;           /* of the running load of policies */
    atomic_bool is_exceeded;            /* RELOAD_POLICY is bad because of files_note_exceeded() */
} Files;

/* Reads cluster (NULL: none), policies, certificates and tokens for the first time, on any thread.
 * *ret_program and *ret_snapshot: references for the caller; *ret_load: for the first view. 0; or a
 * negative errno with a message for users in @error (DAEMON_ERROR_MAX). */
int files_load(Files *files, Program **ret_program, Snapshot **ret_snapshot, PolicyLoad *ret_load,
    char *error) MUST_CHECK;
void files_done(Files *files);

/* Starts the thread that reads slow files. 0, or a negative errno. */
int files_start(Files *files) MUST_CHECK;

/* Ends a load of policies as soon as possible. */
void files_cancel(Files *files);

/* Cancels, and reads nothing more. False: still reading after @timeout_nsec, and files_done() would
 * wait. */
bool files_stop(Files *files, int64_t timeout_nsec);

/* The policies in force exceed the budget of a view: @message for users; NULL: they fit again. Any
 * thread. */
void files_note_exceeded(Files *files, const char *message);

/* Loads policies again if those of the cluster have changed. Only after files_start(). */
void files_reload_objects(Files *files);

/* Reads changed files again, or all files with @force. The Task reads slow ones later. Only after
 * files_start(). */
void files_reload(Files *files, bool force);
