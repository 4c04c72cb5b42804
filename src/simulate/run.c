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
    Scheduler *autoscaler; /* that of an autoscaler, which tries all nodes; NULL: none */
    bool *is_added;        /* by node of the pool */
    size_t n_added;
    PendingQueue pending;
    PodEndQueue ends;
    double now;          /* seconds since the start */
    double used_seconds; /* node seconds in use */
    double wait_seconds;
    size_t n_due; /* pods that arrive at this time, RUN_BACKLOG_MIN at most */
    size_t n_looks;
    bool is_over;
    bool was_sought; /* a placed pod may satisfy terms of pending ones */
} Run;

/* --- pods on nodes ------------------------------------------------------ */

/* INT64_MAX when it does not fit. */
static int64_t moment_of(const Run *run) {
    int64_t passed = run->now < 9e9 ? (int64_t)(run->now * 1e9) : INT64_MAX, moment;

    return __builtin_add_overflow(run->options->now_nsec, passed, &moment) ? INT64_MAX : moment;
}

/* The pod as the cluster has it on @row; NO_ROW: pending. */
static Pod pod_on(const Run *run, uint32_t number, uint32_t row) {
    const Arrival *arrival = &run->input->arrivals[number];
    Pod pod = arrival->request->pod;

    pod.name = arrival->name;
    pod.uid = arrival->uid;
    pod.node_name = row == NO_ROW ? STR_NULL : run->input->table->names->names[row];
    pod.nominated_node_name = STR_NULL;
    pod.scheduled_at = row == NO_ROW ? 0 : moment_of(run) / NSEC_PER_SEC;
    pod.started_at = 0;
    return pod;
}

static int place_pod(Run *run, uint32_t number, uint32_t row) {
    const Arrival *arrival = &run->input->arrivals[number];
    PodResult *pod_result = &run->result->pods[number];
    Footprint footprint = footprint_of(arrival->request);
    Pod pod = pod_on(run, number, row);
    int r = cluster_state_add(run->cluster, row, &footprint);

    if (r == 0 && run->berth)
        r = berth_extender_add(run->berth, &pod);
    if (r == 0 && isfinite(arrival->lifetime))
        r = pod_end_queue_add(
            &run->ends, (PodEnd){.at = run->now + arrival->lifetime, .arrival = number});
    if (r < 0)
        return r;
    *pod_result =
        (PodResult){.kind = RESULT_PLACED, .row = row, .waited = (float)(run->now - arrival->at)};
    run->was_sought |= term_index_is_sought(run->input->terms, &arrival->request->terms);
    run->result->n_placed++;
    run->result->n_waited += run->now > arrival->at;
    run->wait_seconds += run->now - arrival->at;
    if (run->now - arrival->at > run->result->wait_most)
        run->result->wait_most = run->now - arrival->at;
    return 0;
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

static int settle_existing(Run *run) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < run->input->n_existing; i++) {
        const ExistingPod *existing = &run->input->existing[i];

        if (existing->is_rescheduled)
            continue;
        r = cluster_state_add(run->cluster, existing->row, &existing->footprint);
        if (r == 0 && run->berth)
            r = berth_extender_add(run->berth, existing->pod);
    }
    run->result->n_used_at_start = run->cluster->use.n_nodes;
    return r;
}

/* --- placing ------------------------------------------------------------ */

/* The request of a pending pod, as a scheduler gets it. */
static PodRequest request_of(const Run *run, uint32_t number) {
    PodRequest request = *run->input->arrivals[number].request;

    request.pod = pod_on(run, number, NO_ROW);
    return request;
}

/* A pod that was tried before is not nominated, nor one whose plugins are not all modelled. */
static bool is_nominated(const Run *run, uint32_t number) {
    const PodRequest *request = run->input->arrivals[number].request;

    return run->options->nominates && run->berth && run->n_due >= RUN_BACKLOG_MIN &&
           run->result->pods[number].kind != RESULT_PENDING && request->unmodelled == 0 &&
           request->n_claims == 0;
}

