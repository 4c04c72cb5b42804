#include "simulate/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/nsec.h"
#include "simulate/ground.h"
#include "simulate/waiting.h"

#define UID_MAX 48
#define LOOK_EVERY 64u /* pods between two looks at the clock */

typedef struct Run {
    const Scenario *scenario;
    const RunOptions *options;
    Outcome *outcome;
    Ground *ground;
    Ours *ours; /* NULL: no policy */
    Scheduler *scheduler;
    Waiting waiting;
    Endings endings;
    double now;          /* seconds since the start */
    double used_seconds; /* nodes in use, times the time they were */
    double wait_seconds;
    size_t n_looks;
    bool is_over;
} Run;

/* --- pods on nodes ------------------------------------------------------ */

/* Later than what fits is the end of time. */
static int64_t moment_of(const Run *run) {
    int64_t passed = run->now < 9e9 ? (int64_t)(run->now * 1e9) : INT64_MAX, moment;

    return __builtin_add_overflow(run->options->now_nsec, passed, &moment) ? INT64_MAX : moment;
}

/* The pod as the cluster has it once it is placed. */
static Pod pod_on(const Run *run, uint32_t number, uint32_t row, char uid[UID_MAX]) {
    const Arrival *arrival = &run->scenario->arrivals[number];
    Pod pod = arrival->want->pod;
    int n = snprintf(uid, UID_MAX, "simulated-%u", number);

    pod.name = arrival->name;
    pod.uid = str_of(uid, (size_t)n);
    pod.node_name = row == NO_ROW ? STR_NULL : run->scenario->table->names->names[row];
    pod.nominated_node_name = STR_NULL;
    pod.scheduled_at = row == NO_ROW ? 0 : moment_of(run) / NSEC_PER_SEC;
    pod.started_at = 0;
    return pod;
}

static int put(Run *run, uint32_t number, uint32_t row) {
    const Arrival *arrival = &run->scenario->arrivals[number];
    PodFate *fate = &run->outcome->fates[number];
    Footprint footprint = footprint_of(arrival->want);
    char uid[UID_MAX];
    Pod pod = pod_on(run, number, row, uid);
    int r = ground_add(run->ground, row, &footprint);

    if (r == 0 && run->ours)
        r = ours_add(run->ours, &pod);
    if (r == 0 && isfinite(arrival->lifetime))
        r = endings_add(
            &run->endings, (Ending){.at = run->now + arrival->lifetime, .arrival = number});
    if (r < 0)
        return r;
    *fate = (PodFate){.fate = FATE_PLACED, .row = row, .waited = (float)(run->now - arrival->at)};
    run->outcome->n_placed++;
    run->outcome->n_waited += run->now > arrival->at;
    run->wait_seconds += run->now - arrival->at;
    if (run->now - arrival->at > run->outcome->wait_most)
        run->outcome->wait_most = run->now - arrival->at;
    return 0;
}

static void take_off(Run *run, uint32_t number) {
    PodFate *fate = &run->outcome->fates[number];
    Footprint footprint = footprint_of(run->scenario->arrivals[number].want);
    char uid[UID_MAX];
    Pod pod = pod_on(run, number, fate->row, uid);

    ground_remove(run->ground, fate->row, &footprint);
    fate->fate = FATE_ENDED;
    run->outcome->n_ended++;
    if (run->ours)
        ours_remove(run->ours, &pod);
}

static int settle_residents(Run *run) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < run->scenario->n_residents; i++) {
        const Resident *resident = &run->scenario->residents[i];

        if (resident->is_lifted)
            continue;
        r = ground_add(run->ground, resident->row, &resident->footprint);
        if (r == 0 && run->ours)
            r = ours_add(run->ours, resident->pod);
    }
    run->outcome->n_used_at_start = run->ground->use.n_nodes;
    return r;
}

/* --- placing ------------------------------------------------------------ */

static int choose(Run *run, uint32_t number, uint32_t asked, Choice *ret) {
    char uid[UID_MAX];
    Want want = *run->scenario->arrivals[number].want;

    want.pod = pod_on(run, number, NO_ROW, uid);
    run->outcome->n_attempts++;
    return scheduler_choose(run->scheduler, &want, moment_of(run), asked, ret);
}

static void note_followed(Run *run, uint32_t number, const Choice *choice) {
    Outcome *outcome = run->outcome;

    if (run->scenario->arrivals[number].want->beyond != 0) {
        outcome->n_beyond++;
        return;
    }
    outcome->n_followed++;
    outcome->n_feasible += choice->is_feasible;
    outcome->n_best += choice->is_best;
    if (!choice->is_best && outcome->n_misses < OUTCOME_MISSES_MAX)
        outcome->misses[outcome->n_misses++] = (Miss){.arrival = number, .choice = *choice};
}

