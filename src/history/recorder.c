/*
 * Takes references first; then copies each decision into the arena, the oldest first. An error
 * sticks to the arena and is checked once, at the end.
 */

#include "history/recorder.h"

#include <errno.h>

#include "base/intern.h"
#include "base/vec.h"

/* How far back to search for the same pod text: filter, prioritize and other verbs between them. */
#define LOOK_BACK 32u

/* For numbers of NodeNumbers: their indexes in Recording.names. */
typedef struct Places {
    const NodeNumbers *numbers;
    const Str *names; /* by number - 1 */
    uint32_t *of;     /* by number - 1: index + 1 (of Intern); INTERN_ABSENT: not looked up yet */
} Places;

typedef struct Recorder {
    Decisions *decisions;
    Arena *arena;
    VEC(FoundDecision) found; /* newest first */
    Intern names;
    VEC(Places) places;
    RecordedDecision *made; /* oldest first */
    SavedView **saved_views;
    size_t n_saved_views;
} Recorder;

/* Takes @next. Releases it when out of memory; the arena then has the error. */
static void keep_found(Recorder *recorder, FoundDecision *next) {
    FoundDecision *found = VEC_PUSH(&recorder->found, recorder->arena);

    if (found)
        *found = *next;
    else
        found_done(next);
}

/* Takes decisions until there are @left filters and prioritizes. */
static void take_all(Recorder *recorder, size_t left) {
    _cleanup_(decisions_walk_done) DecisionsWalk walk = {.decisions = recorder->decisions};
    FoundDecision next;

    while (left > 0 && !arena_has_failed(recorder->arena) && decisions_next(&walk, &next)) {
        left -= next.past->verb == VERB_FILTER || next.past->verb == VERB_PRIORITIZE;
        keep_found(recorder, &next);
    }
}

static uint32_t highest_number(const Recorder *recorder, const NodeNumbers *numbers) {
    uint32_t highest = 0;

    for (size_t i = 0; i < recorder->found.n; i++) {
        const Outcomes *outcomes = recorder->found.items[i].outcomes;

        if (outcomes && outcomes_numbers(outcomes) == numbers &&
            outcomes_highest(outcomes) > highest)
            highest = outcomes_highest(outcomes);
    }
    return highest;
}

static Places *find_places(Recorder *recorder, const Outcomes *outcomes) {
    const NodeNumbers *numbers = outcomes_numbers(outcomes);
    Places *places;

    for (size_t i = 0; i < recorder->places.n; i++)
        if (recorder->places.items[i].numbers == numbers)
            return &recorder->places.items[i];
    places = VEC_PUSH(&recorder->places, recorder->arena);
    if (!places)
        return NULL;
    places->numbers = numbers;
    places->names = decisions_names(recorder->decisions, outcomes, recorder->arena);
    places->of = ARENA_ARRAY(recorder->arena, uint32_t, highest_number(recorder, numbers));
    return places;
}

/* The index of a name in Recording.names; UINT32_MAX when out of memory. */
static uint32_t place_of(Recorder *recorder, Places *places, uint32_t number) {
    uint32_t *of = &places->of[number - 1];

    if (*of == INTERN_ABSENT)
        *of = intern_add(&recorder->names, places->names[number - 1]);
    return *of == INTERN_ABSENT ? UINT32_MAX : *of - 1;
}

static size_t count_nodes(const Outcomes *outcomes) {
    size_t n = 0;

    for (size_t i = 0; i < outcomes_size(outcomes); i++) {
        uint32_t number;

        n += outcomes_at(outcomes, i, &number).kind != OUTCOME_NOT_ASKED;
    }
    return n;
}

static RecordedNode node_of(Outcome outcome, const uint16_t *rules) {
    return (RecordedNode){
        .kind = (uint8_t)outcome.kind,
        .rule = outcome.rule == OUTCOME_NO_RULE ? RECORDED_NO_RULE : rules[outcome.rule],
        .score = outcome.has_score ? outcome.score : RECORDED_NO_SCORE,
    };
}

static void record_nodes(
    Recorder *recorder, const Outcomes *outcomes, const uint16_t *rules, RecordedDecision *into) {
    RecordedNode *nodes = ARENA_RAW(recorder->arena, RecordedNode, count_nodes(outcomes));
    Places *places = find_places(recorder, outcomes);
    bool is_ready = nodes && places && places->names && places->of;

    for (size_t i = 0; is_ready && i < outcomes_size(outcomes); i++) {
        uint32_t number;
        Outcome outcome = outcomes_at(outcomes, i, &number);

        if (outcome.kind == OUTCOME_NOT_ASKED)
            continue;
        nodes[into->n_nodes] = node_of(outcome, rules);
        nodes[into->n_nodes++].name = place_of(recorder, places, number);
    }
    into->nodes = nodes;
}

