#pragma once

/*
 * InstallSight: what `berth install plan` saw of a cluster. It asks with GET alone; what it may not
 * see is told, and not known.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/cluster-source.h"
#include "collect/scheduler-pod.h"

#define SIGHT_SCHEDULERS_MAX 32u
#define SIGHT_CONTROL_PLANES_MAX 32u

typedef struct InstallSight {
    bool was_asked; /* no: nothing below is known */
    Str server, origin;
    Str version; /* "v1.36.4"; empty: not known */
    int minor;   /* of 1.x; -1: not known */

    bool are_nodes_known;
    size_t n_nodes;
    Str control_planes[SIGHT_CONTROL_PLANES_MAX]; /* by their label */
    size_t n_control_planes;
    size_t n_tainted; /* of these: take no ordinary pods */

    bool are_schedulers_known;
    SchedulerPod *schedulers; /* kube-scheduler's pods in kube-system */
    size_t n_schedulers;
    size_t n_static; /* of these: static pods, so files of their nodes */

    bool are_berths_known;
    size_t n_berths; /* pods */
    Str berth_namespace;

    bool is_namespace_known, has_namespace;
    bool is_role_known, has_role; /* ClusterRole berth-decide */
} InstallSight;

/* Looks at the cluster of @source, if it names one. What could not be seen is added to @notes, a
 * line each. 0; or an exit code, after complaining. Strings live in @arena. */
int install_sight_look(const ClusterSource *source, const char *namespace, Arena *arena, Buf *notes,
    InstallSight *ret);

/* Nobody can edit what starts kube-scheduler: its pods are not to be seen, though we may look. */
bool install_sight_is_managed(const InstallSight *sight);
