/* References are taken under the lock, a few at a time; reading happens without it. */

#include "history/decisions-internal.h"

/* How many names are copied under one hold of the lock. */
#define NAMES_AT_ONCE 2048u

FoundDecision decisions_take(const Kept *kept) {
    return (FoundDecision){
        .past = past_ref(kept->past),
        .outcomes = kept->outcomes ? outcomes_ref(kept->outcomes) : NULL,
        .saved_view = kept->saved_view && kept->saved_view->saved_view
                          ? saved_view_ref(kept->saved_view->saved_view)
                          : NULL,
        .pod_text = kept->pod_text ? pod_text_ref(kept->pod_text) : NULL,
    };
}

void found_done(FoundDecision *found) {
    found->past = past_unref(found->past);
    found->outcomes = outcomes_unref(found->outcomes);
    found->saved_view = saved_view_unref(found->saved_view);
    found->pod_text = pod_text_unref(found->pod_text);
}

size_t decisions_read(Decisions *decisions, uint64_t below, FoundDecision *ret, size_t n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    uint64_t id = below == 0 || below > decisions->next ? decisions->next : below;
    size_t n_found = 0;

    while (n_found < n && id > decisions_oldest(decisions))
        ret[n_found++] = decisions_take(decisions_at(decisions, --id));
    return n_found;
}

bool decisions_next(DecisionsWalk *walk, FoundDecision *ret) {
    if (walk->next == walk->n && walk->decisions) {
        walk->n = decisions_read(walk->decisions, walk->below, walk->some, DECISIONS_AT_ONCE);
        walk->next = 0;
        walk->numbers = NULL; /* may be freed by now, and their address another's */
    }
    if (walk->next == walk->n)
        return false;
    *ret = walk->some[walk->next++];
    walk->below = ret->past->id;
    return true;
}

void decisions_walk_done(DecisionsWalk *walk) {
    while (walk->next < walk->n)
        found_done(&walk->some[walk->next++]);
}

Outcome decisions_walk_outcome(DecisionsWalk *walk, const Outcomes *outcomes, Str node) {
    if (walk->numbers != outcomes_numbers(outcomes)) {
        walk->numbers = outcomes_numbers(outcomes);
        walk->number = decisions_number(walk->decisions, outcomes, node);
    }
    return outcomes_find(outcomes, walk->number);
}

bool decisions_find(Decisions *decisions, uint64_t id, FoundDecision *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    bool is_kept = id >= decisions_oldest(decisions) && id < decisions->next;

    if (is_kept)
        *ret = decisions_take(decisions_at(decisions, id));
    return is_kept;
}

uint32_t decisions_number(Decisions *decisions, const Outcomes *outcomes, Str node) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);

    return node_numbers_find(outcomes_numbers(outcomes), node);
}

/* In turns: there may be a hundred thousand, and decisions wait for the lock. They only grow. */
const Str *decisions_names(Decisions *decisions, const Outcomes *outcomes, Arena *arena) {
    const NodeNumbers *numbers = outcomes_numbers(outcomes);
    Str *names;
    size_t n;

    (void)pthread_mutex_lock(&decisions->mutex);
    n = node_numbers_size(numbers);
    (void)pthread_mutex_unlock(&decisions->mutex);
    names = ARENA_RAW(arena, Str, n);
    for (size_t i = 0; names && i < n;) {
        size_t end = n - i > NAMES_AT_ONCE ? i + NAMES_AT_ONCE : n;

        (void)pthread_mutex_lock(&decisions->mutex);
        for (; i < end; i++)
            names[i] = node_numbers_name(numbers, (uint32_t)i + 1);
        (void)pthread_mutex_unlock(&decisions->mutex);
    }
    return names;
}

const uint32_t *decisions_rows(Decisions *decisions, const Outcomes *outcomes,
    const NodeTable *table, Arena *arena, size_t *ret_n) {
    const Str *names = decisions_names(decisions, outcomes, arena);
    uint32_t *rows = ARENA_RAW(arena, uint32_t, outcomes_size(outcomes));

    *ret_n = 0;
    for (size_t i = 0; names && rows && i < outcomes_size(outcomes); i++) {
        uint32_t number, row;

        if (outcomes_at(outcomes, i, &number).kind == OUTCOME_NOT_ASKED)
            continue;
        row = table_find(table, names[number - 1]);
        if (row < table->n_rows)
            rows[(*ret_n)++] = row;
    }
    return names ? rows : NULL;
}

void decisions_figures(Decisions *decisions, DecisionsFigures *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);

    *ret = decisions->figures;
    ret->inputs_bytes = decisions_inputs_bytes(decisions);
    ret->bytes += ret->inputs_bytes;
    ret->n_saved_views = decisions->saved_views.n;
    ret->n = decisions->n;
    ret->newest = decisions->n > 0 ? decisions->next - 1 : 0;
    ret->oldest = decisions->n > 0 ? decisions_oldest(decisions) : 0;
}
