/* Plans nominations on its own thread, and passes them to the watcher's write queue. */

#include "live/nominator.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "live/bypass.h"
#include "live/current.h"
#include "live/live.h"
#include "scheduler/placement-plan.h"
#include "json/fields.h"

#define ROUND_BUDGET ((size_t)64 * 1024 * 1024)
#define CONDITION_BUDGET ((size_t)1024 * 1024)
#define IDLE_NSEC NSEC_PER_SEC         /* pause after a round without a backlog */
#define BUSY_NSEC (50 * NSEC_PER_MSEC) /* ... and with one */
#define QUEUE_NSEC (2 * NSEC_PER_MSEC) /* pause while the queue is full */
#define WITHDRAW_MAX 64u               /* withdrawals and unanswered patches together */
#define FIELD_MANAGER "berth"          /* the API server derives it from our User-Agent */
#define WAIT_NSEC NSEC_PER_MSEC        /* between two checks of a waiting filter */

struct Nominator {
    Current *current;
    const LiveOptions *options;
    WriteQueue *writes; /* for nominations */
    Images *images;     /* of nodes, kept between rounds; used by its thread only */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t woken;
    bool is_ending, has_waiting_filter;
    Nominations *nominations;
    Arena *scratch; /* for read_status() */
    NominatorFigures figures;
};

Nominator *nominator_new(Current *current, const LiveOptions *options) {
    _cleanup_(nominator_freep) Nominator *nominator = calloc(1, sizeof(*nominator));

    if (!nominator)
        return NULL;
    *nominator = (Nominator){
        .current = current,
        .options = options,
        .nominations = nominations_new(options->nominated),
        .scratch = arena_new(CONDITION_BUDGET),
        .images = images_new(/* table= */ NULL),
    };
    pthread_mutex_init(&nominator->lock, NULL);
    deadline_cond_init(&nominator->woken);
    return nominator->nominations && nominator->scratch && nominator->images ? TAKE_PTR(nominator)
                                                                             : NULL;
}

void nominator_stop(Nominator *nominator) {
    pthread_mutex_lock(&nominator->lock);
    nominator->is_ending = true;
    pthread_cond_broadcast(&nominator->woken);
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

typedef struct StatusCondition {
    Str type, status;
} StatusCondition;

static void read_condition(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("type", TEXT, StatusCondition, type),
        JSON_MEMBER("status", TEXT, StatusCondition, status),
    };
    StatusCondition condition = {0};
    bool *was_tried = target;

    JSON_READ_FIELDS(reader, arena, fields, &condition);
    *was_tried |= str_is(condition.type, "PodScheduled") && str_is(condition.status, "False");
}

typedef struct FieldOwner {
    Str manager;
    Str nominated; /* a set f:nominatedNodeName; empty: not set */
} FieldOwner;

static void read_owner(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_MEMBER("manager", TEXT, FieldOwner, manager),
        JSON_MEMBER("fieldsV1.f:status.f:nominatedNodeName", RAW, FieldOwner, nominated),
    };
    FieldOwner owner = {0};
    bool *is_nominated = target;

    JSON_READ_FIELDS(reader, arena, fields, &owner);
    *is_nominated |= str_is(owner.manager, FIELD_MANAGER) && !str_is_empty(owner.nominated);
}

typedef struct PendingFields {
    PendingStatus status;
    Str group; /* the field that makes the pod a member of a group, as JSON */
} PendingFields;

/* Sets was_tried also for other pods to leave alone: gated, in a group, or not readable. */
static PendingStatus read_status(Nominator *nominator, Str text) {
    static const JsonField fields[] = {
        JSON_MEMBER("metadata.managedFields", ARRAY, PendingFields, status.is_nominated,
            .read = read_owner),
        JSON_MEMBER(
            "status.conditions", ARRAY, PendingFields, status.was_tried, .read = read_condition),
        JSON_MEMBER("spec.workloadRef", RAW, PendingFields, group),
        JSON_MEMBER("spec.schedulingGroup", RAW, PendingFields, group),
    };
    PendingFields pod = {0};
    JsonReader reader;

    arena_reset(nominator->scratch);
    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, nominator->scratch, fields, &pod);
    pod.status.was_tried |= json_error(&reader) != JSON_OK || !str_is_empty(pod.group);
    return pod.status;
}

