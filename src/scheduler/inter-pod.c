/* InterPodAffinity: counts pods by term and domain, and filters and scores by these counts. */

#include "scheduler/inter-pod.h"

#include <errno.h>

int inter_pod_new(const TermIndex *index, Arena *arena, InterPod **ret) {
    *ret = ARENA_NEW(arena, InterPod);
    if (*ret)
        **ret = (InterPod){
            .arena = arena,
            .index = index,
            .terms = ARENA_ARRAY(arena, TermCounts, index->terms.n + 1),
        };
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

/* Makes the arrays that counting @role needs. The arena remembers a failure. */
static void make_room(InterPod *state, uint32_t term, TermRole role) {
    TermCounts *counts = &state->terms[term];
    size_t n = term_index_domains(state->index, term)->n;

    if (role == TERM_ANTI_AFFINITY && !counts->repels)
        counts->repels = ARENA_ARRAY(state->arena, uint32_t, n);
    if ((role == TERM_PREFERRED || role == TERM_ATTRACTS) && !counts->weights)
        counts->weights = ARENA_ARRAY(state->arena, int64_t, n);
    if (role == TERM_AFFINITY && !counts->selected)
        counts->selected = ARENA_ARRAY(state->arena, uint32_t, n);
}

static void count_use(InterPod *state, uint32_t row, const TermUse *use, int sign) {
    TermCounts *counts = &state->terms[use->term];
    uint32_t domain = term_index_domains(state->index, use->term)->by_row[row];

    if (domain == NO_DOMAIN || use->role == TERM_AFFINITY)
        return;
    if (use->role == TERM_ANTI_AFFINITY) {
        counts->repels[domain] += (uint32_t)sign;
        counts->n_repels += (size_t)sign;
    } else {
        counts->weights[domain] += (int64_t)sign * use->weight;
        counts->n_weighted += (size_t)sign;
    }
}

static void change(InterPod *state, uint32_t row, const PodTerms *terms, int sign) {
    const PodKind *kind = term_index_kind(state->index, terms);

    for (size_t i = 0; i < kind->n_terms; i++) {
        TermCounts *counts = &state->terms[kind->terms[i]];
        uint32_t domain = term_index_domains(state->index, kind->terms[i])->by_row[row];

        if (domain == NO_DOMAIN)
            continue;
        counts->selected[domain] += (uint32_t)sign;
        counts->n_selected += (size_t)sign;
    }
    for (size_t i = 0; i < terms->n_uses; i++)
        count_use(state, row, &terms->uses[i], sign);
}

int inter_pod_add(InterPod *state, uint32_t row, const PodTerms *terms) {
    const PodKind *kind = term_index_kind(state->index, terms);

    for (size_t i = 0; i < kind->n_terms; i++)
        make_room(state, kind->terms[i], TERM_AFFINITY);
    for (size_t i = 0; i < terms->n_uses; i++)
        if (terms->uses[i].role != TERM_AFFINITY)
            make_room(state, terms->uses[i].term, terms->uses[i].role);
    if (arena_has_failed(state->arena))
        return -ENOMEM;
    change(state, row, terms, 1);
    return 0;
}

void inter_pod_remove(InterPod *state, uint32_t row, const PodTerms *terms) {
    change(state, row, terms, -1);
}

static void put(const InterPod *state, uint32_t term, InterPodCount count, InterPodCounts *list) {
    count.domains = term_index_domains(state->index, term)->by_row;
    list->items[list->n++] = count;
}

/* Adds a term of the pod itself. */
static void put_own(const InterPod *state, const TermUse *use, InterPodCycle *cycle) {
    const TermCounts *counts = &state->terms[use->term];
    InterPodCount count = {.counts = counts->selected, .weight = use->weight};

    if (use->role == TERM_AFFINITY)
        put(state, use->term, count, &cycle->affinity);
    else if (use->role == TERM_ANTI_AFFINITY && counts->n_selected > 0)
        put(state, use->term, count, &cycle->anti);
    else if (use->role == TERM_PREFERRED && counts->n_selected > 0)
        put(state, use->term, count, &cycle->scores);
}

/* Adds a term of running pods that selects the pod. */
static void put_existing(const InterPod *state, uint32_t term, InterPodCycle *cycle) {
    const TermCounts *counts = &state->terms[term];

    if (counts->n_repels > 0)
        put(state, term, (InterPodCount){.counts = counts->repels}, &cycle->existing);
    if (counts->n_weighted > 0)
        put(state, term, (InterPodCount){.weights = counts->weights}, &cycle->scores);
}

/* Whether it is the first pod of a group with affinity to itself, which may go anywhere. */
static bool is_first(const InterPod *state, const PodTerms *terms, const PodKind *kind) {
    for (size_t i = 0; i < terms->n_uses; i++)
        if (terms->uses[i].role == TERM_AFFINITY &&
            (state->terms[terms->uses[i].term].n_selected > 0 ||
                !pod_kind_has_term(kind, terms->uses[i].term)))
            return false;
    return true;
}

int inter_pod_begin(
    const InterPod *state, const PodTerms *terms, Arena *arena, InterPodCycle *ret) {
    const PodKind *kind = state ? term_index_kind(state->index, terms) : NULL;
    size_t n = kind ? kind->n_terms + terms->n_uses : 0;
    InterPodCounts *lists[] = {&ret->affinity, &ret->anti, &ret->existing, &ret->scores};

    *ret = (InterPodCycle){0};
    if (n == 0)
        return 0;
    for (size_t i = 0; i < ELEMENTS_OF(lists); i++)
        lists[i]->items = ARENA_RAW(arena, InterPodCount, n);
    if (arena_has_failed(arena))
        return -ENOMEM;
    for (size_t i = 0; i < terms->n_uses; i++)
        put_own(state, &terms->uses[i], ret);
    for (size_t i = 0; i < kind->n_terms; i++)
        put_existing(state, kind->terms[i], ret);
    ret->is_first = ret->affinity.n > 0 && is_first(state, terms, kind);
    return 0;
}

static bool has_any(const InterPodCounts *list, uint32_t row) {
    for (size_t i = 0; i < list->n; i++) {
        uint32_t domain = list->items[i].domains[row];

        if (domain != NO_DOMAIN && list->items[i].counts[domain] > 0)
            return true;
    }
    return false;
}

/* A node must have the topology keys even for the first pod. */
static bool has_all(const InterPodCycle *cycle, uint32_t row) {
    for (size_t i = 0; i < cycle->affinity.n; i++) {
        const InterPodCount *item = &cycle->affinity.items[i];
        uint32_t domain = item->domains[row];

        if (domain == NO_DOMAIN)
            return false;
        if (!cycle->is_first && (!item->counts || item->counts[domain] == 0))
            return false;
    }
    return true;
}

Rejection inter_pod_filter(const InterPodCycle *cycle, uint32_t row) {
    if (!has_all(cycle, row))
        return REJECTION_POD_AFFINITY;
    if (has_any(&cycle->anti, row))
        return REJECTION_POD_ANTI_AFFINITY;
    return has_any(&cycle->existing, row) ? REJECTION_EXISTING_ANTI_AFFINITY : REJECTION_NONE;
}

int64_t inter_pod_score(const InterPodCycle *cycle, uint32_t row) {
    int64_t score = 0;

    for (size_t i = 0; i < cycle->scores.n; i++) {
        const InterPodCount *item = &cycle->scores.items[i];
        uint32_t domain = item->domains[row];

        if (domain == NO_DOMAIN)
            continue;
        score += item->weights ? item->weights[domain] : item->weight * item->counts[domain];
    }
    return score;
}
