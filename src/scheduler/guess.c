/* Scores of kube-scheduler's default plugins for the rows that passed, and the best of them. */

#include "scheduler/guess.h"

#include <math.h>

#include "scheduler/fit.h"
#include "scheduler/forecast.h"

#define SPREAD_SKEW 3 /* maxSkew by hostname of the default constraints */

/* The scores of one row. All but the total are scaled by the extremes of all rows (RowMax). */
typedef struct RowScore {
    int64_t total;
    int64_t n_untolerated, preferred;
    double spread;
} RowScore;

typedef struct RowMax {
    int64_t n_untolerated, preferred;
    double spread, spread_least;
} RowMax;

/* @spread_weight: kube-scheduler's weight of a topology in which each row is a domain. */
static RowScore score_row(const GuessInput *input, uint32_t row, double spread_weight) {
    const PodRequest *request = input->request;
    const NodeTable *table = input->table;
    const Node *node = table_node(table, row);
    const NodeChunk *chunk = table_chunk(table, row);
    size_t slot = table_slot(row);
    int64_t allocatable[2], without[2], with[2], scored[2], n_siblings = 0;
    RowScore ret = {0};

    for (size_t i = TABLE_CPU; i <= TABLE_MEMORY; i++) {
        allocatable[i] = table_amount(table, row, i, AMOUNT_ALLOCATABLE);
        without[i] = scored[i] = table_amount(table, row, i, AMOUNT_REQUESTED);
        with[i] = without[i] + resources_get(&request->pod.requests, table->resources[i]);
    }
    if (!str_is_empty(request->pod.owner_uid))
        n_siblings = pod_list_count_owned(chunk->pods[slot], request->pod.owner_uid);
    scored[TABLE_CPU] += chunk->n_without_cpu[slot] * NONZERO_CPU + request->scored.cpu;
    scored[TABLE_MEMORY] += chunk->n_without_memory[slot] * NONZERO_MEMORY + request->scored.memory;
    ret.total = least_allocated_score(scored, allocatable, 2);
    if (with[0] != without[0] || with[1] != without[1])
        ret.total += balanced_score(with, without, allocatable);
    ret.n_untolerated = forecast_count_untolerated(
        &request->pod.tolerations, &table->taint_sets[chunk->taint_set[slot]]);
    if (request->preferred.n > 0 && node)
        ret.preferred = (int64_t)terms_weigh(&request->preferred, node->name, &node->labels);
    ret.spread = (double)n_siblings * spread_weight + (SPREAD_SKEW - 1);
    return ret;
}

static void note_max(const RowScore *score, bool is_first, RowMax *max) {
    if (is_first)
        *max = (RowMax){.spread_least = score->spread};
    if (score->n_untolerated > max->n_untolerated)
        max->n_untolerated = score->n_untolerated;
    if (score->preferred > max->preferred)
        max->preferred = score->preferred;
    max->spread = fmax(max->spread, score->spread);
    max->spread_least = fmin(max->spread_least, score->spread);
}

static int64_t sum_up(const RowScore *score, const RowMax *max, uint8_t extender) {
    return score->total +
           score_preferences(
               score->n_untolerated, max->n_untolerated, score->preferred, max->preferred) +
           WEIGHT_SPREAD *
               (int64_t)(SCORE_BEST * (max->spread + max->spread_least - score->spread) /
                         max->spread) +
           (int64_t)extender * POINTS_PER_SCORE;
}

size_t guess_choose(const GuessInput *input, Arena *arena) {
    RowScore *scores = ARENA_RAW(arena, RowScore, input->n);
    double spread_weight = log((double)input->n + 2);
    int64_t best = INT64_MIN;
    RowMax max = {0};
    size_t ret = 0;

    if (!scores)
        return SIZE_MAX;
    for (size_t i = 0; i < input->n; i++) {
        scores[i] = score_row(input, input->rows[i], spread_weight);
        note_max(&scores[i], i == 0, &max);
    }
    for (size_t i = 0; i < input->n; i++) {
        int64_t total = sum_up(&scores[i], &max, input->scores ? input->scores[i] : 0);

        if (total > best) {
            best = total;
            ret = i;
        }
    }
    return ret;
}
