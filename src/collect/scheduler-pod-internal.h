#pragma once

/*
 * What the files of SchedulerPod share. scheduler-pod.h is the contract: nobody else includes this.
 *
 *     scheduler-pod.c          what is read of a pod
 *     scheduler-pod-config.c   where its kube-scheduler's configuration is
 */

#include "collect/scheduler-pod.h"

#define CONTAINERS_MAX 32u
#define WORDS_MAX 256u /* of a container's command and arguments */
#define MOUNTS_MAX 64u
#define VOLUMES_MAX 64u
#define ITEMS_MAX 64u /* of a volume's keys */

typedef struct Mount {
    Str volume, path, sub_path;
} Mount;

typedef struct Item {
    Str key, path, map_name;
} Item;

typedef struct Volume {
    Str name;
    Str host_path; /* empty: it is not the node's */
    bool is_map;   /* a ConfigMap, or several (projected) */
    Item items[ITEMS_MAX];
    size_t n_items;
    /* The ConfigMaps of which every key is a file. */
    Str whole_maps[ITEMS_MAX];
    size_t n_whole_maps;
} Volume;

typedef struct Container {
    Str words[WORDS_MAX];
    size_t n_words;
    Mount mounts[MOUNTS_MAX];
    size_t n_mounts;
} Container;

typedef struct Spec {
    Container *containers[CONTAINERS_MAX];
    size_t n_containers;
    Volume *volumes[VOLUMES_MAX];
    size_t n_volumes;
} Spec;

/* Fills in ret->origin and what belongs to it, if a kube-scheduler is among the containers. */
void scheduler_pod_find_config(const Spec *spec, Arena *arena, SchedulerPod *ret);
