/*
 * Keeps decisions, and drops old ones. Decisions share node numbers, rule names, pod texts and
 * saved views; each is counted while a kept decision refers to it, so that the total size is exact.
 */

#include "history/decisions.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "history/decisions-internal.h"

/* malloc's overhead per block, roughly */
#define PIECE_COST 16u

/* NodeNumbers may hold names of deleted nodes: up to this many plus four times the nodes of a
 * request or the cluster. */
#define NUMBERS_SPARE 16384u

/* About the bytes of a name in NodeNumbers, and the share of the limit for all names: if the limit
 * is too low for the cluster, only summaries are kept. */
#define NUMBERS_NAME_COST 160u
#define NUMBERS_SHARE 2u

/* Shares of the limit: above the first, inputs are dropped before outcomes; the second is for
 * programs no longer in force; a pod over the third is not kept. */
#define INPUTS_SHARE 2u
#define PROGRAMS_SHARE 8u
#define POD_SHARE 8u

/* Bytes of pods, saved views and their programs. */
static size_t inputs_bytes(const Decisions *decisions) {
    return decisions->pods_bytes + saved_views_bytes(&decisions->saved_views);
}

Decisions *decisions_new(size_t max, size_t bytes_max) {
    Decisions *decisions = calloc(1, sizeof(*decisions));

    assert(max > 0 && max <= DECISIONS_MAX);
    if (!decisions)
        return NULL;
    decisions->max = max;
    decisions->bytes_max = bytes_max;
    decisions->next = decisions->next_outcomes = decisions->next_inputs = 1;
    decisions->next_raw = decisions->next_reason = 1;
    decisions->saved_views.programs_bytes_max = bytes_max / PROGRAMS_SHARE;
    decisions->ring = calloc(max, sizeof(*decisions->ring));
    if (!decisions->ring) {
        free(decisions);
        return NULL;
    }
    decisions->figures.bytes = max * sizeof(*decisions->ring);
    (void)pthread_mutex_init(&decisions->mutex, NULL);
    return decisions;
}

static void release_numbers(Decisions *decisions, NodeNumbers *numbers) {
    if (numbers == decisions->numbers || numbers->n_users > 0)
        return;
    decisions->figures.bytes -= numbers->n_counted;
    numbers->n_counted = 0;
}

static void drop_numbers(Decisions *decisions) {
    NodeNumbers *numbers = TAKE_PTR(decisions->numbers);

    if (!numbers)
        return;
    release_numbers(decisions, numbers);
    node_numbers_unref(numbers);
    row_numbers_forget(&decisions->row_numbers);
}

static void release_rule_names(Decisions *decisions, RuleNames *rule_names) {
    if (rule_names != decisions->rule_names && rule_names->n_users == 0)
        decisions->figures.bytes -= rule_names->bytes;
}

static void drop_rule_names(Decisions *decisions) {
    RuleNames *rule_names = TAKE_PTR(decisions->rule_names);

    if (!rule_names)
        return;
    release_rule_names(decisions, rule_names);
    rule_names_unref(rule_names);
    decisions->program = program_unref(decisions->program);
}

/* A reload that changes nothing keeps the names. */
static RuleNames *find_rule_names(Decisions *decisions, Program *program) {
    if (decisions->program == program)
        return decisions->rule_names;
    if (decisions->rule_names && digest_equal(decisions->rule_names->digest, program->digest)) {
        program_unref(decisions->program);
        decisions->program = program_ref(program);
        return decisions->rule_names;
    }
    drop_rule_names(decisions);
    decisions->rule_names = rule_names_new(program);
    if (decisions->rule_names) {
        decisions->program = program_ref(program);
        decisions->figures.bytes += decisions->rule_names->bytes;
    }
    return decisions->rule_names;
}

/* False: there are none. */
static bool forget_outcomes(Decisions *decisions, Kept *kept) {
    NodeNumbers *numbers;

    if (!kept->outcomes)
        return false;
    numbers = outcomes_numbers(kept->outcomes);
    decisions->figures.bytes -= outcomes_bytes(kept->outcomes) + PIECE_COST;
    decisions->figures.n_with_outcomes--;
    numbers->n_users--;
    release_numbers(decisions, numbers);
    kept->outcomes = outcomes_unref(kept->outcomes);
    return true;
}

static void use_pod(Decisions *decisions, PodText *pod) {
    if (pod->n_users++ == 0)
        decisions->pods_bytes += pod_text_bytes(pod) + PIECE_COST;
}

