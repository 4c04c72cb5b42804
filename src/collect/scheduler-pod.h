#pragma once

/*
 * SchedulerPod: the fields of a pod that a checkup needs: its identity and, if kube-scheduler runs
 * in it, the source of its configuration.
 *
 * The configuration of a kube-scheduler is a file, named by its flag --config (or, up to 1.22,
 * --policy-config-file or --policy-configmap); the file is in a volume; and the volume is a
 * ConfigMap's, or a folder of the node's.
 */

#include "checkup/facts.h"
#include "json/fields.h"

typedef enum ConfigOrigin {
    CONFIG_NO_SCHEDULER, /* there is no kube-scheduler in this pod */
    CONFIG_DEFAULT,      /* no file: kube-scheduler's defaults, without extenders */
    CONFIG_MAP,          /* namespace, name and key */
    CONFIG_NODE,         /* path is a file of its node */
    CONFIG_ELSEWHERE,    /* path is a file in the container of unknown origin */
} ConfigOrigin;

typedef struct SchedulerPod {
    PodFact pod;
    Str service_account;
    bool is_ending; /* it has a deletionTimestamp, or has ended */
    bool has_berth; /* one of its containers is a `berth serve` */
    ConfigOrigin origin;
    Str map_namespace, map_name, map_key;
    Str path;
} SchedulerPod;

/* Reads one Pod; @target: SchedulerPod. Strings are slices of the input or in the arena. */
JsonRead scheduler_pod_decode;

/* Reads up to FACTS_PODS_MAX pods of a PodList. False when it is not a PodList. */
bool scheduler_pods_read(Str text, Arena *arena, SchedulerPod **ret, size_t *ret_n);
