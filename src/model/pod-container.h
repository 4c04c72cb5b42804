#pragma once

/*
 * PodContainer: the fields of a container that policies read.
 *
 * Values of environment variables are never read, only their names.
 */

#include "model/amounts.h"

/* Per container; beyond that the rest is left out. */
#define CONTAINER_PORTS_MAX 64u
#define CONTAINER_ENV_MAX 256u

typedef struct ContainerPort {
    Str name, protocol, host_ip; /* protocol: empty is TCP */
    int64_t port, host_port;     /* host_port 0: none */
} ContainerPort;

typedef struct PodContainer {
    Str name, image, restart_policy;
    AmountList requests, limits; /* a limit without a request is also the request */
    const ContainerPort *ports;
    const Str *env; /* names */
    size_t n_ports, n_env;
} PodContainer;

/* Of an init container: whether it goes on running (restartPolicy Always). */
static inline bool pod_container_is_sidecar(const PodContainer *container) {
    return str_eq(container->restart_policy, STR("Always"));
}

/* Reads a container into a PodContainer. Errors are the reader's. */
JsonRead pod_container_decode;
