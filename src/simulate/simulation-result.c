/* Figures of a simulation. */

#include "simulate/simulation-result.h"

#include <math.h>
#include <stdlib.h>

#define SIMULATION_BUDGET ((size_t)1024 * 1024 * 1024)

SimulationResult *simulation_result_new(size_t n_pods) {
    _cleanup_(simulation_result_freep) SimulationResult *result = calloc(1, sizeof(*result));

    if (!result || !(result->arena = arena_new(SIMULATION_BUDGET)))
        return NULL;
    result->n_pods = n_pods;
    result->pods = ARENA_ARRAY(result->arena, PodResult, n_pods);
    if (!result->pods)
        return NULL;
    for (size_t i = 0; i < n_pods; i++)
        result->pods[i] = (PodResult){.kind = RESULT_NOT_ARRIVED, .row = NO_ROW};
    return TAKE_PTR(result);
}

SimulationResult *simulation_result_free(SimulationResult *result) {
    if (result) {
        arena_free(result->arena);
        free(result);
    }
    return NULL;
}

static size_t shape_fits(const ClusterState *cluster, const Resources *shape, uint32_t row) {
    int64_t n =
        cluster->pods == SIZE_MAX ? 0 : cluster_state_free_amount(cluster, cluster->pods, row);

    for (size_t i = 0; i < shape->n; i++) {
        size_t column = table_find_resource(cluster->table, shape->items[i].name);
        int64_t left = column == SIZE_MAX ? 0 : cluster_state_free_amount(cluster, column, row);

        if (shape->items[i].amount > 0 && left / shape->items[i].amount < n)
            n = left / shape->items[i].amount;
    }
    return n > 0 ? (size_t)n : 0;
}

static double share_left(double free, double n, int64_t amount) {
    double left = free - n * (double)amount;

    return free > 0 && left > 0 ? left / free : 0;
}

static void measure_shape(const ClusterState *cluster, const Resources *shape, ShapeFigures *ret) {
    double cpu = 0, memory = 0;

    *ret = (ShapeFigures){0};
    for (size_t i = 0; i < cluster->n_order; i++) {
        uint32_t row = cluster->order[i];
        int64_t free_cpu = cluster_state_free_amount(cluster, TABLE_CPU, row);
        int64_t free_memory = cluster_state_free_amount(cluster, TABLE_MEMORY, row);

        if (!cluster_state_is_open(cluster, row))
            continue;
        ret->n_fit += shape_fits(cluster, shape, row);
        cpu += free_cpu > 0 ? (double)free_cpu : 0;
        memory += free_memory > 0 ? (double)free_memory : 0;
    }
    ret->cpu_left = share_left(cpu, (double)ret->n_fit, resources_get(shape, STR("cpu")));
    ret->memory_left = share_left(memory, (double)ret->n_fit, resources_get(shape, STR("memory")));
}

static BalanceFigures measure_balance(const ClusterState *cluster, size_t resource) {
    BalanceFigures figures = {.highest_row = NO_ROW};
    double sum = 0, squares = 0, n = 0;

    for (size_t i = 0; i < cluster->n_order; i++) {
        uint32_t row = cluster->order[i];
        int64_t allocatable = cluster->allocatable[resource][row];
        double share;

        if (allocatable <= 0 || table_node(cluster->table, row)->is_unschedulable)
            continue;
        share = (double)cluster->requested[resource][row] / (double)allocatable;
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

void simulation_result_measure(
    SimulationResult *result, const ClusterState *cluster, const Resources *shapes, size_t n) {
    result->n_used = cluster->n_used;
    for (size_t row = 0; row < cluster->n_rows; row++)
        result->n_emptied += cluster->was_used[row] && cluster->n_own[row] == 0;
    result->cpu = measure_balance(cluster, TABLE_CPU);
    result->memory = measure_balance(cluster, TABLE_MEMORY);
    for (size_t i = 0; i < n && i < SIMULATION_SHAPES_MAX; i++)
        measure_shape(cluster, &shapes[i], &result->shapes[i]);
}

size_t simulation_result_moves(const SimulationResult *result, const SimulationResult *first) {
    size_t n = 0;

    for (size_t i = 0; i < result->n_pods && i < first->n_pods; i++)
        n += result->pods[i].row != NO_ROW && first->pods[i].row != NO_ROW &&
             result->pods[i].row != first->pods[i].row;
    return n;
}
