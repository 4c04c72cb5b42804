/* Results of plugins that depend on the pod and the node only, cached by kind of pod. */

#include "scheduler/forecast.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/set.h"

struct ForecastCache {
    ForecastOptions options;
    const ClusterState *cluster;
    Arena *arena;     /* scratch memory */
    Arena *forecasts; /* the forecasts */
    Set index;
    Images *images;     /* of the options, or own_images */
    Images *own_images; /* NULL: the options had some */
    int64_t *sums;      /* by row: scratch of judge_images() */
    uint8_t *by_set;    /* by taint set: see judge_taints() */
};

const char *const rejection_texts[REJECTION_MAX] = {
    [REJECTION_NONE] = "",
    [REJECTION_CORDONED] = "node(s) were unschedulable",
    [REJECTION_TAINT] = "node(s) had untolerated taint(s)",
    [REJECTION_AFFINITY] = "node(s) didn't match Pod's node affinity/selector",
    [REJECTION_PORTS] = "node(s) didn't have free ports for the requested pod ports",
    [REJECTION_PODS] = "Too many pods",
    [REJECTION_VOLUME] = "node(s) didn't match PersistentVolume's node affinity",
    [REJECTION_VOLUME_ZONE] = "node(s) had no available volume zone",
    [REJECTION_SPREAD_LABEL] =
        "node(s) didn't match pod topology spread constraints (missing required label)",
    [REJECTION_SPREAD] = "node(s) didn't match pod topology spread constraints",
    [REJECTION_POD_AFFINITY] = "node(s) didn't match pod affinity rules",
    [REJECTION_POD_ANTI_AFFINITY] = "node(s) didn't match pod anti-affinity rules",
    [REJECTION_EXISTING_ANTI_AFFINITY] = "node(s) didn't satisfy existing pods anti-affinity rules",
};

uint8_t forecast_count_untolerated(const Tolerations *tolerations, const Taints *taints) {
    unsigned n = 0;

    for (size_t i = 0; i < taints->n; i++)
        n += taints->items[i].effect == TAINT_PREFER_NO_SCHEDULE &&
             !tolerations_tolerate(tolerations, &taints->items[i]);
    return (uint8_t)n; /* at most TAINTS_MAX */
}

static Rejection check_taints(const PodRequest *request, const Node *node, bool admits) {
    static const Taint cordon = {
        .key = {.ptr = "node.kubernetes.io/unschedulable", .len = 32},
        .effect = TAINT_NO_SCHEDULE,
    };

    if (node->is_unschedulable && !tolerations_tolerate(&request->pod.tolerations, &cordon))
        return REJECTION_CORDONED;
    return admits ? REJECTION_NONE : REJECTION_TAINT;
}

bool forecast_allows(const PodRequest *request, const Node *node) {
    bool admits = tolerations_admit(&request->pod.tolerations, &node->taints);

    return check_taints(request, node, admits) == REJECTION_NONE &&
           pod_selects(&request->pod, node->name, &node->labels);
}

#define ADMITS 0x80 /* in one byte with the number of untolerated taints */
_Static_assert(TAINTS_MAX <= ADMITS, "the number fits beside the bit");

/* Judges each distinct list of taints once: nodes share a few lists. */
static void judge_taints(ForecastCache *cache, const PodRequest *request) {
    const NodeTable *table = cache->cluster->table;

    for (size_t i = 0; i < table->n_taint_sets; i++) {
        uint8_t n = forecast_count_untolerated(&request->pod.tolerations, &table->taint_sets[i]);

        n = n >= ADMITS ? ADMITS - 1 : n;
        if (tolerations_admit(&request->pod.tolerations, &table->taint_sets[i]))
            n |= ADMITS;
        cache->by_set[i] = n;
    }
}

