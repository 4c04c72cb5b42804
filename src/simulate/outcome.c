#include "simulate/outcome.h"

#include <math.h>
#include <stdlib.h>

#define OUTCOME_BUDGET ((size_t)1024 * 1024 * 1024)

Outcome *outcome_new(size_t n_pods) {
    _cleanup_(outcome_freep) Outcome *outcome = calloc(1, sizeof(*outcome));

    if (!outcome || !(outcome->arena = arena_new(OUTCOME_BUDGET)))
        return NULL;
    outcome->n_pods = n_pods;
    outcome->fates = ARENA_ARRAY(outcome->arena, PodFate, n_pods);
    outcome->samples = ARENA_ARRAY(outcome->arena, Sample, OUTCOME_SAMPLES_MAX);
    if (!outcome->fates || !outcome->samples)
        return NULL;
    for (size_t i = 0; i < n_pods; i++)
        outcome->fates[i] = (PodFate){.fate = FATE_NOT_YET, .row = NO_ROW};
    return TAKE_PTR(outcome);
}

Outcome *outcome_free(Outcome *outcome) {
    if (outcome) {
        arena_free(outcome->arena);
        free(outcome);
    }
    return NULL;
}

/* --- shapes ------------------------------------------------------------- */

/* How many pods of shape @shape fit on the node of @row, now. */
static size_t shape_fits(const Ground *ground, const Resources *shape, uint32_t row) {
    int64_t n = ground->pods == SIZE_MAX ? 0 : ground_free_amount(ground, ground->pods, row);

    for (size_t i = 0; i < shape->n; i++) {
        size_t column = table_find_resource(ground->table, shape->items[i].name);
        int64_t left = column == SIZE_MAX ? 0 : ground_free_amount(ground, column, row);

        if (shape->items[i].amount > 0 && left / shape->items[i].amount < n)
            n = left / shape->items[i].amount;
    }
    return n > 0 ? (size_t)n : 0;
}

/* The share of @free that @n pods of @amount each leave over. */
static double share_left(double free, double n, int64_t amount) {
    double left = free - n * (double)amount;

    return free > 0 && left > 0 ? left / free : 0;
}

static void measure_shape(const Ground *ground, const Resources *shape, ShapeFigures *ret) {
    double cpu = 0, memory = 0;

    *ret = (ShapeFigures){0};
    for (size_t i = 0; i < ground->n_order; i++) {
        uint32_t row = ground->order[i];
        int64_t free_cpu = ground_free_amount(ground, TABLE_CPU, row);
        int64_t free_memory = ground_free_amount(ground, TABLE_MEMORY, row);

        if (!ground_is_open(ground, row))
            continue;
        ret->n_fit += shape_fits(ground, shape, row);
        cpu += free_cpu > 0 ? (double)free_cpu : 0;
        memory += free_memory > 0 ? (double)free_memory : 0;
    }
    ret->cpu_left = share_left(cpu, (double)ret->n_fit, resources_get(shape, STR("cpu")));
    ret->memory_left = share_left(memory, (double)ret->n_fit, resources_get(shape, STR("memory")));
}

/* --- balance ------------------------------------------------------------ */

static BalanceFigures measure_balance(const Ground *ground, size_t resource) {
    BalanceFigures figures = {.highest_row = NO_ROW};
    double sum = 0, squares = 0, n = 0;

    for (size_t i = 0; i < ground->n_order; i++) {
        uint32_t row = ground->order[i];
        int64_t offered = ground->offered[resource][row];
        double share;

        if (offered <= 0 || table_node(ground->table, row)->is_unschedulable)
            continue;
        share = (double)ground->asked[resource][row] / (double)offered;
        sum += share;
        squares += share * share;
        n++;
        if (figures.highest_row == NO_ROW || share > figures.highest) {
            figures.highest = share;
            figures.highest_row = row;
        }
    }
    if (n > 0) {
        double variance = squares / n - (sum / n) * (sum / n);

        figures.mean = sum / n;
        figures.deviation = variance > 0 ? sqrt(variance) : 0;
    }
    return figures;
}

void outcome_measure(Outcome *outcome, const Ground *ground, const Resources *shapes, size_t n) {
    outcome->n_used = ground->use.n_nodes;
    for (size_t row = 0; row < ground->n_rows; row++)
        outcome->n_emptied += ground->was_used[row] && ground->n_own[row] == 0;
    outcome->cpu = measure_balance(ground, TABLE_CPU);
    outcome->memory = measure_balance(ground, TABLE_MEMORY);
    for (size_t i = 0; i < n && i < OUTCOME_SHAPES_MAX; i++)
        measure_shape(ground, &shapes[i], &outcome->shapes[i]);
}

/* --- over time ---------------------------------------------------------- */

/* Those that stay are spread over the whole, whatever comes: of two neighbours the later goes. */
void outcome_sample(Outcome *outcome, const Sample *sample) {
    if (outcome->n_samples > 0 &&
        outcome->samples[outcome->n_samples - 1].at >= sample->at) { /* the same moment */
        outcome->samples[outcome->n_samples - 1] = *sample;
        return;
    }
    if (outcome->n_samples == OUTCOME_SAMPLES_MAX) {
        outcome->n_samples /= 2;
        for (size_t i = 0; i < outcome->n_samples; i++)
            outcome->samples[i] = outcome->samples[2 * i];
    }
    outcome->samples[outcome->n_samples++] = *sample;
}

size_t outcome_moves(const Outcome *outcome, const Outcome *first) {
    size_t n = 0;

    for (size_t i = 0; i < outcome->n_pods && i < first->n_pods; i++)
        n += outcome->fates[i].row != NO_ROW && first->fates[i].row != NO_ROW &&
             outcome->fates[i].row != first->fates[i].row;
    return n;
}
