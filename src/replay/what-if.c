/*
 * Replays decisions, the newest first: the least important are left out when time is up, and the
 * pod's final node is known before the decisions that led to it. Consecutive decisions mostly have
 * the same saved view, or one that differs in a few chunks: each view is made from the one before.
 */

#include "replay/what-if.h"

#include <errno.h>

#include "replay/what-if-internal.h"
#include "json/write.h"

/* Memory for one decision, as for a request. */
#define REQUEST_BUDGET ((size_t)256 * 1024 * 1024)

/* Decisions of a block are replayed oldest first: only its first view is made from nothing. */
#define BLOCK 64u

typedef struct Run {
    const Recording *recording;
    Program *program;
    const RestoreOptions *setting;
    void (*progress)(size_t done, size_t of); /* may be NULL */
    WhatIfReport *report;
    Tallies tallies;
    Arena *request, *scratch;
    const SavedView *saved_view; /* that of the view */
    View *view;                  /* NULL: none yet */
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

static int find_view(Run *run, const SavedView *saved_view) {
    size_t n_unmeasured = 0;
    View *view = NULL;
    int r;

    if (run->saved_view == saved_view)
        return 0;
    r = saved_view_restore(saved_view, run->program, run->setting, run->view, &view, &n_unmeasured);
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
        .is_over = run->setting->clock.is_over,
        .context = run->setting->clock.context,
        .scratch = run->scratch,
    };

    if (decision->verb == VERB_FILTER)
        extender_filter(run->view, &time, body, run->request, ret);
    else
        extender_prioritize(run->view, &time, body, run->request, ret);
}

#define COMPARE_SKIPPED 1 /* it cannot be replayed */
#define COMPARE_OVER 2    /* the deadline passed during it */

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

static void count_once(bool *is_counted, size_t *n) {
    *n += !*is_counted;
    *is_counted = true;
}

static void count(Run *run, PodTally *pod, const Comparison *made) {
    WhatIfChange change = made->one.change;

    run->report->n_changes[change]++;
    if (made->rule && change == WHAT_IF_NEWLY_REJECTED)
        count_once(&pod->is_newly_rejected, &made->rule->n_newly_rejected);
    if (made->rule && change == WHAT_IF_NEWLY_PASSING)
        count_once(&pod->is_newly_passing, &made->rule->n_newly_passing);
    if (made->one.chosen_lost || made->is_chosen_beaten)
        count_once(&pod->is_moved, &run->report->n_moved);
    if (change != WHAT_IF_EQUAL)
        run->block[run->n_block++] = made->one;
}

/* A decision during which the deadline passes does not count. */
static int replay_one(Run *run, size_t i) {
    const RecordedDecision *decision = &run->recording->decisions[i];
    uint32_t place = run->tallies.of_decision[i];
    const char *why;
    Comparison made = {0};
    PodTally *pod;
    int r;

    if (place == TALLY_NONE)
        return 0;
    pod = &run->tallies.pods.items[place];
    r = compare(run, decision, run->tallies.chosen[i], &made, &why);
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
        count(run, pod, &made);
    }
    return 0;
}

