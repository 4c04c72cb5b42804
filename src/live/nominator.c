/* The thread that plans nominations, and hands them to the watcher. */

#include "live/nominator.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread.h"
#include "live/current.h"
#include "scheduler/placement-plan.h"
#include "json/fields.h"

#define ROUND_BUDGET ((size_t)64 * 1024 * 1024)
#define CONDITION_BUDGET ((size_t)1024 * 1024)
#define IDLE_NSEC NSEC_PER_SEC         /* between two looks without a backlog */
#define BUSY_NSEC (50 * NSEC_PER_MSEC) /* with one */
#define QUEUE_NSEC (2 * NSEC_PER_MSEC) /* until a patch is answered */
#define WITHDRAW_MAX 64u               /* at a time, with patches that wait for an answer */
#define LATENCY_DEFAULT (20 * NSEC_PER_MSEC)

struct Nominator {
    NominatorOptions options;
    ClusterWatcher *watcher;
    Images *images; /* of the nodes, kept from round to round; its thread's */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t woken;
    bool is_ending;
    Nominations *nominations;
    Arena *scratch; /* of one condition */
    NominatorFigures figures;
};

Nominator *nominator_new(const NominatorOptions *options) {
    _cleanup_(nominator_freep) Nominator *nominator = calloc(1, sizeof(*nominator));

    if (!nominator)
        return NULL;
    nominator->options = *options;
    pthread_mutex_init(&nominator->lock, NULL);
    deadline_cond_init(&nominator->woken);
    nominator->nominations = nominations_new(options->log);
    nominator->scratch = arena_new(CONDITION_BUDGET);
    nominator->images = images_new(/* table= */ NULL);
    return nominator->nominations && nominator->scratch && nominator->images ? TAKE_PTR(nominator)
                                                                             : NULL;
}

void nominator_stop(Nominator *nominator) {
    pthread_mutex_lock(&nominator->lock);
    nominator->is_ending = true;
    pthread_cond_signal(&nominator->woken);
    pthread_mutex_unlock(&nominator->lock);
    if (nominator->has_thread)
        thread_join(nominator->thread);
    nominator->has_thread = false;
}

Nominator *nominator_free(Nominator *nominator) {
    if (!nominator)
        return NULL;
    nominator_stop(nominator);
    nominations_free(nominator->nominations);
    arena_free(nominator->scratch);
    images_free(nominator->images);
    pthread_cond_destroy(&nominator->woken);
    pthread_mutex_destroy(&nominator->lock);
    free(nominator);
    return NULL;
}

/* --- what happens in the cluster -------------------------------------------------------------- */

typedef struct StatusCondition {
    Str type, status;
} StatusCondition;

static void read_condition(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"type", JSON_FIELD_TEXT, offsetof(StatusCondition, type)},
        {"status", JSON_FIELD_TEXT, offsetof(StatusCondition, status)},
    };
    StatusCondition condition = {0};
    bool *was_tried = target;

    JSON_READ_FIELDS(reader, arena, fields, &condition);
    *was_tried |= str_is(condition.type, "PodScheduled") && str_is(condition.status, "False");
}

typedef struct TriedPod {
    bool was_tried;
    Str workload, group; /* JSON of what makes it a member of a group */
} TriedPod;

/* kube-scheduler has tried it in vain or waits for its gates; or it places it with others. */
static bool was_tried(Nominator *nominator, Str text) {
    static const JsonField fields[] = {
        {"status.conditions", JSON_FIELD_ARRAY, offsetof(TriedPod, was_tried), read_condition},
        {"spec.workloadRef", JSON_FIELD_RAW, offsetof(TriedPod, workload)},
        {"spec.schedulingGroup", JSON_FIELD_RAW, offsetof(TriedPod, group)},
    };
    TriedPod pod = {0};
    JsonReader reader;

    arena_reset(nominator->scratch);
    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, nominator->scratch, fields, &pod);
    return json_error(&reader) != JSON_OK || pod.was_tried || !str_is_empty(pod.workload) ||
           !str_is_empty(pod.group);
}

