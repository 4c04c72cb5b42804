#include "simulate/scheduler.h"

#include <errno.h>
#include <stdlib.h>

#include "extender/sample.h"
#include "simulate/fit.h"

#define SCRATCH_BUDGET ((size_t)1024 * 1024 * 1024)
#define POINTS_PER_SCORE 10 /* an extender's scores go to 10, a plugin's to 100 */
#define BEST 100

enum {
    WEIGHT_TAINTS = 3,
    WEIGHT_AFFINITY = 2,
};

struct Scheduler {
    SchedulerOptions options;
    const ClusterState *cluster;
    BerthExtender *berth;
    ForecastCache *cache;
    Dice chance;
    size_t start; /* place in the order where the next cycle begins */
    Arena *arena; /* of one cycle */

    /* With room for all nodes. */
    uint32_t *rows;
    int64_t *scores;
    uint32_t *counts; /* by SchedulingReason below REASON_FILTER */
    uint32_t *filter_counts;
    size_t n_filters;

    Str unknown_resource[REASON_UNKNOWN_RESOURCE_MAX];
    size_t n_unknown_resources;
    Arena *names;
};

/* One cycle. */
typedef struct Cycle {
    const PodRequest *request;
    const Forecast *forecast;
    Fit fit;
    int64_t now_nsec;
    uint32_t inspected;
    size_t n; /* rows that are left */
    Choice *choice;
} Cycle;

int scheduler_new(const SchedulerOptions *options, const ClusterState *cluster,
    BerthExtender *berth, Scheduler **ret) {
    _cleanup_(scheduler_freep) Scheduler *scheduler = calloc(1, sizeof(*scheduler));
    size_t n = cluster->n_rows + 1;
    int r;

    if (!scheduler)
        return -ENOMEM;
    scheduler->options = *options;
    scheduler->cluster = cluster;
    scheduler->berth = berth;
    scheduler->chance.state = options->seed;
    scheduler->arena = arena_new(SCRATCH_BUDGET);
    scheduler->names = arena_new(SCRATCH_BUDGET);
    if (!scheduler->arena || !scheduler->names)
        return -ENOMEM;
    scheduler->n_filters = berth ? berth_extender_program(berth)->n_filters : 0;
    scheduler->rows = ARENA_ARRAY(scheduler->names, uint32_t, n);
    scheduler->scores = ARENA_ARRAY(scheduler->names, int64_t, n);
    scheduler->counts = ARENA_ARRAY(scheduler->names, uint32_t, REASON_FILTER);
    scheduler->filter_counts = ARENA_ARRAY(scheduler->names, uint32_t, scheduler->n_filters + 1);
    if (!scheduler->rows || !scheduler->scores || !scheduler->counts || !scheduler->filter_counts)
        return -ENOMEM;
    r = forecast_cache_new(cluster, &scheduler->cache);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(scheduler);
    return 0;
}

Scheduler *scheduler_free(Scheduler *scheduler) {
    if (!scheduler)
        return NULL;
    forecast_cache_free(scheduler->cache);
    arena_free(scheduler->arena);
    arena_free(scheduler->names);
    free(scheduler);
    return NULL;
}

/* --- filters ------------------------------------------------------------ */

/* A number for a resource that no node has, so that it can be told by its name. */
static SchedulingReason number_unknown_resource(Scheduler *scheduler, Str name) {
    size_t i = 0;

    while (i < scheduler->n_unknown_resources && !str_eq(scheduler->unknown_resource[i], name))
        i++;
    if (i == scheduler->n_unknown_resources && i < REASON_UNKNOWN_RESOURCE_MAX - 1) {
        scheduler->unknown_resource[i] = arena_copy(scheduler->names, name);
        scheduler->n_unknown_resources += scheduler->unknown_resource[i].ptr != NULL;
    }
    return REASON_UNKNOWN_RESOURCE + (SchedulingReason)i;
}

/* A node may lack several things: each is counted. The last one found. */
static SchedulingReason count_lacks(Scheduler *scheduler, const Fit *fit, uint32_t row) {
    const ClusterState *cluster = scheduler->cluster;
    SchedulingReason reason = REASON_NONE;

    if (cluster->pods == SIZE_MAX || cluster_state_free_amount(cluster, cluster->pods, row) < 1)
        scheduler->counts[reason = REJECTION_PODS]++;
    for (size_t i = 0; i < fit->n_requests; i++)
        if (fit->requests[i].amount >
            cluster_state_free_amount(cluster, fit->requests[i].column, row))
            scheduler
                ->counts[reason = REASON_RESOURCE + (SchedulingReason)fit->requests[i].column]++;
    if (!str_is_empty(fit->unknown_resource))
        scheduler->counts[reason = number_unknown_resource(scheduler, fit->unknown_resource)]++;
    return reason;
}

