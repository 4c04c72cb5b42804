/* Pending pods in the order of kube-scheduler, and which of them berth has nominated. */

#include "live/nominations.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/set.h"

#define EARLY_MAX 1024u /* filter requests about pods that the watch has not shown yet */
#define AVOIDED_MAX 256u
#define RECENT_MAX 64u /* results by which it judges itself */
#define RECENT_MIN 32u
#define UNUSED_SHARE_MAX 0.3
#define PACE_NSEC_MAX (2 * NSEC_PER_SEC) /* longer: idle, and not a cycle of kube-scheduler */

typedef enum PendingState {
    PENDING_FREE,
    PENDING_NOMINATED,
    PENDING_LEFT, /* to kube-scheduler */
} PendingState;

typedef struct Pending {
    PendingState state;
    Str namespace, name, uid, scheduler;
    Str text;    /* while it is free; of its own memory, like ... */
    Str node;    /* ... its nomination, or, while it is free, the planned node ... */
    Str version; /* ... and the resourceVersion that showed that; empty: none did */
    int64_t priority;
    uint64_t arrival;   /* its number in the order of arrival */
    uint64_t list;      /* the last list that had it */
    int64_t planned_at; /* 0: it is not, or its plan was used */
    size_t n_feasible, n_best;
    int64_t nominated_at, shown_at;
    int64_t withdrawn_at; /* the last patch that withdraws it; 0: none */
    bool is_called;       /* its scheduler calls berth: only then it counts */
    bool was_asked;       /* a filter request for it has come ... */
    bool is_late;         /* ... before kube-scheduler could know the nomination */
    bool was_returned;    /* its node was the reply to a filter request, alone */
    bool has_failed;
    NominationOutcome outcome; /* of its nomination, once that has ended */
} Pending;

typedef struct AvoidedNode {
    uint64_t node; /* hash of the name */
    int64_t until;
} AvoidedNode;

struct Nominations {
    NominationLog *log;
    Set pods; /* by UID */
    uint64_t n_arrived, n_lists;
    uint64_t n_asked; /* pods that kube-scheduler asked about, of those that are known */
    size_t n_free, n_outstanding;                /* of pods whose scheduler calls berth */
    char *schedulers[NOMINATION_SCHEDULERS_MAX]; /* that call berth */
    size_t n_schedulers;
    uint64_t early[EARLY_MAX]; /* hashes of UIDs; a ring */
    size_t n_early;
    AvoidedNode avoided[AVOIDED_MAX]; /* the same */
    size_t n_avoided;
    bool is_used[RECENT_MAX]; /* the same */
    size_t n_results;

    int64_t filter_at;  /* the last filter request; 0: none yet */
    int64_t back_at;    /* the first one after a silence */
    bool had_backlog;   /* then there were pods left */
    int64_t cycle_nsec; /* of kube-scheduler for a pod without a nomination; 0: not known */
    int64_t quick_nsec; /* the same for one with a nomination */
    int64_t trial_at, trial_wait; /* of the last trial, and until the next one; 0: none yet */
    uint64_t n_written_before_trial;
    int64_t foreign_at; /* another's nomination was new; 0: never */
    int64_t paused_until;
    int64_t listed_at;
    NominationFigures figures;
};

Nominations *nominations_new(NominationLog *log) {
    Nominations *nominations = calloc(1, sizeof(*nominations));

    if (nominations)
        nominations->log = log;
    return nominations;
}

static Str copy_text(Str text) {
    char *copy = malloc(text.len + 1);

    if (copy)
        memcpy(copy, text.ptr ? text.ptr : "", text.len);
    return copy ? str_of(copy, text.len) : STR_NULL;
}

static void drop_text(Str *text) {
    free((char *)(uintptr_t)text->ptr);
    *text = STR_NULL;
}

static Pending *pending_free(Pending *pending) {
    if (!pending)
        return NULL;
    drop_text(&pending->namespace);
    drop_text(&pending->name);
    drop_text(&pending->uid);
    drop_text(&pending->scheduler);
    drop_text(&pending->text);
    drop_text(&pending->node);
    drop_text(&pending->version);
    free(pending);
    return NULL;
}