static void release_pod(Decisions *decisions, PodText *pod) {
    if (--pod->n_users == 0) {
        decisions->pods_bytes -= pod_text_bytes(pod) + PIECE_COST;
        pod_texts_forget(&decisions->pods, pod);
    }
    pod_text_unref(pod);
}

static bool forget_inputs(Decisions *decisions, Kept *kept) {
    PodText *pod = TAKE_PTR(kept->pod_text);

    if (!pod)
        return false;
    saved_views_leave(&decisions->saved_views, TAKE_PTR(kept->saved_view));
    decisions->figures.n_replayable--;
    release_pod(decisions, pod);
    return true;
}

static void forget_oldest(Decisions *decisions) {
    Kept *kept = decisions_at(decisions, decisions_oldest(decisions));
    RuleNames *rule_names = kept->past->rule_names;

    (void)forget_inputs(decisions, kept);
    (void)forget_outcomes(decisions, kept);
    decisions->figures.bytes -= kept->past->bytes + PIECE_COST;
    rule_names->n_users--;
    release_rule_names(decisions, rule_names);
    kept->past = past_unref(kept->past);
    decisions->n--;
    decisions_raise(&decisions->next_outcomes, decisions_oldest(decisions));
    decisions_raise(&decisions->next_inputs, decisions_oldest(decisions));
}

/* Calls @forget for decisions from *@next on, except @spare, until one had something to drop.
 * False: none had. */
static bool forget_next(Decisions *decisions, uint64_t *next, uint64_t spare,
    bool (*forget)(Decisions *decisions, Kept *kept)) {
    while (*next < decisions->next && *next != spare)
        if (forget(decisions, decisions_at(decisions, (*next)++)))
            return true;
    return false;
}

static bool forget_oldest_inputs(Decisions *decisions, uint64_t spare) {
    return forget_next(decisions, &decisions->next_inputs, spare, forget_inputs);
}

static bool is_over(const Decisions *decisions) {
    return decisions->figures.bytes + inputs_bytes(decisions) > decisions->bytes_max;
}

static bool forget_details(Decisions *decisions, uint64_t spare) {
    bool inputs_first = inputs_bytes(decisions) > decisions->bytes_max / INPUTS_SHARE;

    if (inputs_first && forget_oldest_inputs(decisions, spare))
        return true;
    if (!forget_next(decisions, &decisions->next_outcomes, spare, forget_outcomes))
        return forget_oldest_inputs(decisions, spare);
    decisions->figures.n_outcomes_dropped++;
    return true;
}

/* The order is that of the header. */
void decisions_make_room(Decisions *decisions) {
    uint64_t newest = decisions->next - 1;

    while (is_over(decisions) && forget_details(decisions, newest))
        ;
    while (is_over(decisions) && decisions->n > 1) {
        forget_oldest(decisions);
        decisions->figures.n_dropped++;
    }
    while (is_over(decisions) && forget_details(decisions, /* spare= */ 0))
        ;
    if (is_over(decisions))
        drop_numbers(decisions); /* nothing refers to them now */
}

Decisions *decisions_free(Decisions *decisions) {
    if (!decisions)
        return NULL;
    while (decisions->n > 0)
        forget_oldest(decisions);
    drop_numbers(decisions);
    drop_rule_names(decisions);
    assert(decisions->figures.bytes == decisions->max * sizeof(*decisions->ring));
    assert(decisions->pods_bytes == 0);
    assert(decisions->saved_views.n == 0 && decisions->saved_views.n_programs == 0 &&
           decisions->saved_views.bytes == 0);
    row_numbers_done(&decisions->row_numbers);
    free(decisions->ring);
    (void)pthread_mutex_destroy(&decisions->mutex);
    free(decisions);
    return NULL;
}

/* Counts the bytes of @numbers again, after names were added. */
static void count_numbers(Decisions *decisions, NodeNumbers *numbers) {
    decisions->figures.bytes += node_numbers_bytes(numbers) - numbers->n_counted;
    numbers->n_counted = node_numbers_bytes(numbers);
}

