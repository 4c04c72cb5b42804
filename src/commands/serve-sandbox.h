#pragma once

/* The sandbox of `berth serve`: which files it needs, and what happens before it is entered. */

#include "cli/option.h"
#include "sandbox/sandbox.h"
#include "serve/daemon.h"

#define SERVE_DUMP_OPTION "dump-file" /* the one file that is written */

/* Allows the files that @options name in @settings, and those that the kubeconfig and the sources
 * name; forks the process that runs a credential plugin; enters. A kubeconfig
 * or sources that cannot be read are left to daemon_new() to report. 0, or a negative errno with a
 * message in @error (DAEMON_ERROR_MAX). */
int serve_sandbox_enter(const Option *options, const void *settings, const DaemonOptions *daemon,
    Sandbox *ret, char *error) MUST_CHECK;

/* Which parts are active; a warning if the kernel lacks some. */
void serve_sandbox_log(const Sandbox *sandbox);