static int choose(Run *run, uint32_t number, uint32_t inspected, Choice *ret) {
    bool is_ahead = is_nominated(run, number);
    PodRequest request = request_of(run, number);
    int r;

    run->result->n_attempts++;
    scheduler_set_percentage(run->scheduler, is_ahead ? 100 : run->options->scheduler.percentage);
    r = scheduler_choose(run->scheduler, &request, moment_of(run), inspected, ret);
    run->result->n_nominated += is_ahead && r == 0 && ret->row != NO_ROW;
    return r;
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

/* 0: it stays pending; 1: it is placed; or -ENOMEM. */
static int try_pod(Run *run, uint32_t number) {
    uint32_t inspected = run->options->follows ? run->input->arrivals[number].current_row : NO_ROW;
    Choice choice = {.row = NO_ROW, .reason = REASON_GATED, .extender_score = -1};
    int r = is_gated(run, number) ? 0 : choose(run, number, inspected, &choice);

    if (r < 0)
        return r;
    if (inspected != NO_ROW && choice.reason != REASON_GATED) {
        note_followed(run, number, &choice);
        choice.row = inspected;
    }
    if (choice.row == NO_ROW) {
        run->result->pods[number].kind = RESULT_PENDING;
        run->result->pods[number].reason = choice.reason;
        return 0;
    }
    if (choice.extender_score >= 0 && inspected == NO_ROW) {
        run->result->n_scored++;
        run->result->score_sum += choice.extender_score;
    }
    r = place_pod(run, number, choice.row);
    return r < 0 ? r : 1;
}

static bool is_over(Run *run) {
    if (!run->is_over && run->n_looks++ % LOOK_EVERY == 0 && run->options->is_over)
        run->is_over = run->options->is_over(run->options->context);
    if (run->n_looks % LOOK_EVERY == 1 && run->options->progress)
        run->options->progress(run->options->context, run->result->n_reached);
    return run->is_over;
}

/* Tries pending pods again. When one fails, pods equal to it are skipped. */
static int retry(Run *run) {
    _cleanup_(map_done) Map failed = MAP_INIT;
    PendingQueue *pending = &run->pending;
    size_t n_left = 0, n_tries = 0;
    int r = 0;

    for (size_t i = 0; i < pending->n; i++) {
        uint32_t number = pending->items[i].number;
        Str key = run->input->arrivals[number].request->whole_key;
        bool is_tried = r >= 0 && n_tries < RUN_RETRIES_MAX && map_find(&failed, key) == MAP_NONE &&
                        !is_gated(run, number) && !is_over(run);
        int placed = 0;

        if (is_tried) {
            n_tries++;
            placed = try_pod(run, number);
            r = placed < 0 ? placed : r;
        }
        if (placed == 1)
            continue;
        pending->items[n_left++] = pending->items[i];
        if (is_tried && r >= 0)
            r = map_add(&failed, key, number);
    }
    pending->n = n_left;
    return r;
}

/* --- the autoscaler -------------------------------------------------------
 *
 * Karpenter and Cluster Autoscaler simulate kube-scheduler's own filters and do not call berth: of
 * its rules they know only the published ones. They add no node for a pod that some node could take
 * by these. An added node is ready at once, and removed when its last pod has ended.
 */

/* Nodes of the pool are hidden in the cluster, and not known to berth. 0, or -ENOMEM. */
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

/* Whether a node could take @request by the rules that the autoscaler knows. 0 or -ENOMEM. */
static int find_room(Run *run, const PodRequest *request, bool *ret) {
    Choice choice = {.row = NO_ROW};
    int r = scheduler_choose(run->autoscaler, request, moment_of(run), NO_ROW, &choice);

    *ret = choice.row != NO_ROW;
    return r < 0 ? r : 0;
}

static int add_node(Run *run, size_t i) {
    uint32_t row = run->input->autoscale_pool.rows[i];

    cluster_state_show(run->cluster, row);
    run->is_added[i] = true;
    run->n_added++;
    return run->berth ? berth_extender_add_node(run->berth, row) : 0;
}

static void remove_node(Run *run, size_t i) {
    uint32_t row = run->input->autoscale_pool.rows[i];

    cluster_state_hide(run->cluster, &row, 1);
    run->is_added[i] = false;
    run->n_added--;
    if (run->berth)
        berth_extender_remove_node(run->berth, row);
}

/* Adds a node if @request, which is pending, needs one that could take it. 0 or -ENOMEM. */
static int scale(Run *run, const PodRequest *request, bool *ret_is_added) {
    size_t i = 0, n = run->input->autoscale_pool.n;
    bool has_room = false;
    int r = find_room(run, request, &has_room);

    *ret_is_added = false;
    while (i < n && run->is_added[i])
        i++;
    if (r < 0 || has_room || i == n)
        return r;
    r = add_node(run, i);
    if (r == 0)
        r = find_room(run, request, ret_is_added);
    if (r == 0 && !*ret_is_added)
        remove_node(run, i);
    return r;
}

/* Adds nodes for pending pods. After each, kube-scheduler tries pending pods again. */
static int scale_up(Run *run) {
    _cleanup_(map_done) Map seen = MAP_INIT; /* keys of pods that get no node */
    int r = 0;

    for (size_t i = 0; r >= 0 && i < run->pending.n && !is_over(run);) {
        uint32_t number = run->pending.items[i].number;
        Str key = run->input->arrivals[number].request->whole_key;
        PodRequest request = request_of(run, number);
        bool is_added = false;

        if (map_find(&seen, key) != MAP_NONE || is_gated(run, number)) {
            i++;
            continue;
        }
        r = scale(run, &request, &is_added);
        if (r == 0 && is_added) {
            run->result->n_added++;
            r = retry(run);
            i = 0; /* retry() has changed the queue */
        } else if (r == 0) {
            r = map_add(&seen, key, number);
        }
    }
    return r < 0 ? r : 0;
}

/* Counts pending pods for which an autoscaler adds no node, because it sees room for them. */
static int count_not_scaled(Run *run) {
    _cleanup_(map_done) Map seen = MAP_INIT; /* by key of pods: whether there is room */
    int r = 0;

    for (size_t i = 0; r >= 0 && i < run->pending.n; i++) {
        uint32_t number = run->pending.items[i].number, known;
        Str key = run->input->arrivals[number].request->whole_key;
        PodRequest request = request_of(run, number);
        bool has_room = false;

        if (is_gated(run, number))
            continue;
        known = map_find(&seen, key);
        if (known == MAP_NONE) {
            r = find_room(run, &request, &has_room);
            if (r == 0)
                r = map_add(&seen, key, has_room);
        } else {
            has_room = known;
        }
        run->result->n_not_scaled += has_room;
    }
    return r < 0 ? r : 0;
}

/* --- time ---------------------------------------------------------------- */

static void sample(Run *run) {
    const ClusterUse *use = &run->cluster->use;
    SimulationResult *result = run->result;
    Sample sample = {
        .at = run->input->is_timed ? run->now : (double)result->n_reached,
        .n_used = use->n_nodes,
        .cpu_share = use->cpu_allocatable > 0
                         ? (double)use->cpu_requested / (double)use->cpu_allocatable
                         : 0,
        .n_pending = run->pending.n,
    };

    simulation_result_sample(result, &sample);
    if (use->n_nodes > result->n_used_most)
        result->n_used_most = use->n_nodes;
}

static void pass_time(Run *run, double to) {
    run->used_seconds += (to - run->now) * (double)run->cluster->use.n_nodes;
    run->result->added_seconds += (to - run->now) * (double)run->n_added;
    run->now = to;
}

/* INFINITY: there is none. */
static double next_event(const Run *run) {
    double at = run->ends.n > 0 ? run->ends.items[0].at : INFINITY;

    if (run->result->n_reached < run->input->n_arrivals &&
        run->input->arrivals[run->result->n_reached].at < at)
        at = run->input->arrivals[run->result->n_reached].at;
    return at;
}

static int end_pods(Run *run) {
    const AutoscalePool *pool = &run->input->autoscale_pool;
    bool has_ended = false;

    while (run->ends.n > 0 && run->ends.items[0].at <= run->now) {
        remove_pod(run, pod_end_queue_take(&run->ends).arrival);
        has_ended = true;
    }
    if (!has_ended)
        return 0;
    if (run->pending.n > 0 && retry(run) < 0)
        return -ENOMEM;
    for (size_t i = 0; run->autoscaler && i < pool->n; i++)
        if (run->is_added[i] && run->cluster->n_own[pool->rows[i]] == 0)
            remove_node(run, i);
    return 0;
}

/* Tries pending pods again, then the pods that arrive now. */
static int take_pods(Run *run) {
    SimulationResult *result = run->result;
    const SimulationInput *input = run->input;
    int r = 0;

    if (input->is_timed && run->pending.n > 0 && result->n_reached < input->n_arrivals &&
        input->arrivals[result->n_reached].at <= run->now)
        r = retry(run);
    run->n_due = 0;
    for (size_t i = result->n_reached;
         i < input->n_arrivals && input->arrivals[i].at <= run->now && run->n_due < RUN_BACKLOG_MIN;
         i++)
        run->n_due++;
    while (r >= 0 && result->n_reached < input->n_arrivals &&
           input->arrivals[result->n_reached].at <= run->now && !is_over(run)) {
        uint32_t number = (uint32_t)result->n_reached++;

        r = try_pod(run, number);
        if (r == 0)
            r = pending_queue_add(
                &run->pending, number, input->arrivals[number].request->pod.priority);
        if (!input->is_timed) {
            run->used_seconds += (double)run->cluster->use.n_nodes;
            sample(run);
        }
    }
    while (r >= 0 && run->was_sought && run->pending.n > 0 && !run->is_over) {
        run->was_sought = false;
        r = retry(run);
    }
    return r < 0 ? r : 0;
}

static int run_events(Run *run) {
    double last = run->input->has_endless ? INFINITY : run->input->last_at;
    double end = run->options->until >= 0 ? run->options->until : last;
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
        if (r == 0 && run->autoscaler && run->pending.n > 0)
            r = scale_up(run);
        sample(run);
    }
    if (r == 0 && !run->is_over && isfinite(end) && end > run->now) {
        pass_time(run, end);
        sample(run);
    }
    return r;
}