/* Decisions @begin up to, not including, @end. */
static int replay_block(Run *run, size_t begin, size_t end) {
    const PlanDeadline *clock = &run->setting->clock;
    WhatIfReport *report = run->report;
    size_t n_done = run->recording->n - end;
    int r = 0;

    for (size_t i = begin; r == 0 && i < end && report->is_whole; i++) {
        if (clock->is_over && clock->is_over(clock->context)) {
            report->is_whole = false;
            break;
        }
        r = replay_one(run, i);
        if (run->progress)
            run->progress(++n_done, run->recording->n);
    }
    while (run->n_block > 0 && report->n_cases < WHAT_IF_CASES_MAX) /* the newest first */
        run->cases[report->n_cases++] = run->block[--run->n_block];
    run->n_block = 0;
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

int what_if_run(const Recording *recording, Program *program, const RestoreOptions *setting,
    void (*progress)(size_t done, size_t of), Arena *arena, WhatIfReport *ret) {
    _cleanup_(arena_freep) Arena *request = arena_new(REQUEST_BUDGET);
    _cleanup_(arena_freep) Arena *scratch = arena_new(REQUEST_BUDGET);
    Run run = {
        .recording = recording,
        .program = program,
        .setting = setting,
        .progress = progress,
        .report = ret,
        .request = request,
        .scratch = scratch,
        .cases = ARENA_RAW(arena, WhatIfCase, WHAT_IF_CASES_MAX),
    };
    int r;

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

static void write_changes(JsonWriter *writer, const WhatIfReport *report) {
    json_member_object(writer, "changes");
    for (unsigned i = 0; i < _WHAT_IF_MAX; i++)
        json_write(writer, "%s: %zu", what_if_change_name((WhatIfChange)i), report->n_changes[i]);
    json_write_end_object(writer);
}

static void write_rules(JsonWriter *writer, const WhatIfReport *report) {
    json_member_array(writer, "rules");
    for (size_t i = 0; i < report->n_rules; i++) {
        const WhatIfRule *rule = &report->rules[i];

        json_write(writer,
            "{policy: %.*s, rule: %.*s, rejectedBefore: %zu, rejectedAfter: %zu, "
            "newlyRejected: %zu, newlyPassing: %zu}",
            STR_FMT(rule->policy), STR_FMT(rule->name), rule->n_rejected_before,
            rule->n_rejected_after, rule->n_newly_rejected, rule->n_newly_passing);
    }
    json_write_end_array(writer);
}

static void write_nodes(JsonWriter *writer, const WhatIfReport *report) {
    json_member_array(writer, "nodes");
    for (size_t i = 0; i < report->n_nodes; i++)
        json_write(writer, "{node: %.*s, bestBefore: %zu, bestAfter: %zu}",
            STR_FMT(report->nodes[i].name), report->nodes[i].n_best_before,
            report->nodes[i].n_best_after);
    json_write_end_array(writer);
}

static void write_case(JsonWriter *writer, const WhatIfCase *one) {
    const RecordedDecision *decision = one->decision;

    json_write(writer,
        "{id: %zu, time: %.6td, verb: %s, pod: {namespace: %.*s, name: %.*s, uid: %.*s}, "
        "change: %s",
        decision->id, decision->now_nsec, verb_name(decision->verb),
        STR_FMT(decision->pod_namespace), STR_FMT(decision->pod_name), STR_FMT(decision->pod_uid),
        what_if_change_name(one->change));
    if (decision->verb == VERB_FILTER)
        json_write(writer, "passedBefore: %zu, passedAfter: %zu, rule: %.*s", one->n_before,
            one->n_after, STR_FMT(one->rule));
    else
        json_write(writer, "bestBefore: %.*s, bestAfter: %.*s", STR_FMT(one->best_before),
            STR_FMT(one->best_after));
    if (one->was_chosen)
        json_write(writer, "chosen: %.*s, chosenLost: %i", STR_FMT(one->chosen), one->chosen_lost);
    json_write_end_object(writer);
}

void what_if_write(const WhatIfReport *report, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{decisions: %zu, pods: %zu, moved: %zu, whole: %i, unmeasured: %zu",
        report->n, report->n_pods, report->n_moved, report->is_whole, report->n_unmeasured);
    write_changes(&writer, report);
    if (report->skipped_why)
        json_write_member(&writer, STR("skippedWhy"), str_from_c(report->skipped_why));
    write_rules(&writer, report);
    write_nodes(&writer, report);
    json_member_array(&writer, "cases");
    for (size_t i = 0; i < report->n_cases; i++)
        write_case(&writer, &report->cases[i]);
    json_write(&writer, "]}\n");
}