static Str copy(Recorder *recorder, Str text) {
    return str_is_empty(text) ? STR_NULL : arena_copy(recorder->arena, text);
}

/* Records the rules that rejected a node. *ret_places: their indexes, for each rule of @past. */
static void record_rules(
    Recorder *recorder, const PastDecision *past, uint16_t *ret_places, RecordedDecision *into) {
    RecordedRule *rules = ARENA_RAW(recorder->arena, RecordedRule, past->n_rules);

    for (size_t i = 0; rules && i < past->n_rules; i++) {
        const RuleName *rule = past_rule(past, i);
        bool has_rejected = past->rules[i].rejected > 0;

        ret_places[i] = has_rejected ? (uint16_t)into->n_rules : RECORDED_NO_RULE;
        if (has_rejected)
            rules[into->n_rules++] = (RecordedRule){
                .policy = copy(recorder, rule->policy),
                .name = copy(recorder, rule->name),
                .reason = copy(recorder, rule->reason),
            };
    }
    into->rules = rules;
}

/* The pod text of found[@i]: the copy of an older decision, or a new one. */
static Str record_pod(Recorder *recorder, size_t i, const RecordedDecision *into) {
    const FoundDecision *found = &recorder->found.items[i];

    if (!found->pod_text || found->pod_text->is_raw)
        return STR_NULL;
    for (size_t back = 1; back <= LOOK_BACK && i + back < recorder->found.n; back++)
        if (found[back].pod_text == found->pod_text)
            return into[-(ptrdiff_t)back].pod_text;
    return arena_copy(recorder->arena, pod_text_str(found->pod_text));
}

/* Moves the reference of @found to the recording, once for each saved view. */
static const SavedView *record_saved_view(Recorder *recorder, FoundDecision *found) {
    SavedView *saved_view = found->saved_view;
    size_t n = recorder->n_saved_views;

    for (size_t back = 1; saved_view && back <= LOOK_BACK && back <= n; back++)
        if (recorder->saved_views[n - back] == saved_view)
            return saved_view;
    if (saved_view)
        recorder->saved_views[recorder->n_saved_views++] = TAKE_PTR(found->saved_view);
    return saved_view;
}

static void record_one(Recorder *recorder, size_t i, RecordedDecision *into) {
    FoundDecision *found = &recorder->found.items[i];
    const PastDecision *past = found->past;
    uint16_t places[PROGRAM_FILTERS_MAX];

    *into = (RecordedDecision){
        .id = past->id,
        .verb = past->verb,
        .now_nsec = past->at_nsec,
        .duration_nsec = past->duration_nsec,
        .pod_namespace = copy(recorder, past->pod_namespace),
        .pod_name = copy(recorder, past->pod_name),
        .pod_uid = copy(recorder, past->pod_uid),
        .target = copy(recorder, past->node),
        .error = copy(recorder, past->error),
        .policy = past->rule_names->digest,
        .had_names = past->had_names,
        .is_late = past->summary.n_unjudged > 0,
        .is_exempt = past->is_exempt,
        .n_in = past->summary.n_in,
        .n_out = past->summary.n_out,
        .pod_text = record_pod(recorder, i, into),
        .saved_view = record_saved_view(recorder, found),
    };
    record_rules(recorder, past, places, into);
    if (found->outcomes && into->rules)
        record_nodes(recorder, found->outcomes, places, into);
}

/* Records all decisions found, and releases their references. */
static int finish(Recorder *recorder, Recording *ret) {
    size_t n = recorder->found.n;
    bool has_failed;

    recorder->made = ARENA_ARRAY(recorder->arena, RecordedDecision, n);
    recorder->saved_views = ARENA_ARRAY(recorder->arena, SavedView *, n);
    for (size_t i = 0; recorder->made && recorder->saved_views && i < n; i++)
        record_one(recorder, n - 1 - i, &recorder->made[i]);
    *ret = (Recording){
        .decisions = recorder->made,
        .n = n,
        .names = recorder->names.strings.items,
        .n_names = recorder->names.strings.n,
        .saved_views = recorder->saved_views,
        .n_saved_views = recorder->n_saved_views,
    };
    for (size_t i = 0; i < n; i++)
        found_done(&recorder->found.items[i]);
    has_failed = arena_has_failed(recorder->arena);
    if (has_failed)
        recording_done(ret);
    return has_failed ? -ENOMEM : 0;
}

int decisions_record(Decisions *decisions, uint64_t id, size_t last, Arena *arena, Recording *ret) {
    Recorder recorder = {.decisions = decisions, .arena = arena, .names = INTERN_INIT_IN(arena)};
    FoundDecision found;

    (void)decisions_remove_secrets(decisions); /* an arena would not wipe texts */
    if (id == 0)
        take_all(&recorder, last);
    else if (decisions_find(decisions, id, &found))
        keep_found(&recorder, &found);
    return finish(&recorder, ret);
}