void nominator_note_pod(Nominator *nominator, const Pod *pod, Str text) {
    const LiveOptions *options = nominator->options;
    bool is_pending = str_is_empty(pod->node_name) && !pod->is_terminal;
    PendingStatus status = {0};
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);
    size_t n_free;

    if (is_pending)
        status = read_status(nominator, text);
    status.was_tried |= is_pending && !pod_is_managed(pod, options->managed, options->n_managed);
    nominations_see(nominator->nominations, pod, text, status, clock_monotonic_nsec());
    n_free = nominations_figures(nominator->nominations).n_free;
    if (is_pending && n_free > 0 && n_free % NOMINATION_BACKLOG_MIN == 0)
        pthread_cond_broadcast(&nominator->woken);
}

void nominator_note_deleted(Nominator *nominator, Str uid) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);

    nominations_forget(nominator->nominations, uid);
}

void nominator_note_list(Nominator *nominator, bool has_ended) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);

    (has_ended ? nominations_end_list : nominations_begin_list)(nominator->nominations);
}

void nominator_note_filter(Nominator *nominator, const Pod *pod, size_t n_nodes, int64_t now_nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);

    nominations_note_filter(
        nominator->nominations, pod->uid, pod->scheduler_name, n_nodes, now_nsec);
}

/* Called with the lock held. Waits at most @nsec for a wake-up, not if the thread must end. */
static void wait_in(Nominator *nominator, int64_t nsec) {
    struct timespec until = deadline_in(nsec);

    if (!nominator->is_ending)
        (void)pthread_cond_timedwait(&nominator->woken, &nominator->lock, &until);
}

int64_t nominator_wait(Nominator *nominator) {
    int64_t begin = clock_monotonic_nsec(), now = begin;
    bool is_other;

    if (!write_queue_is_ours(nominator->writes) ||
        write_queue_figures(nominator->writes).is_forbidden)
        return 0;
    pthread_mutex_lock(&nominator->lock);
    is_other = nominator->has_waiting_filter;
    nominator->has_waiting_filter = true;
    while (!is_other && !nominator->is_ending &&
           nominations_wait(nominator->nominations, begin, now)) {
        if (now == begin) /* begin a round now, not after the pause */
            pthread_cond_broadcast(&nominator->woken);
        wait_in(nominator, WAIT_NSEC);
        now = clock_monotonic_nsec();
    }
    nominator->has_waiting_filter = is_other;
    pthread_mutex_unlock(&nominator->lock);
    return now - begin;
}

NominatorFigures nominator_figures(Nominator *nominator) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);
    NominatorFigures figures = nominator->figures;

    figures.pods = nominations_figures(nominator->nominations);
    if (nominator->has_thread && !write_queue_is_ours(nominator->writes))
        figures.pods.state = NOMINATOR_IDLE; /* another replica decides */
    return figures;
}

typedef struct Round {
    Nominator *nominator;
    Arena *arena;
    View *view;
    FreePod *pods;
    size_t n;
    PlacementPlan *plan;
} Round;

/* Waits like wait_in(). Returns false if the thread must end. */
static bool wait_to_go_on(Nominator *nominator, int64_t nsec) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);

    wait_in(nominator, nsec);
    return !nominator->is_ending;
}

/* Waits until the queue has room for a patch. Returns false if the thread must end. */
static bool wait_for_queue(Nominator *nominator, WriteFigures *writes) {
    bool goes_on = true;

    for (;;) {
        *writes = write_queue_figures(nominator->writes);
        if (!goes_on || writes->n_unanswered < NOMINATOR_QUEUE_MAX)
            return goes_on;
        goes_on = wait_to_go_on(nominator, QUEUE_NSEC);
    }
}

static void leave(Nominator *nominator, Str uid, bool is_unmodelled) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);

    nominations_leave(nominator->nominations, uid);
    nominator->figures.n_unmodelled += is_unmodelled;
}

/* Nominates @node, of @choice. Returns whether it did. *ret_over: the round must end. */
static bool claim(Nominator *nominator, const FreePod *pod, Str node, const Choice *choice,
    const WriteFigures *writes, bool *ret_over) {
    int64_t now = clock_monotonic_nsec();
    _unlock_ pthread_mutex_t *held = mutex_hold(&nominator->lock);
    const NominationRecord record = {
        .namespace = pod->namespace,
        .name = pod->name,
        .uid = pod->uid,
        .node = node,
        .at_nsec = clock_wall_nsec(),
        .n_feasible = choice->n_feasible,
        .n_best = choice->n_best,
    };
    bool is_ours;

    *ret_over = nominator->is_ending ||
                nominations_decide(nominator->nominations, writes, now) != NOMINATOR_NOMINATES;
    is_ours = !*ret_over && !nominations_avoids(nominator->nominations, node, now) &&
              nominations_claim(nominator->nominations, pod->uid, node, now);
    if (is_ours)
        nomination_log_add(nominator->options->nominated, &record);
    return is_ours;
}