static Outcomes *make_outcomes(
    Decisions *decisions, const View *view, const Decision *decision, const RulePlaces *places) {
    const FilterArgs *args = decision->args;
    size_t n_known = view->table->names->n_nodes;
    size_t n_nodes = args->n > n_known ? args->n : n_known;
    NumberedNodes numbers;
    Outcomes *outcomes = NULL;

    if (n_nodes > decisions->bytes_max / NUMBERS_NAME_COST / NUMBERS_SHARE) {
        decisions->figures.n_outcomes_dropped++;
        return NULL;
    }
    /* Numbers with room for this request, and without too many deleted nodes. */
    if (decisions->numbers && node_numbers_size(decisions->numbers) > 4 * n_nodes + NUMBERS_SPARE)
        drop_numbers(decisions);
    if (!decisions->numbers)
        decisions->numbers = node_numbers_new();
    if (!decisions->numbers)
        return NULL;
    numbers = row_numbers_of(&decisions->row_numbers, decisions->numbers, args);
    if (numbers.numbers)
        outcomes = outcomes_new(decision, places, decisions->numbers, numbers);
    count_numbers(decisions, decisions->numbers);
    return outcomes;
}

/* Keeps saved view and pod, or neither: one alone cannot be replayed. */
static void keep_inputs(
    Decisions *decisions, const View *view, Str pod_text, Digest digest, Kept *kept) {
    if (str_is_empty(pod_text) || pod_text.len > decisions->bytes_max / POD_SHARE)
        return;
    kept->saved_view = saved_views_use(&decisions->saved_views, view);
    if (!kept->saved_view)
        return;
    kept->pod_text = pod_texts_get(&decisions->pods, pod_text, digest);
    if (!kept->pod_text) {
        saved_views_leave(&decisions->saved_views, TAKE_PTR(kept->saved_view));
        return;
    }
    use_pod(decisions, kept->pod_text);
    decisions->figures.n_replayable++;
}

static void keep_outcomes(Decisions *decisions, Outcomes *outcomes, Kept *kept) {
    if (!outcomes)
        return;
    kept->outcomes = outcomes;
    decisions->figures.bytes += outcomes_bytes(outcomes) + PIECE_COST;
    decisions->figures.n_with_outcomes++;
    outcomes_numbers(outcomes)->n_users++;
}

/* Adds @past to the ring. The caller adds the other parts to the returned entry. */
static Kept *keep(Decisions *decisions, PastDecision *past) {
    Kept *kept;

    if (decisions->n == decisions->max)
        forget_oldest(decisions);
    kept = decisions_at(decisions, past->id);
    *kept = (Kept){.past = past};
    decisions->n++;
    decisions->next++;
    decisions->figures.bytes += past->bytes + PIECE_COST;
    past->rule_names->n_users++;
    return kept;
}

static void note_locked(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times) {
    RuleNames *rule_names = find_rule_names(decisions, view->program);
    SCRATCH RulePlaces places;
    PastDecision *past =
        rule_names ? past_new(decisions->next, view, verb, decision, times, rule_names, &places)
                   : NULL;
    Kept *kept;

    if (!past)
        return;
    kept = keep(decisions, past);
    if (decision->args) {
        keep_outcomes(decisions, make_outcomes(decisions, view, decision, &places), kept);
        keep_inputs(decisions, view, str_trim(decision->pod_text), past->pod_digest, kept);
    }
    decisions_make_room(decisions);
}

void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times) {
    if (decisions) {
        _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);

        note_locked(decisions, view, verb, decision, times);
    }
}

/* Ids continue after the last restored one. */
void decisions_restore(Decisions *decisions, PastDecision *past, Outcomes *outcomes) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    Kept *kept;

    if (decisions->n == 0) {
        decisions->next = decisions->next_outcomes = decisions->next_inputs = past->id;
        decisions->next_raw = past->id;
    } else if (decisions->n == decisions->max) {
        forget_oldest(decisions); /* may be the last one with these rule names */
    }
    past->id = decisions->next; /* kept ids have no gap (decisions-internal.h) */
    if (past->rule_names->n_users == 0)
        decisions->figures.bytes += past->rule_names->bytes;
    kept = keep(decisions, past);
    if (outcomes)
        count_numbers(decisions, outcomes_numbers(outcomes));
    keep_outcomes(decisions, outcomes, kept);
    decisions_make_room(decisions);
}

/* --- reading: references are taken under the lock, a few at a time ---------------------------- */

/* names copied under one hold of the lock */
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
        walk->numbers = NULL; /* may be freed, and the address reused */
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

