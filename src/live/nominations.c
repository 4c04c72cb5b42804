/* Keeps pending pods in the order of kube-scheduler, and the nominations of berth. */

#include "live/nominations.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/set.h"

#define EARLY_MAX 1024u /* filter requests about pods that the watch has not shown yet */
#define AVOIDED_MAX 256u
#define SHOWN_MAX                                                                                  \
    256u               /* nominations shown within NOMINATION_DELAY_MAX_MSEC; enough for its pace  \
                        */
#define RECENT_MAX 64u /* results that decide about a pause */
#define RECENT_MIN 32u
#define UNUSED_SHARE_MAX 0.3
#define PACE_NSEC_MAX (2 * NSEC_PER_SEC) /* a longer interval is idle time, not a cycle */

typedef enum PendingState {
    PENDING_FREE,
    PENDING_NOMINATED,
    PENDING_LEFT, /* left to kube-scheduler */
} PendingState;

typedef struct Pending {
    PendingState state;
    Str namespace, name, uid, scheduler; /* stored in texts */
    Str text;                            /* while it is free; allocated by itself, like ... */
    Str node;                            /* ... the nominated node, ... */
    Str version; /* ... and the resourceVersion that showed that; empty: not shown */
    int64_t priority;
    uint64_t arrival; /* its place in the order of arrival */
    uint64_t list;    /* the last list that had it */
    int64_t nominated_at, shown_at;
    int64_t withdrawn_at; /* the last patch to withdraw it; 0: none */
    bool is_called;       /* its scheduler calls berth; else it is not counted */
    bool was_filtered;    /* kube-scheduler sent a filter request ... */
    bool is_late;         /* ... before kube-scheduler could know the nomination */
    bool has_failed;
    bool is_adopted;           /* another process made its nomination, and counts the result */
    NominationOutcome outcome; /* of its nomination, once that has ended */
    char texts[];
} Pending;

typedef struct AvoidedNode {
    uint64_t node; /* hash of the name */
    int64_t until;
} AvoidedNode;

struct Nominations {
    NominationLog *log;
    Set pods; /* by UID */
    uint64_t n_arrived, n_lists;
    size_t n_free, n_outstanding; /* pods whose scheduler calls berth, ... */
    size_t n_coming, n_ready;     /* ... their untried nominations, not shown yet, and shown */
    char *schedulers[NOMINATION_SCHEDULERS_MAX]; /* that call berth */
    size_t n_schedulers;
    uint64_t early[EARLY_MAX]; /* hashes of UIDs; a ring, like the next two */
    size_t n_early;
    AvoidedNode avoided[AVOIDED_MAX];
    size_t n_avoided;
    bool is_used[RECENT_MAX];
    size_t n_results;

    int64_t filter_at;        /* the last filter request, or the end of its wait; 0: none yet */
    int64_t back_at;          /* the first request after a silence */
    bool had_backlog;         /* more pods were pending at filter_at */
    int64_t cycle_nsec;       /* of kube-scheduler, for a pod without a nomination; 0: unknown */
    double n_nodes;           /* the mean number of candidates of such a pod */
    int64_t shown[SHOWN_MAX]; /* when the watch showed the last nominations; a ring */
    size_t n_shown;
    int64_t delay_nsec;           /* measured, from our watch to the cache of kube-scheduler */
    int64_t wait_pause;           /* after the last wait, if in vain; else 0 */
    int64_t wait_again_at;        /* no wait begins earlier */
    int64_t trial_at, trial_wait; /* the last trial, and the time to the next one; 0: none yet */
    uint64_t n_written_before_trial;
    int64_t foreign_at; /* another client nominated a node; 0: never */
    int64_t paused_until;
    int64_t listed_at;
    NominationFigures figures;
};

