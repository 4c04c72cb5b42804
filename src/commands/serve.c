/*
 * berth serve: the extender.
 */

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/terminal.h"
#include "commands/commands.h"
#include "commands/serve-settings.h"
#include "serve/daemon.h"

/* A broken policy or certificate is the user's to fix (1); a port or file may be unavailable (3).
 */
static int exit_code_of(int r) {
    return r == -EINVAL || r == -EPERM ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static int run(void *context, const Arguments *arguments) {
    _cleanup_(daemon_freep) Daemon *daemon = NULL;
    ServeSettings *settings = context;
    char error[DAEMON_ERROR_MAX];
    int r;

    serve_settings_finish(settings);
    log_setup(settings->log_level, settings->log_format);
    daemon_block_signals();
    r = daemon_new(&settings->daemon, &daemon, error);
    if (r < 0) {
        terminal_complain("berth serve", error);
        return exit_code_of(r);
    }
    (void)printf("listening on %s\n", daemon_url(daemon));
    if (daemon_pages_url(daemon))
        (void)printf("pages on %s\n", daemon_pages_url(daemon));
    if (daemon_dashboard_url(daemon))
        (void)printf("dashboard at %s/\n", daemon_dashboard_url(daemon));
    (void)fflush(stdout);
    if (!daemon_run(daemon)) {
        /* A worker may be busy for long, and daemon_free() would wait for it. */
        (void)fflush(stdout);
        _exit(EXIT_FINE);
    }
    return EXIT_FINE;
}

const Command serve_command = {
    .name = "serve",
    .summary = "run the extender",
    .usage = "[OPTIONS]",
    .about =
        "Answers kube-scheduler's filter, prioritize, preempt and bind calls. Prints \"listening "
        "on URL\" when it is ready, and the URL of the dashboard. SIGHUP reloads policies, "
        "cluster, sources and certificates (changed files are noticed anyway); SIGUSR2 writes "
        "the cluster as berth sees it to --dump-file; SIGTERM shuts down gracefully.",
    .options = serve_options,
    .settings_size = sizeof(ServeSettings),
    .init = serve_settings_init,
    .check = serve_settings_check,
    .run = run,
};
