#pragma once

/*
 * Replicas: the running berths of a command: one server, or all replicas of a cluster.
 *
 * Replicas are found by the label of their pods, and queried through the API server's pod proxy: a
 * kubeconfig is enough. The API server authenticates us; berth requires the token of its pages,
 * which we read from its Secret: the one that allows everything if we may, else that of viewers.
 */

#include "cli/berth-client.h"
#include "cli/server-source.h"

#define REPLICAS_MAX 16u
#define REPLICAS_NAMESPACE "berth-system" /* where we look if we may not list all namespaces */

typedef struct Replicas {
    BerthAccess items[REPLICAS_MAX];
    const char *names[REPLICAS_MAX]; /* of the pod, or the URL */
    size_t n;
    bool is_cluster; /* through the API server */
    Arena *arena;
    Access *access;
    Client *client;
    char *token;
} Replicas;

/* Finds the berths; if there is none, the process ends (cli/terminal.h). The caller calls
 * replicas_done(). @ret points into @source. */
void replicas_open(ServerSource *source, Replicas *ret);
void replicas_done(Replicas *replicas); /* may be zeroed */

/* Warns that a replica did not answer, and that the others were queried all the same. */
void replicas_complain(const Replicas *replicas, const char *error);

/* "http://127.0.0.1:8080", or "2 replicas of berth in namespace berth-system"; valid while
 * @replicas is. */
const char *replicas_describe(const Replicas *replicas);
