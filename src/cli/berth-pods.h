#pragma once

/* BerthPod: a pod in which berth runs, as the API server lists it. Pure: text in, values out. */

#include "base/arena.h"

/* The label of berth's pods in the chart and in deploy/kustomize. */
#define BERTH_PODS_SELECTOR "app.kubernetes.io%2Fname%3Dberth"
#define BERTH_PODS_LABEL "app.kubernetes.io/name=berth"

#define BERTH_PODS_MAX 64u

typedef struct BerthPod {
    Str namespace, name;
    Str instance; /* app.kubernetes.io/instance: pods of one installation have the same */
    int64_t port; /* of its pages */
    bool is_tls;
    Str token_secret, viewer_secret; /* of its two tokens; empty: none */
} BerthPod;

typedef struct BerthPods {
    BerthPod items[BERTH_PODS_MAX]; /* by name */
    size_t n;
    size_t n_others; /* that do not run, are being deleted, or are beyond the limit */
} BerthPods;

/* The pods of a PodList that have a container with a port "pages". Strings are slices of @list or
 * in @arena. False when @list is no such list. */
bool berth_pods_read(Str list, Arena *arena, BerthPods *ret);

/* The path of the pod in the API server's proxy: "/api/v1/…/pods/https:NAME:8444/proxy". ptr NULL:
 * out of memory. */
Str berth_pod_proxy_path(const BerthPod *pod, Arena *arena);
