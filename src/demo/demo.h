#pragma once

/*
 * Demo: berth without a cluster: the real daemon on a loopback address, a DemoCluster instead of an
 * API server, and a DemoScheduler instead of kube-scheduler.
 */

#include "serve/daemon.h"

#define DEMO_ERROR_MAX DAEMON_ERROR_MAX

typedef struct DemoOptions {
    const char *program; /* how the user called berth, for commands to paste */
    size_t n_nodes;      /* 1 to DEMO_NODES_MAX */
    uint64_t n_pods;     /* 0: no limit */
    uint64_t seed;
    const char *address; /* numeric */
    uint16_t port;       /* 0: the system picks one */
    const char *policy;  /* NULL: the one built in */
    unsigned pace_msec;  /* between two pods */
    bool is_live;        /* standard output is a terminal */
    bool has_colour;
} DemoOptions;

enum {
    _DEMO_E_SUCCESS,
    DEMO_E_CALLS, /* it ran, but calls failed */
};

/* Runs until the last pod, or SIGINT or SIGTERM. 0, one of the above, or a negative errno
 * (-EINVAL: the policy has errors); then @error (DEMO_ERROR_MAX) is the reason. */
int demo_run(const DemoOptions *options, char *error);

/* Appends the initial cluster, as `kubectl get nodes,pods -A -o json` prints it; @out has room for
 * DEMO_DUMP_MAX. 0, or a negative errno. */
int demo_dump(const DemoOptions *options, Buf *out);

/*
 * Scenarios: a problem in a cluster, and one question: files of scenarios/.
 *
 * The situation is created with the real daemon and protocol, and shown with berth's own commands
 * and pages. With --solve these commands run, and the cause and the fix are shown.
 */

/* Lists all scenarios, one per line. */
void scenario_print_list(Buf *out);

enum {
    _SCENARIO_E_SUCCESS,
    SCENARIO_E_UNKNOWN,  /* no scenario has this name */
    SCENARIO_E_UNSOLVED, /* a step had an unexpected result */
};

/* Ignores the nodes, pods, seed, policy and pace of @options. @solves: --solve; without it, on a
 * terminal, it runs until SIGINT or SIGTERM. 0, one of the above, or a negative errno; then @error
 * (DEMO_ERROR_MAX) has the reason. */
int scenario_run(const char *name, const DemoOptions *options, bool solves, char *error);