/* --- result ------------------------------------------------------------- */

static int compare_reasons(const void *a, const void *b) {
    const PendingReason *x = a, *y = b;

    if (x->n_pods != y->n_pods)
        return x->n_pods > y->n_pods ? -1 : 1;
    return str_cmp(x->text, y->text);
}

static int summarize_reasons(Run *run) {
    SimulationResult *result = run->result;
    size_t n_max = REASON_EXTENDER + run->verbs.n_reasons + 1;
    size_t *counts = ARENA_ARRAY(result->arena, size_t, n_max);

    result->reasons = ARENA_ARRAY(result->arena, PendingReason, n_max);
    if (!counts || !result->reasons)
        return -ENOMEM;
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
        if (!kept.ptr)
            return -ENOMEM;
        while (k < result->n_reasons && !str_eq(result->reasons[k].text, kept))
            k++;
        result->n_reasons += k == result->n_reasons;
        result->reasons[k].text = kept;
        result->reasons[k].n_pods += counts[i];
    }
    qsort(result->reasons, result->n_reasons, sizeof(*result->reasons), compare_reasons);
    return 0;
}

static int summarize(Run *run) {
    SimulationResult *result = run->result;
    double over = run->input->is_timed ? run->now : (double)result->n_reached;

    result->is_broken_off = run->is_over;
    result->end = run->now;
    result->n_pending = run->pending.n;
    result->n_used_mean = over > 0 ? run->used_seconds / over : (double)run->cluster->use.n_nodes;
    result->wait_mean = result->n_placed > 0 ? run->wait_seconds / (double)result->n_placed : 0;
    result->n_added_left = run->n_added;
    if (run->autoscaler && count_not_scaled(run) < 0)
        return -ENOMEM;
    simulation_result_measure(result, run->cluster, run->options->shapes, run->options->n_shapes);
    return summarize_reasons(run);
}

