/* Makes and replaces the view in force, and waits for a new one. */

#include "live/current.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"

View *current_view(Current *current) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&current->lock);

    return view_ref(current->view);
}

static void exchange(Current *current, View *view) {
    View *old;

    (void)pthread_mutex_lock(&current->lock);
    old = current->view;
    current->view = view;
    (void)pthread_cond_broadcast(&current->exchanged);
    (void)pthread_mutex_unlock(&current->lock);
    view_unref(old);
}

typedef struct ViewBudget {
    FactsBudget facts;
    int64_t until_cpu_nsec; /* CPU time of this thread */
    const atomic_bool *is_cancelled;
    bool is_spent; /* do not even try */
} ViewBudget;

static bool is_cancelled(const ViewBudget *budget) {
    return budget->is_cancelled && atomic_load(budget->is_cancelled);
}

static bool is_over(void *context) {
    const ViewBudget *budget = context;

    return budget->is_spent || is_cancelled(budget) ||
           clock_thread_cpu_nsec() > budget->until_cpu_nsec;
}

static ViewBudget open_budget(const ViewLimits *limits, const PolicyLoad *load) {
    return (ViewBudget){
        .facts = {.work_max =
                      (uint64_t)(limits->cpu_nsec / NSEC_PER_MSEC) * (FACTS_WORK_PER_SEC / 1000),
            .bytes_max = limits->bytes},
        .until_cpu_nsec =
            (load ? load->begun_cpu_nsec : clock_thread_cpu_nsec()) + limits->cpu_nsec,
        .is_cancelled = load ? load->is_cancelled : NULL,
    };
}

static unsigned percent(uint64_t part, uint64_t of) {
    return part < of ? (unsigned)((double)part * 100 / (double)of) : 100;
}

/* Writes for example: "filter p/f0 (policy.yaml:6) takes 12 % of it; " */
static void describe_worst(const FactsBudget *budget, char *ret, size_t size) {
    const RuleCost *rule = &budget->worst[0];
    bool is_memory = budget->limit == FACTS_OVER_MEMORY && rule->cost.bytes > 0;
    unsigned part = is_memory ? percent(rule->cost.bytes, budget->cost.bytes)
                              : percent(rule->cost.work, budget->cost.work);

    ret[0] = '\0';
    if (budget->n_worst > 0 && rule->cost.work > 0)
        (void)snprintf(ret, size, "%s %.*s/%.*s (%.*s:%zu) takes %u %% of %s; ", rule->type,
            STR_FMT(rule->policy->name), STR_FMT(rule->name), STR_FMT(rule->place.file),
            rule->place.line, part,
            budget->limit == FACTS_OVER_MEMORY && !is_memory ? "the work" : "it");
}

#define WORST_TEXT_MAX 1024u

/* Names the exhausted budget, the rule that uses most of it, and the remedy. */
static void describe(
    const ViewLimits *limits, const ViewBudget *budget, size_t n_nodes, char *ret, size_t size) {
    char worst[WORST_TEXT_MAX];
    bool is_memory = budget->facts.limit == FACTS_OVER_MEMORY;
    double sec = (double)limits->cpu_nsec / (double)NSEC_PER_SEC;

    describe_worst(&budget->facts, worst, sizeof(worst));
    if (is_memory)
        (void)snprintf(ret, size,
            "the results of policies for %zu nodes take more memory than --load-memory allows (%zu "
            "MiB): %ssimplify the rule, or raise --load-memory; `berth check --nodes %zu` shows "
            "the cost of each rule",
            n_nodes, limits->bytes >> 20, worst, n_nodes);
    else
        (void)snprintf(ret, size,
            "policies take too much %s to load for %zu nodes, more than --load-time %gs allows "
            "(%zu nodes done): %ssimplify the rule, or raise --load-time; `berth check --nodes "
            "%zu` shows the cost of each rule",
            budget->facts.limit == FACTS_OVER_WORK ? "work" : "time", n_nodes, sec,
            budget->facts.n_rows, worst, n_nodes);
}

/* The parts that a new view replaces; NULL: unchanged. */
typedef struct ViewChange {
    Snapshot *snapshot;
    Program *program;           /* replaces the measurements too, by NULL if there are none */
    Measurements *measurements; /* of the gauges of the new program, else of the program in force */
} ViewChange;

/* @known: a view of the same program, to share results with; usually @before itself. */
static int make_view(Current *current, const View *before, const View *known,
    const ViewChange *change, ViewBudget *budget, View **ret) {
    bool is_measured_anew = change->program || change->measurements;
    bool is_limited = current->limits.cpu_nsec > 0;
    ViewParts parts = {
        .snapshot = change->snapshot ? change->snapshot : before->snapshot,
        .program = change->program ? change->program : before->program,
        .zones = before->zones,
        .exemptions = before->exemptions,
        .measurements = is_measured_anew ? change->measurements : before->measurements,
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
        .clock = {.is_over = is_limited ? is_over : NULL, .context = budget},
        .budget = is_limited ? &budget->facts : NULL,
    };
    int r = view_new(&parts, known, ret);

    if (r < 0)
        return r;
    (*ret)->awaits_cluster = !(*ret)->snapshot && current->may_await_cluster;
    (*ret)->generation = before->generation + (change->snapshot ? 1 : 0);
    return 0;
}

