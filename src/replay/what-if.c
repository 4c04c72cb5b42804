/*
 * From the newest decision to the oldest: when time is up, what is left out is what matters least,
 * and where a pod went is known before the decisions that led there. Neighbours mostly have the
 * same saved view, or one that differs in a few chunks, so that a view is made from the one before.
 */

#include "replay/what-if.h"

#include <errno.h>

#include "replay/what-if-internal.h"

/* The time of one decision: that of a request. */
#define REQUEST_BUDGET ((size_t)256 * 1024 * 1024)

/* A block's first view is made from nothing, which takes as long as some decisions. */
#define BLOCK 64u

typedef struct Run {
    const Recording *recording;
    Program *program;
    const WhatIfOptions *options;
    RestoreOptions setting;
    WhatIfReport *report;
    Tallies tallies;
    Arena *arena, *request, *scratch;
    const SavedView *saved_view; /* of ... */
    View *view;                  /* ... the view */
    WhatIfCase *cases;
    WhatIfCase block[BLOCK]; /* cases of the block, oldest first */
    size_t n_block;
} Run;

const char *what_if_change_name(WhatIfChange change) {
    static const char *const names[] = {
        [WHAT_IF_EQUAL] = "equal",
        [WHAT_IF_NODES] = "nodes",
        [WHAT_IF_NEWLY_REJECTED] = "newly-rejected",
        [WHAT_IF_NEWLY_PASSING] = "newly-passing",
        [WHAT_IF_REASONS] = "reasons",
        [WHAT_IF_SCORES] = "scores",
        [WHAT_IF_BEST] = "best",
        [WHAT_IF_NOMINATED] = "nominated",
        [WHAT_IF_SKIPPED] = "skipped",
    };

    return names[change];
}

/* --- one decision once more ------------------------------------------------------------------- */

static int find_view(Run *run, const SavedView *saved_view) {
    size_t n_unmeasured = 0;
    View *view = NULL;
    int r;

    if (run->saved_view == saved_view)
        return 0;
    r = saved_view_restore(
        saved_view, run->program, &run->setting, run->view, &view, &n_unmeasured);
    if (r < 0)
        return r;
    view_unref(run->view);
    run->view = view;
    run->saved_view = saved_view;
    if (n_unmeasured > run->report->n_unmeasured)
        run->report->n_unmeasured = n_unmeasured;
    return 0;
}

static void answer(const Run *run, const RecordedDecision *decision, Str body, Answer *ret) {
    RequestTime time = {
        .now_nsec = decision->now_nsec,
        .is_over = run->options->is_over,
        .context = run->options->context,
        .scratch = run->scratch,
    };

    if (decision->verb == VERB_FILTER)
        extender_filter(run->view, &time, body, run->request, ret);
    else
        extender_prioritize(run->view, &time, body, run->request, ret);
}

#define COMPARE_SKIPPED 1 /* none */
#define COMPARE_OVER 2    /* time was up in the middle of it */

/* 0 with the comparison; COMPARE_SKIPPED with why; COMPARE_OVER; or -ENOMEM. */
static int compare(Run *run, const RecordedDecision *decision, uint32_t chosen, Comparison *ret,
    const char **ret_why) {
    Answer again;
    Str body;
    int r;

    *ret_why = recorded_obstacle(decision);
    if (*ret_why)
        return COMPARE_SKIPPED;
    r = find_view(run, decision->saved_view);
    if (r < 0)
        return r;
    if (run->view->facts.is_late)
        return COMPARE_OVER;
    body = recorded_request(run->recording, decision, run->request);
    if (!body.ptr)
        return -ENOMEM;
    answer(run, decision, body, &again);
    if (!again.decision.args || again.decision.args->n != decision->n_nodes) {
        *ret_why = decision->saved_view->snapshot
                       ? "it cannot be answered: it needs more memory than it may have"
                       : "berth had no cluster to look up its nodes in";
        return COMPARE_SKIPPED;
    }
    if (again.decision.summary.n_unjudged > 0)
        return COMPARE_OVER;
    if (decision->verb == VERB_FILTER)
        return compare_filter(&run->tallies, decision, &again.decision, chosen, run->request, ret);
    return compare_prioritize(&run->tallies, decision, &again.decision, chosen, run->request, ret);
}

/* --- counting --------------------------------------------------------------------------------- */

static void count_once(bool *is_counted, size_t *n) {
    *n += !*is_counted;
    *is_counted = true;
}

static void count_rule(Run *run, PodTally *pod, const Comparison *made) {
    WhatIfRule *rule;

    if (made->rule == TALLY_NONE)
        return;
    rule = &run->tallies.rules.items[made->rule].rule;
    if (made->change == WHAT_IF_NEWLY_REJECTED)
        count_once(&pod->is_newly_rejected, &rule->n_newly_rejected);
    else if (made->change == WHAT_IF_NEWLY_PASSING)
        count_once(&pod->is_newly_passing, &rule->n_newly_passing);
}

