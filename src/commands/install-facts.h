#pragma once

/*
 * The facts about a cluster for `berth install plan`, read with GET requests only. Facts that it
 * may not read are noted as unknown.
 */

#include "cli/cluster-source.h"
#include "collect/scheduler-pod.h"

#define INSTALL_SCHEDULERS_MAX 32u
#define INSTALL_CONTROL_PLANES_MAX 32u

typedef struct InstallFacts {
    bool was_read; /* no: nothing below is known */
    Str server, origin;
    Str version; /* "v1.36.4"; empty: not known */
    int minor;   /* of 1.x; -1: not known */

    bool are_nodes_known;
    size_t n_nodes;
    Str control_planes[INSTALL_CONTROL_PLANES_MAX]; /* by their label */
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
} InstallFacts;

/* Reads the cluster of @source, if it names one. InstallationFacts that cannot be read are added to
 * @notes, a line each. 0; or an exit code, after an error message. Strings live in @arena. */
int install_facts_collect(const ClusterSource *source, const char *namespace, Arena *arena,
    Buf *notes, InstallFacts *ret);

/* A managed control plane: kube-scheduler's pods are not there, though we may list pods. */
bool install_facts_are_managed(const InstallFacts *facts);
