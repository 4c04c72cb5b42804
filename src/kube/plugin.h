#pragma once

/*
 * Plugin: the credential that a program gives (kube/exec.h), and when that is run again: shortly
 * before what it gave expires, or when the server did not take it; after failures less and less
 * often.
 *
 * Threads: one at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "kube/access.h"
#include "kube/exec.h"

typedef struct Plugin {
    ExecCredential credential; /* empty until it has given one */
    bool has_credential;
    bool has_run;
    bool was_refresh;       /* the last run was made while the credential was still good */
    unsigned n_failures;    /* in a row, of runs of that sort */
    int64_t ran_at_nsec;    /* when it ended */
    int64_t refresh_at_sec; /* wall */
    int failure;            /* of the last run: 0 or a negative errno */
    char error[ACCESS_ERROR_MAX];
} Plugin;

#define PLUGIN_INIT ((Plugin){.credential.expires_sec = EXEC_NEVER})

void plugin_done(Plugin *plugin); /* wipes */

/* What is needed to run it. */
typedef struct PluginRun {
    const ExecSpec *spec;
    const ExecCluster *cluster;
    int64_t now_nsec; /* monotonic */
    int64_t wall_sec; /* since 1970 */
    bool is_rejected; /* the server did not take what it gave last */
} PluginRun;

enum {
    _PLUGIN_KEPT,
    PLUGIN_GAVE, /* it was run, and gave a credential */
};

/* Runs it if that is due, which blocks (access_authorize()). *ret_changed is set, never cleared,
 * when the credential is another now. 0 or PLUGIN_GAVE: there is one to send, unless the server has
 * rejected it and it is too early to ask for another; or a negative errno with a message in @error
 * (ACCESS_ERROR_MAX). */
int plugin_refresh(Plugin *plugin, const PluginRun *run, bool *ret_changed, char *error) MUST_CHECK;