/* 0: it waits on; 1: it is placed; or -ENOMEM. */
static int try(Run *run, uint32_t number) {
    uint32_t asked = run->options->follows ? run->scenario->arrivals[number].was_on : NO_ROW;
    Choice choice;
    int r = choose(run, number, asked, &choice);

    if (r < 0)
        return r;
    if (asked != NO_ROW) {
        note_followed(run, number, &choice);
        choice.row = asked;
    }
    if (choice.row == NO_ROW) {
        run->outcome->fates[number].fate = FATE_WAITING;
        run->outcome->fates[number].reason = choice.reason;
        return 0;
    }
    r = put(run, number, choice.row);
    return r < 0 ? r : 1;
}

static bool is_over(Run *run) {
    if (!run->is_over && run->n_looks++ % LOOK_EVERY == 0 && run->options->is_over)
        run->is_over = run->options->is_over(run->options->context);
    if (run->n_looks % LOOK_EVERY == 1 && run->options->progress)
        run->options->progress(run->options->context, run->outcome->n_reached);
    return run->is_over;
}

/* Tries those that wait. What one of a kind did not get the next would not get either. */
static int retry(Run *run) {
    _cleanup_(map_done) Map failed = MAP_INIT;
    Waiting *waiting = &run->waiting;
    size_t n_left = 0, n_tries = 0;
    int r = 0;

    for (size_t i = 0; i < waiting->n; i++) {
        uint32_t number = waiting->items[i];
        Str key = run->scenario->arrivals[number].want->whole_key;
        bool is_tried = r >= 0 && n_tries < RUN_RETRIES_MAX && map_find(&failed, key) == MAP_NONE &&
                        !is_over(run);
        int placed = 0;

        if (is_tried) {
            n_tries++;
            placed = try(run, number);
            r = placed < 0 ? placed : r;
        }
        if (placed == 1)
            continue;
        waiting->items[n_left++] = number;
        if (is_tried && r >= 0)
            r = map_add(&failed, key, number);
    }
    waiting->n = n_left;
    return r;
}

/* --- time ---------------------------------------------------------------- */

static void sample(Run *run) {
    const GroundUse *use = &run->ground->use;
    Outcome *outcome = run->outcome;
    Sample sample = {
        .at = run->scenario->is_timed ? run->now : (double)outcome->n_reached,
        .n_used = use->n_nodes,
        .cpu_share = use->cpu_offered > 0 ? (double)use->cpu_asked / (double)use->cpu_offered : 0,
        .n_waiting = run->waiting.n,
    };

    outcome_sample(outcome, &sample);
    if (use->n_nodes > outcome->n_used_most)
        outcome->n_used_most = use->n_nodes;
}

static void pass_time(Run *run, double to) {
    run->used_seconds += (to - run->now) * (double)run->ground->use.n_nodes;
    run->now = to;
}

/* When it is over, if nothing happens before. */
static double find_end(const Run *run) {
    const Scenario *scenario = run->scenario;

    if (run->options->until >= 0)
        return run->options->until;
    return scenario->has_stayers ? INFINITY : scenario->last_at;
}

/* INFINITY: nothing comes any more. */
static double next_event(const Run *run) {
    double at = run->endings.n > 0 ? run->endings.items[0].at : INFINITY;

    if (run->outcome->n_reached < run->scenario->n_arrivals &&
        run->scenario->arrivals[run->outcome->n_reached].at < at)
        at = run->scenario->arrivals[run->outcome->n_reached].at;
    return at;
}

static int end_pods(Run *run) {
    bool has_ended = false;

    while (run->endings.n > 0 && run->endings.items[0].at <= run->now) {
        take_off(run, endings_take(&run->endings).arrival);
        has_ended = true;
    }
    return has_ended && run->waiting.n > 0 ? retry(run) : 0;
}

/* Pods that come now. Without times each is a moment of its own. */
static int take_pods(Run *run) {
    Outcome *outcome = run->outcome;
    const Scenario *scenario = run->scenario;
    int r = 0;

    if (scenario->is_timed && run->waiting.n > 0 && outcome->n_reached < scenario->n_arrivals &&
        scenario->arrivals[outcome->n_reached].at <= run->now)
        r = retry(run);
    while (r >= 0 && outcome->n_reached < scenario->n_arrivals &&
           scenario->arrivals[outcome->n_reached].at <= run->now && !is_over(run)) {
        uint32_t number = (uint32_t)outcome->n_reached++;

        r = try(run, number);
        if (r == 0)
            r = waiting_add(&run->waiting, scenario, number);
        if (!scenario->is_timed) {
            run->used_seconds += (double)run->ground->use.n_nodes;
            sample(run);
        }
    }
    return r < 0 ? r : 0;
}