static bool is_managed(const Nominator *nominator, const Pod *pod) {
    for (size_t i = 0; i < nominator->options.n_managed; i++)
        if (resources_find(&pod->requests, nominator->options.managed[i]))
            return true;
    return nominator->options.n_managed == 0;
}

void nominator_note_pod(Nominator *nominator, const Pod *pod, Str text) {
    bool is_pending = str_is_empty(pod->node_name) && !pod->is_terminal;
    size_t n_free;

    pthread_mutex_lock(&nominator->lock);
    nominations_see(nominator->nominations, pod, text,
        is_pending && (!is_managed(nominator, pod) || was_tried(nominator, text)),
        clock_monotonic_nsec());
    n_free = nominations_figures(nominator->nominations).n_free;
    if (is_pending && n_free > 0 && n_free % NOMINATION_BACKLOG_MIN == 0)
        pthread_cond_signal(&nominator->woken);
    pthread_mutex_unlock(&nominator->lock);
}

void nominator_note_deleted(Nominator *nominator, Str uid) {
    pthread_mutex_lock(&nominator->lock);
    nominations_forget(nominator->nominations, uid);
    pthread_mutex_unlock(&nominator->lock);
}

void nominator_note_list(Nominator *nominator, bool has_ended) {
    pthread_mutex_lock(&nominator->lock);
    if (has_ended)
        nominations_end_list(nominator->nominations);
    else
        nominations_begin_list(nominator->nominations);
    pthread_mutex_unlock(&nominator->lock);
}

void nominator_note_filter(Nominator *nominator, const Pod *pod, size_t n_nodes, int64_t now_nsec) {
    pthread_mutex_lock(&nominator->lock);
    nominations_note_filter(
        nominator->nominations, pod->uid, pod->scheduler_name, n_nodes, now_nsec);
    pthread_mutex_unlock(&nominator->lock);
}

/* @record names the pod, and its outcome. */
static void log_choice(Nominator *nominator, NominationRecord record, const PlannedNode *planned) {
    record.node = planned->node;
    record.at_nsec = clock_wall_nsec();
    record.n_feasible = planned->n_feasible;
    record.n_best = planned->n_best;
    nomination_log_add(nominator->options.log, &record);
}

bool nominator_find_plan(Nominator *nominator, Str uid, Arena *arena, PlannedNode *ret) {
    bool has_plan;

    pthread_mutex_lock(&nominator->lock);
    has_plan =
        nominations_find_plan(nominator->nominations, uid, clock_monotonic_nsec(), arena, ret);
    pthread_mutex_unlock(&nominator->lock);
    return has_plan;
}

void nominator_note_returned(
    Nominator *nominator, const Decision *decision, const PlannedNode *planned) {
    pthread_mutex_lock(&nominator->lock);
    nominations_note_returned(nominator->nominations, decision->pod_uid);
    pthread_mutex_unlock(&nominator->lock);
    if (!planned->is_nominated)
        log_choice(nominator,
            (NominationRecord){.namespace = decision->pod_namespace,
                .name = decision->pod_name,
                .uid = decision->pod_uid,
                .outcome = NOMINATION_RETURNED},
            planned);
}

NominatorFigures nominator_figures(Nominator *nominator) {
    NominatorFigures figures;

    pthread_mutex_lock(&nominator->lock);
    figures = nominator->figures;
    figures.pods = nominations_figures(nominator->nominations);
    pthread_mutex_unlock(&nominator->lock);
    return figures;
}

/* --- a round -----------------------------------------------------------------------------------
 */

typedef struct Round {
    Nominator *nominator;
    Arena *arena;
    View *view;
    FreePod *pods;
    size_t n;
    PlacementPlan *plan;
} Round;

