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

/* Writes the initial cluster to @path ("-" is standard output), as `kubectl get nodes,pods -A -o
 * json`. 0, or a negative errno with @error. */
int demo_dump(const DemoOptions *options, const char *path, char *error);
