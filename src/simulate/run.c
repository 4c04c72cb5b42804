/* The event loop of a simulation: pods arrive, are placed, and end; nodes are added and removed. */

#include "simulate/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/nsec.h"
#include "scheduler/cluster-state.h"
#include "scheduler/queues.h"

#define LOOK_EVERY 64u /* pods between two calls of is_over() */

typedef struct Run {
    const SimulationInput *input;
    const RunOptions *options;
    SimulationResult *result;
    ClusterState *cluster;
    BerthExtender *berth; /* NULL: no policy */
    SchedulerExtender verbs;
    Scheduler *scheduler;
    Scheduler *autoscaler; /* an autoscaler's own model, which tries all nodes; NULL: none */
    bool *is_added;        /* by node of the pool */
    size_t n_added;
    PendingQueue pending;
    PodEndQueue ends;
    double now;          /* seconds since the start */
    double used_seconds; /* node seconds in use */
    double wait_seconds;
    size_t n_due; /* pods that arrive at this time, RUN_BACKLOG_MIN at most */
    size_t n_looks;
    bool is_over;    /* stopped by the caller, or by an error */
    bool was_sought; /* a placed pod may satisfy terms of pending ones */
    int error;       /* 0, or -ENOMEM: every loop ends */
} Run;

static void note(Run *run, int r) {
    if (r < 0) {
        run->error = r;
        run->is_over = true;
    }
}

/* --- pods on nodes ------------------------------------------------------ */

/* The simulated time since 1970; INT64_MAX when it does not fit. */
static int64_t now_nsec_of(const Run *run) {
    int64_t passed = run->now < 9e9 ? (int64_t)(run->now * 1e9) : INT64_MAX, moment;

    return __builtin_add_overflow(run->options->now_nsec, passed, &moment) ? INT64_MAX : moment;
}

/* The pod as it is in the cluster on @row; NO_ROW: pending. */
static Pod pod_on(const Run *run, uint32_t number, uint32_t row) {
    const Arrival *arrival = &run->input->arrivals[number];
    Pod pod = arrival->request->pod;

    pod.name = arrival->name;
    pod.uid = arrival->uid;
    pod.node_name = row == NO_ROW ? STR_NULL : run->input->table->names->names[row];
    pod.nominated_node_name = STR_NULL;
    pod.scheduled_at = row == NO_ROW ? 0 : now_nsec_of(run) / NSEC_PER_SEC;
    pod.started_at = 0;
    return pod;
}

static void place_pod(Run *run, uint32_t number, uint32_t row) {
    const Arrival *arrival = &run->input->arrivals[number];
    SimulationResult *result = run->result;
    Footprint footprint = footprint_of(arrival->request);
    Pod pod = pod_on(run, number, row);
    double waited = run->now - arrival->at;

    note(run, cluster_state_add(run->cluster, row, &footprint));
    if (run->berth)
        note(run, berth_extender_add(run->berth, &pod));
    if (isfinite(arrival->lifetime))
        note(run, pod_end_queue_add(&run->ends, result->arena,
                      (PodEnd){.at = run->now + arrival->lifetime, .arrival = number}));
    result->pods[number] = (PodResult){.kind = RESULT_PLACED, .row = row, .waited = (float)waited};
    run->was_sought |= term_index_is_sought(run->input->terms, &arrival->request->terms);
    result->n_placed++;
    result->n_waited += waited > 0;
    run->wait_seconds += waited;
    result->wait_most = fmax(result->wait_most, waited);
}

static void remove_pod(Run *run, uint32_t number) {
    PodResult *pod_result = &run->result->pods[number];
    Footprint footprint = footprint_of(run->input->arrivals[number].request);
    Pod pod = pod_on(run, number, pod_result->row);

    cluster_state_remove(run->cluster, pod_result->row, &footprint);
    pod_result->kind = RESULT_ENDED;
    run->result->n_ended++;
    if (run->berth)
        berth_extender_remove(run->berth, &pod);
}

static void settle_existing(Run *run) {
    for (size_t i = 0; i < run->input->n_existing; i++) {
        const ExistingPod *existing = &run->input->existing[i];

        if (existing->is_rescheduled)
            continue;
        note(run, cluster_state_add(run->cluster, existing->row, &existing->footprint));
        if (run->berth)
            note(run, berth_extender_add(run->berth, existing->pod));
    }
    run->result->n_used_at_start = run->cluster->n_used;
}

/* --- placing ------------------------------------------------------------ */

/* The request of a pending pod, as a scheduler gets it. */
static PodRequest request_of(const Run *run, uint32_t number) {
    PodRequest request = *run->input->arrivals[number].request;

    request.pod = pod_on(run, number, NO_ROW);
    return request;
}

