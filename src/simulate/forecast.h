#pragma once

/*
 * Forecast: the answers of kube-scheduler's plugins for every node and pods of one kind, as far as
 * they do not depend on the pods that run there.
 *
 * The thousand pods of one Deployment require the same of nodes (PodRequest.place_key): selector,
 * affinity, tolerations and images are evaluated once for all of them, and cached.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "simulate/cluster-state.h"
#include "simulate/images.h"
#include "simulate/pod-request.h"

/* Above this everything is dropped and evaluated again. */
#define FORECAST_CACHE_BUDGET ((size_t)128 * 1024 * 1024)

typedef enum Rejection {
    REJECTION_NONE,
    REJECTION_CORDONED,
    REJECTION_TAINT,
    REJECTION_AFFINITY,
    REJECTION_PORTS,
    REJECTION_PODS,
    REJECTION_MAX,
} Rejection;

/* In kube-scheduler's words. */
const char *rejection_text(Rejection rejection);

/* All by row. */
typedef struct Forecast {
    Str key;
    uint8_t *rejections;        /* one of the first four */
    uint8_t *n_untolerated;     /* taints PreferNoSchedule that are not tolerated */
    uint16_t *preferred_weight; /* weights of preferred terms that hold */
    uint8_t *images;            /* 0 to 100 */
    const uint32_t *named_rows; /* the rows that the pods name; NULL: all are tried */
    size_t n_named;
} Forecast;

/* Plugins that a profile of kube-scheduler disables. */
typedef struct ForecastOptions {
    bool ignores_taints; /* NodeUnschedulable and TaintToleration */
} ForecastOptions;

typedef struct ForecastCache ForecastCache;

/* Borrows @cluster, whose table must not change. 0, or -ENOMEM. */
int forecast_cache_new(const ClusterState *cluster, ForecastOptions options, ForecastCache **ret);
ForecastCache *forecast_cache_free(ForecastCache *cache); /* takes NULL, returns NULL */
DEFINE_CLEANUP(ForecastCache *, forecast_cache_free)

/* Borrowed until the next call. 0, or -ENOMEM. */
int forecast_cache_find(ForecastCache *cache, const PodRequest *request, const Forecast **ret);
