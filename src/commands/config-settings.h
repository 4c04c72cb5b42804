#pragma once

/*
 * ConfigSettings: the options of `berth config`. Unsafe combinations are rejected.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "cli/policy-files.h"
#include "cli/server-source.h"
#include "wiring/scheduler-config.h"

#define CONFIG_LEASE_NAMESPACE "berth-system"

typedef struct ConfigSettings {
    bool is_policy;      /* --format policy */
    ServerSource source; /* a running berth; without a server: none */
    PolicyPaths policies;
    bool may_bind;
    ManagedResource managed[WIRING_RESOURCES_MAX];
    size_t n_managed;

    const char *url;
    const char *tls_ca;
    const char *server_name;
    const char *client_cert, *client_key;
    bool insecure_http;
    int64_t timeout_nsec; /* 0: not given */

    int64_t weight;
    bool is_ignorable;
    int64_t percentage; /* -1: not given */

    const char *scheduler_name;
    bool has_leader_election;    /* by default that of the default scheduler, not of another */
    bool has_no_leader_election; /* --no-leader-elect */
    const char *lease_namespace, *lease_name;
    const char *kubeconfig;
} ConfigSettings;

extern const Option config_options[];

/* For struct Command. */
const char *config_settings_check(void *settings, const Arguments *arguments);