static int go(Run *run) {
    double end = find_end(run);
    int r = 0;

    sample(run);
    while (r == 0 && !run->is_over) {
        double at = next_event(run);

        if (!isfinite(at) || at > end)
            break;
        pass_time(run, at);
        r = end_pods(run);
        if (r == 0)
            r = take_pods(run);
        sample(run);
    }
    if (r == 0 && !run->is_over && isfinite(end) && end > run->now) {
        pass_time(run, end);
        sample(run);
    }
    return r;
}

/* --- telling ------------------------------------------------------------ */

static int compare_reasons(const void *a, const void *b) {
    const PendingReason *x = a, *y = b;

    if (x->n_pods != y->n_pods)
        return x->n_pods > y->n_pods ? -1 : 1;
    return str_cmp(x->text, y->text);
}

static PendingReason *find_reason(Outcome *outcome, Str text) {
    for (size_t i = 0; i < outcome->n_reasons; i++)
        if (str_eq(outcome->reasons[i].text, text))
            return &outcome->reasons[i];
    return NULL;
}

/* There are at most as many as there are numbers for them. */
static int tell_reasons(Run *run) {
    Outcome *outcome = run->outcome;
    size_t n_max = REASON_FILTER + (run->ours ? ours_program(run->ours)->n_filters : 0) + 1;
    size_t *counts = ARENA_ARRAY(outcome->arena, size_t, n_max);

    outcome->reasons = ARENA_ARRAY(outcome->arena, PendingReason, n_max);
    if (!counts || !outcome->reasons)
        return -ENOMEM;
    for (size_t i = 0; i < run->waiting.n; i++) {
        Reason reason = outcome->fates[run->waiting.items[i]].reason;

        counts[reason < n_max ? reason : n_max - 1]++;
    }
    for (size_t i = 0; i < n_max; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);
        PendingReason *known;
        Str kept;

        if (counts[i] == 0)
            continue;
        reason_print(run->scheduler, (Reason)i, &text);
        kept = arena_copy(outcome->arena, buf_str(&text));
        if (!kept.ptr)
            return -ENOMEM;
        known = find_reason(outcome, kept);
        if (!known) {
            known = &outcome->reasons[outcome->n_reasons++];
            known->text = kept;
        }
        known->n_pods += counts[i];
    }
    qsort(outcome->reasons, outcome->n_reasons, sizeof(*outcome->reasons), compare_reasons);
    return 0;
}

static int tell(Run *run) {
    Outcome *outcome = run->outcome;
    double over = run->scenario->is_timed ? run->now : (double)outcome->n_reached;

    outcome->is_broken_off = run->is_over;
    outcome->end = run->now;
    outcome->n_waiting = run->waiting.n;
    outcome->n_used_mean = over > 0 ? run->used_seconds / over : (double)run->ground->use.n_nodes;
    outcome->wait_mean = outcome->n_placed > 0 ? run->wait_seconds / (double)outcome->n_placed : 0;
    outcome_measure(outcome, run->ground, run->options->shapes, run->options->n_shapes);
    return tell_reasons(run);
}

static void run_done(Run *run) {
    scheduler_free(run->scheduler);
    ours_free(run->ours);
    ground_free(run->ground);
    waiting_done(&run->waiting);
    endings_done(&run->endings);
}

int run_scenario(
    const Scenario *scenario, const OursParts *parts, const RunOptions *options, Outcome **ret) {
    _cleanup_(outcome_freep) Outcome *outcome = outcome_new(scenario->n_arrivals);
    _cleanup_(run_done) Run run = {.scenario = scenario, .options = options, .outcome = outcome};
    OursParts own;
    int r;

    if (!outcome)
        return -ENOMEM;
    r = ground_new(scenario->table, &run.ground);
    if (r == 0 && parts) {
        own = *parts;
        own.order = run.ground->order;
        own.n_order = run.ground->n_order;
        r = ours_new(&own, &run.ours);
    }
    if (r == 0)
        r = settle_residents(&run);
    if (r == 0)
        r = scheduler_new(&options->scheduler, run.ground, run.ours, &run.scheduler);
    if (r == 0)
        r = go(&run);
    if (r == 0)
        r = tell(&run);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(outcome);
    return 0;
}
