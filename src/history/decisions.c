/*
 * Remembering and forgetting. What each decision has beside its headline is shared with others: the
 * roll of names, the book of rules, the pod's text, the scene. Each of these is counted while
 * something that is kept refers to it, so that everything together is known to the byte.
 */

#include "history/decisions.h"

#include <assert.h>
#include <stdlib.h>

#include "history/decisions-internal.h"

/* What malloc adds to a piece, about. */
#define WIDGET_COST 16u

/* Names of nodes that are gone may stay in the roll, up to this many beside four times
 * those that a request or the cluster has. */
#define ROLL_SPARE 16384u

/* About what a name takes in a roll; and the share of the ceiling that names may take: a
 * ceiling too low for the cluster keeps headlines only. */
#define ROLL_NAME_COST 160u
#define ROLL_SHARE 2u

/* Shares of the ceiling: makings go before outcomes when they take more; programs that are not in
 * force any more may take this of it, and a single pod that takes more is not kept. */
#define MAKINGS_SHARE 2u
#define PROGRAMS_SHARE 8u
#define POD_SHARE 8u

Decisions *decisions_new(size_t max, size_t bytes_max) {
    Decisions *decisions = calloc(1, sizeof(*decisions));

    assert(max > 0 && max <= DECISIONS_MAX);
    if (!decisions)
        return NULL;
    decisions->max = max;
    decisions->bytes_max = bytes_max;
    decisions->next = decisions->next_outcomes = decisions->next_makings = 1;
    decisions->next_raw = 1;
    scenes_init(&decisions->scenes, bytes_max / PROGRAMS_SHARE);
    decisions->ring = calloc(max, sizeof(*decisions->ring));
    if (!decisions->ring) {
        free(decisions);
        return NULL;
    }
    decisions->figures.bytes = max * sizeof(*decisions->ring);
    (void)pthread_mutex_init(&decisions->mutex, NULL);
    return decisions;
}

/* --- what is shared ------------------------------------------------------------------- */

/* A roll is counted while it is the current one or something that is kept refers to it. */
static void count_roll(Decisions *decisions, Roll *roll) {
    size_t now = roll_bytes(roll);

    decisions->figures.bytes += now - roll->n_counted;
    roll->n_counted = now;
}

static void leave_roll(Decisions *decisions, Roll *roll) {
    if (roll == decisions->roll || roll->n_users > 0)
        return;
    decisions->figures.bytes -= roll->n_counted;
    roll->n_counted = 0;
}

static void drop_roll(Decisions *decisions) {
    Roll *roll = TAKE_PTR(decisions->roll);

    if (!roll)
        return;
    leave_roll(decisions, roll);
    roll_unref(roll);
    lineup_forget(&decisions->lineup);
}

static void leave_book(Decisions *decisions, RuleBook *book) {
    if (book != decisions->book && book->n_users == 0)
        decisions->figures.bytes -= book->bytes;
}

static void drop_book(Decisions *decisions) {
    RuleBook *book = TAKE_PTR(decisions->book);

    if (!book)
        return;
    leave_book(decisions, book);
    rulebook_unref(book);
    decisions->program = program_unref(decisions->program);
}

/* The book of @program. A reload that changes nothing keeps the one there is. */
static RuleBook *find_book(Decisions *decisions, Program *program) {
    if (decisions->program == program)
        return decisions->book;
    if (decisions->book && rulebook_is_of(decisions->book, program)) {
        program_unref(decisions->program);
        decisions->program = program_ref(program);
        return decisions->book;
    }
    drop_book(decisions);
    decisions->book = rulebook_new(program);
    if (decisions->book) {
        decisions->program = program_ref(program);
        decisions->figures.bytes += decisions->book->bytes;
    }
    return decisions->book;
}

/* --- forgetting -------------------------------------------------------------------------- */

static void forget_outcomes(Decisions *decisions, Kept *kept) {
    Roll *roll;

    if (!kept->outcomes)
        return;
    roll = outcomes_roll(kept->outcomes);
    decisions->figures.bytes -= outcomes_bytes(kept->outcomes) + WIDGET_COST;
    decisions->figures.n_with_outcomes--;
    roll->n_users--;
    leave_roll(decisions, roll);
    kept->outcomes = outcomes_unref(kept->outcomes);
}

static void use_pod(Decisions *decisions, PodText *pod) {
    if (pod->n_users++ == 0)
        decisions->pods_bytes += pod_text_bytes(pod) + WIDGET_COST;
}

