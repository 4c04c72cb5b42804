#pragma once

/*
 * ConfigSettings: what `berth config` was told, and whether that goes together. What would be
 * unsafe is refused here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/policy-files.h"
#include "cli/server-source.h"
#include "wiring/scheduler-config.h"

#define CONFIG_LEASE_NAMESPACE "berth-system"

typedef struct ConfigSettings {
    bool is_policy;      /* --format policy */
    ServerSource source; /* of a berth that runs; without a server there is none to ask */
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

/* From the command line. 0, with *ret_is_done when --help was all that was wanted; or EXIT_USAGE
 * after complaining. */
int config_settings_read(int argc, char *argv[], ConfigSettings *ret, bool *ret_is_done);