/* Whether berth nominates a node: only at the first attempt, and if all plugins are modelled. */
static bool is_nominated(const Run *run, uint32_t number) {
    const PodRequest *request = run->input->arrivals[number].request;

    return run->options->nominates && run->berth && run->n_due >= RUN_BACKLOG_MIN &&
           run->result->pods[number].kind != RESULT_PENDING && request->unmodelled == 0 &&
           request->n_claims == 0;
}

static void choose(Run *run, uint32_t number, uint32_t inspected, Choice *ret) {
    bool is_ahead = is_nominated(run, number);
    PodRequest request = request_of(run, number);

    run->result->n_attempts++;
    scheduler_set_percentage(run->scheduler, is_ahead ? 100 : run->options->scheduler.percentage);
    note(run, scheduler_choose(run->scheduler, &request, now_nsec_of(run), inspected, ret));
    run->result->n_nominated += is_ahead && ret->row != NO_ROW;
}

static void note_followed(Run *run, uint32_t number, const Choice *choice) {
    SimulationResult *result = run->result;

    if (run->input->arrivals[number].request->unmodelled != 0) {
        result->n_unmodelled++;
        return;
    }
    result->n_followed++;
    result->n_feasible += choice->is_feasible;
    result->n_best += choice->is_best;
    if (!choice->is_best && result->n_mismatches < SIMULATION_MISMATCHES_MAX)
        result->mismatches[result->n_mismatches++] =
            (FollowMismatch){.arrival = number, .choice = *choice};
}

/* kube-scheduler does not try a pod before its gates are removed. */
static bool is_gated(const Run *run, uint32_t number) {
    return run->input->arrivals[number].request->pod.details->n_scheduling_gates > 0;
}

/* Returns false if it stays pending. */
static bool try_pod(Run *run, uint32_t number) {
    uint32_t inspected = run->options->follows ? run->input->arrivals[number].current_row : NO_ROW;
    Choice choice = {.row = NO_ROW, .reason = REASON_GATED, .extender_score = -1};

    if (!is_gated(run, number))
        choose(run, number, inspected, &choice);
    if (inspected != NO_ROW && choice.reason != REASON_GATED) {
        note_followed(run, number, &choice);
        choice.row = inspected;
    }
    if (choice.row == NO_ROW || run->error) {
        run->result->pods[number].kind = RESULT_PENDING;
        run->result->pods[number].reason = choice.reason;
        return false;
    }
    if (choice.extender_score >= 0 && inspected == NO_ROW) {
        run->result->n_scored++;
        run->result->score_sum += choice.extender_score;
    }
    place_pod(run, number, choice.row);
    return true;
}

static bool is_over(Run *run) {
    if (!run->is_over && run->n_looks++ % LOOK_EVERY == 0 && run->options->is_over)
        run->is_over = run->options->is_over();
    if (run->n_looks % LOOK_EVERY == 1 && run->options->progress)
        run->options->progress(run->result->n_reached, run->input->n_arrivals);
    return run->is_over;
}

/* Tries pending pods again. When one fails, pods equal to it are skipped. */
static void retry(Run *run) {
    _cleanup_(map_done) Map failed = MAP_INIT;
    PendingQueue *pending = &run->pending;
    size_t n_left = 0, n_tries = 0;

    for (size_t i = 0; i < pending->n; i++) {
        uint32_t number = pending->items[i].number;
        Str key = run->input->arrivals[number].request->whole_key;
        bool is_tried = n_tries < RUN_RETRIES_MAX && map_find(&failed, key) == MAP_NONE &&
                        !is_gated(run, number) && !is_over(run);

        n_tries += is_tried;
        if (is_tried && try_pod(run, number))
            continue;
        pending->items[n_left++] = pending->items[i];
        if (is_tried)
            note(run, map_add(&failed, key, number));
    }
    pending->n = n_left;
}

/* --- the autoscaler -------------------------------------------------------
 *
 * Karpenter and Cluster Autoscaler simulate kube-scheduler's own filters and do not call berth: of
 * its rules they know only the published ones. If some node could take a pod by these, they add no
 * node for it. An added node is ready at once, and removed when its last pod has ended.
 */

/* The nodes of the pool are still hidden in the cluster and unknown to berth. 0, or -ENOMEM. */
static int start_autoscaler(Run *run) {
    SchedulerOptions options = run->options->scheduler;
    SchedulerExtender published = {0};

    run->is_added = calloc(run->input->autoscale_pool.n, sizeof(bool));
    if (!run->is_added)
        return -ENOMEM;
    options.percentage = 100;
    if (run->berth)
        published = berth_extender_published(run->berth);
    return scheduler_new(&options, run->cluster, published, &run->autoscaler);
}

/* Whether a node could take @request by the rules that the autoscaler knows. */
static bool has_room(Run *run, const PodRequest *request) {
    Choice choice = {.row = NO_ROW};

    note(run, scheduler_choose(run->autoscaler, request, now_nsec_of(run), NO_ROW, &choice));
    return choice.row != NO_ROW;
}

