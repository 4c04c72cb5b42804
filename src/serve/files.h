#pragma once

/*
 * Files: configuration on disk, read at the start and again whenever it has changed.
 *
 * Policies, a cluster, sources of metrics, certificates, a token. A file that cannot be used leaves
 * the last good one in force, and says so in the log, in /metrics and in /readyz?verbose.
 *
 * Threads: the daemon's own; reloads and tls are read from any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "api/token.h"
#include "cluster/snapshot.h"
#include "history/changes.h"
#include "http/tls.h"
#include "live/current.h"
#include "live/measuring.h"
#include "monitor/reload.h"
#include "policy/program.h"
#include "serve/daemon.h"

typedef struct Files {
    const DaemonOptions *options; /* borrowed, like the two that follow */
    Current *current;             /* where the new configuration is applied */
    Measuring *measuring;         /* reads the sources; NULL: not yet */
    TlsStore *tls;                /* the certificates; NULL: plain HTTP */
    Token *token;                 /* of the pages' listener; NULL: none */
    bool is_crl_overdue;          /* and that was logged */
    Changes *changes;             /* the log of changes; borrowed, may be NULL */
    Reloads reloads;
    uint64_t fingerprints[_RELOAD_MAX]; /* of the last read */
} Files;

/* Reads policies, cluster (NULL: none), certificates and token for the first time; references go to
 * the caller. 0; or a negative errno with a message for users in @error (DAEMON_ERROR_MAX). */
int files_load(Files *files, Program **ret_program, Snapshot **ret_snapshot, char *error)
    MUST_CHECK;
void files_done(Files *files);

/* The sources have been read for the first time. */
void files_note_sources(Files *files);

/* Reads changed files again, or everything when @force. */
void files_reload(Files *files, bool force);