/* Copies in turns: there may be a hundred thousand names, and decisions wait for the lock. Names
 * are only added. */
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
    ret->inputs_bytes = inputs_bytes(decisions);
    ret->bytes += ret->inputs_bytes;
    ret->n_saved_views = decisions->saved_views.n;
    ret->n = decisions->n;
    ret->newest = decisions->n > 0 ? decisions->next - 1 : 0;
    ret->oldest = decisions->n > 0 ? decisions_oldest(decisions) : 0;
}

/* --- secrets: raw pods are reduced to the fields that policies can read ----------------------- */

/* Pods taken, or exchanged, under one hold of the lock; they are written without it. */
#define RAW_AT_ONCE 64u

#define REDUCE_BUDGET ((size_t)256 * 1024 * 1024)

/* A raw pod, and its decision. */
typedef struct RawPod {
    uint64_t id;
    PodText *text;    /* a reference */
    PodText *reduced; /* a reference; NULL: the pod cannot be reduced, so the decision cannot be
                         replayed */
} RawPod;

static bool is_raw(const Kept *kept) {
    return kept->pod_text && kept->pod_text->is_raw;
}

/* Takes up to @n of the oldest raw pods. Returns their number. */
static size_t take_raw(Decisions *decisions, RawPod *ret, size_t n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    size_t n_found = 0;

    decisions_raise(&decisions->next_raw, decisions_oldest(decisions));
    while (decisions->next_raw < decisions->next &&
           !is_raw(decisions_at(decisions, decisions->next_raw)))
        decisions->next_raw++;
    for (uint64_t id = decisions->next_raw; n_found < n && id < decisions->next; id++) {
        Kept *kept = decisions_at(decisions, id);

        if (is_raw(kept))
            ret[n_found++] = (RawPod){.id = id, .text = pod_text_ref(kept->pod_text)};
    }
    return n_found;
}

/* Filter and prioritize sent the same text, so it is usually the one before, or near. */
static PodText *reduce(const RawPod *pods, size_t i, Arena *arena) {
    Pod pod;

    for (size_t k = i; k-- > 0;)
        if (pods[k].text == pods[i].text)
            return pods[k].reduced ? pod_text_ref(pods[k].reduced) : NULL;
    arena_reset(arena);
    return pod_text_decode(pods[i].text, arena, &pod) ? pod_text_new(&pod) : NULL;
}

/* Replaces raw texts, unless a decision has another text by now, or none. */
static void exchange(Decisions *decisions, const RawPod *pods, size_t n) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);

    for (size_t i = 0; i < n; i++) {
        Kept *kept = decisions_at(decisions, pods[i].id);

        if (pods[i].id < decisions_oldest(decisions) || kept->pod_text != pods[i].text)
            continue;
        if (pods[i].reduced) {
            kept->pod_text = pod_texts_put(&decisions->pods, pods[i].reduced);
            use_pod(decisions, kept->pod_text);
            release_pod(decisions, pods[i].text);
        } else {
            (void)forget_inputs(decisions, kept);
        }
    }
    decisions_make_room(decisions); /* an almost empty pod may be longer now */
}

/* Reduces some raw pods, and adds failures to @n_lost. Returns the number of pods. */
static size_t reduce_some(Decisions *decisions, Arena *arena, size_t *n_lost) {
    RawPod pods[RAW_AT_ONCE];
    size_t n = take_raw(decisions, pods, RAW_AT_ONCE);

    for (size_t i = 0; i < n; i++) {
        pods[i].reduced = reduce(pods, i, arena);
        *n_lost += pods[i].reduced == NULL;
    }
    if (n > 0)
        exchange(decisions, pods, n);
    for (size_t i = 0; i < n; i++) {
        pod_text_unref(pods[i].text);
        pod_text_unref(pods[i].reduced);
    }
    return n;
}

bool decisions_remove_secrets(Decisions *decisions) {
    _cleanup_(arena_freep) Arena *arena = decisions ? arena_new(REDUCE_BUDGET) : NULL;
    int64_t end = clock_monotonic_nsec() + REMOVE_SECRETS_NSEC;
    size_t n = 0, n_some = RAW_AT_ONCE, n_lost = 0;

    if (!decisions)
        return true;
    while (
        arena && n_some == RAW_AT_ONCE && n < REMOVE_SECRETS_MAX && clock_monotonic_nsec() < end) {
        n_some = reduce_some(decisions, arena, &n_lost);
        n += n_some;
    }
    if (n_lost > 0)
        log_warn("pods could not be kept: decisions about them cannot be replayed",
            LOG_INT("decisions", n_lost));
    return n_some < RAW_AT_ONCE;
}
