/* PodTopologySpread: counts of domains, its filter and its score. */

#include "scheduler/spread.h"

#include <errno.h>
#include <math.h>

#include "scheduler/fit.h"

static bool has_all_keys(const SpreadCount *items, size_t n, uint32_t row) {
    for (size_t i = 0; i < n; i++)
        if (items[i].domains[row] == NO_DOMAIN)
            return false;
    return true;
}

/* Counts only nodes that the constraint includes and that have the keys of all constraints @alike.
 * A domain without such a node is not known. */
static void add_up_rows(const ClusterState *cluster, const Forecast *forecast,
    const SpreadCount *alike, size_t n_alike, SpreadCount *item, uint8_t *is_known, Arena *arena) {
    const uint32_t *by_row = item->counts;
    uint32_t *counts = ARENA_ARRAY(arena, uint32_t, item->n_domains + 1);

    for (size_t i = 0; counts && is_known && i < cluster->n_order; i++) {
        uint32_t row = cluster->order[i], domain = item->domains[row];

        if (domain == NO_DOMAIN || (item->use->inclusion & ~forecast->inclusion[row]) != 0 ||
            !has_all_keys(alike, n_alike, row))
            continue;
        is_known[domain] = 1;
        counts[domain] += by_row ? by_row[row] : 0;
    }
    item->counts = counts;
}

static int64_t find_least(const SpreadCount *item, const uint8_t *is_known) {
    int64_t least = INT64_MAX, n = 0;

    for (size_t i = 0; i < item->n_domains; i++) {
        int64_t count = item->counts ? item->counts[i] : 0;

        if (is_known && !is_known[i])
            continue;
        n++;
        least = count < least ? count : least;
    }
    return n < item->use->min_domains ? 0 : least;
}

static void count_domains(const ClusterState *cluster, const Forecast *forecast, SpreadCount *items,
    size_t n, Arena *arena) {
    for (size_t i = 0; i < n; i++) {
        SpreadCount *item = &items[i];
        bool lacks_nodes = item->use->is_required && cluster->n_hidden > 0;
        uint8_t *is_known = item->use->counts_rows || lacks_nodes
                                ? ARENA_ARRAY(arena, uint8_t, item->n_domains + 1)
                                : NULL;

        if (item->use->counts_rows)
            add_up_rows(
                cluster, forecast, items, item->use->is_default ? 0 : n, item, is_known, arena);
        else if (lacks_nodes) /* domains with a node that is not hidden */
            for (size_t k = 0; is_known && k < cluster->n_order; k++)
                if (item->domains[cluster->order[k]] != NO_DOMAIN)
                    is_known[item->domains[cluster->order[k]]] = 1;
        if (item->use->is_required)
            item->least = find_least(item, is_known);
    }
}

