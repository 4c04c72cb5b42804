#pragma once

/*
 * ServeSettings: the options of `berth serve`.
 */

#include "base/log.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/policy-files.h"
#include "policy/exemption.h"
#include "serve/daemon.h"

#define SERVE_CLIENT_NAMES_MAX 64u
#define SERVE_HOSTS_MAX 16u
#define OWN_NAMESPACE_MAX 64u /* a DNS label and a NUL */

/* The daemon borrows from it. */
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

extern const Option serve_options[];

/* For struct Command. */
void serve_settings_init(void *settings);
const char *serve_settings_check(void *settings, const Arguments *arguments);

/* After that: makes the daemon's options ready for use. */
void serve_settings_finish(ServeSettings *settings);
