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
 * are the sample if it names any. EXIT_FINE, or EXIT_FAILED when it exceeds the budget. */
int load_check_run(const LoadCheck *check, const ClusterSource *cluster, Program *program);

/* Adds warnings about problems of @program with @cluster, a file. */
void cluster_check_run(const ClusterSource *cluster, Program *program, DiagList *diags);

/* Queries every metric source once, and prints which nodes have a value, a paragraph a metric.
 * EXIT_FINE when every metric has a value of some node; EXIT_FAILED when not. */
int metrics_check_run(const MetricsSource *metrics, const ClusterSource *cluster, Program *program);

/* In these, @arena is for temporary data; it never refuses an allocation (cli/terminal.h). */

/* Prints for each rule whether it works on a managed control plane. Whether all do. */
bool check_print_managed(const Program *program, Arena *arena, Buf *out);

/* Prints the rules of a valid program with costs, a line a rule. */
void check_print_costs(const Program *program, Arena *arena, Buf *out);

/* Every rule as its CEL expression; with @messages, those too. */
void check_print_cel(const Program *program, bool messages, Arena *arena, Buf *out);

/* Diagnostics, and the rules if @program is not NULL, as JSON; in the arena of @diags. With
 * @ret_works not NULL, also whether each rule works on a managed control plane, and whether all do.
 */
void check_print_json(const DiagList *diags, const Program *program, bool *ret_works, Buf *out);