static void leave_pod(Decisions *decisions, PodText *pod) {
    if (--pod->n_users == 0) {
        decisions->pods_bytes -= pod_text_bytes(pod) + WIDGET_COST;
        pod_texts_forget(&decisions->pods, pod);
    }
    pod_text_unref(pod);
}

static void forget_makings(Decisions *decisions, Kept *kept) {
    PodText *pod = TAKE_PTR(kept->pod_text);

    if (!pod)
        return;
    scenes_leave(&decisions->scenes, TAKE_PTR(kept->scene));
    decisions->figures.n_with_makings--;
    leave_pod(decisions, pod);
}

static uint64_t at_least(uint64_t id, uint64_t least) {
    return id < least ? least : id;
}

static void forget_oldest(Decisions *decisions) {
    Kept *kept = decisions_at(decisions, decisions_oldest(decisions));
    RuleBook *book = kept->past->book;

    forget_makings(decisions, kept);
    forget_outcomes(decisions, kept);
    decisions->figures.bytes -= kept->past->bytes + WIDGET_COST;
    book->n_users--;
    leave_book(decisions, book);
    kept->past = past_unref(kept->past);
    decisions->n--;
    decisions->next_outcomes = at_least(decisions->next_outcomes, decisions_oldest(decisions));
    decisions->next_makings = at_least(decisions->next_makings, decisions_oldest(decisions));
}

/* The oldest outcomes that are left, but not those of @spare. False: there are none. */
static bool forget_oldest_outcomes(Decisions *decisions, uint64_t spare) {
    while (decisions->next_outcomes < decisions->next && decisions->next_outcomes != spare) {
        Kept *kept = decisions_at(decisions, decisions->next_outcomes++);

        if (!kept->outcomes)
            continue;
        forget_outcomes(decisions, kept);
        decisions->figures.n_outcomes_dropped++;
        return true;
    }
    return false;
}

/* The same with makings. */
static bool forget_oldest_makings(Decisions *decisions, uint64_t spare) {
    while (decisions->next_makings < decisions->next && decisions->next_makings != spare) {
        Kept *kept = decisions_at(decisions, decisions->next_makings++);

        if (!kept->pod_text)
            continue;
        forget_makings(decisions, kept);
        return true;
    }
    return false;
}

static bool is_over(const Decisions *decisions) {
    return decisions->figures.bytes + decisions_makings_bytes(decisions) > decisions->bytes_max;
}

static bool forget_details(Decisions *decisions, uint64_t spare) {
    bool makings_first = decisions_makings_bytes(decisions) > decisions->bytes_max / MAKINGS_SHARE;

    return (makings_first && forget_oldest_makings(decisions, spare)) ||
           forget_oldest_outcomes(decisions, spare) || forget_oldest_makings(decisions, spare);
}

/* Back below the ceiling, in the order that the header says; the one just written goes last, and
 * its headline stays. */
static void make_room(Decisions *decisions) {
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
        drop_roll(decisions); /* nothing refers to it any more */
}

Decisions *decisions_free(Decisions *decisions) {
    if (!decisions)
        return NULL;
    while (decisions->n > 0)
        forget_oldest(decisions);
    drop_roll(decisions);
    drop_book(decisions);
    assert(decisions->figures.bytes == decisions->max * sizeof(*decisions->ring));
    assert(decisions->pods_bytes == 0);
    scenes_done(&decisions->scenes);
    lineup_done(&decisions->lineup);
    free(decisions->ring);
    (void)pthread_mutex_destroy(&decisions->mutex);
    free(decisions);
    return NULL;
}

/* --- remembering ------------------------------------------------------------------------------ */

/* A roll that can hold this request without carrying too much that is long gone. */
static Roll *find_roll(Decisions *decisions, size_t n_nodes) {
    if (decisions->roll && roll_size(decisions->roll) > 4 * n_nodes + ROLL_SPARE)
        drop_roll(decisions);
    if (!decisions->roll)
        decisions->roll = roll_new();
    return decisions->roll;
}

static Outcomes *make_outcomes(
    Decisions *decisions, const View *view, const Decision *decision, const RulePlaces *places) {
    const FilterArgs *args = decision->args;
    size_t n_known = view->table->names->n_nodes;
    size_t n_nodes = args->n > n_known ? args->n : n_known;
    const uint32_t *numbers = NULL;
    Outcomes *outcomes = NULL;

    if (n_nodes > decisions->bytes_max / ROLL_NAME_COST / ROLL_SHARE) {
        decisions->figures.n_outcomes_dropped++;
        return NULL;
    }
    if (find_roll(decisions, n_nodes))
        numbers = lineup_number(&decisions->lineup, decisions->roll, args);
    if (numbers)
        outcomes = outcomes_new(decision, places, decisions->roll, numbers);
    if (decisions->roll)
        count_roll(decisions, decisions->roll);
    return outcomes;
}