Nominations *nominations_free(Nominations *nominations) {
    Pending *pending;

    if (!nominations)
        return NULL;
    for (size_t i = 0; (pending = set_next(&nominations->pods, &i)); i++)
        pending_free(pending);
    set_done(&nominations->pods);
    for (size_t i = 0; i < nominations->n_schedulers; i++)
        free(nominations->schedulers[i]);
    free(nominations);
    return NULL;
}

static bool has_uid(const void *item, const void *key) {
    return str_eq(((const Pending *)item)->uid, *(const Str *)key);
}

static Pending *find(const Nominations *nominations, Str uid) {
    return set_find(&nominations->pods, hash_str(uid), has_uid, &uid);
}

static void count(Nominations *nominations, const Pending *pending, int by) {
    if (!pending->is_called)
        return;
    nominations->n_free += (size_t)(pending->state == PENDING_FREE ? by : 0);
    nominations->n_outstanding += (size_t)(pending->state == PENDING_NOMINATED ? by : 0);
}

static void set_state(Nominations *nominations, Pending *pending, PendingState state) {
    if (pending->state == PENDING_NOMINATED && state != PENDING_NOMINATED)
        nomination_log_end(nominations->log, pending->uid, pending->outcome);
    count(nominations, pending, -1);
    pending->state = state;
    count(nominations, pending, 1);
    if (state == PENDING_LEFT)
        drop_text(&pending->text);
}

static void remove_pending(Nominations *nominations, Pending *pending) {
    set_state(nominations, pending, PENDING_LEFT);
    (void)set_remove(&nominations->pods, hash_str(pending->uid), pending);
    pending_free(pending);
}

/* --- results of nominations --------------------------------------------------------------- */

static void avoid(Nominations *nominations, Str node, int64_t now) {
    nominations->avoided[nominations->n_avoided++ % AVOIDED_MAX] =
        (AvoidedNode){.node = hash_str(node), .until = now + NOMINATION_AVOID_SEC * NSEC_PER_SEC};
}

bool nominations_avoids(const Nominations *nominations, Str node, int64_t now_nsec) {
    uint64_t hash = hash_str(node);

    for (size_t i = 0; i < AVOIDED_MAX && i < nominations->n_avoided; i++)
        if (nominations->avoided[i].node == hash && now_nsec < nominations->avoided[i].until)
            return true;
    return false;
}

/* Whether kube-scheduler took the node it was to try first. */
static void note_tried(Nominations *nominations, Str node, bool is_used, int64_t now) {
    size_t n_used = 0, n;

    if (!is_used)
        avoid(nominations, node, now);
    nominations->is_used[nominations->n_results++ % RECENT_MAX] = is_used;
    n = nominations->n_results < RECENT_MAX ? nominations->n_results : RECENT_MAX;
    for (size_t i = 0; i < n; i++)
        n_used += nominations->is_used[i];
    if (n >= RECENT_MIN && (double)(n - n_used) > UNUSED_SHARE_MAX * (double)n) {
        nominations->paused_until = now + NOMINATION_PAUSE_SEC * NSEC_PER_SEC;
        nominations->n_results = 0;
    }
}

/* A nomination that came too late says nothing about its node. */
static void note_result(Nominations *nominations, Pending *pending, bool is_used, int64_t now) {
    pending->outcome = is_used ? NOMINATION_USED : NOMINATION_UNUSED;
    nominations->figures.n_used += is_used;
    nominations->figures.n_unused += !is_used;
    if (!pending->is_late)
        note_tried(nominations, pending->node, is_used, now);
}

/* Nominated, and its outcome is open. */
static bool is_undecided(const Pending *pending) {
    return pending->state == PENDING_NOMINATED && pending->outcome == NOMINATION_DROPPED;
}

/* It is of no use any more. */
static void note_expired(Nominations *nominations, Pending *pending, int64_t now) {
    pending->outcome = NOMINATION_EXPIRED;
    nominations->figures.n_expired++;
    if (pending->has_failed)
        note_tried(nominations, pending->node, /* is_used= */ false, now);
}

/* --- what happens in the cluster ------------------------------------------------------------ */

static bool was_early(const Nominations *nominations, Str uid) {
    uint64_t hash = hash_str(uid);

    for (size_t i = 0; i < EARLY_MAX && i < nominations->n_early; i++)
        if (nominations->early[i] == hash)
            return true;
    return false;
}