/* Called with publish_lock held: only its holder replaces the view. */
static void put_in_force(Current *current, View *view) {
    _cleanup_(view_unrefp) View *before = view_ref(current->view);

    exchange(current, view);
    if (current->changed)
        current->changed(current->context, before, current->view);
}

static size_t count_nodes(const View *view) {
    return view->table->names->n_nodes;
}

/* Whether another attempt for the program in force would fail again. */
static bool would_exceed_again(const Current *current, const ViewChange *change) {
    const View *view = current->view;
    size_t n_nodes =
        change->snapshot ? snapshot_table(change->snapshot)->names->n_nodes : count_nodes(view);

    return view->facts.is_late && n_nodes > current->n_nodes_exceeded / 10 * 9 &&
           clock_monotonic_nsec() < current->retry_at_nsec;
}

/* Notes that the program in force has exceeded the budget since @begun_nsec. */
static void note_exceeded(
    Current *current, const View *view, const ViewBudget *budget, int64_t begun_nsec) {
    char message[CURRENT_MESSAGE_MAX];
    int64_t now = clock_monotonic_nsec();

    current->retry_at_nsec = now + CURRENT_RETRY_FACTOR * (now - begun_nsec);
    current->n_nodes_exceeded = count_nodes(view);
    describe(&current->limits, budget, count_nodes(view), message, sizeof(message));
    if (current->exceeded)
        current->exceeded(current->context, message);
}

/* Makes a view of the program in force with another part. Called with publish_lock held. */
static int change_view(Current *current, const ViewChange *change) {
    bool was_late = current->view->facts.is_late;
    ViewBudget budget = open_budget(&current->limits, /* load= */ NULL);
    int64_t begun_nsec = clock_monotonic_nsec();
    View *view = NULL;
    int r;

    budget.is_spent = would_exceed_again(current, change);
    r = make_view(current, current->view, current->view, change, &budget, &view);
    if (r < 0)
        return r;
    if (view->facts.is_late && !budget.is_spent)
        note_exceeded(current, view, &budget, begun_nsec);
    put_in_force(current, view);
    if (was_late && !view->facts.is_late && current->exceeded)
        current->exceeded(current->context, NULL);
    return 0;
}

int current_set_snapshot(Current *current, Snapshot *snapshot) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&current->publish_lock);

    return change_view(current, &(ViewChange){.snapshot = snapshot});
}

int current_try_snapshot(Current *current, const View *shown, Snapshot *snapshot, View **ret) {
    ViewBudget budget = open_budget(&current->limits, /* load= */ NULL);

    budget.is_spent = shown->facts.is_late;
    return make_view(current, shown, shown, &(ViewChange){.snapshot = snapshot}, &budget, ret);
}

int current_set_measured(Current *current, Measurements *measurements) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&current->publish_lock);

    if (measurements->owner != current->owner)
        return 0;
    return change_view(current, &(ViewChange){.measurements = measurements});
}

int current_refresh(Current *current, int64_t now_nsec) {
    _cleanup_(view_unrefp) View *view = current_view(current);
    int r = 0;

    if (!current_is_due(view, now_nsec))
        return 0;
    (void)pthread_mutex_lock(&current->publish_lock);
    if (current->view == view) /* else another thread was faster */
        r = change_view(current, &(ViewChange){0});
    (void)pthread_mutex_unlock(&current->publish_lock);
    return r;
}

bool current_is_due(const View *view, int64_t now_nsec) {
    return now_nsec >= view->loads.until_nsec ||
           loads_clock_was_set(&view->loads, clock_wall_nsec(), clock_monotonic_nsec());
}

/* Follows the gauges of the program in force again, after a failed attempt to replace it. Takes
 * another owner, because measurements for the refused program may still arrive. */
static void follow_again(Current *current, uint64_t owner) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    char error[POLLER_ERROR_MAX];

    current->owner = owner;
    if (measuring_follow(current->measuring, current->view->program, owner, &measurements, error,
            sizeof(error)) < 0)
        log_error("nothing is measured until policies are loaded again", LOG_CSTR("error", error));
}

/* Returns 0 if @view has results; else writes why not, and returns the error. */
static int judge_load(const Current *current, int r, const View *view, const ViewBudget *budget,
    char *error, size_t size) {
    if (r < 0) {
        (void)snprintf(error, size, "out of memory for the results of policies for all nodes");
        return r;
    }
    if (!view->facts.is_late)
        return 0;
    if (is_cancelled(budget)) {
        (void)snprintf(error, size, "cancelled");
        return -ECANCELED;
    }
    describe(&current->limits, budget, count_nodes(view), error, size);
    return -EINVAL;
}