/* REASON_NONE: the node can take the pod; else why not, counted. */
static SchedulingReason try_node(Scheduler *scheduler, const Cycle *cycle, uint32_t row) {
    SchedulingReason rejection = cycle->forecast->rejections[row];

    if (rejection == REJECTION_NONE && cycle->request->ports.n > 0 &&
        ports_conflict(&cycle->request->ports, &scheduler->cluster->ports[row]))
        rejection = REJECTION_PORTS;
    if (rejection != REJECTION_NONE) {
        scheduler->counts[rejection]++;
        return rejection;
    }
    if (fit_is_room(&cycle->fit, scheduler->cluster, row))
        return REASON_NONE;
    return count_lacks(scheduler, &cycle->fit, row);
}

/* The nodes that may be looked at, from where the last cycle ended. */
static void find_feasible(Scheduler *scheduler, Cycle *cycle) {
    const Forecast *forecast = cycle->forecast;
    const uint32_t *order = forecast->named_rows ? forecast->named_rows : scheduler->cluster->order;
    size_t n = forecast->named_rows ? forecast->n_named : scheduler->cluster->n_order;
    size_t enough = cycle->inspected == NO_ROW ? sample_size(n, scheduler->options.percentage) : n;
    size_t at = n > 0 ? scheduler->start % n : 0, n_tried = 0;

    for (; n_tried < n && cycle->n < enough; n_tried++) {
        uint32_t row = order[at];
        SchedulingReason reason = try_node(scheduler, cycle, row);

        at = at + 1 == n ? 0 : at + 1;
        scheduler->rows[cycle->n] = row;
        cycle->n += reason == REASON_NONE;
        if (row == cycle->inspected)
            cycle->choice->inspected_reason = reason;
    }
    scheduler->counts[REJECTION_AFFINITY] += (uint32_t)(scheduler->cluster->n_order - n);
    if (scheduler->cluster->n_order > 0)
        scheduler->start = (scheduler->start + n_tried) % scheduler->cluster->n_order;
}

/* Leaves those that berth lets pass. */
static int filter_by_extender(Scheduler *scheduler, Cycle *cycle) {
    const uint16_t *said = NULL;
    size_t n_left = 0;
    int r;

    if (!scheduler->berth || cycle->n == 0)
        return 0;
    r = berth_extender_filter(scheduler->berth,
        &cycle->request->pod,
        cycle->now_nsec,
        scheduler->rows,
        cycle->n,
        scheduler->arena,
        &said);
    if (r < 0)
        return r;
    for (size_t i = 0; i < cycle->n; i++) {
        uint32_t row = scheduler->rows[i];

        scheduler->rows[n_left] = row;
        n_left += said[i] == VERDICT_PASS;
        if (said[i] < scheduler->n_filters)
            scheduler->filter_counts[said[i]]++;
        if (said[i] != VERDICT_PASS && row == cycle->inspected)
            cycle->choice->inspected_reason = REASON_FILTER + said[i];
    }
    cycle->n = n_left;
    return 0;
}

/* --- scores ------------------------------------------------------------- */

/* The most of both, which the others are measured by. */
typedef struct PluginMax {
    int64_t n_untolerated, preferred_weight;
} PluginMax;

static PluginMax find_plugin_max(const Scheduler *scheduler, const Cycle *cycle) {
    const Forecast *forecast = cycle->forecast;
    PluginMax max = {0};

    for (size_t i = 0; i < cycle->n; i++) {
        uint32_t row = scheduler->rows[i];

        if (forecast->n_untolerated[row] > max.n_untolerated)
            max.n_untolerated = forecast->n_untolerated[row];
        if (forecast->preferred_weight[row] > max.preferred_weight)
            max.preferred_weight = forecast->preferred_weight[row];
    }
    return max;
}

static int64_t score_node(
    const Scheduler *scheduler, const Cycle *cycle, const PluginMax *max, uint32_t row) {
    const Forecast *forecast = cycle->forecast;
    int64_t taints = BEST, affinity = 0;

    if (max->n_untolerated > 0)
        taints = BEST - BEST * forecast->n_untolerated[row] / max->n_untolerated;
    if (max->preferred_weight > 0)
        affinity = BEST * forecast->preferred_weight[row] / max->preferred_weight;
    return WEIGHT_TAINTS * taints + WEIGHT_AFFINITY * affinity +
           fit_least_allocated(&cycle->fit, scheduler->cluster, row) +
           fit_balanced(&cycle->fit, scheduler->cluster, row) + forecast->images[row];
}

static int score_nodes(Scheduler *scheduler, Cycle *cycle) {
    PluginMax max = find_plugin_max(scheduler, cycle);
    const uint8_t *wire = NULL;
    int r = 0;

    if (scheduler->berth)
        r = berth_extender_prioritize(scheduler->berth,
            &cycle->request->pod,
            cycle->now_nsec,
            scheduler->rows,
            cycle->n,
            scheduler->arena,
            &wire);
    if (r < 0)
        return r;
    for (size_t i = 0; i < cycle->n; i++) {
        scheduler->scores[i] = score_node(scheduler, cycle, &max, scheduler->rows[i]);
        if (wire)
            scheduler->scores[i] += wire[i] * scheduler->options.weight * POINTS_PER_SCORE;
    }
    return 0;
}