static bool calls_us(const Nominations *nominations, Str scheduler) {
    for (size_t i = 0; i < nominations->n_schedulers; i++)
        if (str_is(scheduler, nominations->schedulers[i]))
            return true;
    return false;
}

static Pending *pending_new(const Pod *pod) {
    Pending *pending = calloc(1, sizeof(*pending));

    if (!pending)
        return NULL;
    pending->state = PENDING_LEFT;
    pending->namespace = copy_text(pod->namespace);
    pending->name = copy_text(pod->name);
    pending->uid = copy_text(pod->uid);
    pending->scheduler = copy_text(pod->scheduler_name);
    pending->priority = pod->priority;
    return pending->namespace.ptr && pending->name.ptr && pending->uid.ptr && pending->scheduler.ptr
               ? pending
               : pending_free(pending);
}

/* NULL: it is not kept. */
static Pending *add_pending(Nominations *nominations, const Pod *pod) {
    Pending *pending;

    if (nominations->pods.n_used >= NOMINATION_PODS_MAX || str_is_empty(pod->uid))
        return NULL;
    pending = pending_new(pod);
    if (!pending)
        return NULL;
    pending->arrival = nominations->n_arrived++;
    pending->is_called = calls_us(nominations, pending->scheduler);
    if (set_add(&nominations->pods, hash_str(pending->uid), pending) < 0)
        return pending_free(pending);
    if (was_early(nominations, pod->uid))
        pending->was_asked = true;
    else
        set_state(nominations, pending, PENDING_FREE);
    return pending;
}

/* Whether the pod has ended, or is bound; @pending may be NULL. */
static bool see_end(Nominations *nominations, const Pod *pod, Pending *pending, int64_t now) {
    if (!pod->is_terminal && !pod->is_terminating && str_is_empty(pod->node_name))
        return false;
    if (!pending)
        return true;
    if (is_undecided(pending) && !str_is_empty(pod->node_name)) {
        pending->outcome = pending->was_returned ? NOMINATION_RETURNED : NOMINATION_REJECTED;
        if (!str_is_empty(pending->version))
            note_result(nominations, pending, str_eq(pod->node_name, pending->node), now);
    } else if (pending->was_returned && !str_is_empty(pod->node_name)) {
        note_tried(nominations, pending->node, str_eq(pod->node_name, pending->node), now);
    }
    remove_pending(nominations, pending);
    return true;
}

/* Its nomination is ours, of another, or gone. @was_tried as in nominations_see(). */
static void see_nomination(
    Nominations *nominations, const Pod *pod, Pending *pending, bool was_tried, int64_t now) {
    bool has_node = !str_is_empty(pending->node) && str_eq(pod->nominated_node_name, pending->node);
    bool was_shown = !str_is_empty(pending->version);

    if (has_node && pending->state == PENDING_LEFT && pending->outcome == NOMINATION_REJECTED) {
        pending->has_failed = true; /* it was given up, and came nevertheless: to be withdrawn */
        set_state(nominations, pending, PENDING_NOMINATED);
    }
    if (has_node && pending->state == PENDING_NOMINATED) {
        if (!was_shown) {
            pending->is_late = pending->was_asked;
            pending->shown_at = now;
        }
        drop_text(&pending->version);
        pending->version = copy_text(pod->resource_version);
    } else if (!str_is_empty(pod->nominated_node_name)) {
        if (pending->state != PENDING_LEFT)
            nominations->foreign_at = now;
        set_state(nominations, pending, PENDING_LEFT);
    } else if (pending->state == PENDING_NOMINATED && was_shown) {
        /* Withdrawn; or by kube-scheduler, which could not place the pod; or by another. */
        pending->has_failed |= was_tried;
        if (is_undecided(pending) && pending->has_failed)
            note_expired(nominations, pending, now);
        set_state(nominations, pending, PENDING_LEFT);
    }
}

void nominations_see(
    Nominations *nominations, const Pod *pod, Str text, bool was_tried, int64_t now_nsec) {
    Pending *pending = find(nominations, pod->uid);

    if (see_end(nominations, pod, pending, now_nsec))
        return;
    if (!pending)
        pending = add_pending(nominations, pod);
    if (!pending)
        return;
    pending->list = nominations->n_lists;
    see_nomination(nominations, pod, pending, was_tried, now_nsec);
    if (was_tried && pending->state == PENDING_NOMINATED)
        pending->has_failed = true;
    else if (was_tried)
        set_state(nominations, pending, PENDING_LEFT);
    if (pending->state != PENDING_FREE)
        return;
    drop_text(&pending->text);
    pending->priority = pod->priority;
    pending->text = text.len <= NOMINATION_TEXT_MAX ? copy_text(text) : STR_NULL;
    if (!pending->text.ptr)
        set_state(nominations, pending, PENDING_LEFT);
}

