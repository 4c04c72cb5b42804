/* The scheduling cycle: filter, score, choose. */

#include "scheduler/scheduler.h"

#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "extender/sample.h"
#include "scheduler/fit.h"
#include "scheduler/spread.h"

#define SCRATCH_BUDGET ((size_t)1024 * 1024 * 1024)

struct Scheduler {
    SchedulerOptions options;
    SchedulerExtender extender;
    const ClusterState *cluster;
    ForecastCache *forecasts;
    Rng random;
    size_t start; /* index in the order at which the next cycle begins */

    Arena *cycle; /* memory of one cycle */
    uint32_t *rows;
    int64_t *scores; /* by index in rows; both are in @cycle, with room for all nodes */

    Arena *arena;     /* memory of the fields below */
    uint32_t *counts; /* rejected nodes, by SchedulingReason */
    size_t n_counts;
    Str unknown_resources[REASON_UNKNOWN_RESOURCE_MAX];
    size_t n_unknown_resources;
};

/* One cycle. */
typedef struct Cycle {
    const PodRequest *request;
    const Forecast *forecast;
    Fit fit;
    SpreadCycle spread;
    InterPodCycle inter_pod;
    int64_t now_nsec;
    uint32_t inspected;
    size_t n; /* rows still feasible */
    Choice *choice;
    const uint8_t *extender_scores; /* by index in rows; NULL: none */
} Cycle;

int scheduler_set_cluster(Scheduler *scheduler, const ClusterState *cluster) {
    ForecastCache *forecasts = NULL;
    int r = forecast_cache_new(cluster, scheduler->options.plugins, &forecasts);

    if (r < 0)
        return r;
    forecast_cache_free(scheduler->forecasts);
    scheduler->forecasts = forecasts;
    scheduler->cluster = cluster;
    return 0;
}

void scheduler_set_weight(Scheduler *scheduler, int64_t weight) {
    scheduler->options.weight = weight;
}

void scheduler_set_percentage(Scheduler *scheduler, unsigned percentage) {
    scheduler->options.percentage = percentage;
}

int scheduler_new(const SchedulerOptions *options, const ClusterState *cluster,
    SchedulerExtender extender, Scheduler **ret) {
    _cleanup_(scheduler_freep) Scheduler *scheduler = calloc(1, sizeof(*scheduler));
    int r;

    if (!scheduler)
        return -ENOMEM;
    scheduler->options = *options;
    scheduler->extender = extender;
    scheduler->random.state = options->seed;
    scheduler->cycle = arena_new(SCRATCH_BUDGET);
    scheduler->arena = arena_new(SCRATCH_BUDGET);
    if (!scheduler->cycle || !scheduler->arena)
        return -ENOMEM;
    scheduler->n_counts = REASON_EXTENDER + extender.n_reasons;
    scheduler->counts = ARENA_ARRAY(scheduler->arena, uint32_t, scheduler->n_counts);
    if (!scheduler->counts)
        return -ENOMEM;
    r = scheduler_set_cluster(scheduler, cluster);
    if (r == 0)
        *ret = TAKE_PTR(scheduler);
    return r;
}

Scheduler *scheduler_free(Scheduler *scheduler) {
    if (!scheduler)
        return NULL;
    forecast_cache_free(scheduler->forecasts);
    arena_free(scheduler->cycle);
    arena_free(scheduler->arena);
    free(scheduler);
    return NULL;
}

/* --- filters ------------------------------------------------------------ */

/* A number for a resource that no node has, so that its name can be printed. */
static SchedulingReason number_unknown_resource(Scheduler *scheduler, Str name) {
    size_t i = 0;

    while (i < scheduler->n_unknown_resources && !str_eq(scheduler->unknown_resources[i], name))
        i++;
    if (i == scheduler->n_unknown_resources && i < REASON_UNKNOWN_RESOURCE_MAX - 1) {
        scheduler->unknown_resources[i] = arena_copy(scheduler->arena, name);
        scheduler->n_unknown_resources += scheduler->unknown_resources[i].ptr != NULL;
    }
    return REASON_UNKNOWN_RESOURCE + (SchedulingReason)i;
}

/* A node may lack several resources: each is counted. Returns the last one. */
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

/* Returns REASON_NONE if the pod can run there; otherwise counts the reason and returns it. */
static SchedulingReason try_node(Scheduler *scheduler, const Cycle *cycle, uint32_t row) {
    SchedulingReason rejection = cycle->forecast->rejections[row];

    if (rejection == REJECTION_NONE && cycle->request->ports.n > 0 &&
        ports_conflict(&cycle->request->ports, &scheduler->cluster->ports[row]))
        rejection = REJECTION_PORTS;
    if (rejection != REJECTION_NONE) {
        scheduler->counts[rejection]++;
        return rejection;
    }
    if (!fit_is_room(&cycle->fit, scheduler->cluster, row))
        return count_lacks(scheduler, &cycle->fit, row);
    if (cycle->forecast->volumes)
        rejection = cycle->forecast->volumes[row];
    if (rejection == REJECTION_NONE && cycle->spread.n_required > 0)
        rejection = spread_filter(&cycle->spread, row);
    if (rejection == REJECTION_NONE && inter_pod_filters(&cycle->inter_pod))
        rejection = inter_pod_filter(&cycle->inter_pod, row);
    if (rejection != REJECTION_NONE)
        scheduler->counts[rejection]++;
    return rejection;
}

