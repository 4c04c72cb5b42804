/*
 * Keeps decisions, and drops old ones. Node numbers, rule names, pod texts and saved views are
 * shared by decisions; each is counted while a kept decision refers to it, so that the size of all
 * is known to the byte.
 */

#include "history/decisions.h"

#include <assert.h>
#include <stdlib.h>

#include "history/decisions-internal.h"

/* malloc's overhead per block, about. */
#define PIECE_COST 16u

/* NodeNumbers may hold names of deleted nodes: up to this many plus four times the nodes of a
 * request or the cluster. */
#define NUMBERS_SPARE 16384u

/* Bytes of a name in NodeNumbers, about; and the share of the ceiling that names may take: a
 * ceiling too low for the cluster keeps headlines only. */
#define NUMBERS_NAME_COST 160u
#define NUMBERS_SHARE 2u

/* Shares of the ceiling: above the first, inputs are dropped before outcomes; programs no longer in
 * force may take the second; a pod larger than the third is not kept. */
#define INPUTS_SHARE 2u
#define PROGRAMS_SHARE 8u
#define POD_SHARE 8u

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

/* A reload that changes nothing keeps the names there are. */
static RuleNames *find_rule_names(Decisions *decisions, Program *program) {
    if (decisions->program == program)
        return decisions->rule_names;
    if (decisions->rule_names && rule_names_is_of(decisions->rule_names, program)) {
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

/* False: it has none. */
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

void decisions_use_pod(Decisions *decisions, PodText *pod) {
    if (pod->n_users++ == 0)
        decisions->pods_bytes += pod_text_bytes(pod) + PIECE_COST;
}

void decisions_release_pod(Decisions *decisions, PodText *pod) {
    if (--pod->n_users == 0) {
        decisions->pods_bytes -= pod_text_bytes(pod) + PIECE_COST;
        pod_texts_forget(&decisions->pods, pod);
    }
    pod_text_unref(pod);
}

bool decisions_forget_inputs(Decisions *decisions, Kept *kept) {
    PodText *pod = TAKE_PTR(kept->pod_text);

    if (!pod)
        return false;
    saved_views_leave(&decisions->saved_views, TAKE_PTR(kept->saved_view));
    decisions->figures.n_replayable--;
    decisions_release_pod(decisions, pod);
    return true;
}

static void forget_oldest(Decisions *decisions) {
    Kept *kept = decisions_at(decisions, decisions_oldest(decisions));
    RuleNames *rule_names = kept->past->rule_names;

    (void)decisions_forget_inputs(decisions, kept);
    (void)forget_outcomes(decisions, kept);
    decisions->figures.bytes -= kept->past->bytes + PIECE_COST;
    rule_names->n_users--;
    release_rule_names(decisions, rule_names);
    kept->past = past_unref(kept->past);
    decisions->n--;
    decisions_raise(&decisions->next_outcomes, decisions_oldest(decisions));
    decisions_raise(&decisions->next_inputs, decisions_oldest(decisions));
}

/* Drops what the oldest decision from *@next on has, but not that of @spare. False: there is none.
 */
static bool forget_next(Decisions *decisions, uint64_t *next, uint64_t spare,
    bool (*forget)(Decisions *decisions, Kept *kept)) {
    while (*next < decisions->next && *next != spare)
        if (forget(decisions, decisions_at(decisions, (*next)++)))
            return true;
    return false;
}

static bool forget_oldest_inputs(Decisions *decisions, uint64_t spare) {
    return forget_next(decisions, &decisions->next_inputs, spare, decisions_forget_inputs);
}

static bool is_over(const Decisions *decisions) {
    return decisions->figures.bytes + decisions_inputs_bytes(decisions) > decisions->bytes_max;
}

static bool forget_details(Decisions *decisions, uint64_t spare) {
    bool inputs_first = decisions_inputs_bytes(decisions) > decisions->bytes_max / INPUTS_SHARE;

    if (inputs_first && forget_oldest_inputs(decisions, spare))
        return true;
    if (!forget_next(decisions, &decisions->next_outcomes, spare, forget_outcomes))
        return forget_oldest_inputs(decisions, spare);
    decisions->figures.n_outcomes_dropped++;
    return true;
}

/* Back below the ceiling, in the order of the header; the newest goes last, and its headline
 * stays. */
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
        drop_numbers(decisions); /* nothing refers to it any more */
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

/* Its names may have grown. */
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
    /* Numbers that can hold this request, without too many nodes that are gone. */
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

/* SavedView and pod, both or neither: one without the other is of no use. */
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
    decisions_use_pod(decisions, kept->pod_text);
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

/* The place of @past, which is all that is there. */
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

/* Ids go on after the last one that was restored. */
void decisions_restore(Decisions *decisions, PastDecision *past, Outcomes *outcomes) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&decisions->mutex);
    Kept *kept;

    if (decisions->n == 0) {
        decisions->next = decisions->next_outcomes = decisions->next_inputs = past->id;
        decisions->next_raw = past->id;
    } else if (decisions->n == decisions->max) {
        forget_oldest(decisions); /* it may be the last that has these rule names */
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
