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
    ServerSource source; /* access to the berths in collect.servers */
    Str only[CHECKUP_ONLY_MAX];
    size_t n_only;
    int64_t wait_nsec;
    OutputForm form;
    bool prints_counts; /* print whether counts of pods are exact, below the findings */
    BindWiring bind;    /* set by installation_check_run() */
} InstallationCheck;

/* Whether any of its options was given. */
bool installation_check_is_given(const InstallationCheck *check);

/* Returns NULL if the options are consistent, else the error as a static text. */
const char *installation_check_validate(
    const InstallationCheck *check, const ClusterSource *cluster);

/* Prints the findings. @cluster may name no API server. Sets check->bind. Returns the exit code. */
int installation_check_run(InstallationCheck *check, const ClusterSource *cluster);

/* LoadCheck: predicts whether `berth serve` can load policies for @n_nodes nodes in a budget. */
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

/* Queries every metric source once, and prints a paragraph per metric: which nodes have a value.
 * EXIT_FINE if every metric has a value for some node, else EXIT_FAILED. */
int metrics_check_run(const MetricsSource *metrics, const ClusterSource *cluster, Program *program);

/* In the functions below, @arena is for temporary data and never refuses (cli/terminal.h). */

/* Prints for each rule whether it works on a managed control plane. Returns true if all do. */
bool check_print_managed(const Program *program, Arena *arena, Buf *out);

/* Prints the rules of a valid program with costs, a line a rule. */
void check_print_costs(const Program *program, Arena *arena, Buf *out);

/* Prints every rule as its CEL expression; with @messages, its message expression too. */
void check_print_cel(const Program *program, bool messages, Arena *arena, Buf *out);

/* Prints @diags, and the rules if @program is not NULL, as JSON. If @ret_works is not NULL, also
 * prints whether each rule works on a managed control plane, and sets it to whether all do.
 * Temporary data is in the arena of @diags. */
void check_print_json(const DiagList *diags, const Program *program, bool *ret_works, Buf *out);