static void run_done(Run *run) {
    scheduler_free(run->autoscaler);
    free(run->is_added);
    scheduler_free(run->scheduler);
    berth_extender_free(run->berth);
    cluster_state_free(run->cluster);
    pending_queue_done(&run->pending);
    pod_end_queue_done(&run->ends);
}

int run_simulation(const SimulationInput *input, const BerthExtenderOptions *berth,
    const RunOptions *options, SimulationResult **ret) {
    _cleanup_(simulation_result_freep) SimulationResult *result =
        simulation_result_new(input->n_arrivals);
    _cleanup_(run_done) Run run = {.input = input, .options = options, .result = result};
    BerthExtenderOptions own = berth ? *berth : (BerthExtenderOptions){0};
    int r;

    if (!result)
        return -ENOMEM;
    r = cluster_state_new(input->table, input->terms, &run.cluster);
    if (r == 0)
        cluster_state_hide(run.cluster, input->autoscale_pool.rows, input->autoscale_pool.n);
    own.related = snapshot_related(input->snapshot);
    if (r == 0 && berth)
        r = berth_extender_new(&own, run.cluster, &run.berth);
    if (r == 0 && berth)
        run.verbs = berth_extender_verbs(run.berth);
    if (r == 0)
        r = settle_existing(&run);
    if (r == 0)
        r = scheduler_new(&options->scheduler, run.cluster, run.verbs, &run.scheduler);
    if (r == 0 && input->autoscale_pool.n > 0)
        r = start_autoscaler(&run);
    if (r == 0)
        r = run_events(&run);
    if (r == 0)
        r = summarize(&run);
    if (r == 0)
        *ret = TAKE_PTR(result);
    return r;
}