/* Scene and pod, both or neither: one without the other is of no use. */
static void keep_makings(
    Decisions *decisions, const View *view, Str pod_text, Digest digest, Kept *kept) {
    if (str_is_empty(pod_text) || pod_text.len > decisions->bytes_max / POD_SHARE)
        return;
    kept->scene = scenes_use(&decisions->scenes, view);
    if (!kept->scene)
        return;
    kept->pod_text = pod_texts_get(&decisions->pods, pod_text, digest);
    if (!kept->pod_text) {
        scenes_leave(&decisions->scenes, TAKE_PTR(kept->scene));
        return;
    }
    use_pod(decisions, kept->pod_text);
    decisions->figures.n_with_makings++;
}

static void keep_outcomes(Decisions *decisions, Outcomes *outcomes, Kept *kept) {
    if (!outcomes)
        return;
    kept->outcomes = outcomes;
    decisions->figures.bytes += outcomes_bytes(outcomes) + WIDGET_COST;
    decisions->figures.n_with_outcomes++;
    outcomes_roll(outcomes)->n_users++;
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
    decisions->figures.bytes += past->bytes + WIDGET_COST;
    past->book->n_users++;
    return kept;
}

static void note_locked(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times) {
    RuleBook *book = find_book(decisions, view->program);
    PastDecision *past;
    RulePlaces places;
    Kept *kept;

    if (!book)
        return;
    past = past_new(decisions->next, view, verb, decision, times, book, &places);
    if (!past)
        return;
    kept = keep(decisions, past);
    if (decision->args) {
        keep_outcomes(decisions, make_outcomes(decisions, view, decision, &places), kept);
        keep_makings(decisions, view, str_trim(decision->pod_text), past->pod_digest, kept);
    }
    make_room(decisions);
}

void decisions_note(
    Decisions *decisions, const View *view, Verb verb, const Decision *decision, PastTimes times) {
    if (!decisions)
        return;
    (void)pthread_mutex_lock(&decisions->mutex);
    note_locked(decisions, view, verb, decision, times);
    (void)pthread_mutex_unlock(&decisions->mutex);
}

/* --- pods without secrets ------------------------------------------------------------------ */

static bool is_raw(const Kept *kept) {
    return kept->pod_text && kept->pod_text->is_raw;
}

size_t decisions_raw(Decisions *decisions, RawPod *ret, size_t n) {
    size_t n_found = 0;

    (void)pthread_mutex_lock(&decisions->mutex);
    decisions->next_raw = at_least(decisions->next_raw, decisions_oldest(decisions));
    while (decisions->next_raw < decisions->next &&
           !is_raw(decisions_at(decisions, decisions->next_raw)))
        decisions->next_raw++;
    for (uint64_t id = decisions->next_raw; n_found < n && id < decisions->next; id++) {
        Kept *kept = decisions_at(decisions, id);

        if (is_raw(kept))
            ret[n_found++] = (RawPod){.id = id, .text = pod_text_ref(kept->pod_text)};
    }
    (void)pthread_mutex_unlock(&decisions->mutex);
    return n_found;
}

static void exchange_pod(Decisions *decisions, Kept *kept, PodText *reduced) {
    PodText *raw = kept->pod_text;

    kept->pod_text = pod_texts_put(&decisions->pods, reduced);
    use_pod(decisions, kept->pod_text);
    leave_pod(decisions, raw);
}

void decisions_reduce(Decisions *decisions, const RawPod *pods, PodText *const *reduced, size_t n) {
    (void)pthread_mutex_lock(&decisions->mutex);
    for (size_t i = 0; i < n; i++) {
        Kept *kept = decisions_at(decisions, pods[i].id);

        if (pods[i].id < decisions_oldest(decisions) || kept->pod_text != pods[i].text)
            continue;
        if (reduced[i])
            exchange_pod(decisions, kept, reduced[i]);
        else
            forget_makings(decisions, kept);
    }
    make_room(decisions); /* of a pod with hardly anything in it more may be written than came */
    (void)pthread_mutex_unlock(&decisions->mutex);
}
