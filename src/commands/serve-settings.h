#pragma once

/*
 * ServeSettings: what the options of `berth serve` say, checked.
 */

#include "base/log.h"
#include "base/str.h"
#include "cli/policy-files.h"
#include "cli/values.h"
#include "commands/serve-namespace.h"
#include "policy/exemption.h"
#include "serve/daemon.h"

#define SERVE_CLIENT_NAMES_MAX 64u
#define SERVE_HOSTS_MAX 16u

/* What the options are collected into; the daemon borrows from it. */
typedef struct ServeSettings {
    DaemonOptions daemon;
    PolicyPaths policies;
    Str client_names[SERVE_CLIENT_NAMES_MAX];
    Str pages_client_names[SERVE_CLIENT_NAMES_MAX];
    Str hosts[SERVE_HOSTS_MAX];
    size_t n_hosts;
    Str managed[LIVE_MANAGED_RESOURCES_MAX];
    Exemption exempt[EXEMPTIONS_MAX + 1]; /* berth's own pods besides */
    size_t n_exempt;
    char own_pods[OWN_NAMESPACE_MAX + sizeof("/" EXEMPTION_OWN)];
    char lease_namespace[OWN_NAMESPACE_MAX];
    Listen listen, pages_listen;
    LogLevel log_level;
    LogFormat log_format;
} ServeSettings;

/* As for getopt_long(). */
typedef enum ServeOption {
    OPTION_LISTEN = 256,
    OPTION_POLICY,
    OPTION_CLUSTER,
    OPTION_KUBECONFIG,
    OPTION_CONTEXT,
    OPTION_IN_CLUSTER,
    OPTION_WATCH_SILENCE,
    OPTION_BIND,
    OPTION_BIND_WINDOW,
    OPTION_WAKE_UP,
    OPTION_MANAGED_RESOURCE,
    OPTION_DUMP_FILE,
    OPTION_PROMETHEUS,
    OPTION_SOURCES,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_CLIENT_CA,
    OPTION_CLIENT_NAME,
    OPTION_INSECURE_HTTP,
    OPTION_WORKERS,
    OPTION_MAX_HEADER,
    OPTION_MAX_BODY,
    OPTION_MAX_MEMORY,
    OPTION_HEADER_TIMEOUT,
    OPTION_BODY_GRACE,
    OPTION_BODY_MIN_RATE,
    OPTION_WRITE_TIMEOUT,
    OPTION_IDLE_TIMEOUT,
    OPTION_MAX_CONNECTIONS,
    OPTION_MAX_CONNECTIONS_PER_ADDRESS,
    OPTION_DEADLINE,
    OPTION_DECISIONS,
    OPTION_DECISIONS_MEMORY,
    OPTION_LOG_LEVEL,
    OPTION_LOG_FORMAT,
    OPTION_PAGES_LISTEN,
    OPTION_PAGES_TOKEN_FILE,
    OPTION_PAGES_CLIENT_NAME,
    OPTION_PAGES_HOST,
    OPTION_NO_DASHBOARD,
    OPTION_DRAIN_DELAY,
    OPTION_EXEMPT,
    OPTION_LEASE,
    OPTION_EVENTS,
} ServeOption;

/* All defaults. */
void serve_settings_init(ServeSettings *settings);

/* One option, @name, and what was written behind it. 0; or EXIT_USAGE, after saying on stderr what
 * is wrong with that. */
int serve_settings_set(
    ServeSettings *settings, ServeOption option, const char *name, const char *value);

/* All options are there. NULL when they go together: the daemon's are ready for use then; else what
 * is wrong. */
const char *serve_settings_finish(ServeSettings *settings);
