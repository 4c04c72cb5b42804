#pragma once

/*
 * InstallationCheck: the part of `berth check` for an installation: its options, and rounds of
 * collecting, judging and printing.
 */

#include "base/nsec.h"
#include "checkup/check.h"
#include "cli/cluster-source.h"
#include "cli/server-source.h"
#include "cli/terminal.h"
#include "collect/collect.h"
#include "policy/exactness.h"
#include "policy/program.h"
#include "json/write.h"

typedef struct InstallationCheck {
    CollectOptions collect;
    const char *configs[FACTS_CONFIGS_MAX]; /* --scheduler-config */
    size_t n_configs;
    ServerSource source; /* how to get into berths; they are collect.servers */
    Str only[CHECKUP_ONLY_MAX];
    size_t n_only;
    int64_t wait_nsec;
    OutputForm form;
    bool prints_counts; /* of the policies in force, after the findings */
    BindWiring bind;    /* found out by installation_check_run() */
} InstallationCheck;

/* Rows of an option table whose settings of type @type hold an InstallationCheck at @member. */
/* clang-format off */
#define CHECK_INSTALLATION_OPTIONS(type, member)                                                   \
    {"server", OPTION_LIST, .argument = "URL", .check = installation_check_url,                    \
        OPTION_LIST_AT(type, member.collect.servers, member.collect.n_servers),                    \
        .initial = SERVER_SOURCE_DEFAULT, .help = "a running berth; may be repeated"},             \
    SERVER_SOURCE_ACCESS_OPTIONS(type, member.source),                                             \
    {"scheduler-config", OPTION_LIST, .argument = "FILE", .complete = COMPLETE_FILES,              \
        OPTION_LIST_AT(type, member.configs, member.n_configs),                                    \
        .help = "a configuration of kube-scheduler; may be repeated. With --kubeconfig or "        \
                "--in-cluster it is found in the cluster, and permissions, clocks and berth's "    \
                "pods are checked, too"},                                                          \
    {"scheduler-pod", OPTION_LIST, .argument = "NAMESPACE/NAME", .complete = COMPLETE_PODS,        \
        .check = installation_check_name,                                                          \
        OPTION_LIST_AT(type, member.collect.scheduler_pods, member.collect.n_scheduler_pods),      \
        .help = "a kube-scheduler that is not found automatically"},                               \
    {"url", OPTION_TEXT, .argument = "URL", OPTION_AT(type, member.collect.url),                   \
        .check = installation_check_url,                                                           \
        .help = "berth's URL in configurations, if it is not that of --server"},                   \
    {"service-account", OPTION_TEXT, .argument = "NAMESPACE/NAME",                                 \
        OPTION_AT(type, member.collect.service_account), .check = installation_check_name,         \
        .initial = "that of berth's pods", .help = "whose permissions to check"},                  \
    {"user", OPTION_TEXT, .argument = "NAME", OPTION_AT(type, member.collect.user),                \
        .help = "or a user's"},                                                                    \
    {"only", OPTION_CUSTOM, .argument = "NAME,...", .complete = COMPLETE_CHECKS, .set = add_only,  \
        .help = "these groups (scheduler, berth, rights, cluster, policies, installation) or "     \
                "codes (B201)"},                                                                   \
    {"wait", OPTION_DURATION, .argument = "TIME", OPTION_AT(type, member.wait_nsec),               \
        .min = NSEC_PER_SEC, .max = INT64_C(3600) * NSEC_PER_SEC,                                  \
        .help = "repeat every second until nothing fails, for up to TIME (60s)"}
/* clang-format on */

/* For Option.check: NAMESPACE/NAME; http:// or https://. */
const char *installation_check_name(const char *value);
const char *installation_check_url(const char *value);

/* Adds the names in @value, "rights,B201". NULL; or the error. */
const char *installation_check_only(Str names[], size_t *n, const char *value);

/* Whether any of its options was given. */
bool installation_check_is_given(const InstallationCheck *check);

/* NULL when they are consistent; else the error. */
const char *installation_check_validate(
    const InstallationCheck *check, const ClusterSource *cluster);

/* Prints the findings. @cluster may name no API server. Returns the exit code. */
int installation_check_run(InstallationCheck *check, const ClusterSource *cluster);

/* LoadCheck: predicts whether berth serve can load policies on a cluster of some size. */
typedef struct LoadCheck {
    size_t n_nodes; /* 0: not wanted */
    int64_t cpu_nsec;
    size_t bytes;
} LoadCheck;

/* Prints the expected cost of @program, and the rules that cause most of it; the nodes of @cluster
 * are the sample if it names any. EXIT_FINE, EXIT_FAILED when it exceeds the budget, or another
 * exit code after complaining. */
int load_check_run(const LoadCheck *check, const ClusterSource *cluster, Program *program);

/* Adds warnings about what is wrong with @program for @cluster, a file. 0; or an exit code, after
 * complaining. */
int cluster_check_run(const ClusterSource *cluster, Program *program, DiagList *diags);

/* Queries every metric source once, and prints which nodes have a value, a paragraph a metric.
 * EXIT_FINE when every metric has a value of some node; EXIT_FAILED when not; or another exit code,
 * after complaining. */
int metrics_check_run(const MetricsSource *metrics, const ClusterSource *cluster, Program *program);

/* Prints for each rule whether it works on a managed control plane (policy/managed.h). Whether all
 * do. */
bool check_print_managed(const Program *program, Buf *out);

/* Prints the rules of a valid program with costs, a line a rule. */
void check_print_costs(const Program *program, Buf *out);

/* Whether the counts of filters are exact, with a line for each policy that has such filters. */
void check_print_counts(const Program *program, BindWiring bind, Buf *out);

/* Every rule as its CEL expression; with @messages, those too. */
void check_print_cel(const Program *program, bool messages, Buf *out);

/* Diagnostics, and the rules if @program is not NULL, as JSON. With @ret_works not NULL, also
 * whether each rule works on a managed control plane, and whether all do. */
void check_print_json(const DiagList *diags, const Program *program, bool *ret_works, Buf *out);