static void add_node(Run *run, size_t i) {
    uint32_t row = run->input->autoscale_pool.rows[i];

    cluster_state_show(run->cluster, row);
    run->is_added[i] = true;
    run->n_added++;
    if (run->berth)
        note(run, berth_extender_add_node(run->berth, row));
}

static void remove_node(Run *run, size_t i) {
    uint32_t row = run->input->autoscale_pool.rows[i];

    cluster_state_hide(run->cluster, &row, 1);
    run->is_added[i] = false;
    run->n_added--;
    if (run->berth)
        berth_extender_remove_node(run->berth, row);
}

/* Adds a node if no present node could take @request, which is pending, and the new one can. */
static bool scale(Run *run, const PodRequest *request) {
    size_t i = 0, n = run->input->autoscale_pool.n;

    while (i < n && run->is_added[i])
        i++;
    if (has_room(run, request) || i == n || run->error)
        return false;
    add_node(run, i);
    if (has_room(run, request))
        return true;
    remove_node(run, i);
    return false;
}

/* Adds nodes for pending pods. After each, kube-scheduler tries pending pods again. */
static void scale_up(Run *run) {
    _cleanup_(map_done) Map seen = MAP_INIT; /* keys of pods that get no node */

    for (size_t i = 0; i < run->pending.n && !is_over(run);) {
        uint32_t number = run->pending.items[i].number;
        Str key = run->input->arrivals[number].request->whole_key;
        PodRequest request = request_of(run, number);

        if (map_find(&seen, key) != MAP_NONE || is_gated(run, number)) {
            i++;
        } else if (scale(run, &request)) {
            run->result->n_added++;
            retry(run);
            i = 0; /* retry() has changed the queue */
        } else {
            note(run, map_add(&seen, key, number));
        }
    }
}

/* Counts pending pods for which an autoscaler adds no node, because it sees room for them. */
static void count_not_scaled(Run *run) {
    _cleanup_(map_done) Map seen = MAP_INIT; /* by key of pods: whether there is room */

    for (size_t i = 0; !run->error && i < run->pending.n; i++) {
        uint32_t number = run->pending.items[i].number, known;
        Str key = run->input->arrivals[number].request->whole_key;
        PodRequest request = request_of(run, number);

        if (is_gated(run, number))
            continue;
        known = map_find(&seen, key);
        if (known == MAP_NONE) {
            known = has_room(run, &request);
            note(run, map_add(&seen, key, known));
        }
        run->result->n_not_scaled += known;
    }
}

/* --- time ---------------------------------------------------------------- */

static void note_use(Run *run) {
    if (run->cluster->n_used > run->result->n_used_most)
        run->result->n_used_most = run->cluster->n_used;
}

static void pass_time(Run *run, double to) {
    run->used_seconds += (to - run->now) * (double)run->cluster->n_used;
    run->result->added_seconds += (to - run->now) * (double)run->n_added;
    run->now = to;
}

/* The time of the next event; INFINITY: there is none. */
static double next_event(const Run *run) {
    double at = run->ends.n > 0 ? run->ends.items[0].at : INFINITY;

    if (run->result->n_reached < run->input->n_arrivals &&
        run->input->arrivals[run->result->n_reached].at < at)
        at = run->input->arrivals[run->result->n_reached].at;
    return at;
}

static void end_pods(Run *run) {
    const AutoscalePool *pool = &run->input->autoscale_pool;
    bool has_ended = false;

    while (run->ends.n > 0 && run->ends.items[0].at <= run->now) {
        remove_pod(run, pod_end_queue_take(&run->ends).arrival);
        has_ended = true;
    }
    if (!has_ended)
        return;
    if (run->pending.n > 0)
        retry(run);
    for (size_t i = 0; run->autoscaler && i < pool->n; i++)
        if (run->is_added[i] && run->cluster->n_own[pool->rows[i]] == 0)
            remove_node(run, i);
}

/* Whether there is an arrival @i, and its time has come. */
static bool has_arrived(const Run *run, size_t i) {
    return i < run->input->n_arrivals && run->input->arrivals[i].at <= run->now;
}

/* Tries pending pods again, then the pods that arrive now. */
static void take_pods(Run *run) {
    SimulationResult *result = run->result;
    const SimulationInput *input = run->input;

    if (input->is_timed && run->pending.n > 0 && has_arrived(run, result->n_reached))
        retry(run);
    run->n_due = 0;
    while (run->n_due < RUN_BACKLOG_MIN && has_arrived(run, result->n_reached + run->n_due))
        run->n_due++;
    while (has_arrived(run, result->n_reached) && !is_over(run)) {
        uint32_t number = (uint32_t)result->n_reached++;

        if (!try_pod(run, number))
            note(run, pending_queue_add(&run->pending, result->arena, number,
                          input->arrivals[number].request->pod.priority));
        if (!input->is_timed) {
            run->used_seconds += (double)run->cluster->n_used;
            note_use(run);
        }
    }
    while (run->was_sought && run->pending.n > 0 && !run->is_over) {
        run->was_sought = false;
        retry(run);
    }
}