/* Tries nodes from where the last cycle ended. */
static void find_feasible(Scheduler *scheduler, Cycle *cycle) {
    const Forecast *forecast = cycle->forecast;
    const uint32_t *order = forecast->named_rows ? forecast->named_rows : scheduler->cluster->order;
    size_t n = forecast->named_rows ? forecast->n_named : scheduler->cluster->n_order;
    size_t enough = cycle->inspected == NO_ROW ? sample_size(n, scheduler->options.percentage) : n;
    size_t at = n > 0 ? scheduler->start % n : 0, n_tried = 0;

    for (; n_tried < n && cycle->n < enough; n_tried++) {
        uint32_t row = order[at];

        at = at + 1 == n ? 0 : at + 1;
        scheduler->rows[cycle->n] = row;
        cycle->n += try_node(scheduler, cycle, row) == REASON_NONE;
    }
    scheduler->counts[REJECTION_AFFINITY] += (uint32_t)(scheduler->cluster->n_order - n);
    if (scheduler->cluster->n_order > 0)
        scheduler->start = (scheduler->start + n_tried) % scheduler->cluster->n_order;
}

/* Keeps the nodes that pass the extender's filter. */
static int filter_by_extender(Scheduler *scheduler, Cycle *cycle) {
    const SchedulerExtender *extender = &scheduler->extender;
    const uint16_t *verdicts = NULL;
    size_t n_left = 0;
    int r;

    if (!extender->filter || cycle->n == 0)
        return 0;
    r = extender->filter(extender->context, &cycle->request->pod, cycle->now_nsec, scheduler->rows,
        cycle->n, scheduler->cycle, &verdicts);
    if (r != 0)
        return r;
    for (size_t i = 0; i < cycle->n; i++) {
        scheduler->rows[n_left] = scheduler->rows[i];
        n_left += verdicts[i] == EXTENDER_PASSES;
        if (verdicts[i] < extender->n_reasons)
            scheduler->counts[REASON_EXTENDER + verdicts[i]]++;
    }
    cycle->n = n_left;
    return 0;
}

/* --- scores ------------------------------------------------------------- */

/* The extremes over all feasible nodes: plugins scale their scores by them. */
typedef struct PluginMax {
    int64_t n_untolerated, preferred_weight;
    int64_t inter_pod, inter_pod_least;
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
        if (cycle->inter_pod.scores.n > 0) {
            int64_t score = inter_pod_score(&cycle->inter_pod, row);

            max.inter_pod = i == 0 || score > max.inter_pod ? score : max.inter_pod;
            max.inter_pod_least =
                i == 0 || score < max.inter_pod_least ? score : max.inter_pod_least;
        }
    }
    return max;
}

static int64_t score_node(
    const Scheduler *scheduler, const Cycle *cycle, const PluginMax *max, uint32_t row) {
    const Forecast *forecast = cycle->forecast;
    int64_t inter_pod = 0;

    if (max->inter_pod > max->inter_pod_least) /* rounded as the plugin does */
        inter_pod =
            (int64_t)(SCORE_BEST *
                      ((double)(inter_pod_score(&cycle->inter_pod, row) - max->inter_pod_least) /
                          (double)(max->inter_pod - max->inter_pod_least)));
    return score_preferences(forecast->n_untolerated[row], max->n_untolerated,
               forecast->preferred_weight[row], max->preferred_weight) +
           WEIGHT_INTER_POD * inter_pod +
           fit_least_allocated(&cycle->fit, scheduler->cluster, row) +
           fit_balanced(&cycle->fit, scheduler->cluster, row) + forecast->images[row];
}

static int score_nodes(Scheduler *scheduler, Cycle *cycle) {
    const SchedulerExtender *extender = &scheduler->extender;
    PluginMax max = find_plugin_max(scheduler, cycle);
    const uint8_t *scores = NULL;
    const int64_t *spread = NULL;
    int r = spread_score(&cycle->spread, scheduler->rows, cycle->n, scheduler->cycle, &spread);

    if (r == 0 && extender->prioritize)
        r = extender->prioritize(extender->context, &cycle->request->pod, cycle->now_nsec,
            scheduler->rows, cycle->n, scheduler->cycle, &scores);
    if (r < 0)
        return r;
    cycle->extender_scores = scores;
    for (size_t i = 0; i < cycle->n; i++) {
        scheduler->scores[i] = score_node(scheduler, cycle, &max, scheduler->rows[i]);
        if (spread)
            scheduler->scores[i] += WEIGHT_SPREAD * spread[i];
        if (scores)
            scheduler->scores[i] += scores[i] * scheduler->options.weight * POINTS_PER_SCORE;
    }
    return 0;
}

/* --- choosing ----------------------------------------------------------- */