static Str name_at(const Run *run, uint32_t place) {
    return place == TALLY_NONE ? STR_NULL : run->recording->names[place];
}

static void add_case(
    Run *run, const RecordedDecision *decision, uint32_t chosen, const Comparison *made) {
    run->block[run->n_block++] = (WhatIfCase){
        .decision = decision,
        .change = made->change,
        .n_before = made->n_before,
        .n_after = made->n_after,
        .best_before = name_at(run, made->best_before),
        .best_after = name_at(run, made->best_after),
        .rule = made->rule == TALLY_NONE ? STR_NULL : run->tallies.rules.items[made->rule].key,
        .was_chosen = made->has_chosen,
        .chosen = made->has_chosen ? name_at(run, chosen) : STR_NULL,
        .chosen_lost = made->is_chosen_lost,
    };
}

static void count(Run *run, const RecordedDecision *decision, PodTally *pod, uint32_t chosen,
    const Comparison *made) {
    run->report->n_changes[made->change]++;
    if (made->change == WHAT_IF_EQUAL && made->best_before == TALLY_NONE)
        return;
    if (made->best_before != TALLY_NONE)
        run->tallies.nodes[made->best_before].n_best_before++;
    if (made->best_after != TALLY_NONE)
        run->tallies.nodes[made->best_after].n_best_after++;
    count_rule(run, pod, made);
    if (made->is_chosen_lost || made->is_chosen_beaten)
        count_once(&pod->is_moved, &run->report->n_moved);
    if (made->change != WHAT_IF_EQUAL)
        add_case(run, decision, chosen, made);
}

/* One that time was up for is as if it had not been begun. */
static int replay_one(Run *run, size_t i) {
    const RecordedDecision *decision = &run->recording->decisions[i];
    uint32_t place = run->tallies.of_decision[i];
    const char *why;
    Comparison made = {0};
    PodTally *pod;
    uint32_t chosen = run->tallies.chosen[i];
    int r;

    if (place == TALLY_NONE)
        return 0;
    pod = &run->tallies.pods.items[place];
    r = compare(run, decision, chosen, &made, &why);
    arena_reset(run->request);
    run->report->is_whole &= r != COMPARE_OVER;
    if (r < 0 || r == COMPARE_OVER)
        return r < 0 ? r : 0;
    count_once(&pod->is_counted, &run->report->n_pods);
    run->report->n++;
    if (r == COMPARE_SKIPPED) {
        run->report->n_changes[WHAT_IF_SKIPPED]++;
        run->report->skipped_why = why;
    } else {
        count(run, decision, pod, chosen, &made);
    }
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

/* Those of the block, the newest first. */
static void flush_cases(Run *run) {
    WhatIfReport *report = run->report;

    while (run->n_block > 0 && report->n_cases < WHAT_IF_CASES_MAX)
        run->cases[report->n_cases++] = run->block[--run->n_block];
    run->n_block = 0;
}

/* Decisions @begin up to, not including, @end. */
static int replay_block(Run *run, size_t begin, size_t end) {
    const WhatIfOptions *options = run->options;
    size_t n_done = run->recording->n - end;
    int r = 0;

    for (size_t i = begin; r == 0 && i < end && run->report->is_whole; i++) {
        if (options->is_over && options->is_over(options->context)) {
            run->report->is_whole = false;
            break;
        }
        r = replay_one(run, i);
        if (options->progress)
            options->progress(options->context, ++n_done, run->recording->n);
    }
    flush_cases(run);
    return r;
}

static int replay_all(Run *run) {
    size_t end = run->recording->n;
    int r = 0;

    run->report->is_whole = true;
    while (r == 0 && end > 0 && run->report->is_whole) {
        size_t begin = end > BLOCK ? end - BLOCK : 0;

        r = replay_block(run, begin, end);
        end = begin;
    }
    return r;
}

int what_if_run(const Recording *recording, Program *program, const WhatIfOptions *options,
    Arena *arena, WhatIfReport *ret) {
    static const WhatIfOptions none;
    _cleanup_(arena_freep) Arena *request = arena_new(REQUEST_BUDGET);
    _cleanup_(arena_freep) Arena *scratch = arena_new(REQUEST_BUDGET);
    Run run = {
        .recording = recording,
        .program = program,
        .options = options ? options : &none,
        .setting = options ? options->setting : none.setting,
        .report = ret,
        .arena = arena,
        .request = request,
        .scratch = scratch,
        .cases = ARENA_RAW(arena, WhatIfCase, WHAT_IF_CASES_MAX),
    };
    int r;

    run.setting.clock =
        (PlanDeadline){.is_over = run.options->is_over, .context = run.options->context};
    *ret = (WhatIfReport){.cases = run.cases};
    if (!request || !scratch || !run.cases)
        return -ENOMEM;
    r = tallies_init(&run.tallies, recording, program, arena);
    if (r == 0)
        r = replay_all(&run);
    if (r == 0)
        r = tallies_report(&run.tallies, ret);
    view_unref(run.view);
    return r;
}
