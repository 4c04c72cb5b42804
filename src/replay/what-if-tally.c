/*
 * Data collected before the replay (rules and nodes by name, the pods and their nodes), and the
 * totals: rules and nodes, those that changed most first.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "replay/what-if-internal.h"

uint32_t tallies_rule(Tallies *tallies, Str policy, Str name, Arena *scratch) {
    Str key = arena_printf(scratch, "%.*s/%.*s", STR_FMT(policy), STR_FMT(name));
    uint32_t place = key.ptr ? map_find(&tallies->rule_keys, key) : MAP_NONE;

    if (!key.ptr || place != MAP_NONE)
        return key.ptr ? place : TALLY_NONE;
    place = (uint32_t)tallies->rules.n;
    key = arena_copy(tallies->arena, key);
    if (!key.ptr || map_add(&tallies->rule_keys, key, place) < 0 ||
        !VEC_ADD(&tallies->rules, tallies->arena,
            (RuleTally){.key = key, .rule = {.policy = policy, .name = name}}))
        return TALLY_NONE;
    return place;
}

static void find_filters(Tallies *tallies) {
    const Program *program = tallies->program;

    tallies->of_filter = ARENA_RAW(tallies->arena, uint32_t, program->n_filters);
    for (size_t i = 0; tallies->of_filter && i < program->n_filters; i++)
        tallies->of_filter[i] = tallies_rule(
            tallies, program->filters[i]->policy->name, program->filters[i]->name, tallies->arena);
}

/* Maps the names of nodes to their indexes. */
static void find_names(Tallies *tallies) {
    const Recording *recording = tallies->recording;

    tallies->nodes = ARENA_ARRAY(tallies->arena, WhatIfNode, recording->n_names);
    for (size_t i = 0; tallies->nodes && i < recording->n_names; i++) {
        tallies->nodes[i].name = recording->names[i];
        if (map_add(&tallies->names, recording->names[i], (uint32_t)i) < 0)
            return;
    }
}

static uint32_t find_name(const Tallies *tallies, Str name) {
    uint32_t place = map_find(&tallies->names, name);

    return place == MAP_NONE ? TALLY_NONE : place;
}

/* A pod without a UID is known by name. */
static Str pod_key(const RecordedDecision *decision, Arena *arena) {
    if (!str_is_empty(decision->pod_uid))
        return decision->pod_uid;
    return arena_printf(
        arena, "%.*s/%.*s", STR_FMT(decision->pod_namespace), STR_FMT(decision->pod_name));
}

static PodTally *pod_at(Tallies *tallies, uint32_t place) {
    assert(place < tallies->pods.n);
    return &tallies->pods.items[place];
}

static uint32_t find_pod(Tallies *tallies, const RecordedDecision *decision, bool may_add) {
    Str key = pod_key(decision, tallies->arena);
    uint32_t place = key.ptr ? map_find(&tallies->pod_keys, key) : MAP_NONE;

    if (place != MAP_NONE || !key.ptr || !may_add)
        return place == MAP_NONE ? TALLY_NONE : place;
    place = (uint32_t)tallies->pods.n;
    if (!VEC_ADD(&tallies->pods, tallies->arena, (PodTally){.chosen = TALLY_NONE}) ||
        map_add(&tallies->pod_keys, key, place) < 0)
        return TALLY_NONE;
    return place;
}

static void find_pods(Tallies *tallies) {
    const Recording *recording = tallies->recording;

    tallies->of_decision = ARENA_RAW(tallies->arena, uint32_t, recording->n);
    for (size_t i = 0; tallies->of_decision && i < recording->n; i++)
        tallies->of_decision[i] =
            recorded_is_filter_or_score(&recording->decisions[i])
                ? find_pod(tallies, &recording->decisions[i], /* may_add= */ true)
                : TALLY_NONE;
}

static void note_row(Tallies *tallies, const PodList *pods, Str node) {
    for (size_t i = 0; pods && i < pods->n; i++) {
        uint32_t place = map_find(&tallies->pod_keys, pods->items[i]->uid);

        if (place != MAP_NONE)
            pod_at(tallies, place)->chosen = find_name(tallies, node);
    }
}

/* Notes the nodes of pods in the newest cluster: pods may be bound without berth. */
static void note_cluster(Tallies *tallies) {
    const Recording *recording = tallies->recording;
    const Snapshot *snapshot = recording->n_saved_views > 0
                                   ? recording->saved_views[recording->n_saved_views - 1]->snapshot
                                   : NULL;
    const NodeTable *table = snapshot ? snapshot_table(snapshot) : NULL;

    for (uint32_t row = 0; table && row < table->n_rows; row++)
        if (table_node(table, row))
            note_row(
                tallies, table_chunk(table, row)->pods[table_slot(row)], table->names->names[row]);
}