/* Nominates pod @i of the round. Returns false if the round is over. */
static bool nominate(Round *round, size_t i) {
    Nominator *nominator = round->nominator;
    const FreePod *pod = &round->pods[i];
    WriteFigures writes;
    Choice choice = {.row = NO_ROW};
    bool is_over;
    Str node;

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
    if (!wait_for_queue(nominator, &writes) || !write_queue_is_ours(nominator->writes))
        return false;
    node = table_node(round->view->table, choice.row)->name;
    if (claim(nominator, pod, node, &choice, &writes, &is_over) &&
        !nomination_queue_add(nominator->writes,
            &(Nomination){
                .namespace = pod->namespace, .name = pod->name, .uid = pod->uid, .node = node}))
        leave(nominator, pod->uid, /* is_unmodelled= */ false);
    return !is_over;
}

/* Fills pods and view. Returns false if there is nothing to nominate now. */
static bool begin_round(Round *round) {
    Nominator *nominator = round->nominator;
    WriteFigures writes = write_queue_figures(nominator->writes);
    int64_t now = clock_monotonic_nsec();

    round->pods = ARENA_ARRAY(round->arena, FreePod, NOMINATOR_ROUND_MAX);
    pthread_mutex_lock(&nominator->lock);
    if (round->pods &&
        nominations_decide(nominator->nominations, &writes, now) == NOMINATOR_NOMINATES)
        round->n = nominations_list(
            nominator->nominations, now, NOMINATOR_ROUND_MAX, round->arena, round->pods);
    pthread_mutex_unlock(&nominator->lock);
    if (round->n == 0)
        return false;
    round->view = current_view(nominator->current);
    return round->view->snapshot && !round->view->facts.is_late;
}

static bool make_plan(Round *round) {
    Str *texts = ARENA_ARRAY(round->arena, Str, round->n);

    for (size_t i = 0; texts && i < round->n; i++)
        texts[i] = round->pods[i].text;
    images_follow(round->nominator->images, round->view->snapshot);
    return texts && placement_plan_new(round->view, texts, round->n,
                        round->nominator->options->nominate_weight, round->nominator->images,
                        &round->plan) == 0;
}

static void withdraw(Nominator *nominator, Arena *arena) {
    Nomination expired[WITHDRAW_MAX];
    size_t n_queued = write_queue_figures(nominator->writes).n_unanswered;
    size_t max = n_queued < WITHDRAW_MAX ? WITHDRAW_MAX - n_queued : 0;
    size_t n;

    pthread_mutex_lock(&nominator->lock);
    n = nominations_expire(nominator->nominations, clock_monotonic_nsec(), max, arena, expired);
    pthread_mutex_unlock(&nominator->lock);
    for (size_t i = 0; i < n; i++)
        (void)nomination_queue_add(nominator->writes, &expired[i]);
}

/* Returns whether this replica has a backlog to nominate. */
static bool run_round(Nominator *nominator, Arena *arena) {
    Round round = {.nominator = nominator, .arena = arena};
    int64_t begun = clock_thread_cpu_nsec();
    bool is_ours = write_queue_is_ours(nominator->writes), has_backlog;
    size_t i = 0;

    arena_reset(arena);
    if (is_ours) {
        withdraw(nominator, arena);
        if (begin_round(&round) && make_plan(&round))
            while (i < round.n && nominate(&round, i))
                i++;
    }
    placement_plan_free(round.plan);
    view_unref(round.view);
    pthread_mutex_lock(&nominator->lock);
    nominator->figures.round_nsec += clock_thread_cpu_nsec() - begun;
    has_backlog = is_ours && nominations_figures(nominator->nominations).state != NOMINATOR_IDLE;
    pthread_mutex_unlock(&nominator->lock);
    return has_backlog;
}

static void *run(void *context) {
    Nominator *nominator = context;
    _cleanup_(arena_freep) Arena *arena = arena_new(ROUND_BUDGET);
    bool is_busy;

    if (!arena)
        return NULL;
    do {
        is_busy = run_round(nominator, arena);
        if (!is_busy)
            images_clear(nominator->images);
    } while (wait_to_go_on(nominator, is_busy ? BUSY_NSEC : IDLE_NSEC));
    return NULL;
}

int nominator_start(Nominator *nominator, WriteQueue *writes) {
    int r;

    nominator->writes = writes;
    r = thread_start(&nominator->thread, "nominator", run, nominator);
    nominator->has_thread = r == 0;
    return r;
}
