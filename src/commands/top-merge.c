/* The states of several replicas as one, for the screen of `berth top`. */

#include <math.h>

#include "commands/top-screen.h"

/* The value @back samples before the newest. */
static int64_t sample(const TopCounter *counter, size_t back) {
    return counter->before[(counter->n_before - 1 - back) % TOP_RATE_UPDATES];
}

static size_t n_samples(const TopCounter *counter) {
    return counter->n_before < TOP_RATE_UPDATES ? counter->n_before : TOP_RATE_UPDATES;
}

/* Updates of all replicas come once a second: the newest of each belong together, and so on back,
 * as far as both have some. */
static void add_counter(TopCounter *to, const TopCounter *from) {
    TopCounter sum = {.last = to->last + from->last};
    size_t n = n_samples(to) < n_samples(from) ? n_samples(to) : n_samples(from);

    if (to->n_before == 0) {
        *to = *from;
        return;
    }
    for (size_t back = n; back > 0; back--)
        sum.before[sum.n_before++] = sample(to, back - 1) + sample(from, back - 1);
    *to = sum;
}

static size_t n_decisions(const TopState *state) {
    return state->n_decisions < TOP_DECISIONS_MAX ? state->n_decisions : TOP_DECISIONS_MAX;
}

/* Always the oldest that is left. */
static void add_decisions(const TopState *const *parts, size_t n, TopState *ret) {
    size_t taken[TOP_REPLICAS_MAX] = {0};

    for (;;) {
        const TopDecision *oldest = NULL;
        size_t at = 0;

        for (size_t i = 0; i < n; i++) {
            size_t left = n_decisions(parts[i]) - taken[i];
            const TopDecision *next = left > 0 ? top_state_decision(parts[i], left - 1) : NULL;

            if (next && (!oldest || next->at_nsec < oldest->at_nsec)) {
                oldest = next;
                at = i;
            }
        }
        if (!oldest)
            return;
        taken[at]++;
        top_state_add(ret, oldest);
    }
}

static double worse(double a, double b) {
    return isnan(a) || b > a ? b : a;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Each replica sees the whole cluster: its nodes and pending pods are not added. */
static void add_figures(TopState *to, const TopState *from) {
    if (strcmp(from->time, to->time) > 0)
        memcpy(to->time, from->time, sizeof(to->time));
    if (!to->has_update || (top_state_is_healthy(to) && !top_state_is_healthy(from))) {
        memcpy(to->health, from->health, sizeof(to->health));
        memcpy(to->summary, from->summary, sizeof(to->summary));
    }
    to->error_rate = to->has_update ? worse(to->error_rate, from->error_rate) : from->error_rate;
    to->p99_sec = to->has_update ? worse(to->p99_sec, from->p99_sec) : from->p99_sec;
    to->n_nodes = larger(to->n_nodes, from->n_nodes);
    to->n_pending = larger(to->n_pending, from->n_pending);
    add_counter(&to->filters, &from->filters);
    add_counter(&to->rejected, &from->rejected);
    for (size_t i = 0; i < from->n_rules; i++) {
        TopRule *rule = top_state_rule(to, from->rules[i].name);

        if (rule)
            add_counter(&rule->rejected, &from->rules[i].rejected);
    }
    to->has_update = true;
}

void top_state_merge(const TopState *const *parts, size_t n, TopState *ret) {
    if (n == 1) {
        *ret = *parts[0];
        return;
    }
    *ret = (TopState){0};
    for (size_t i = 0; i < n; i++)
        if (parts[i]->has_update)
            add_figures(ret, parts[i]);
    top_state_sort_rules(ret);
    add_decisions(parts, n, ret);
}