void nominations_forget(Nominations *nominations, Str uid) {
    Pending *pending = find(nominations, uid);

    if (pending)
        remove_pending(nominations, pending);
}

void nominations_begin_list(Nominations *nominations) {
    nominations->n_lists++;
}

void nominations_end_list(Nominations *nominations) {
    Pending *pending;

    for (size_t i = 0; (pending = set_next(&nominations->pods, &i)); i++)
        if (pending->list != nominations->n_lists) {
            set_remove_at(&nominations->pods, i--);
            set_state(nominations, pending, PENDING_LEFT);
            pending_free(pending);
        }
}

static void note_scheduler(Nominations *nominations, Str name) {
    Pending *pending;
    char *copy;

    if (calls_us(nominations, name) || nominations->n_schedulers == NOMINATION_SCHEDULERS_MAX)
        return;
    copy = strndup(name.ptr ? name.ptr : "", name.len);
    if (!copy)
        return;
    nominations->schedulers[nominations->n_schedulers++] = copy;
    for (size_t i = 0; (pending = set_next(&nominations->pods, &i)); i++)
        if (str_is(pending->scheduler, copy)) {
            pending->is_called = true;
            count(nominations, pending, 1);
        }
}

static void add_to_mean(int64_t *mean, int64_t value) {
    *mean = *mean == 0 ? value : *mean + (value - *mean) / 8;
}

/* An interval is a cycle only if kube-scheduler had pods left at its begin. */
static void note_pace(Nominations *nominations, const Pending *pending, int64_t now) {
    int64_t interval = now - nominations->filter_at;
    bool is_quick = pending && pending->state == PENDING_NOMINATED && !pending->is_late;

    if (nominations->filter_at == 0 || !nominations->had_backlog || interval > PACE_NSEC_MAX)
        return;
    add_to_mean(is_quick ? &nominations->quick_nsec : &nominations->cycle_nsec,
        interval > 0 ? interval : 1);
}

/* A nomination that kube-scheduler gets while it evaluates nodes for the pod comes too late; later
 * it has tried the node, and asks about others because its own filters have rejected that one. */
static bool is_late(const Nominations *nominations, const Pending *pending, int64_t now) {
    return str_is_empty(pending->version) ||
           now - pending->shown_at < nominations->cycle_nsec + NOMINATION_LATE_MSEC * NSEC_PER_MSEC;
}

static bool is_away(const Nominations *nominations, int64_t now) {
    return now - nominations->filter_at > NOMINATION_SILENCE_MSEC * NSEC_PER_MSEC;
}

void nominations_note_filter(
    Nominations *nominations, Str uid, Str scheduler, size_t n_nodes, int64_t now_nsec) {
    Pending *pending = find(nominations, uid);

    if (pending && pending->state == PENDING_NOMINATED && n_nodes > 1) {
        pending->is_late |= !pending->was_asked && is_late(nominations, pending, now_nsec);
        pending->has_failed |= !pending->is_late;
    }
    if (pending && pending->was_returned) { /* another extender or plugin has rejected it */
        pending->was_returned = false;
        note_tried(nominations, pending->node, /* is_used= */ false, now_nsec);
    }
    note_scheduler(nominations, scheduler);
    note_pace(nominations, pending, now_nsec);
    if (!pending)
        nominations->early[nominations->n_early++ % EARLY_MAX] = hash_str(uid);
    else
        nominations->n_asked += !pending->was_asked;
    if (pending)
        pending->was_asked = true;
    if (pending && pending->state == PENDING_FREE)
        set_state(nominations, pending, PENDING_LEFT);
    if (is_away(nominations, now_nsec))
        nominations->back_at = now_nsec;
    nominations->filter_at = now_nsec;
    nominations->had_backlog = nominations->n_free + nominations->n_outstanding > 1;
}

/* --- nominating ------------------------------------------------------------------------------ */