/* The poller's new measurements wait for publish_lock, so none is lost between following the gauges
 * and using them. */
static int set_program(Current *current, Program *program, const View *draft,
    const PolicyLoad *load, char *error, size_t size) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    _cleanup_(view_unrefp) View *view = NULL;
    bool was_late = current->view->facts.is_late;
    uint64_t owner = current->owner + 1;
    ViewBudget budget = open_budget(&current->limits, load);
    int r = measuring_follow(current->measuring, program, owner, &measurements, error, size);

    if (r < 0)
        return r;
    r = make_view(current, current->view, draft,
        &(ViewChange){.program = program, .measurements = measurements}, &budget, &view);
    r = judge_load(current, r, view, &budget, error, size);
    if (r < 0) {
        follow_again(current, owner + 1);
        return r;
    }
    put_in_force(current, TAKE_PTR(view));
    current->owner = owner;
    if (was_late && current->exceeded)
        current->exceeded(current->context, NULL);
    return 0;
}

int current_set_program(
    Current *current, Program *program, const PolicyLoad *load, char *error, size_t size) {
    _cleanup_(view_unrefp) View *before = current_view(current), *draft = NULL;
    ViewBudget budget = open_budget(&current->limits, load);
    int r = 0;

    /* Made without the lock: parts that arrive later cost only their changes. */
    if (before->program != program) {
        r = make_view(current, before, before, &(ViewChange){.program = program}, &budget, &draft);
        r = judge_load(current, r, draft, &budget, error, size);
    }
    if (r < 0)
        return r;
    (void)pthread_mutex_lock(&current->publish_lock);
    r = set_program(current, program, draft ? draft : before, load, error, size);
    (void)pthread_mutex_unlock(&current->publish_lock);
    return r;
}

int current_begin(Current *current, Snapshot *snapshot, Program *program, const CelZones *zones,
    const PolicyLoad *load, char *error, size_t size) {
    const View nothing = {.zones = zones, .exemptions = current->exemptions};
    ViewBudget budget = open_budget(&current->limits, load);
    int r = make_view(current, &nothing, /* known= */ NULL,
        &(ViewChange){.snapshot = snapshot, .program = program}, &budget, &current->view);

    return judge_load(current, r, current->view, &budget, error, size);
}

void current_done(Current *current) {
    current->view = view_unref(current->view);
    (void)pthread_mutex_destroy(&current->lock);
    (void)pthread_cond_destroy(&current->exchanged);
    (void)pthread_mutex_destroy(&current->publish_lock);
}

/* --- waiting for nodes ------------------------------------------------------------------------ */

/* Returns a reference to the first view in force other than @shown, or after @limit_nsec. */
static View *wait_for_other(Current *current, const View *shown, int64_t limit_nsec) {
    const struct timespec until = deadline_in(limit_nsec);
    _unlock_ pthread_mutex_t *held = mutex_hold(&current->lock);
    int r = 0;

    while (current->view == shown && r == 0)
        r = pthread_cond_clockwait(&current->exchanged, &current->lock, CLOCK_MONOTONIC, &until);
    return view_ref(current->view);
}

static bool lacks_nodes(const Decision *decision) {
    return decision->args && decision->args->has_names && decision->summary.n_out == 0 &&
           decision->summary.n_unknown > 0;
}

static bool knows_all(const View *view, const FilterArgs *args) {
    uint32_t n_rows = args->node_set.table->n_rows;

    for (size_t i = 0; i < args->n; i++) {
        Str literal = body_span_text(args->body.ptr, args->spans[i]);
        Str name = str_of(literal.ptr + 1, literal.len - 2); /* node names have no escapes */

        if (args->rows[i] == n_rows && table_find(view->table, name) == view->table->n_rows)
            return false;
    }
    return true;
}

/* Whether no other filter waits, and the last wait did not fail a short while ago. */
static bool may_wait(NodeWait *wait, int64_t now_nsec, int64_t until_nsec) {
    int64_t not_before = atomic_load(&wait->not_before_nsec);

    return now_nsec >= not_before && atomic_compare_exchange_strong(&wait->not_before_nsec,
                                         &not_before, until_nsec + NODE_WAIT_PAUSE_NSEC);
}

View *node_wait(NodeWait *wait, Current *current, const View *view, const Decision *decision,
    int64_t limit_nsec) {
    int64_t now = clock_monotonic_nsec(), until = now + limit_nsec;
    _cleanup_(view_unrefp) View *newer = NULL;
    bool has_all = false;

    if (!lacks_nodes(decision) || !may_wait(wait, now, until))
        return NULL;
    for (; !has_all && now < until; now = clock_monotonic_nsec()) {
        View *next = wait_for_other(current, newer ? newer : view, until - now);

        view_unref(newer);
        newer = next;
        has_all = knows_all(newer, decision->args);
    }
    if (has_all)
        atomic_store(&wait->not_before_nsec, 0);
    return newer == view ? NULL : TAKE_PTR(newer);
}