static void judge_rows(ForecastCache *cache, const PodRequest *request, Forecast *forecast) {
    const NodeTable *table = cache->cluster->table;

    judge_taints(cache, request);
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);
        uint8_t taints = cache->by_set[table_chunk(table, row)->taint_set[table_slot(row)]];

        bool is_selected = node && pod_selects(&request->pod, node->name, &node->labels);

        if (!node)
            continue;
        forecast->inclusion[row] = (uint8_t)((is_selected ? INCLUDED_BY_AFFINITY : 0) |
                                             (taints & ADMITS ? INCLUDED_BY_TAINTS : 0));
        if (!cache->options.ignores_taints) {
            forecast->rejections[row] = (uint8_t)check_taints(request, node, taints & ADMITS);
            forecast->n_untolerated[row] = taints & (ADMITS - 1);
        }
        if (forecast->rejections[row] == REJECTION_NONE && !is_selected)
            forecast->rejections[row] = REJECTION_AFFINITY;
        if (request->preferred.n > 0)
            forecast->preferred_weight[row] =
                (uint16_t)terms_weigh(&request->preferred, node->name, &node->labels);
    }
}
_Static_assert(TERMS_MAX * 100 <= UINT16_MAX, "the weights of all terms fit");

static int judge_images(ForecastCache *cache, const PodRequest *request, Forecast *forecast) {
    size_t n_rows = cache->cluster->n_rows;

    if (n_rows == 0)
        return 0;
    memset(cache->sums, 0, n_rows * sizeof(*cache->sums));
    for (size_t i = 0; i < request->n_images; i++)
        if (images_add(cache->images, request->images[i], cache->cluster->n_order, cache->sums) < 0)
            return -ENOMEM;
    for (size_t row = 0; row < n_rows; row++)
        forecast->images[row] = (uint8_t)image_score(cache->sums[row], request->n_containers);
    return 0;
}

/* @zones: one or more, separated by "__". */
static bool lists_zone(Str zones, Str zone) {
    while (zones.len > 0) {
        const char *next = memmem(zones.ptr, zones.len, "__", 2);
        size_t len = next ? (size_t)(next - zones.ptr) : zones.len;

        if (str_eq(str_take(zones, len), zone))
            return true;
        zones = str_skip(zones, len + 2);
    }
    return false;
}

/* @zones: the volume's label. A node without zone and region labels is in every zone. */
static bool is_in_zone(const Node *node, Str zones) {
    static const char *const keys[] = {"topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/region"};
    const Str *zone = NULL;
    bool has_any = false;

    for (size_t i = 0; !str_is_empty(zones) && i < ELEMENTS_OF(keys); i++) {
        const Str *value = labels_find(&node->labels, str_from_c(keys[i]));

        has_any |= value != NULL;
        if (!zone && i < 2)
            zone = value;
    }
    if (!has_any)
        return true;
    return zone && lists_zone(zones, *zone);
}

/* VolumeBinding and VolumeZone, for bound claims. */
static int judge_volumes(ForecastCache *cache, const PodRequest *request, Forecast *forecast) {
    const NodeTable *table = cache->cluster->table;
    uint8_t *rejections;

    if (request->n_claims == 0)
        return 0;
    rejections = ARENA_ARRAY(cache->forecasts, uint8_t, table->n_rows + 1);
    if (!rejections)
        return -ENOMEM;
    forecast->volumes = rejections;
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const Node *node = table_node(table, row);
        bool is_zone = true, is_reached = true;

        for (size_t i = 0; node && i < request->n_claims; i++) {
            const PersistentVolume *volume = &request->claims[i].volume;

            is_reached &= terms_hold(&volume->terms, node->name, &node->labels);
            is_zone &= is_in_zone(node, volume->zone_label);
        }
        rejections[row] = !is_reached ? REJECTION_VOLUME
                          : !is_zone  ? REJECTION_VOLUME_ZONE
                                      : REJECTION_NONE;
    }
    return 0;
}

static bool names_node(const NodeTerm *term, Str name) {
    for (size_t i = 0; i < term->n_names; i++)
        if (!term->names[i].is_not && !str_eq(term->names[i].value, name))
            return false;
    return true;
}