const char *nominator_state_name(NominatorState state) {
    static const char *const names[_NOMINATOR_STATES] = {
        [NOMINATOR_IDLE] = "idle",
        [NOMINATOR_NOMINATES] = "nominating",
        [NOMINATOR_OUTPACED] = "outpaced",
        [NOMINATOR_FULL] = "full",
        [NOMINATOR_PREEMPTION] = "preemption",
        [NOMINATOR_PAUSED] = "paused",
    };

    return names[state];
}

/* Patches take long while many pods are bound at once, and without patches nothing shows when that
 * is over. So a few are tried: soon at first, rarely if the API server stays slow. */
static void plan_trial(Nominations *nominations, const WriteFigures *writes, int64_t now) {
    if (nominations->trial_wait == 0) {
        nominations->trial_wait = NOMINATION_TRIAL_MIN_MSEC * NSEC_PER_MSEC;
        nominations->trial_at = now;
    }
    if (now - nominations->trial_at < nominations->trial_wait)
        return;
    nominations->trial_at = now;
    nominations->trial_wait *= 2;
    if (nominations->trial_wait > NOMINATION_TRIAL_MAX_MSEC * NSEC_PER_MSEC)
        nominations->trial_wait = NOMINATION_TRIAL_MAX_MSEC * NSEC_PER_MSEC;
    nominations->n_written_before_trial = writes->n_written;
}

/* Whether a cycle of kube-scheduler, which runs, costs more than a nomination. */
static bool is_slow(const Nominations *nominations, int64_t now) {
    return !is_away(nominations, now) &&
           nominations->cycle_nsec >= NOMINATION_CYCLE_MSEC * NSEC_PER_MSEC;
}

/* False until both latencies are known, and during a trial. */
static bool is_outpaced(Nominations *nominations, const WriteFigures *writes, int64_t now) {
    double own, other;

    if (is_away(nominations, now) || nominations->cycle_nsec == 0)
        return false;
    if (!is_slow(nominations, now))
        return true;
    if (writes->n_written - nominations->n_written_before_trial < NOMINATION_TRIAL)
        return false;
    own = (double)NOMINATION_CALLS / (double)(writes->latency_nsec > 0 ? writes->latency_nsec : 1);
    other = 1 / (double)nominations->cycle_nsec;
    if (own >= NOMINATION_MARGIN * other) {
        nominations->trial_wait = 0;
        return false;
    }
    plan_trial(nominations, writes, now);
    return true;
}

static bool has_backlog(const Nominations *nominations) {
    return nominations->n_free > 0 &&
           nominations->n_free + nominations->n_outstanding >= NOMINATION_BACKLOG_MIN;
}

static NominatorState decide(Nominations *nominations, const WriteFigures *writes, int64_t now) {
    if (!has_backlog(nominations))
        return NOMINATOR_IDLE;
    if (now < nominations->paused_until)
        return NOMINATOR_PAUSED;
    if (nominations->foreign_at != 0 &&
        now - nominations->foreign_at < NOMINATION_PREEMPTION_SEC * NSEC_PER_SEC)
        return NOMINATOR_PREEMPTION;
    if (nominations->n_outstanding >= NOMINATION_OUTSTANDING_MAX)
        return NOMINATOR_FULL;
    return is_outpaced(nominations, writes, now) ? NOMINATOR_OUTPACED : NOMINATOR_NOMINATES;
}

NominatorState nominations_decide(
    Nominations *nominations, const WriteFigures *writes, int64_t now_nsec) {
    nominations->figures.state = decide(nominations, writes, now_nsec);
    return nominations->figures.state;
}

static int by_order(const void *a, const void *b) {
    const Pending *x = *(const Pending *const *)a, *y = *(const Pending *const *)b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->arrival < y->arrival ? -1 : 1;
}

/* Those that kube-scheduler has not tried. NULL: out of memory. */
static Pending **list_untried(const Nominations *nominations, Arena *arena, size_t *ret_n) {
    Pending **list = ARENA_ARRAY(arena, Pending *, nominations->pods.n_used + 1), *pending;
    size_t n = 0;

    for (size_t i = 0; list && (pending = set_next(&nominations->pods, &i)); i++)
        if (pending->state != PENDING_LEFT && !pending->was_asked && pending->is_called)
            list[n++] = pending;
    if (n > 0)
        qsort(list, n, sizeof(*list), by_order);
    *ret_n = n;
    return list;
}

