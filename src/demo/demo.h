#pragma once

/*
 * Demo: berth at work, without a cluster.
 *
 * The real daemon on a loopback address, a DemoCluster instead of an API server, a
 * Driver instead of kube-scheduler, and a DemoPrinter for the person who watches.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/daemon.h"

#define DEMO_ERROR_MAX DAEMON_ERROR_MAX

typedef struct DemoOptions {
    const char *program; /* how the person called berth, for commands to paste */
    size_t n_nodes;      /* 1 to DEMO_NODES_MAX */
    uint64_t n_pods;     /* 0: until it is stopped */
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
    DEMO_E_CALLS, /* it ran, but calls went wrong */
};

/* Runs until the last pod, or SIGINT or SIGTERM. 0, one of the above, or a negative
 * errno (-EINVAL: the policy has errors); then @error (DEMO_ERROR_MAX) says what is
 * the matter. */
int demo_run(const DemoOptions *options, char *error);

/* Writes the cluster the demo starts with to @path ("-" is standard output), in the
 * form of `kubectl get nodes,pods -A -o json`. 0, or a negative errno with @error. */
int demo_dump(const DemoOptions *options, const char *path, char *error);
