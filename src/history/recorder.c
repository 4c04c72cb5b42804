#include "history/recorder.h"

#include <errno.h>

#include "base/intern.h"
#include "base/vec.h"
#include "history/decisions.h"

/* How many are taken at a time: the lock is held that long. */
#define READ_AT_ONCE 64u

/* So far back one pod's text is looked for: filter, prioritize and what came between them. */
#define LOOK_BACK 32u

typedef VEC(FoundDecision) FoundList;

/* A numbers's numbers as places in Recording.names. */
typedef struct Places {
    const NodeNumbers *numbers;
    const Str *names; /* by number - 1 */
    uint32_t *of;     /* by number: what the interner calls it; INTERN_ABSENT: not looked up yet */
    size_t size;
} Places;

typedef struct Recorder {
    Decisions *decisions;
    Arena *arena;
    FoundList found; /* the newest first */
    Intern names;
    VEC(Places) rolls;
    RecordedDecision *made; /* oldest first */
    SavedView **saved_views;
    size_t n_saved_views;
} Recorder;

/* --- references --------------------------------------------------------------------------------
 */

static bool counts(const FoundDecision *found) {
    return found->past->verb == VERB_FILTER || found->past->verb == VERB_PRIORITIZE;
}

static void give_back(FoundDecision *found, size_t n) {
    for (size_t i = 0; i < n; i++)
        found_done(&found[i]);
}

/* Keeps those of @batch until @left, of filters and prioritizes, is 0. */
static int take(Recorder *recorder, FoundDecision *batch, size_t n, size_t *left) {
    for (size_t i = 0; i < n; i++) {
        FoundDecision *found = *left > 0 ? VEC_PUSH(&recorder->found, recorder->arena) : NULL;

        if (!found) {
            give_back(batch + i, n - i);
            return *left > 0 ? -ENOMEM : 0;
        }
        *found = batch[i];
        *left -= counts(found);
    }
    return 0;
}

static int take_all(Recorder *recorder, size_t last) {
    FoundDecision batch[READ_AT_ONCE];
    uint64_t below = 0;
    size_t n;
    int r = 0;

    while (r == 0 && last > 0) {
        n = decisions_read(recorder->decisions, below, batch, READ_AT_ONCE);
        if (n == 0)
            break;
        below = batch[n - 1].past->id;
        r = take(recorder, batch, n, &last);
    }
    return r;
}

/* --- nodes ---------------------------------------------------------------------------------------
 */

static Places *find_places(Recorder *recorder, const Outcomes *outcomes) {
    const NodeNumbers *numbers = outcomes_numbers(outcomes);
    Places *places;

    for (size_t i = 0; i < recorder->rolls.n; i++)
        if (recorder->rolls.items[i].numbers == numbers)
            return &recorder->rolls.items[i];
    places = VEC_PUSH(&recorder->rolls, recorder->arena);
    if (!places)
        return NULL;
    *places = (Places){
        .numbers = numbers,
        .names = decisions_names(recorder->decisions, outcomes, recorder->arena),
    };
    return places;
}

/* How many a numbers has is known under its lock only, and it may have more by now. */
static bool reserve(Places *places, uint32_t number, Arena *arena) {
    size_t size = 2 * (size_t)number;
    uint32_t *of;

    if (number < places->size)
        return true;
    of = ARENA_ARRAY(arena, uint32_t, size);
    if (!of)
        return false;
    if (places->size > 0)
        memcpy(of, places->of, places->size * sizeof(*of));
    places->of = of;
    places->size = size;
    return true;
}