static int64_t thread_cpu_nsec(void) {
    struct timespec time = {0};

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

/* From the choice to when kube-scheduler knows of it. */
static int64_t find_lead(const WriteFigures *writes) {
    int64_t latency = writes->latency_nsec > 0 ? writes->latency_nsec : LATENCY_DEFAULT;

    return 2 * latency + latency * (int64_t)writes->n_unanswered / NOMINATION_CALLS +
           NOMINATOR_MARGIN_MSEC * NSEC_PER_MSEC;
}

/* False: it is to end. */
static bool wait_for_queue(Nominator *nominator, WriteFigures *writes) {
    bool is_ending = false;

    for (;;) {
        *writes = watcher_write_figures(nominator->watcher, WATCHER_NOMINATIONS);
        if (is_ending || writes->n_unanswered < NOMINATOR_QUEUE_MAX)
            return !is_ending;
        pthread_mutex_lock(&nominator->lock);
        if (!nominator->is_ending) {
            struct timespec until = deadline_in(QUEUE_NSEC);

            (void)pthread_cond_timedwait(&nominator->woken, &nominator->lock, &until);
        }
        is_ending = nominator->is_ending;
        pthread_mutex_unlock(&nominator->lock);
    }
}

static void leave(Nominator *nominator, Str uid, bool is_unmodelled) {
    pthread_mutex_lock(&nominator->lock);
    nominations_leave(nominator->nominations, uid);
    nominator->figures.n_unmodelled += is_unmodelled;
    pthread_mutex_unlock(&nominator->lock);
}

static void plan(Nominator *nominator, const FreePod *pod, const PlannedNode *planned) {
    pthread_mutex_lock(&nominator->lock);
    nominations_plan(nominator->nominations, pod->uid, planned, clock_monotonic_nsec());
    pthread_mutex_unlock(&nominator->lock);
}

/* Whether the pod is nominated for the planned node now. */
static bool claim(Nominator *nominator, const FreePod *pod, const PlannedNode *planned,
    const WriteFigures *writes, bool *ret_over) {
    int64_t now = clock_monotonic_nsec();
    bool is_ours;

    pthread_mutex_lock(&nominator->lock);
    *ret_over = nominator->is_ending ||
                nominations_decide(nominator->nominations, writes, now) != NOMINATOR_NOMINATES;
    is_ours = !*ret_over && !nominations_avoids(nominator->nominations, planned->node, now) &&
              nominations_claim(nominator->nominations, pod, planned->node, find_lead(writes), now);
    if (is_ours)
        log_choice(nominator,
            (NominationRecord){.namespace = pod->namespace, .name = pod->name, .uid = pod->uid},
            planned);
    pthread_mutex_unlock(&nominator->lock);
    return is_ours;
}

/* False: the round is over. */
static bool nominate(Round *round, size_t i) {
    Nominator *nominator = round->nominator;
    const FreePod *pod = &round->pods[i];
    WriteFigures writes;
    Choice choice = {.row = NO_ROW};
    PlannedNode planned;
    bool is_over;

    if (!placement_plan_pod(round->plan, i)->is_modelled) {
        leave(nominator, pod->uid, /* is_unmodelled= */ true);
        return true;
    }
    if (placement_plan_choose(round->plan, i, clock_wall_nsec(), &choice) < 0)
        return false;
    if (choice.row == NO_ROW) {
        leave(nominator, pod->uid, /* is_unmodelled= */ false);
        return true;
    }
    planned = (PlannedNode){
        .node = table_node(round->view->table, choice.row)->name,
        .n_feasible = choice.n_feasible,
        .n_best = choice.n_best,
    };
    plan(nominator, pod, &planned);
    if (pod->is_near)
        return true;
    if (!wait_for_queue(nominator, &writes) ||
        !watcher_may_write(nominator->watcher, WATCHER_NOMINATIONS))
        return false;
    if (claim(nominator, pod, &planned, &writes, &is_over) &&
        !watcher_nominate(nominator->watcher, &(Nomination){.namespace = pod->namespace,
                                                  .name = pod->name,
                                                  .uid = pod->uid,
                                                  .node = planned.node}))
        leave(nominator, pod->uid, /* is_unmodelled= */ false);
    return !is_over;
}

/* Whether there is a round, with pods and a view. */
static bool begin_round(Round *round) {
    Nominator *nominator = round->nominator;
    WriteFigures writes = watcher_write_figures(nominator->watcher, WATCHER_NOMINATIONS);
    int64_t now = clock_monotonic_nsec();

    round->pods = ARENA_ARRAY(round->arena, FreePod, NOMINATOR_ROUND_MAX);
    pthread_mutex_lock(&nominator->lock);
    if (round->pods && nominations_decide(nominator->nominations, &writes, now) != NOMINATOR_IDLE)
        round->n = nominations_list(nominator->nominations, find_lead(&writes), now,
            NOMINATOR_ROUND_MAX, round->arena, round->pods);
    nominator->figures.n_rounds += round->n > 0;
    pthread_mutex_unlock(&nominator->lock);
    if (round->n == 0)
        return false;
    round->view = current_view(nominator->options.current);
    return round->view->snapshot && !round->view->facts.is_late;
}

static bool make_plan(Round *round) {
    Str *texts = ARENA_ARRAY(round->arena, Str, round->n);

    for (size_t i = 0; texts && i < round->n; i++)
        texts[i] = round->pods[i].text;
    images_follow(round->nominator->images, round->view->snapshot);
    return texts &&
           placement_plan_new(round->view, texts, round->n, round->nominator->options.weight,
               round->nominator->images, &round->plan) == 0;
}

static void withdraw(Nominator *nominator, Arena *arena) {
    Nomination expired[WITHDRAW_MAX];
    size_t n_queued = watcher_write_figures(nominator->watcher, WATCHER_NOMINATIONS).n_unanswered;
    size_t max = n_queued < WITHDRAW_MAX ? WITHDRAW_MAX - n_queued : 0;
    size_t n;

    pthread_mutex_lock(&nominator->lock);
    n = nominations_expire(nominator->nominations, clock_monotonic_nsec(), max, arena, expired);
    pthread_mutex_unlock(&nominator->lock);
    for (size_t i = 0; i < n; i++)
        (void)watcher_nominate(nominator->watcher, &expired[i]);
}

/* Whether there is a backlog. */
static bool run_round(Nominator *nominator, Arena *arena) {
    Round round = {.nominator = nominator, .arena = arena};
    int64_t begun = thread_cpu_nsec();
    bool has_backlog;
    size_t i = 0;

    arena_reset(arena);
    withdraw(nominator, arena);
    if (watcher_may_write(nominator->watcher, WATCHER_NOMINATIONS) && begin_round(&round) &&
        make_plan(&round))
        while (i < round.n && nominate(&round, i))
            i++;
    placement_plan_free(round.plan);
    view_unref(round.view);
    pthread_mutex_lock(&nominator->lock);
    nominator->figures.round_nsec += thread_cpu_nsec() - begun;
    has_backlog = nominations_figures(nominator->nominations).state != NOMINATOR_IDLE;
    pthread_mutex_unlock(&nominator->lock);
    return has_backlog;
}

static void *run(void *context) {
    Nominator *nominator = context;
    _cleanup_(arena_freep) Arena *arena = arena_new(ROUND_BUDGET);
    bool is_ending = !arena;

    while (!is_ending) {
        bool is_busy = run_round(nominator, arena);
        struct timespec until = deadline_in(is_busy ? BUSY_NSEC : IDLE_NSEC);

        if (!is_busy)
            images_clear(nominator->images);
        pthread_mutex_lock(&nominator->lock);
        if (!nominator->is_ending)
            (void)pthread_cond_timedwait(&nominator->woken, &nominator->lock, &until);
        is_ending = nominator->is_ending;
        pthread_mutex_unlock(&nominator->lock);
    }
    return NULL;
}

int nominator_start(Nominator *nominator, ClusterWatcher *watcher) {
    int r;

    nominator->watcher = watcher;
    r = thread_start(&nominator->thread, "nominator", run, nominator);
    nominator->has_thread = r == 0;
    return r;
}
