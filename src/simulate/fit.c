#include "simulate/fit.h"

#include <math.h>

#define BEST 100

Fit fit_of(const Ground *ground, const Want *want) {
    const Resources *requests = &want->pod.requests;
    Fit fit = {.soft_cpu = want->soft_cpu, .soft_memory = want->soft_memory};

    for (size_t i = 0; i < requests->n && fit.n_asks < FIT_RESOURCES_MAX; i++) {
        const Resource *request = &requests->items[i];
        size_t column = table_find_resource(ground->table, request->name);

        if (request->amount <= 0 || (column != SIZE_MAX && column == ground->pods))
            continue;
        if (column == SIZE_MAX) {
            fit.not_offered = request->name;
            continue;
        }
        fit.asks[fit.n_asks].column = column;
        fit.asks[fit.n_asks++].amount = request->amount;
        fit.cpu = column == TABLE_CPU ? request->amount : fit.cpu;
        fit.memory = column == TABLE_MEMORY ? request->amount : fit.memory;
    }
    return fit;
}

/* 100 × left / offered. Offers over 92 PB do not fit the short way. */
static inline int64_t share_left(int64_t asked, int64_t offered) {
    int64_t left, scaled;

    if (asked > offered || __builtin_sub_overflow(offered, asked, &left))
        return 0;
    if (__builtin_mul_overflow(left, BEST, &scaled))
        return (int64_t)((__int128)left * BEST / offered);
    return scaled / offered;
}

static inline int64_t sum(int64_t a, int64_t b) {
    int64_t result;

    return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t least_allocated_score(const int64_t *asked, const int64_t *offered, size_t n) {
    int64_t score = 0, n_counted = 0;

    for (size_t i = 0; i < n; i++) {
        if (offered[i] == 0)
            continue;
        score += share_left(asked[i], offered[i]);
        n_counted++;
    }
    return n_counted == 0 ? 0 : score / n_counted;
}

int64_t fit_least_allocated(const Fit *fit, const Ground *ground, uint32_t row) {
    int64_t offered[] = {ground->offered[TABLE_CPU][row], ground->offered[TABLE_MEMORY][row]};
    int64_t asked[] = {
        sum(ground->soft_cpu[row], fit->soft_cpu),
        sum(ground->soft_memory[row], fit->soft_memory),
    };

    return least_allocated_score(asked, offered, 2);
}

static inline double share_of(int64_t asked, int64_t offered) {
    double share = (double)asked / (double)offered;

    return share > 1 ? 1 : share;
}

/* With one of both only there is nothing to be uneven. */
static inline int64_t evenness(const int64_t *asked, const int64_t *offered) {
    double deviation = 0;

    if (offered[0] != 0 && offered[1] != 0)
        deviation = fabs((share_of(asked[0], offered[0]) - share_of(asked[1], offered[1])) / 2);
    return (int64_t)((1 - deviation) * BEST);
}

int64_t balanced_score(
    const int64_t *asked_with, const int64_t *asked_without, const int64_t *offered) {
    int64_t with = evenness(asked_with, offered), without = evenness(asked_without, offered);

    return BEST / 2 + (BEST / 2 + with - without) / 2;
}

int64_t fit_balanced(const Fit *fit, const Ground *ground, uint32_t row) {
    int64_t offered[] = {ground->offered[TABLE_CPU][row], ground->offered[TABLE_MEMORY][row]};
    int64_t without[] = {ground->asked[TABLE_CPU][row], ground->asked[TABLE_MEMORY][row]};
    int64_t with[] = {sum(without[0], fit->cpu), sum(without[1], fit->memory)};

    if (fit->cpu == 0 && fit->memory == 0)
        return 0;
    return balanced_score(with, without, offered);
}