/* The place of a name in Recording.names; UINT32_MAX when out of memory. */
static uint32_t place_of(Recorder *recorder, Places *places, uint32_t number) {
    if (!reserve(places, number, recorder->arena))
        return UINT32_MAX;
    if (places->of[number] == INTERN_ABSENT)
        places->of[number] = intern_add(&recorder->names, places->names[number - 1]);
    return places->of[number] == INTERN_ABSENT ? UINT32_MAX : places->of[number] - 1;
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
    static const uint8_t kinds[] = {
        [OUTCOME_PASSED] = RECORDED_PASSED,
        [OUTCOME_REJECTED] = RECORDED_REJECTED,
        [OUTCOME_UNKNOWN] = RECORDED_UNKNOWN,
        [OUTCOME_NARROWED] = RECORDED_NARROWED,
        [OUTCOME_LATE] = RECORDED_LATE,
        [OUTCOME_SCORED] = RECORDED_SCORED,
    };

    return (RecordedNode){
        .kind = kinds[outcome.kind],
        .rule = outcome.rule == OUTCOME_NO_RULE ? RECORDED_NO_RULE : rules[outcome.rule],
        .score = outcome.has_score ? outcome.score : RECORDED_NO_SCORE,
    };
}

static int record_nodes(
    Recorder *recorder, const FoundDecision *found, const uint16_t *rules, RecordedDecision *into) {
    const Outcomes *outcomes = found->outcomes;
    RecordedNode *nodes = ARENA_RAW(recorder->arena, RecordedNode, count_nodes(outcomes));
    Places *places = find_places(recorder, outcomes);
    size_t n = 0;

    if (!nodes || !places || !places->names)
        return -ENOMEM;
    for (size_t i = 0; i < outcomes_size(outcomes); i++) {
        uint32_t number;
        Outcome outcome = outcomes_at(outcomes, i, &number);

        if (outcome.kind == OUTCOME_NOT_ASKED)
            continue;
        nodes[n] = node_of(outcome, rules);
        nodes[n].name = place_of(recorder, places, number);
        if (nodes[n++].name == UINT32_MAX)
            return -ENOMEM;
    }
    into->nodes = nodes;
    into->n_nodes = n;
    return 0;
}

/* --- one decision ----------------------------------------------------------------------------- */

/* An empty text needs no memory. */
static bool copy(Arena *arena, Str *text) {
    *text = str_is_empty(*text) ? STR_NULL : arena_copy(arena, *text);
    return text->ptr || text->len == 0;
}

static bool copy_rule(Arena *arena, const RuleName *note, RecordedRule *ret) {
    *ret = (RecordedRule){.policy = note->policy, .name = note->name, .reason = note->reason};
    return copy(arena, &ret->policy) && copy(arena, &ret->name) && copy(arena, &ret->reason);
}

/* Those that rejected a node; through @ret_places where each that spoke is among them. */
static int record_rules(
    Recorder *recorder, const PastDecision *past, uint16_t *ret_places, RecordedDecision *into) {
    RecordedRule *rules = ARENA_RAW(recorder->arena, RecordedRule, past->n_rules);
    size_t n = 0;

    if (!rules)
        return -ENOMEM;
    for (size_t i = 0; i < past->n_rules; i++) {
        bool has_rejected = past->rules[i].rejected > 0;

        ret_places[i] = has_rejected ? (uint16_t)n : RECORDED_NO_RULE;
        if (has_rejected && !copy_rule(recorder->arena, past_rule(past, i), &rules[n++]))
            return -ENOMEM;
    }
    into->rules = rules;
    into->n_rules = n;
    return 0;
}

static int record_headline(Recorder *recorder, const PastDecision *past, RecordedDecision *into) {
    *into = (RecordedDecision){
        .id = past->id,
        .verb = past->verb,
        .now_nsec = past->at_nsec,
        .duration_nsec = past->duration_nsec,
        .pod_namespace = past->pod_namespace,
        .pod_name = past->pod_name,
        .pod_uid = past->pod_uid,
        .target = past->node,
        .error = past->error,
        .policy = past->rule_names->digest,
        .had_names = past->had_names,
        .is_late = past->summary.n_late > 0 || past->summary.n_unjudged > 0,
        .is_exempt = past->is_exempt,
        .n_in = past->summary.n_in,
        .n_out = past->summary.n_out,
    };
    if (!copy(recorder->arena, &into->pod_namespace) || !copy(recorder->arena, &into->pod_name) ||
        !copy(recorder->arena, &into->pod_uid) || !copy(recorder->arena, &into->target) ||
        !copy(recorder->arena, &into->error))
        return -ENOMEM;
    return 0;
}