/* --- choosing ----------------------------------------------------------- */

/* What most nodes say; of equals the first in the order of plugins. */
static SchedulingReason find_reason(const Scheduler *scheduler) {
    SchedulingReason reason = REASON_NO_NODES;
    uint32_t most = 0;

    for (SchedulingReason i = 1; i < REASON_FILTER; i++)
        if (scheduler->counts[i] > most)
            most = scheduler->counts[reason = i];
    for (size_t i = 0; i < scheduler->n_filters; i++)
        if (scheduler->filter_counts[i] > most) {
            most = scheduler->filter_counts[i];
            reason = REASON_FILTER + (SchedulingReason)i;
        }
    return reason;
}

/* One of the best, by chance. */
static void pick_best(Scheduler *scheduler, const Cycle *cycle) {
    Choice *choice = cycle->choice;
    int64_t best = INT64_MIN;
    size_t pick;

    for (size_t i = 0; i < cycle->n; i++) {
        int64_t score = cycle->n > 1 ? scheduler->scores[i] : 0;

        choice->n_best = score > best ? 1 : choice->n_best + (score == best);
        best = score > best ? score : best;
        if (scheduler->rows[i] == cycle->inspected) {
            choice->is_feasible = true;
            choice->inspected_score = score;
        }
    }
    choice->score = best;
    choice->is_best = choice->is_feasible && choice->inspected_score == best;
    pick = choice->n_best > 1 ? dice_pick(&scheduler->chance, choice->n_best) : 0;
    for (size_t i = 0; i < cycle->n; i++) {
        if (cycle->n > 1 && scheduler->scores[i] != best)
            continue;
        if (choice->any_best == NO_ROW)
            choice->any_best = scheduler->rows[i];
        if (pick-- == 0) {
            choice->row = scheduler->rows[i];
            return;
        }
    }
}

int scheduler_choose(Scheduler *scheduler, const PodRequest *request, int64_t now_nsec,
    uint32_t inspected, Choice *ret) {
    Cycle cycle = {.request = request, .now_nsec = now_nsec, .inspected = inspected, .choice = ret};
    int r = forecast_cache_find(scheduler->cache, request, &cycle.forecast);

    *ret = (Choice){.row = NO_ROW, .any_best = NO_ROW};
    if (r < 0)
        return r;
    arena_reset(scheduler->arena);
    memset(scheduler->counts, 0, REASON_FILTER * sizeof(*scheduler->counts));
    memset(scheduler->filter_counts, 0, scheduler->n_filters * sizeof(*scheduler->filter_counts));
    cycle.fit = fit_of(scheduler->cluster, request);
    find_feasible(scheduler, &cycle);
    r = filter_by_extender(scheduler, &cycle);
    ret->n_feasible = cycle.n;
    if (r == 0 && cycle.n > 1)
        r = score_nodes(scheduler, &cycle);
    if (r < 0)
        return r;
    if (cycle.n == 0)
        ret->reason = find_reason(scheduler);
    else
        pick_best(scheduler, &cycle);
    return 0;
}

/* --- words -------------------------------------------------------------- */

static void print_filter(const Scheduler *scheduler, size_t number, Buf *out) {
    const Filter *filter = berth_extender_program(scheduler->berth)->filters[number];

    buf_printf(out,
        "%.*s/%.*s: %.*s",
        STR_FMT(filter->policy->name),
        STR_FMT(filter->name),
        STR_FMT(filter->reason));
}

void scheduling_reason_print(const Scheduler *scheduler, SchedulingReason reason, Buf *out) {
    if (reason >= REASON_FILTER && reason - REASON_FILTER < scheduler->n_filters) {
        print_filter(scheduler, reason - REASON_FILTER, out);
    } else if (reason >= REASON_FILTER) {
        buf_append(out, STR("left out: others are better (narrowing)"));
    } else if (reason == REASON_NO_NODES) {
        buf_append(out, STR("no nodes available to schedule pods"));
    } else if (reason >= REASON_UNKNOWN_RESOURCE) {
        size_t i = reason - REASON_UNKNOWN_RESOURCE;

        buf_printf(out,
            "Insufficient %.*s",
            STR_FMT(i < scheduler->n_unknown_resources ? scheduler->unknown_resource[i]
                                                       : STR("other resources")));
    } else if (reason >= REASON_RESOURCE) {
        buf_printf(out,
            "Insufficient %.*s",
            STR_FMT(scheduler->cluster->table->resources[reason - REASON_RESOURCE]));
    } else {
        buf_append(out, str_from_c(rejection_text((Rejection)reason)));
    }
}