static void run_events(Run *run) {
    double last = run->input->has_endless ? INFINITY : run->input->last_at;
    double end = run->options->until >= 0 ? run->options->until : last;
    double at;

    note_use(run);
    while (!run->is_over && isfinite(at = next_event(run)) && at <= end) {
        pass_time(run, at);
        end_pods(run);
        take_pods(run);
        if (run->autoscaler && run->pending.n > 0)
            scale_up(run);
        note_use(run);
    }
    if (!run->is_over && isfinite(end) && end > run->now)
        pass_time(run, end);
}

/* --- result ------------------------------------------------------------- */

static int compare_reasons(const void *a, const void *b) {
    const PendingReason *x = a, *y = b;

    if (x->n_pods != y->n_pods)
        return x->n_pods > y->n_pods ? -1 : 1;
    return str_cmp(x->text, y->text);
}

static void summarize_reasons(Run *run) {
    SimulationResult *result = run->result;
    size_t n_max = REASON_EXTENDER + run->verbs.n_reasons + 1;
    size_t *counts = ARENA_ARRAY(result->arena, size_t, n_max);

    result->reasons = ARENA_ARRAY(result->arena, PendingReason, n_max);
    if (!counts || !result->reasons) {
        note(run, -ENOMEM);
        return;
    }
    for (size_t i = 0; i < run->pending.n; i++) {
        SchedulingReason reason = result->pods[run->pending.items[i].number].reason;

        counts[reason < n_max ? reason : n_max - 1]++;
    }
    for (size_t i = 0; i < n_max; i++) {
        _cleanup_(buf_done) Buf text = BUF_INIT(4096);
        size_t k = 0;
        Str kept;

        if (counts[i] == 0)
            continue;
        scheduling_reason_print(run->scheduler, (SchedulingReason)i, &text);
        kept = arena_copy(result->arena, buf_str(&text));
        while (k < result->n_reasons && !str_eq(result->reasons[k].text, kept))
            k++;
        result->n_reasons += k == result->n_reasons;
        result->reasons[k].text = kept;
        result->reasons[k].n_pods += counts[i];
    }
    qsort(result->reasons, result->n_reasons, sizeof(*result->reasons), compare_reasons);
    note(run, arena_has_failed(result->arena) ? -ENOMEM : 0);
}

static void summarize(Run *run) {
    SimulationResult *result = run->result;
    double over = run->input->is_timed ? run->now : (double)result->n_reached;

    result->is_broken_off = run->is_over;
    result->end = run->now;
    result->n_pending = run->pending.n;
    result->n_used_mean = over > 0 ? run->used_seconds / over : (double)run->cluster->n_used;
    result->wait_mean = result->n_placed > 0 ? run->wait_seconds / (double)result->n_placed : 0;
    result->n_added_left = run->n_added;
    if (run->autoscaler)
        count_not_scaled(run);
    simulation_result_measure(result, run->cluster, run->options->shapes, run->options->n_shapes);
    summarize_reasons(run);
}

static void run_done(Run *run) {
    scheduler_free(run->autoscaler);
    free(run->is_added);
    scheduler_free(run->scheduler);
    berth_extender_free(run->berth);
    cluster_state_free(run->cluster);
}

int run_simulation(const SimulationInput *input, const ViewParts *berth, const RunOptions *options,
    SimulationResult **ret) {
    _cleanup_(simulation_result_freep) SimulationResult *result =
        simulation_result_new(input->n_arrivals);
    _cleanup_(run_done) Run run = {.input = input, .options = options, .result = result};
    int r;

    if (!result)
        return -ENOMEM;
    r = cluster_state_new(input->table, input->terms, &run.cluster);
    if (r == 0)
        cluster_state_hide(run.cluster, input->autoscale_pool.rows, input->autoscale_pool.n);
    if (r == 0 && berth)
        r = berth_extender_new(berth, snapshot_related(input->snapshot), run.cluster, &run.berth);
    if (r == 0 && berth)
        run.verbs = berth_extender_verbs(run.berth);
    if (r == 0)
        settle_existing(&run);
    if (r == 0)
        r = scheduler_new(&options->scheduler, run.cluster, run.verbs, &run.scheduler);
    if (r == 0 && input->autoscale_pool.n > 0)
        r = start_autoscaler(&run);
    if (r < 0)
        return r;
    run_events(&run);
    summarize(&run);
    if (run.error == 0)
        *ret = TAKE_PTR(result);
    return run.error;
}
