#pragma once

/*
 * CheckupCommand: the part of `berth check` that looks at an installation: its options, and rounds
 * of gathering, judging and printing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkup/check.h"
#include "cli/cluster-source.h"
#include "cli/server-source.h"
#include "collect/collect.h"

typedef struct CheckupCommand {
    GatherOptions gather;
    const char *configs[FACTS_CONFIGS_MAX]; /* --scheduler-config */
    size_t n_configs;
    ServerSource source; /* how to get into berths; they are gather.servers */
    Str only[CHECKUP_ONLY_MAX];
    size_t n_only;
    int64_t wait_nsec;
    bool is_json;
} CheckupCommand;

#define CHECKUP_COMMAND_HELP                                                                       \
    "  --server URL          a berth; may be repeated         [" SERVER_SOURCE_DEFAULT             \
    "]\n" SERVER_SOURCE_ACCESS_HELP                                                                \
    "  --scheduler-config FILE  a configuration of kube-scheduler; may be repeated. With\n"        \
    "                        --kubeconfig or --in-cluster they are found in the cluster, and\n"    \
    "                        rights, clocks and berth's pods are looked at, too\n"                 \
    "  --scheduler-pod NAMESPACE/NAME  a kube-scheduler that is not found by itself\n"             \
    "  --url URL             of berth's entry in configurations, if it is not that of --server\n"  \
    "  --service-account NAMESPACE/NAME  whose rights          [that of berth's pods]\n"           \
    "  --user NAME           or a user's\n"

#define CHECKUP_COMMAND_COMMON_HELP                                                                \
    "  --only NAME,...       these groups (scheduler, berth, rights, cluster, policies,\n"         \
    "                        installation) or codes (B201)\n"                                      \
    "  --wait TIME           again every second until nothing fails, for up to TIME (60s)\n"

enum {
    CHECKUP_SERVER = 640,
    CHECKUP_SCHEDULER_CONFIG,
    CHECKUP_SCHEDULER_POD,
    CHECKUP_URL,
    CHECKUP_SERVICE_ACCOUNT,
    CHECKUP_USER,
    CHECKUP_ONLY,
    CHECKUP_WAIT,
};

/* For getopt_long(); the values are for checkup_command_set(). */
#define CHECKUP_COMMAND_OPTIONS                                                                    \
    {"server", required_argument, NULL, CHECKUP_SERVER}, SERVER_SOURCE_ACCESS_OPTIONS,             \
        {"scheduler-config", required_argument, NULL, CHECKUP_SCHEDULER_CONFIG},                   \
        {"scheduler-pod", required_argument, NULL, CHECKUP_SCHEDULER_POD},                         \
        {"url", required_argument, NULL, CHECKUP_URL},                                             \
        {"service-account", required_argument, NULL, CHECKUP_SERVICE_ACCOUNT},                     \
        {"user", required_argument, NULL, CHECKUP_USER},                                           \
        {"only", required_argument, NULL, CHECKUP_ONLY}, {                                         \
        "wait", required_argument, NULL, CHECKUP_WAIT                                              \
    }

/* True when @option was one of the above; then *@ret is 0, or EXIT_USAGE after complaining. */
bool checkup_command_set(CheckupCommand *command, int option, const char *value, int *ret);

/* Whether any of its options was given. */
bool checkup_command_is_given(const CheckupCommand *command);

/* NULL when they go together; else what is wrong. */
const char *checkup_command_check(const CheckupCommand *command, const ClusterSource *cluster);

/* Prints what was found. @cluster may name no API server. The exit code. */
int checkup_command_run(CheckupCommand *command, const ClusterSource *cluster);

/* The same of configurations alone. */
int checkup_command_run_offline(
    CheckupCommand *command, const char *const *configs, size_t n_configs);