static FreePod copy_free(const Pending *pending, Arena *arena) {
    return (FreePod){
        .namespace = arena_copy(arena, pending->namespace),
        .name = arena_copy(arena, pending->name),
        .uid = arena_copy(arena, pending->uid),
        .text = arena_copy(arena, pending->text),
    };
}

/* Whether pods that are near are planned: their nodes are returned alone. */
static bool plans(const Nominations *nominations, int64_t now) {
    NominatorState state = nominations->figures.state;

    return is_slow(nominations, now) && state != NOMINATOR_PAUSED && state != NOMINATOR_PREEMPTION;
}

static bool has_plan(const Pending *pending, int64_t now) {
    return pending->planned_at != 0 &&
           now - pending->planned_at <= NOMINATION_PLANNED_SEC * NSEC_PER_SEC;
}

/* Whether a free pod that kube-scheduler reaches after @reached is to be planned or nominated. */
static bool is_listed(const Nominations *nominations, const Pending *pending, bool is_near,
    int64_t reached, int64_t now) {
    if (pending->state != PENDING_FREE)
        return false;
    if (!is_near)
        return true;
    return plans(nominations, now) && !has_plan(pending, now) &&
           reached <= NOMINATION_NEAR_MSEC * NSEC_PER_MSEC;
}

size_t nominations_list(Nominations *nominations, int64_t lead_nsec, int64_t now_nsec, size_t max,
    Arena *arena, FreePod *ret) {
    int64_t cycle = nominations->cycle_nsec, reached = 0;
    int64_t quick = nominations->quick_nsec > 0 ? nominations->quick_nsec : cycle;
    bool is_any = cycle == 0 || is_away(nominations, now_nsec);
    bool nominates = nominations->figures.state == NOMINATOR_NOMINATES;
    size_t n_listed = 0, n_near = 0, n = 0;
    Pending **list;

    if (nominations->figures.state == NOMINATOR_IDLE ||
        (!nominates && !plans(nominations, now_nsec)) ||
        (nominations->n_free < NOMINATION_ROUND_MIN &&
            now_nsec - nominations->listed_at < NOMINATION_ROUND_SEC * NSEC_PER_SEC))
        return 0;
    nominations->listed_at = now_nsec;
    list = list_untried(nominations, arena, &n_listed);

    for (size_t i = 0; list && i < n_listed && n < max; i++) {
        bool is_near = !nominates || (!is_any && reached <= lead_nsec);
        bool is_nominated = list[i]->state == PENDING_NOMINATED;

        if (is_listed(nominations, list[i], is_near, reached, now_nsec)) {
            ret[n] = copy_free(list[i], arena);
            ret[n].n_ahead = i;
            ret[n].reached_nsec = reached;
            ret[n].is_near = is_near;
            ret[n++].n_asked = nominations->n_asked;
            n_near += is_near;
            is_nominated |= !is_near;
        }
        reached += is_nominated ? quick : cycle;
    }
    if (arena_has_failed(arena) || (n == n_near && n < NOMINATION_NEAR_MIN))
        return 0;
    return n;
}

/* Whether kube-scheduler, as far as it has got since the list, tries the pod within that time. */
static bool is_reached(
    const Nominations *nominations, const FreePod *pod, int64_t lead_nsec, int64_t now) {
    size_t n_tried = nominations->n_asked - pod->n_asked;

    if (nominations->cycle_nsec == 0 || is_away(nominations, now))
        return false;
    return n_tried >= pod->n_ahead ||
           (double)pod->reached_nsec * (double)(pod->n_ahead - n_tried) / (double)pod->n_ahead <=
               (double)lead_nsec;
}

bool nominations_claim(
    Nominations *nominations, const FreePod *pod, Str node, int64_t lead_nsec, int64_t now_nsec) {
    Pending *pending = find(nominations, pod->uid);
    Str copy;

    if (!pending || pending->state != PENDING_FREE ||
        nominations->n_outstanding >= NOMINATION_OUTSTANDING_MAX ||
        is_reached(nominations, pod, lead_nsec, now_nsec))
        return false;
    copy = copy_text(node);
    if (!copy.ptr)
        return false;
    set_state(nominations, pending, PENDING_NOMINATED);
    drop_text(&pending->text);
    drop_text(&pending->node);
    pending->node = copy;
    pending->nominated_at = now_nsec;
    pending->outcome = NOMINATION_DROPPED; /* unless it ends otherwise: is_undecided() */
    return true;
}