static void note_bind(Tallies *tallies, const RecordedDecision *bind) {
    uint32_t place = find_pod(tallies, bind, /* may_add= */ false);
    PodTally *pod;

    if (place == TALLY_NONE || !str_is_empty(bind->error))
        return;
    pod = pod_at(tallies, place);
    pod->chosen = find_name(tallies, bind->target);
    pod->had_filter = pod->had_prioritize = false;
}

static uint32_t take_chosen(PodTally *pod, Verb verb) {
    bool *had = verb == VERB_FILTER ? &pod->had_filter : &pod->had_prioritize;
    uint32_t chosen = *had ? TALLY_NONE : pod->chosen;

    *had = true;
    return chosen;
}

/* Goes from the newest to the oldest, so that a bind comes before the filter that led to it. */
static void find_chosen(Tallies *tallies) {
    const Recording *recording = tallies->recording;

    tallies->chosen = ARENA_RAW(tallies->arena, uint32_t, recording->n);
    note_cluster(tallies);
    for (size_t i = recording->n; tallies->of_decision && tallies->chosen && i-- > 0;) {
        const RecordedDecision *decision = &recording->decisions[i];
        uint32_t place = tallies->of_decision[i];

        if (decision->verb == VERB_BIND)
            note_bind(tallies, decision);
        tallies->chosen[i] =
            place == TALLY_NONE ? TALLY_NONE : take_chosen(pod_at(tallies, place), decision->verb);
    }
}

int tallies_init(
    Tallies *tallies, const Recording *recording, const Program *program, Arena *arena) {
    *tallies = (Tallies){
        .recording = recording,
        .program = program,
        .arena = arena,
        .rule_keys = MAP_INIT_IN(arena),
        .names = MAP_INIT_IN(arena),
        .pod_keys = MAP_INIT_IN(arena),
    };
    find_filters(tallies);
    find_names(tallies);
    find_pods(tallies);
    find_chosen(tallies);
    return arena_has_failed(arena) ? -ENOMEM : 0;
}

static uint64_t difference(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
}

static uint64_t rule_weight(const WhatIfRule *rule) {
    return difference(rule->n_rejected_before, rule->n_rejected_after);
}

static int by_weight(const void *a, const void *b) {
    const WhatIfRule *x = a, *y = b;
    uint64_t left = rule_weight(x), right = rule_weight(y);
    int order = (left < right) - (left > right);

    if (order == 0)
        order = str_cmp(x->policy, y->policy);
    return order != 0 ? order : str_cmp(x->name, y->name);
}

static int by_bests(const void *a, const void *b) {
    const WhatIfNode *x = a, *y = b;
    uint64_t left = difference(x->n_best_before, x->n_best_after);
    uint64_t right = difference(y->n_best_before, y->n_best_after);
    int order = (left < right) - (left > right);

    return order != 0 ? order : str_cmp(x->name, y->name);
}

static void report_rules(const Tallies *tallies, WhatIfReport *report) {
    WhatIfRule *rules = ARENA_RAW(tallies->arena, WhatIfRule, tallies->rules.n);
    size_t n = 0;

    for (size_t i = 0; rules && i < tallies->rules.n; i++) {
        const WhatIfRule *rule = &tallies->rules.items[i].rule;

        if (rule_weight(rule) > 0 || rule->n_newly_rejected > 0 || rule->n_newly_passing > 0)
            rules[n++] = *rule;
    }
    if (n > 0)
        qsort(rules, n, sizeof(*rules), by_weight);
    report->rules = rules;
    report->n_rules = n;
}

int tallies_report(const Tallies *tallies, WhatIfReport *report) {
    WhatIfNode *nodes = ARENA_RAW(tallies->arena, WhatIfNode, tallies->recording->n_names);
    size_t n = 0;

    for (size_t i = 0; nodes && i < tallies->recording->n_names; i++)
        if (tallies->nodes[i].n_best_before != tallies->nodes[i].n_best_after)
            nodes[n++] = tallies->nodes[i];
    if (n > 0)
        qsort(nodes, n, sizeof(*nodes), by_bests);
    report->nodes = nodes;
    report->n_nodes = n < WHAT_IF_NODES_MAX ? n : WHAT_IF_NODES_MAX;
    report_rules(tallies, report);
    return arena_has_failed(tallies->arena) ? -ENOMEM : 0;
}
