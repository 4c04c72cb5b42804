#pragma once

/*
 * PodRequests: the amounts that a pod counts for on its node, collected while the pod is read.
 *
 * A pod can be resized while it runs. Then it has three amounts: the requests of its spec, those
 * that the kubelet has set aside (allocatedResources of the status), and those in force (resources
 * of the status). While they differ, kube-scheduler counts the largest, by a rule that has changed
 * with its versions, and so does berth; see pod_requests_sum().
 *
 * Spec and status may come in any order, and so may the fields of each: they are kept in the arena,
 * container by container, and summed at the end. A pod without resources in its status, such as a
 * pending pod, is summed from its spec alone.
 *
 * Limits: POD_CONTAINERS_MAX containers, as many init containers, as many statuses of each, and
 * RESOURCES_MAX resources. More are left out, and pod_requests_sum() returns false. Kubernetes has
 * no such limits, only 1.5 MiB for an object.
 */

#include "model/amounts.h"
#include "model/resources.h"

/* Per container; beyond that the rest is left out. */
#define CONTAINER_PORTS_MAX 64u
#define CONTAINER_ENV_MAX 256u

typedef struct ContainerPort {
    Str name, protocol, host_ip; /* protocol: empty is TCP */
    int64_t port, host_port;     /* host_port 0: none */
} ContainerPort;

/* The fields that policies read. Values of environment variables are never read. */
typedef struct PodContainer {
    Str name, image, restart_policy;
    AmountList requests, limits; /* a limit without a request is also the request */
    const ContainerPort *ports;
    const Str *env; /* names */
    size_t n_ports, n_env;
} PodContainer;

/* Whether an init container is a sidecar: it keeps running (restartPolicy Always). */
static inline bool pod_container_is_sidecar(const PodContainer *container) {
    return str_eq(container->restart_policy, STR("Always"));
}

/* Each container looks for its status among all of them: 512 times 512 names at most. */
#define POD_CONTAINERS_MAX 256u

/* How kube-scheduler counts a pod that is being resized. */
typedef enum ResizeRule {
    RESIZE_BY_POD,       /* Kubernetes 1.37: the largest sum */
    RESIZE_BY_CONTAINER, /* 1.33 to 1.36: the sum of the largest */
} ResizeRule;

/* Resources in the status of a container, or of the pod as a whole. */
typedef struct StatusAmounts {
    bool has_resources; /* `resources` is given; in_force may be missing nevertheless */
    AmountList allocated, in_force;
} StatusAmounts;

typedef struct ContainerStatus {
    Str name;
    StatusAmounts amounts;
} ContainerStatus;

typedef struct PodSpecRequests {
    PodContainer *containers, *init_containers;
    size_t n_containers, n_init_containers;
    bool is_cut;                 /* a list had more containers */
    AmountList requests, limits; /* of the pod as a whole */
    AmountList overhead;
} PodSpecRequests;

typedef struct PodStatusRequests {
    const ContainerStatus *containers, *init_containers;
    size_t n_containers, n_init_containers;
    bool is_cut;        /* a list had more statuses */
    bool has_amounts;   /* a status has amounts: set by pod_requests_sum() */
    bool is_infeasible; /* the resize cannot be done, so the spec does not count. The reader of the
                         * conditions sets it */
    StatusAmounts pod;
} PodStatusRequests;

/* All zero: nothing read. Points into the input and the arena. */
typedef struct PodRequests {
    PodSpecRequests spec;
    PodStatusRequests status;
} PodRequests;

/* Rows of a JsonField table for the counted fields of a spec (or of a status): @member of @type is
 * the PodSpecRequests (the PodStatusRequests). A repeated field replaces the earlier one. */
#define POD_SPEC_REQUESTS(type, member)                                                            \
    JSON_LIST_CUT("initContainers", type, member.init_containers, member.n_init_containers,        \
        member.is_cut, POD_CONTAINERS_MAX, pod_container_decode),                                  \
        JSON_LIST_CUT("containers", type, member.containers, member.n_containers, member.is_cut,   \
            POD_CONTAINERS_MAX, pod_container_decode),                                             \
        JSON_CUSTOM("overhead", type, member.overhead, amount_list_decode),                        \
        JSON_CUSTOM("resources", type, member.requests, resource_requirements_decode)
#define POD_STATUS_REQUESTS(type, member)                                                          \
    JSON_LIST_CUT("initContainerStatuses", type, member.init_containers, member.n_init_containers, \
        member.is_cut, POD_CONTAINERS_MAX, container_status_decode),                               \
        JSON_LIST_CUT("containerStatuses", type, member.containers, member.n_containers,           \
            member.is_cut, POD_CONTAINERS_MAX, container_status_decode),                           \
        JSON_CUSTOM("allocatedResources", type, member.pod.allocated, amount_list_decode),         \
        JSON_CUSTOM("resources", type, member.pod, status_resources_decode)
JsonRead pod_container_decode, container_status_decode, status_resources_decode;

/* Whether spec.resources of the whole pod may have resource @name: cpu, memory, hugepages-*. */
bool pod_level_covers(Str name);

/* Sums @requests in kube-scheduler's units, as k8s.io/component-helpers v0.37.2 (@rule
 * RESIZE_BY_POD) does with the features that are on by default.
 *
 * The sum of containers is, per resource, the larger of (all containers and restartable
 * init containers) and (the peak while init containers run, each with the restartable ones
 * started before it). It is computed three times, and the largest counts, per resource:
 *
 *   wanted      by the spec; a limit without a request counts as the request. Does not count
 *               if the resize is infeasible (condition PodResizePending, reason Infeasible).
 *   allocated   by allocatedResources of each container's status, else as wanted
 *   in force    by resources.requests of each container's status, else as allocated
 *
 * ("else as wanted" is nothing, if the resize is infeasible.) If the status has both
 * allocatedResources and resources.requests of the pod as a whole, they replace the last two.
 * The status of a container is the first one with its name.
 *
 * The amounts of spec.resources (cpu, memory, hugepages-*) replace those of containers, and are
 * themselves the largest of spec and status if there is a status.resources. Overhead is added
 * last.
 *
 * RESIZE_BY_CONTAINER, as in v0.36.4: each container whose status has resources, restartable init
 * containers included, counts for the largest of the three; other containers count by their spec.
 * Statuses of the pod as a whole do not replace those of its containers.
 *
 * False: an amount was left out (limits above). Errors are the reader's; then @ret is untouched. */
bool pod_requests_sum(PodRequests *requests, ResizeRule rule, JsonReader *reader, Arena *arena,
    Resources *ret) MUST_CHECK;
