#pragma once

/*
 * Files: configuration on disk, read at the start and again whenever it has changed.
 *
 * Policies, a cluster, sources of metrics, certificates, a token; and besides files, the policies
 * of the cluster, as the watch shows them (live/cluster-policies.h). A file that cannot be used
 * leaves the last good one in force, which the log, /metrics and /readyz?verbose report.
 *
 * Policies, the cluster and sources can take long. They are read again, in this order, on a thread
 * of their own (a Task), so that the daemon's thread never waits for them. A policy that changes
 * while it is being loaded is loaded again.
 *
 * Threads: the daemon's own; reloads and tls are read from any.
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
    const DaemonOptions *options; /* borrowed, like the two that follow */
    Current *current;             /* where the new configuration is applied */
    Measuring *measuring;         /* reads the sources; NULL: not yet */
    Live *live;                   /* the watched cluster; NULL: none. Borrowed */
    TlsStore *tls;                /* the certificates; NULL: plain HTTP */
    PagesTokens tokens;           /* of the pages' listener */
    bool is_crl_overdue;          /* and that was logged */
    Changes *changes;             /* the log of changes; borrowed, may be NULL */
    Reloads reloads;
    uint64_t fingerprints[_RELOAD_MAX]; /* of the last read */
    PolicyObjects *objects;             /* policies of the cluster; NULL: none. Written by live */
    ClusterPolicies *cluster;           /* which of their versions are in force */
    uint64_t objects_version;           /* of those last read */
    Task *task;                         /* reads what takes long; NULL: not yet */
    atomic_bool is_cancelled;           /* the load of policies under way */
    atomic_bool is_exceeded;            /* RELOAD_POLICY is bad because of files_note_exceeded() */
} Files;

/* Reads cluster (NULL: none), policies, certificates and token for the first time, on any thread;
 * references go to the caller, and @ret_load is for the view of the program. 0; or a negative errno
 * with a message for users in @error (DAEMON_ERROR_MAX). */
int files_load(Files *files, Program **ret_program, Snapshot **ret_snapshot, PolicyLoad *ret_load,
    char *error) MUST_CHECK;
void files_done(Files *files);

/* Starts the thread that reads what takes long. 0, or a negative errno. */
int files_start(Files *files) MUST_CHECK;

/* Ends a load of policies as soon as possible. */
void files_cancel(Files *files);

/* Cancels, and reads nothing more. False: still reading after the time, and files_done() would
 * wait. */
bool files_stop(Files *files, int64_t timeout_nsec);

/* The policies in force exceed the budget of a view: @message for users; NULL: they fit again. Any
 * thread. */
void files_note_exceeded(Files *files, const char *message);

/* Loads policies again if those of the cluster have changed; after files_start(). */
void files_reload_objects(Files *files);

/* Reads changed files again, or everything when @force; after files_start(). What takes long is
 * only requested. */
void files_reload(Files *files, bool force);