int spread_begin(const ClusterState *cluster, const PodTerms *terms, const Forecast *forecast,
    Arena *arena, SpreadCycle *ret) {
    *ret = (SpreadCycle){0};
    if (terms->n_spread == 0 || !cluster->inter_pod)
        return 0;
    ret->required = ARENA_ARRAY(arena, SpreadCount, terms->n_spread);
    ret->preferred = ARENA_ARRAY(arena, SpreadCount, terms->n_spread);
    if (!ret->required || !ret->preferred)
        return -ENOMEM;
    for (size_t i = 0; i < terms->n_spread; i++) {
        const SpreadUse *use = &terms->spread[i];
        const TermDomains *domains = &cluster->inter_pod->index->domains[use->key];
        SpreadCount *item = use->is_required ? &ret->required[ret->n_required++]
                                             : &ret->preferred[ret->n_preferred++];

        *item = (SpreadCount){
            .use = use,
            .domains = domains->by_row,
            .n_domains = domains->n,
            .counts = use->term == NO_TERM ? NULL : cluster->inter_pod->terms[use->term].selected,
        };
    }
    count_domains(cluster, forecast, ret->required, ret->n_required, arena);
    count_domains(cluster, forecast, ret->preferred, ret->n_preferred, arena);
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

Rejection spread_filter(const SpreadCycle *cycle, uint32_t row) {
    for (size_t i = 0; i < cycle->n_required; i++) {
        const SpreadCount *item = &cycle->required[i];
        uint32_t domain = item->domains[row];
        int64_t count;

        if (domain == NO_DOMAIN)
            return REJECTION_SPREAD_LABEL;
        count = (item->counts ? item->counts[domain] : 0) + item->use->selects_itself;
        if (count - item->least > item->use->max_skew)
            return REJECTION_SPREAD;
    }
    return REJECTION_NONE;
}

/* A pod's own constraints ignore nodes that lack one of the keys; default constraints do not. */
static bool is_ignored(const SpreadCycle *cycle, uint32_t row) {
    return !cycle->preferred[0].use->is_default &&
           !has_all_keys(cycle->preferred, cycle->n_preferred, row);
}

/* Counts domains among @rows; all nodes without the key are one domain. 0, or -ENOMEM. */
static int count_sizes(const SpreadCycle *cycle, const SpreadCount *item, const uint32_t *rows,
    size_t n, Arena *arena, size_t *ret) {
    bool may_ignore = !item->use->is_default;
    uint8_t *is_seen = NULL;

    *ret = item->use->is_by_node && !may_ignore ? n : 0;
    if (*ret > 0)
        return 0;
    is_seen = ARENA_ARRAY(arena, uint8_t, item->n_domains + 1);
    if (!is_seen)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t domain = item->domains[rows[i]];
        size_t at = domain == NO_DOMAIN ? item->n_domains : domain;

        if ((may_ignore && is_ignored(cycle, rows[i])) || (is_seen[at] && !item->use->is_by_node))
            continue;
        is_seen[at] = 1;
        (*ret)++;
    }
    return 0;
}

static void add_counts(
    const SpreadCount *item, size_t size, const uint32_t *rows, size_t n, double *sums) {
    double weight = log((double)(size + 2)), skew = (double)(item->use->max_skew - 1);

    for (size_t i = 0; i < n; i++) {
        uint32_t domain = item->domains[rows[i]];

        if (domain != NO_DOMAIN)
            sums[i] += (item->counts ? item->counts[domain] : 0) * weight + skew;
    }
}

/* Nodes with fewer pods score higher; rounded as in the plugin. Adjacent nodes often have equal
 * sums, so the last quotient is kept. */
static void normalise(
    const SpreadCycle *cycle, const uint32_t *rows, size_t n, const double *sums, int64_t *scores) {
    int64_t least = INT64_MAX, most = 0, last = -1, points = 0;

    for (size_t i = 0; i < n; i++) {
        /* A sum is 0 or more: this is round(). */
        scores[i] = is_ignored(cycle, rows[i]) ? -1 : (int64_t)(sums[i] + 0.5);
        if (scores[i] < 0)
            continue;
        least = scores[i] < least ? scores[i] : least;
        most = scores[i] > most ? scores[i] : most;
    }
    for (size_t i = 0; i < n; i++) {
        if (scores[i] != last) {
            last = scores[i];
            points = last < 0    ? 0
                     : most == 0 ? SCORE_BEST
                                 : SCORE_BEST * (most + least - last) / most;
        }
        scores[i] = points;
    }
}

int spread_score(
    const SpreadCycle *cycle, const uint32_t *rows, size_t n, Arena *arena, const int64_t **ret) {
    double *sums;
    int64_t *scores;

    *ret = NULL;
    if (cycle->n_preferred == 0)
        return 0;
    sums = ARENA_ARRAY(arena, double, n);
    scores = ARENA_ARRAY(arena, int64_t, n);
    if (!sums || !scores)
        return -ENOMEM;
    for (size_t i = 0; i < cycle->n_preferred; i++) {
        size_t size;

        if (count_sizes(cycle, &cycle->preferred[i], rows, n, arena, &size) < 0)
            return -ENOMEM;
        add_counts(&cycle->preferred[i], size, rows, n, sums);
    }
    normalise(cycle, rows, n, sums, scores);
    *ret = scores;
    return 0;
}