/* The most frequent reason; on a tie the first in the order of plugins. */
static SchedulingReason find_reason(const Scheduler *scheduler) {
    SchedulingReason reason = REASON_NO_NODES;
    uint32_t most = 0;

    for (SchedulingReason i = 1; i < scheduler->n_counts; i++)
        if (scheduler->counts[i] > most)
            most = scheduler->counts[reason = i];
    return reason;
}

/* Picks one of the best nodes at random. */
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
    pick = choice->n_best > 1 ? rng_pick(&scheduler->random, choice->n_best) : 0;
    for (size_t i = 0; i < cycle->n; i++) {
        if (cycle->n > 1 && scheduler->scores[i] != best)
            continue;
        if (choice->any_best == NO_ROW)
            choice->any_best = scheduler->rows[i];
        if (pick-- == 0) {
            choice->row = scheduler->rows[i];
            if (cycle->extender_scores)
                choice->extender_score = cycle->extender_scores[i];
            return;
        }
    }
}

int scheduler_choose(Scheduler *scheduler, const PodRequest *request, int64_t now_nsec,
    uint32_t inspected, Choice *ret) {
    Cycle cycle = {.request = request, .now_nsec = now_nsec, .inspected = inspected, .choice = ret};
    int r = forecast_cache_find(scheduler->forecasts, request, &cycle.forecast);

    *ret = (Choice){.row = NO_ROW, .any_best = NO_ROW, .extender_score = -1};
    if (r < 0)
        return r;
    arena_reset(scheduler->cycle);
    scheduler->rows = ARENA_RAW(scheduler->cycle, uint32_t, scheduler->cluster->n_rows + 1);
    scheduler->scores = ARENA_RAW(scheduler->cycle, int64_t, scheduler->cluster->n_rows + 1);
    if (!scheduler->rows || !scheduler->scores)
        return -ENOMEM;
    memset(scheduler->counts, 0, scheduler->n_counts * sizeof(*scheduler->counts));
    r = inter_pod_begin(
        scheduler->cluster->inter_pod, &request->terms, scheduler->cycle, &cycle.inter_pod);
    if (r == 0)
        r = spread_begin(
            scheduler->cluster, &request->terms, cycle.forecast, scheduler->cycle, &cycle.spread);
    if (r < 0)
        return r;
    cycle.fit = fit_of(scheduler->cluster, request, scheduler->options.ignores_extended_resources);
    find_feasible(scheduler, &cycle);
    r = filter_by_extender(scheduler, &cycle);
    if (r != 0)
        return r;
    ret->n_feasible = cycle.n;
    if (cycle.n > 1)
        r = score_nodes(scheduler, &cycle);
    if (r < 0)
        return r;
    if (cycle.n == 0)
        ret->reason = find_reason(scheduler);
    else
        pick_best(scheduler, &cycle);
    return 0;
}

/* --- texts -------------------------------------------------------------- */

void scheduling_reason_print(const Scheduler *scheduler, SchedulingReason reason, Buf *out) {
    Str resource = STR("other resources");

    if (reason >= REASON_EXTENDER && reason - REASON_EXTENDER < scheduler->extender.n_reasons) {
        scheduler->extender.print_reason(
            scheduler->extender.context, reason - REASON_EXTENDER, out);
    } else if (reason >= REASON_EXTENDER) {
        buf_append(out, STR("left out: others are better (narrowing)"));
    } else if (reason == REASON_NO_NODES) {
        buf_append(out, STR("no nodes available to schedule pods"));
    } else if (reason == REASON_GATED) {
        buf_append(out, STR("SchedulingGated: spec.schedulingGates is not empty"));
    } else if (reason >= REASON_RESOURCE) {
        if (reason < REASON_UNKNOWN_RESOURCE)
            resource = scheduler->cluster->table->resources[reason - REASON_RESOURCE];
        else if (reason - REASON_UNKNOWN_RESOURCE < scheduler->n_unknown_resources)
            resource = scheduler->unknown_resources[reason - REASON_UNKNOWN_RESOURCE];
        buf_printf(out, "Insufficient %.*s", STR_FMT(resource));
    } else {
        buf_append(out, str_from_c(rejection_texts[reason]));
    }
}

static int by_text(const void *a, const void *b) {
    return str_cmp(*(const Str *)a, *(const Str *)b);
}

/* kube-scheduler sorts the reasons as texts, numbers included. */
void scheduler_print_fit_error(const Scheduler *scheduler, Buf *out) {
    Str *texts = ARENA_ARRAY(scheduler->cycle, Str, scheduler->n_counts);
    size_t n = 0;

    for (SchedulingReason i = 1; texts && i < scheduler->n_counts; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);

        if (scheduler->counts[i] == 0)
            continue;
        buf_printf(&text, "%u ", scheduler->counts[i]);
        scheduling_reason_print(scheduler, i, &text);
        texts[n++] = arena_copy(scheduler->cycle, buf_str(&text));
    }
    if (n > 0)
        qsort(texts, n, sizeof(*texts), by_text);
    buf_printf(out, "0/%zu nodes are available: ", scheduler->cluster->n_order);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? ", " : "", STR_FMT(texts[i]));
    buf_append_char(out, '.');
}