/* Finds the nodes that the pod names, if all its required terms name nodes. */
static int find_named_rows(ForecastCache *cache, const PodRequest *request, Forecast *forecast) {
    const NodeTerms *required = &request->pod.details->required_terms;
    const NodeTable *table = cache->cluster->table;
    uint32_t *rows;

    if (!terms_name_nodes(required))
        return 0;
    rows = ARENA_ARRAY(cache->forecasts, uint32_t, cache->cluster->n_rows + 1);
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < cache->cluster->n_order; i++) {
        uint32_t row = cache->cluster->order[i];
        bool is_named = false;

        for (size_t k = 0; !is_named && k < required->n; k++)
            is_named = names_node(&required->items[k], table->names->names[row]);
        if (is_named)
            rows[forecast->n_named++] = row;
    }
    forecast->named_rows = rows;
    return 0;
}

static int make_forecast(ForecastCache *cache, const PodRequest *request, Forecast **ret) {
    size_t n = cache->cluster->n_rows + 1;
    Forecast *forecast = ARENA_NEW(cache->forecasts, Forecast);

    if (!forecast)
        return -ENOMEM;
    forecast->key = arena_copy(cache->forecasts, request->place_key);
    forecast->rejections = ARENA_ARRAY(cache->forecasts, uint8_t, n);
    forecast->n_untolerated = ARENA_ARRAY(cache->forecasts, uint8_t, n);
    forecast->preferred_weight = ARENA_ARRAY(cache->forecasts, uint16_t, n);
    forecast->images = ARENA_ARRAY(cache->forecasts, uint8_t, n);
    forecast->inclusion = ARENA_ARRAY(cache->forecasts, uint8_t, n);
    if (arena_has_failed(cache->forecasts))
        return -ENOMEM;
    judge_rows(cache, request, forecast);
    *ret = forecast;
    if (judge_images(cache, request, forecast) < 0 || judge_volumes(cache, request, forecast) < 0)
        return -ENOMEM;
    return find_named_rows(cache, request, forecast);
}

int forecast_cache_new(const ClusterState *cluster, ForecastOptions options, ForecastCache **ret) {
    _cleanup_(forecast_cache_freep) ForecastCache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return -ENOMEM;
    cache->options = options;
    cache->cluster = cluster;
    cache->arena = arena_new(CLUSTER_STATE_BUDGET);
    cache->forecasts = arena_new(2 * FORECAST_CACHE_BUDGET);
    if (!cache->arena || !cache->forecasts)
        return -ENOMEM;
    cache->sums = ARENA_ARRAY(cache->arena, int64_t, cluster->n_rows + 1);
    cache->by_set = ARENA_ARRAY(cache->arena, uint8_t, cluster->table->n_taint_sets + 1);
    if (!cache->sums || !cache->by_set)
        return -ENOMEM;
    if (!options.images)
        cache->own_images = images_new(cluster->table);
    cache->images = options.images ? options.images : cache->own_images;
    if (!cache->images)
        return -ENOMEM;
    *ret = TAKE_PTR(cache);
    return 0;
}

ForecastCache *forecast_cache_free(ForecastCache *cache) {
    if (!cache)
        return NULL;
    set_done(&cache->index);
    images_free(cache->own_images);
    arena_free(cache->forecasts);
    arena_free(cache->arena);
    free(cache);
    return NULL;
}

static bool has_key(const void *item, const void *key) {
    return str_eq(((const Forecast *)item)->key, *(const Str *)key);
}

int forecast_cache_find(ForecastCache *cache, const PodRequest *request, const Forecast **ret) {
    uint64_t hash = hash_str(request->place_key);
    Forecast *forecast = set_find(&cache->index, hash, has_key, &request->place_key);
    int r;

    if (!forecast) {
        if (arena_used(cache->forecasts) > FORECAST_CACHE_BUDGET) {
            set_done(&cache->index);
            arena_reset(cache->forecasts);
        }
        r = make_forecast(cache, request, &forecast);
        if (r == 0)
            r = set_add(&cache->index, hash, forecast);
        if (r < 0)
            return r;
    }
    *ret = forecast;
    return 0;
}