Nominations *nominations_new(NominationLog *log) {
    Nominations *nominations = calloc(1, sizeof(*nominations));

    if (nominations) {
        nominations->log = log;
        nominations->delay_nsec = NOMINATION_DELAY_MIN_MSEC * NSEC_PER_MSEC;
    }
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
    if (pending->state != PENDING_NOMINATED)
        return;
    nominations->n_outstanding += (size_t)by;
    if (!pending->was_filtered)
        *(str_is_empty(pending->version) ? &nominations->n_coming : &nominations->n_ready) +=
            (size_t)by;
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

bool nominations_avoids(const Nominations *nominations, Str node, int64_t now_nsec) {
    uint64_t hash = hash_str(node);

    for (size_t i = 0; i < AVOIDED_MAX && i < nominations->n_avoided; i++)
        if (nominations->avoided[i].node == hash && now_nsec < nominations->avoided[i].until)
            return true;
    return false;
}

/* Notes whether kube-scheduler used the nominated node; pauses if too many were not used. */
static void note_tried(Nominations *nominations, Str node, bool is_used, int64_t now) {
    size_t n_used = 0, n;

    if (!is_used)
        nominations->avoided[nominations->n_avoided++ % AVOIDED_MAX] = (AvoidedNode){
            .node = hash_str(node), .until = now + NOMINATION_AVOID_SEC * NSEC_PER_SEC};
    nominations->is_used[nominations->n_results++ % RECENT_MAX] = is_used;
    n = nominations->n_results < RECENT_MAX ? nominations->n_results : RECENT_MAX;
    for (size_t i = 0; i < n; i++)
        n_used += nominations->is_used[i];
    if (n >= RECENT_MIN && (double)(n - n_used) > UNUSED_SHARE_MAX * (double)n) {
        nominations->paused_until = now + NOMINATION_PAUSE_SEC * NSEC_PER_SEC;
        nominations->n_results = 0;
    }
}

/* Whether it is nominated and has no outcome yet. */
static bool is_undecided(const Pending *pending) {
    return pending->state == PENDING_NOMINATED && pending->outcome == NOMINATION_DROPPED;
}

/* Notes that the nomination was not used in time, or kube-scheduler could not use it. */
static void note_expired(Nominations *nominations, Pending *pending, int64_t now) {
    pending->outcome = NOMINATION_EXPIRED;
    nominations->figures.n_expired += !pending->is_adopted;
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

/* NULL: the pod is not kept (over the limit, no UID, or no memory). */
static Pending *add_pending(Nominations *nominations, const Pod *pod) {
    size_t size = pod->namespace.len + pod->name.len + pod->uid.len + pod->scheduler_name.len;
    Pending *pending;
    char *at;

    if (nominations->pods.n_used >= NOMINATION_PODS_MAX || str_is_empty(pod->uid))
        return NULL;
    pending = calloc(1, sizeof(*pending) + size);
    if (!pending)
        return NULL;
    at = pending->texts;
    pending->state = PENDING_LEFT;
    pending->namespace = str_carve(&at, pod->namespace);
    pending->name = str_carve(&at, pod->name);
    pending->uid = str_carve(&at, pod->uid);
    pending->scheduler = str_carve(&at, pod->scheduler_name);
    pending->priority = pod->priority;
    pending->arrival = nominations->n_arrived++;
    pending->is_called = calls_us(nominations, pending->scheduler);
    if (set_add(&nominations->pods, hash_str(pending->uid), pending) < 0)
        return pending_free(pending);
    if (was_early(nominations, pod->uid))
        pending->was_filtered = true;
    else
        set_state(nominations, pending, PENDING_FREE);
    return pending;
}

/* If the pod has ended or is bound: notes the outcome, removes @pending, and returns true. */
static bool see_end(Nominations *nominations, const Pod *pod, Pending *pending, int64_t now) {
    bool is_bound = !str_is_empty(pod->node_name), is_used;

    if (!pod->is_terminal && !pod->is_terminating && !is_bound)
        return false;
    if (!pending)
        return true;
    if (is_undecided(pending) && is_bound && str_is_empty(pending->version)) {
        pending->outcome = NOMINATION_REJECTED;
    } else if (is_undecided(pending) && is_bound) {
        is_used = str_eq(pod->node_name, pending->node);
        pending->outcome = is_used ? NOMINATION_USED : NOMINATION_UNUSED;
        nominations->figures.n_used += is_used && !pending->is_adopted;
        nominations->figures.n_unused += !is_used && !pending->is_adopted;
        if (!pending->is_late) /* kube-scheduler may not have tried a late one */
            note_tried(nominations, pending->node, is_used, now);
    }
    remove_pending(nominations, pending);
    return true;
}

static bool nominate(Nominations *nominations, Pending *pending, Str node, int64_t now) {
    Str copy = copy_text(node);

    if (!copy.ptr)
        return false;
    set_state(nominations, pending, PENDING_NOMINATED);
    drop_text(&pending->text);
    drop_text(&pending->node);
    pending->node = copy;
    pending->nominated_at = now;
    pending->outcome = NOMINATION_DROPPED; /* no outcome yet: is_undecided() */
    return true;
}

/* Compares nominatedNodeName with our nomination: it is ours, of another client, or removed. */
static void see_nomination(
    Nominations *nominations, const Pod *pod, Pending *pending, PendingStatus status, int64_t now) {
    bool was_shown = !str_is_empty(pending->version), has_node;

    if (status.is_nominated && pending->state == PENDING_FREE &&
        !str_is_empty(pod->nominated_node_name))
        pending->is_adopted = nominate(nominations, pending, pod->nominated_node_name, now);
    has_node = !str_is_empty(pending->node) && str_eq(pod->nominated_node_name, pending->node);

    if (has_node && pending->state == PENDING_LEFT && pending->outcome == NOMINATION_REJECTED) {
        pending->has_failed = true; /* the patch arrived after all: withdraw it */
        set_state(nominations, pending, PENDING_NOMINATED);
    }
    if (has_node && pending->state == PENDING_NOMINATED) {
        if (!was_shown) {
            pending->is_late = pending->was_filtered;
            pending->shown_at = now;
            nominations->shown[nominations->n_shown++ % SHOWN_MAX] = now;
        }
        count(nominations, pending, -1);
        drop_text(&pending->version);
        pending->version = copy_text(pod->resource_version);
        count(nominations, pending, 1);
    } else if (!str_is_empty(pod->nominated_node_name)) {
        if (pending->state != PENDING_LEFT)
            nominations->foreign_at = now;
        set_state(nominations, pending, PENDING_LEFT);
    } else if (pending->state == PENDING_NOMINATED && was_shown) {
        /* Removed by berth, by kube-scheduler (it cannot place the pod), or by another client. */
        pending->has_failed |= status.was_tried;
        if (is_undecided(pending) && pending->has_failed)
            note_expired(nominations, pending, now);
        set_state(nominations, pending, PENDING_LEFT);
    }
}

void nominations_see(
    Nominations *nominations, const Pod *pod, Str text, PendingStatus status, int64_t now_nsec) {
    Pending *pending = find(nominations, pod->uid);

    if (see_end(nominations, pod, pending, now_nsec))
        return;
    if (!pending)
        pending = add_pending(nominations, pod);
    if (!pending)
        return;
    pending->list = nominations->n_lists;
    see_nomination(nominations, pod, pending, status, now_nsec);
    if (status.was_tried && pending->state == PENDING_NOMINATED)
        pending->has_failed = true;
    else if (status.was_tried)
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

/* Updates cycle_nsec. An interval counts only if more pods were pending at its start. */
static void note_pace(Nominations *nominations, const Pending *pending, int64_t now) {
    int64_t interval = now - nominations->filter_at, mean = nominations->cycle_nsec;
    bool is_quick = pending && pending->state == PENDING_NOMINATED && !pending->is_late;

    if (is_quick || nominations->filter_at == 0 || !nominations->had_backlog ||
        interval > PACE_NSEC_MAX)
        return;
    if (mean == 0)
        mean = NOMINATION_CYCLE_MSEC * NSEC_PER_MSEC;
    /* one long pause is no slow kube-scheduler */
    nominations->cycle_nsec = mean + (clock_earlier(interval, 2 * mean) - mean) / 8;
}

/* Whether kube-scheduler may not have known the nomination when it began to evaluate nodes. If it
 * knew, it sends other nodes because its own filters rejected the nominated one. */
static bool is_late(const Nominations *nominations, const Pending *pending, int64_t now) {
    return str_is_empty(pending->version) ||
           now - pending->shown_at < nominations->cycle_nsec + NOMINATION_LATE_MSEC * NSEC_PER_MSEC;
}

static bool is_away(const Nominations *nominations, int64_t now) {
    return now - nominations->filter_at > NOMINATION_SILENCE_MSEC * NSEC_PER_MSEC;
}

/* kube-scheduler knew the nomination if it sends one node, and did not if @pending is late. */
static void note_delay(
    Nominations *nominations, const Pending *pending, size_t n_nodes, int64_t now) {
    int64_t age = now - pending->shown_at, *delay = &nominations->delay_nsec;

    if (pending->was_filtered || str_is_empty(pending->version) ||
        (n_nodes == 1 ? age >= *delay : !pending->is_late || age <= *delay))
        return;
    *delay = age < NOMINATION_DELAY_MIN_MSEC * NSEC_PER_MSEC
                 ? NOMINATION_DELAY_MIN_MSEC * NSEC_PER_MSEC
                 : clock_earlier(age, NOMINATION_DELAY_MAX_MSEC * NSEC_PER_MSEC);
}

void nominations_note_filter(
    Nominations *nominations, Str uid, Str scheduler, size_t n_nodes, int64_t now_nsec) {
    Pending *pending = find(nominations, uid);

    if (pending && pending->state == PENDING_NOMINATED && n_nodes > 1) {
        pending->is_late |= !pending->was_filtered && is_late(nominations, pending, now_nsec);
        pending->has_failed |= !pending->is_late;
    }
    if (pending && pending->state == PENDING_NOMINATED)
        note_delay(nominations, pending, n_nodes, now_nsec);
    note_scheduler(nominations, scheduler);
    if (n_nodes > 1)
        nominations->n_nodes += ((double)n_nodes - nominations->n_nodes) / 8;
    note_pace(nominations, pending, now_nsec);
    if (pending) {
        count(nominations, pending, -1);
        pending->was_filtered = true;
        count(nominations, pending, 1);
    } else {
        nominations->early[nominations->n_early++ % EARLY_MAX] = hash_str(uid);
    }
    if (pending && pending->state == PENDING_FREE)
        set_state(nominations, pending, PENDING_LEFT);
    if (is_away(nominations, now_nsec))
        nominations->back_at = now_nsec;
    nominations->filter_at = now_nsec;
    nominations->had_backlog = nominations->n_free + nominations->n_outstanding > 1;
}

/* --- waiting ------------------------------------------------------------------------------- */

/* Counts nominations shown so recently that kube-scheduler may not know them yet. */
static size_t n_recent(const Nominations *nominations, int64_t now) {
    size_t n = 0;

    for (size_t i = 0; i < SHOWN_MAX && i < nominations->n_shown; i++)
        n += now - nominations->shown[i] < nominations->delay_nsec;
    return n < nominations->n_ready ? n : nominations->n_ready;
}

/* Whether kube-scheduler runs out of nominated pods, and more are under way. */
static bool runs_out(const Nominations *nominations, int64_t now) {
    size_t recent = n_recent(nominations, now);

    return nominations->figures.state == NOMINATOR_NOMINATES &&
           nominations->n_ready - recent < NOMINATION_READY_MIN &&
           (recent > 0 || nominations->n_coming > 0 || nominations->n_free >= NOMINATION_ROUND_MIN);
}

static bool was_shown_since(const Nominations *nominations, int64_t begin) {
    return nominations->n_shown > 0 &&
           nominations->shown[(nominations->n_shown - 1) % SHOWN_MAX] >= begin;
}

/* Doubles @nsec, from @min_msec (if it is 0) up to @max_msec. */
static int64_t twice(int64_t nsec, int64_t min_msec, int64_t max_msec) {
    nsec = nsec == 0 ? min_msec * NSEC_PER_MSEC : 2 * nsec;
    return clock_earlier(nsec, max_msec * NSEC_PER_MSEC);
}

bool nominations_wait(Nominations *nominations, int64_t begin_nsec, int64_t now_nsec) {
    bool is_over = now_nsec - begin_nsec >= NOMINATION_WAIT_MSEC * NSEC_PER_MSEC;
    bool must_wait = now_nsec >= nominations->wait_again_at && runs_out(nominations, now_nsec);
    bool is_in_vain = must_wait && !was_shown_since(nominations, begin_nsec);

    if (must_wait && !is_over)
        return true;
    if (is_in_vain) {
        /* No nomination came in time: do not delay kube-scheduler again soon. */
        nominations->wait_pause = twice(nominations->wait_pause, NOMINATION_WAIT_PAUSE_MIN_MSEC,
            NOMINATION_WAIT_PAUSE_MAX_MSEC);
        nominations->wait_again_at = now_nsec + nominations->wait_pause;
    }
    if (now_nsec > begin_nsec) {
        nominations->wait_pause *= is_in_vain;
        nominations->filter_at = now_nsec; /* a cycle does not include the wait */
        nominations->figures.n_waits++;
        nominations->figures.wait_nsec += now_nsec - begin_nsec;
    }
    return false;
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

/* Patches are slow while many pods are bound at once, and without patches their latency cannot be
 * measured. So a few are tried: soon at first, rarely if the API server stays slow. */
static void plan_trial(Nominations *nominations, const WriteFigures *writes, int64_t now) {
    if (nominations->trial_wait == 0) {
        nominations->trial_wait = NOMINATION_TRIAL_MIN_MSEC * NSEC_PER_MSEC;
        nominations->trial_at = now;
    }
    if (now - nominations->trial_at < nominations->trial_wait)
        return;
    nominations->trial_at = now;
    nominations->trial_wait =
        twice(nominations->trial_wait, NOMINATION_TRIAL_MIN_MSEC, NOMINATION_TRIAL_MAX_MSEC);
    nominations->n_written_before_trial = writes->n_written;
}

/* In a shorter cycle a nomination does not pay off. With few nodes a cycle that takes somewhat
 * longer is one that waits for a processor. */
static int64_t least_cycle(const Nominations *nominations) {
    return NSEC_PER_MSEC * (nominations->n_nodes < NOMINATION_NODES ? NOMINATION_CYCLE_FEW_MSEC
                                                                    : NOMINATION_CYCLE_MSEC);
}

/* False until both paces are known, and during a trial. */
static bool is_outpaced(Nominations *nominations, const WriteFigures *writes, int64_t now) {
    double own, other;

    if (is_away(nominations, now) || nominations->cycle_nsec == 0)
        return false;
    if (nominations->cycle_nsec < least_cycle(nominations))
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

static NominatorState decide(Nominations *nominations, const WriteFigures *writes, int64_t now) {
    size_t backlog = nominations->n_free + nominations->n_outstanding;
    bool is_nominating = nominations->figures.state == NOMINATOR_NOMINATES;

    if (is_nominating ? backlog < NOMINATION_BACKLOG_END
                      : nominations->n_free == 0 || backlog < NOMINATION_BACKLOG_MIN)
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

size_t nominations_list(
    Nominations *nominations, int64_t now_nsec, size_t max, Arena *arena, FreePod *ret) {
    Pending **list, *pending;
    size_t n = 0;

    if (nominations->n_free < NOMINATION_ROUND_MIN &&
        now_nsec - nominations->listed_at < NOMINATION_ROUND_SEC * NSEC_PER_SEC)
        return 0;
    nominations->listed_at = now_nsec;
    list = ARENA_ARRAY(arena, Pending *, nominations->pods.n_used + 1);
    for (size_t i = 0; list && (pending = set_next(&nominations->pods, &i)); i++)
        if (pending->state == PENDING_FREE && pending->is_called)
            list[n++] = pending;
    if (n > 0)
        qsort(list, n, sizeof(*list), by_order);
    n = n < max ? n : max;
    for (size_t i = 0; i < n; i++)
        ret[i] = (FreePod){
            .namespace = arena_copy(arena, list[i]->namespace),
            .name = arena_copy(arena, list[i]->name),
            .uid = arena_copy(arena, list[i]->uid),
            .text = arena_copy(arena, list[i]->text),
        };
    return arena_has_failed(arena) ? 0 : n;
}

bool nominations_claim(Nominations *nominations, Str uid, Str node, int64_t now_nsec) {
    Pending *pending = find(nominations, uid);

    return pending && pending->state == PENDING_FREE &&
           nominations->n_outstanding < NOMINATION_OUTSTANDING_MAX &&
           nominate(nominations, pending, node, now_nsec);
}

void nominations_leave(Nominations *nominations, Str uid) {
    Pending *pending = find(nominations, uid);

    if (!pending)
        return;
    pending->outcome = NOMINATION_REJECTED; /* if it was nominated */
    set_state(nominations, pending, PENDING_LEFT);
}

/* If kube-scheduler was away when it was made, NOMINATION_SEC begins with its next request. */
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