/* The text of found[@i]: a copy that an older decision has, or a new one. */
static int record_pod(Recorder *recorder, size_t i, RecordedDecision *into) {
    const FoundDecision *found = &recorder->found.items[i];

    if (!found->pod_text)
        return 0;
    for (size_t back = 1; back <= LOOK_BACK && i + back < recorder->found.n; back++)
        if (found[back].pod_text == found->pod_text) {
            into->pod_text = into[-(ptrdiff_t)back].pod_text;
            return 0;
        }
    into->pod_text = arena_copy(recorder->arena, pod_text_str(found->pod_text));
    return into->pod_text.ptr ? 0 : -ENOMEM;
}

/* The reference that was found becomes the recording's, once. */
static void record_scene(Recorder *recorder, FoundDecision *found, RecordedDecision *into) {
    size_t n = recorder->n_saved_views;

    if (!found->saved_view)
        return;
    into->saved_view = found->saved_view;
    for (size_t back = 1; back <= LOOK_BACK && back <= n; back++)
        if (recorder->saved_views[n - back] == found->saved_view)
            return;
    recorder->saved_views[recorder->n_saved_views++] = TAKE_PTR(found->saved_view);
}

static int record_one(Recorder *recorder, size_t i, RecordedDecision *into) {
    FoundDecision *found = &recorder->found.items[i];
    uint16_t places[PROGRAM_FILTERS_MAX];
    int r = record_headline(recorder, found->past, into);

    if (r == 0)
        r = record_rules(recorder, found->past, places, into);
    if (r == 0 && found->outcomes)
        r = record_nodes(recorder, found, places, into);
    if (r == 0)
        r = record_pod(recorder, i, into);
    if (r == 0)
        record_scene(recorder, found, into);
    return r;
}

/* --- all -------------------------------------------------------------------------------------- */

static int record_all(Recorder *recorder) {
    size_t n = recorder->found.n;
    int r = 0;

    recorder->made = ARENA_ARRAY(recorder->arena, RecordedDecision, n);
    recorder->saved_views = ARENA_ARRAY(recorder->arena, SavedView *, n);
    if (!recorder->made || !recorder->saved_views)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = record_one(recorder, n - 1 - i, &recorder->made[i]);
    return r;
}

/* What was taken, which is given back, unless @r is an error already. */
static int finish(Recorder *recorder, int r, Recording *ret) {
    if (r == 0)
        r = record_all(recorder);
    *ret = (Recording){
        .decisions = recorder->made,
        .n = recorder->found.n,
        .names = recorder->names.strings.items,
        .n_names = recorder->names.strings.n,
        .saved_views = recorder->saved_views,
        .n_saved_views = recorder->n_saved_views,
    };
    give_back(recorder->found.items, recorder->found.n);
    if (r < 0)
        recording_done(ret);
    return r;
}

int decisions_record(Decisions *decisions, size_t last, Arena *arena, Recording *ret) {
    Recorder recorder = {.decisions = decisions, .arena = arena, .names = INTERN_INIT_IN(arena)};

    *ret = (Recording){0};
    (void)decisions_remove_secrets(decisions); /* what goes into an arena is not wiped */
    return finish(&recorder, take_all(&recorder, last), ret);
}

int decisions_record_one(Decisions *decisions, uint64_t id, Arena *arena, Recording *ret) {
    Recorder recorder = {.decisions = decisions, .arena = arena, .names = INTERN_INIT_IN(arena)};
    FoundDecision found, *kept;

    *ret = (Recording){0};
    (void)decisions_remove_secrets(decisions);
    if (!decisions_find(decisions, id, &found))
        return 0;
    kept = VEC_PUSH(&recorder.found, arena);
    if (!kept) {
        found_done(&found);
        return -ENOMEM;
    }
    *kept = found;
    return finish(&recorder, 0, ret);
}