void nominations_plan(
    Nominations *nominations, Str uid, const PlannedNode *planned, int64_t now_nsec) {
    Pending *pending = find(nominations, uid);
    Str copy = pending && pending->state == PENDING_FREE ? copy_text(planned->node) : STR_NULL;

    if (!copy.ptr)
        return;
    drop_text(&pending->node);
    pending->node = copy;
    pending->n_feasible = planned->n_feasible;
    pending->n_best = planned->n_best;
    pending->planned_at = now_nsec;
}

/* Whether the pod has a fresh plan and no nomination. */
static bool is_planned(const Nominations *nominations, const Pending *pending, int64_t now) {
    return pending->state != PENDING_NOMINATED && has_plan(pending, now) &&
           plans(nominations, now) && !nominations_avoids(nominations, pending->node, now);
}

bool nominations_find_plan(
    const Nominations *nominations, Str uid, int64_t now_nsec, Arena *arena, PlannedNode *ret) {
    const Pending *pending = find(nominations, uid);
    bool is_nominated;

    if (!pending || pending->planned_at == 0)
        return false;
    is_nominated = is_undecided(pending) && !pending->has_failed;
    if (!is_nominated && !is_planned(nominations, pending, now_nsec))
        return false;
    *ret = (PlannedNode){
        .node = arena_copy(arena, pending->node),
        .n_feasible = pending->n_feasible,
        .n_best = pending->n_best,
        .is_nominated = is_nominated,
    };
    return ret->node.ptr;
}

void nominations_note_returned(Nominations *nominations, Str uid) {
    Pending *pending = find(nominations, uid);

    nominations->figures.n_returned++;
    if (!pending)
        return;
    pending->was_returned = true;
    pending->planned_at = 0;
}

void nominations_leave(Nominations *nominations, Str uid) {
    Pending *pending = find(nominations, uid);

    if (!pending)
        return;
    pending->outcome = NOMINATION_REJECTED; /* if it was nominated */
    set_state(nominations, pending, PENDING_LEFT);
}

/* For a nomination made while kube-scheduler was away, NOMINATION_SEC begins when it calls again.
 */
static bool is_expired(const Nominations *nominations, const Pending *pending, int64_t now) {
    int64_t made = pending->nominated_at;
    int64_t begin = made > nominations->back_at ? made : nominations->back_at;

    if (pending->state != PENDING_NOMINATED)
        return false;
    if (pending->withdrawn_at != 0) /* the patch may have been lost */
        return now - pending->withdrawn_at > NOMINATION_AGAIN_SEC * NSEC_PER_SEC;
    if ((pending->has_failed && !str_is_empty(pending->version)) ||
        now - made > NOMINATION_AWAY_SEC * NSEC_PER_SEC)
        return true;
    return now - begin > NOMINATION_SEC * NSEC_PER_SEC && nominations->filter_at > made &&
           now - nominations->filter_at < NOMINATION_SEC * NSEC_PER_SEC;
}

size_t nominations_expire(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, Nomination *ret) {
    Pending *pending;
    size_t n = 0;

    for (size_t i = 0; n < max && (pending = set_next(&nominations->pods, &i)); i++) {
        if (!is_expired(nominations, pending, now_nsec))
            continue;
        if (str_is_empty(pending->version)) {
            pending->outcome = NOMINATION_REJECTED;
            set_state(nominations, pending, PENDING_LEFT);
            continue;
        }
        if (is_undecided(pending))
            note_expired(nominations, pending, now_nsec);
        pending->withdrawn_at = now_nsec;
        ret[n++] = (Nomination){
            .namespace = arena_copy(arena, pending->namespace),
            .name = arena_copy(arena, pending->name),
            .uid = arena_copy(arena, pending->uid),
            .resource_version = arena_copy(arena, pending->version),
        };
    }
    return arena_has_failed(arena) ? 0 : n;
}

NominationFigures nominations_figures(const Nominations *nominations) {
    NominationFigures figures = nominations->figures;

    figures.n_free = nominations->n_free;
    figures.n_outstanding = nominations->n_outstanding;
    return figures;
}
