/* Counts of pods by term and domain, and the plugin's filter and score over them. */

#include "scheduler/inter-pod.h"

#include <errno.h>

/* By domain; NULL until there is one. */
typedef struct TermCounts {
    uint32_t *selected; /* pods that the term selects */
    uint32_t *repels;   /* pods with it as a required anti-affinity */
    int64_t *weights;   /* of pods with it, otherwise */
    size_t n_selected, n_repels, n_weighted;
} TermCounts;

struct InterPod {
    Arena *arena;
    const TermIndex *index;
    TermCounts *terms;
};

int inter_pod_new(const TermIndex *index, Arena *arena, InterPod **ret) {
    InterPod *state = ARENA_NEW(arena, InterPod);

    if (!state)
        return -ENOMEM;
    state->arena = arena;
    state->index = index;
    state->terms = ARENA_ARRAY(arena, TermCounts, term_index_n_terms(index) + 1);
    *ret = state;
    return state->terms ? 0 : -ENOMEM;
}

/* --- counting ------------------------------------------------------------- */

/* The arrays that @use of a term needs. */
static int make_room(InterPod *state, uint32_t term, TermRole role) {
    TermCounts *counts = &state->terms[term];
    size_t n = term_index_domains(state->index, term)->n;

    if (role == TERM_ANTI_AFFINITY && !counts->repels)
        counts->repels = ARENA_ARRAY(state->arena, uint32_t, n);
    if ((role == TERM_PREFERRED || role == TERM_ATTRACTS) && !counts->weights)
        counts->weights = ARENA_ARRAY(state->arena, int64_t, n);
    if (role == TERM_AFFINITY && !counts->selected)
        counts->selected = ARENA_ARRAY(state->arena, uint32_t, n);
    return arena_has_failed(state->arena) ? -ENOMEM : 0;
}

static int make_room_for(InterPod *state, const PodTerms *terms) {
    const PodKind *kind = term_index_kind(state->index, terms);
    int r = 0;

    for (size_t i = 0; r == 0 && i < kind->n_terms; i++)
        r = make_room(state, kind->terms[i], TERM_AFFINITY);
    for (size_t i = 0; r == 0 && i < terms->n_uses; i++)
        if (terms->uses[i].role != TERM_AFFINITY)
            r = make_room(state, terms->uses[i].term, terms->uses[i].role);
    return r;
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
    int r = make_room_for(state, terms);

    if (r == 0)
        change(state, row, terms, 1);
    return r;
}

void inter_pod_remove(InterPod *state, uint32_t row, const PodTerms *terms) {
    change(state, row, terms, -1);
}

const uint32_t *inter_pod_selected(const InterPod *state, uint32_t term) {
    return term == NO_TERM ? NULL : state->terms[term].selected;
}

const TermDomains *inter_pod_key_domains(const InterPod *state, uint32_t key) {
    return term_index_key_domains(state->index, key);
}

/* --- one cycle ------------------------------------------------------------ */

static void put(const InterPod *state, uint32_t term, InterPodCount count, InterPodCounts *list) {
    count.domains = term_index_domains(state->index, term)->by_row;
    list->items[list->n++] = count;
}

/* The pod's own terms. */
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

/* Terms of running pods that select the pod. */
static void put_existing(const InterPod *state, uint32_t term, InterPodCycle *cycle) {
    const TermCounts *counts = &state->terms[term];

    if (counts->n_repels > 0)
        put(state, term, (InterPodCount){.counts = counts->repels}, &cycle->existing);
    if (counts->n_weighted > 0)
        put(state, term, (InterPodCount){.weights = counts->weights}, &cycle->scores);
}

/* The first pod of a group with affinity to itself has no other to go to. */
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
    for (size_t i = 0; i < ELEMENTS_OF(lists); i++) {
        lists[i]->items = ARENA_RAW(arena, InterPodCount, n);
        if (!lists[i]->items)
            return -ENOMEM;
    }
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

InterPodVerdict inter_pod_filter(const InterPodCycle *cycle, uint32_t row) {
    if (!has_all(cycle, row))
        return INTER_POD_AFFINITY;
    if (has_any(&cycle->anti, row))
        return INTER_POD_ANTI_AFFINITY;
    return has_any(&cycle->existing, row) ? INTER_POD_EXISTING : INTER_POD_PASSES;
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
