#pragma once

/*
 * Forecast: the results of kube-scheduler's plugins for every node and pods of one kind, as far as
 * they do not depend on running pods.
 *
 * All pods of a Deployment have the same selector, affinity, tolerations and images
 * (PodRequest.place_key): these are evaluated once and cached.
 */

#include "scheduler/cluster-state.h"
#include "scheduler/images.h"
#include "scheduler/pod-request.h"

/* Above this the cache is cleared. */
#define FORECAST_CACHE_BUDGET ((size_t)128 * 1024 * 1024)

/* kube-scheduler's texts of the rejections. */
extern const char *const rejection_texts[];

/* PodTopologySpread counts only nodes with the bits that a constraint's policies require. */
#define INCLUDED_BY_AFFINITY 1u /* nodeSelector and required node affinity */
#define INCLUDED_BY_TAINTS 2u   /* it tolerates NoSchedule and NoExecute */

/* Arrays are by row. */
typedef struct Forecast {
    Str key;
    uint8_t *rejections;        /* REJECTION_NONE to _AFFINITY */
    uint8_t *n_untolerated;     /* taints PreferNoSchedule that are not tolerated */
    uint16_t *preferred_weight; /* sum of the weights of matching preferred terms */
    uint8_t *images;            /* 0 to 100 */
    uint8_t *inclusion;         /* INCLUDED_BY_... */
    const uint8_t *volumes;     /* rejections by volumes, tried after resources; NULL: none */
    const uint32_t *named_rows; /* rows that the pods' affinity names; NULL: all */
    size_t n_named;
} Forecast;

typedef struct ForecastOptions {
    bool ignores_taints; /* a profile disables NodeUnschedulable and TaintToleration */
    Images *images;      /* of the cluster's nodes, borrowed; NULL: its own */
} ForecastOptions;

typedef struct ForecastCache ForecastCache;

/* Borrows @cluster, whose table must not change. 0, or -ENOMEM. */
int forecast_cache_new(const ClusterState *cluster, ForecastOptions options, ForecastCache **ret);
ForecastCache *forecast_cache_free(ForecastCache *cache); /* takes NULL, returns NULL */
DEFINE_CLEANUP(ForecastCache *, forecast_cache_free)

/* Finds or makes the forecast for @request, borrowed until the next call. 0, or -ENOMEM. */
int forecast_cache_find(ForecastCache *cache, const PodRequest *request, const Forecast **ret);

/* The number of taints PreferNoSchedule that are not tolerated. */
uint8_t forecast_count_untolerated(const Tolerations *tolerations, const Taints *taints);

/* Whether the taints and the labels of @node allow the pod there: as the DaemonSet controller
 * decides whether to create one for the node. */
bool forecast_allows(const PodRequest *request, const Node *node);
