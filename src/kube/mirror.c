#include "kube/mirror.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/error.h"
#include "cluster/store.h"
#include "kube/binder.h"
#include "kube/reflector.h"
#include "kube/touch.h"
#include "kube/warrant.h"
#include "model/node.h"

#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024) /* of one object while it is decoded */
#define WAIT_MAX_MSEC 1000                       /* the loop turns at least this often */
#define PAUSE_USEC 100000                        /* when waiting itself fails */
#define SAY_PAUSE_NSEC (10 * NSEC_PER_SEC)       /* between words about the same trouble */
#define PUBLISH_PAUSE_NSEC NSEC_PER_SEC          /* after a snapshot could not be made, or shown */
#define EXPIRE_PAUSE_NSEC NSEC_PER_SEC           /* between walks over the ledger */
#define JOBS_PER_TURN 64u

/* One resource: the sink of its reflector. */
typedef struct Side {
    struct Mirror *mirror;
    MirrorKind kind;
    Reflector *reflector;
    int64_t list_began_at;
    bool is_connected;
    bool says_connected; /* the last word was that */
    int64_t connected_said_at, lost_said_at, unfit_said_at;
} Side;

struct Mirror {
    MirrorOptions options;
    MirrorCallbacks callbacks;
    Access *access;
    Client *client;
    pthread_t thread;

    /* Of the thread alone. */
    Store *store;
    Binder *binder;
    Touch *touch;
    Announce *announce; /* NULL: no Events are written */
    Warrant *warrant;   /* NULL: nobody else binds */
    LeaseStatus lease_said;
    int64_t lease_said_at;
    Arena *arena; /* of one object */
    Side sides[_MIRROR_KINDS];
    Snapshot *snapshot; /* the newest */
    bool is_shown;      /* ... and published */
    bool is_urgent;     /* do not wait for the end of the turn */
    int64_t shown_at;
    int64_t publish_at; /* not before: it has just failed */
    int64_t expire_at;  /* when the ledger is to be walked */
    int64_t wait_said_at;
    int64_t began_at;
    uint64_t n_published, n_bound, n_bind_failed, n_expired;
    bool has_said_forbidden, has_said_no_events;

    atomic_bool is_synced;
    atomic_bool is_asked;  /* since the last turn */
    atomic_bool is_wanted; /* the lease is, and will be for a while */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ended;  /* has_ended */
    bool is_ending, has_ended;
    int64_t end_by;                  /* monotonic: until when it may take to end */
    BindJob *jobs[MIRROR_BINDS_MAX]; /* a ring: not taken yet */
    size_t first_job, n_jobs;
    size_t n_binds; /* in the ring, or with the binder */
    Buf touches;    /* names of nodes, a line each */
    size_t n_touches;
    MirrorStatus status;
};

const char *mirror_kind_name(MirrorKind kind) {
    return kind == MIRROR_NODES ? "nodes" : "pods";
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* --- objects into the store ------------------------------------------------------------- */

/* One object, decoded: a node or a pod. */
typedef struct Object {
    Node node;
    Pod pod;
    Str name;
} Object;

/* Whether something that was last said @at may be said again; it is, then. Things that happen
 * a thousand times must not become a thousand lines. */
static bool may_say(int64_t *at) {
    int64_t now = clock_monotonic_nsec();

    if (*at != 0 && now - *at < SAY_PAUSE_NSEC)
        return false;
    *at = now;
    return true;
}

static void say(const Mirror *mirror, MirrorNotice notice) {
    notice.server = access_server(mirror->access);
    notice.origin = access_origin(mirror->access);
    if (mirror->callbacks.notice)
        mirror->callbacks.notice(mirror->callbacks.context, &notice);
}

static void say_unfit(Side *side, Str name, const char *why) {
    if (may_say(&side->unfit_said_at))
        say(side->mirror,
            (MirrorNotice){
                .event = MIRROR_PASSED_OVER, .kind = side->kind, .name = name, .why = why});
}

/* 0, SINK_UNFIT or SINK_MALFORMED. */
static int decode(Side *side, Str text, Object *ret) {
    JsonReader reader;
    char why[256];

    arena_reset(side->mirror->arena);
    json_reader_init(&reader, text);
    if (side->kind == MIRROR_NODES) {
        node_decode(&reader, side->mirror->arena, &ret->node);
        ret->name = ret->node.name;
    } else {
        pod_decode(&reader, side->mirror->arena, &ret->pod);
        ret->name = ret->pod.name;
    }
    json_end(&reader);
    if (json_error(&reader) == JSON_OK && str_is_empty(ret->name))
        json_fail(&reader, JSON_E_TYPE, "an object without a name");
    switch (json_error(&reader)) {
    case JSON_OK:
        return 0;
    case JSON_E_SYNTAX:
    case JSON_E_UTF8:
    case JSON_E_END:
    case JSON_E_TRAILING:
        return SINK_MALFORMED;
    case JSON_E_DEPTH:
    case JSON_E_TYPE:
    case JSON_E_RANGE:
    case JSON_E_MEMORY:
        break;
    }
    json_describe(&reader, why, sizeof(why));
    say_unfit(side, ret->name, why);
    return SINK_UNFIT;
}

/* The store's answer as a sink's. */
static int taken(Side *side, const Object *object, int r) {
    if (r == STORE_FULL) {
        say_unfit(side, object->name, "there are too many");
        return SINK_UNFIT;
    }
    return r < 0 ? error_trace(r) : 0;
}

static void on_begin(void *context) {
    Side *side = context;

    side->list_began_at = clock_monotonic_nsec();
    store_list_begin(side->mirror->store, side->kind == MIRROR_NODES ? STORE_NODES : STORE_PODS);
}

static int on_item(void *context, Str text) {
    Side *side = context;
    Store *store = side->mirror->store;
    Object object;
    int r = decode(side, text, &object);

    if (r != 0)
        return r;
    r = side->kind == MIRROR_NODES ? store_list_node(store, &object.node)
                                   : store_list_pod(store, &object.pod);
    return taken(side, &object, r);
}

static int on_end(void *context) {
    Side *side = context;

    return error_trace(
        store_list_end(side->mirror->store, side->kind == MIRROR_NODES ? STORE_NODES : STORE_PODS));
}

static int remove_object(Side *side, const ObjectMeta *meta) {
    Store *store = side->mirror->store;
    int r = side->kind == MIRROR_NODES
                ? store_remove_node(store, meta->name)
                : store_remove_pod(store, meta->namespace, meta->name, meta->uid);

    return r < 0 ? error_trace(r) : 0;
}

static int on_apply(void *context, EventType type, const ObjectMeta *meta, Str text) {
    Side *side = context;
    Mirror *mirror = side->mirror;
    Object object;
    int r, removed;

    if (type == EVENT_DELETED)
        return error_trace(remove_object(side, meta));
    r = decode(side, text, &object);
    if (r != 0) { /* it counts as not there, as it would in a list */
        removed = remove_object(side, meta);
        return removed < 0 ? error_trace(removed) : r;
    }
    if (side->kind == MIRROR_NODES)
        return taken(side, &object, store_apply_node(mirror->store, &object.node));
    r = store_apply_pod(mirror->store, &object.pod);
    if (r == STORE_BOUND && type == EVENT_MODIFIED && mirror->callbacks.pod_bound)
        mirror->callbacks.pod_bound(mirror->callbacks.context, &object.pod);
    return taken(side, &object, r);
}

/* --- what people are told ------------------------------------------------------------------ */

/* Also for what was not said at once: the last word is to be the truth. */
static void say_connected(Side *side) {
    if (!side->is_connected || side->says_connected || !may_say(&side->connected_said_at))
        return;
    side->says_connected = true;
    say(side->mirror, (MirrorNotice){.event = MIRROR_CONNECTED, .kind = side->kind});
}

static void say_lost(Side *side, const char *why, int64_t retry_nsec) {
    if (!may_say(&side->lost_said_at))
        return;
    side->says_connected = false;
    say(side->mirror,
        (MirrorNotice){.event = MIRROR_LOST,
            .kind = side->kind,
            .why = why,
            .msec = retry_nsec / NSEC_PER_MSEC});
}

static void say_synced(const Side *side) {
    StoreFigures figures;

    store_figures(side->mirror->store, &figures);
    say(side->mirror,
        (MirrorNotice){.event = MIRROR_LISTED,
            .kind = side->kind,
            .n = side->kind == MIRROR_NODES ? figures.n_nodes : figures.n_pods,
            .msec = (clock_monotonic_nsec() - side->list_began_at) / NSEC_PER_MSEC});
}

static void on_notice(void *context, ReflectorNotice what, const char *why, int64_t retry_nsec) {
    Side *side = context;

    switch (what) {
    case REFLECTOR_CONNECTED:
        side->is_connected = true;
        say_connected(side);
        break;
    case REFLECTOR_SYNCED:
        say_synced(side);
        break;
    case REFLECTOR_EXPIRED:
        say(side->mirror,
            (MirrorNotice){.event = MIRROR_RELISTING, .kind = side->kind, .why = why});
        break;
    case REFLECTOR_LOST:
        side->is_connected = false;
        say_lost(side, why, retry_nsec);
        break;
    }
}

static void say_start(const Mirror *mirror) {
    say(mirror, (MirrorNotice){.event = MIRROR_FOLLOWING});
    if (access_is_insecure(mirror->access))
        say(mirror, (MirrorNotice){.event = MIRROR_INSECURE});
}

static void say_known(const Mirror *mirror) {
    StoreFigures figures;

    store_figures(mirror->store, &figures);
    say(mirror,
        (MirrorNotice){.event = MIRROR_KNOWN,
            .n_nodes = figures.n_nodes,
            .n_pods = figures.n_pods,
            .msec = (clock_monotonic_nsec() - mirror->began_at) / NSEC_PER_MSEC});
}

/* --- snapshots -------------------------------------------------------------------------------- */

static bool is_complete(const Mirror *mirror) {
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        if (!reflector_figures(mirror->sides[i].reflector)->is_synced)
            return false;
    return true;
}

/* 0, or -ENOMEM: the one there is stays. */
static int refresh(Mirror *mirror) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = store_publish(mirror->store, &snapshot);

    if (r < 0)
        return error_trace(r);
    if (snapshot == mirror->snapshot)
        return 0;
    snapshot_unref(mirror->snapshot);
    mirror->snapshot = TAKE_PTR(snapshot);
    mirror->is_shown = false;
    return 0;
}

/* Whether it was taken. */
static bool show(Mirror *mirror) {
    if (!mirror->callbacks.publish(mirror->callbacks.context, mirror->snapshot))
        return false;
    if (mirror->n_published++ == 0)
        say_known(mirror);
    mirror->is_shown = true;
    atomic_store_explicit(&mirror->is_synced, true, memory_order_release);
    return true;
}

/* The first event after a quiet time is shown at once, those behind it a turn later:
 * a burst costs as many snapshots as it lasts turns. Returns when it is due. */
static int64_t publish(Mirror *mirror, int64_t now) {
    int64_t due = mirror->shown_at + MIRROR_TURN_MSEC * NSEC_PER_MSEC;
    bool has_news = !mirror->snapshot || !mirror->is_shown || store_is_dirty(mirror->store);

    if (!has_news || !is_complete(mirror))
        return INT64_MAX;
    if (now < mirror->publish_at)
        return mirror->publish_at;
    if (!mirror->is_urgent && now < due)
        return due;
    mirror->is_urgent = false;
    if (refresh(mirror) < 0 || (!mirror->is_shown && !show(mirror))) {
        mirror->publish_at = clock_monotonic_nsec() + PUBLISH_PAUSE_NSEC;
        return mirror->publish_at;
    }
    mirror->shown_at = clock_monotonic_nsec();
    return INT64_MAX;
}

/* For the binder: what a job is judged by. Everybody else sees it before the loop waits,
 * and so before a Binding leaves, unless publish() does not take it. */
static Snapshot *current_snapshot(void *context) {
    Mirror *mirror = context;

    if (!is_complete(mirror) || refresh(mirror) < 0)
        return NULL;
    mirror->is_urgent = true;
    return mirror->snapshot;
}

/* For the binder, too. */
static bool may_send(void *context, char *error) {
    const Mirror *mirror = context;

    if (!mirror->warrant || warrant_is_good(mirror->warrant, clock_monotonic_nsec()))
        return true;
    if (error)
        warrant_explain(mirror->warrant, error, MIRROR_ERROR_MAX);
    return false;
}

static void on_bind_ended(void *context, BindEnd end) {
    Mirror *mirror = context;

    mirror->n_bound += end == BIND_BOUND;
    mirror->n_bind_failed += end == BIND_FAILED;
    if (end == BIND_FAILED) /* an older entry of the ledger may be back, that ends sooner */
        mirror->expire_at = earlier(mirror->expire_at, clock_monotonic_nsec() + EXPIRE_PAUSE_NSEC);
    pthread_mutex_lock(&mirror->mutex);
    mirror->n_binds--;
    pthread_mutex_unlock(&mirror->mutex);
}

/* --- messages -----------------------------------------------------------------------------------
 */

int mirror_bind(Mirror *mirror, BindJob *job) {
    int r = 0;

    pthread_mutex_lock(&mirror->mutex);
    if (mirror->is_ending) {
        r = -ESHUTDOWN;
    } else if (mirror->n_binds == MIRROR_BINDS_MAX) {
        r = -EBUSY;
    } else {
        mirror->jobs[(mirror->first_job + mirror->n_jobs++) % MIRROR_BINDS_MAX] = job;
        mirror->n_binds++;
    }
    pthread_mutex_unlock(&mirror->mutex);
    if (r == 0)
        client_wake(mirror->client);
    return r;
}

/* In the steady state both are set, and nothing is written. */
void mirror_note_asked(Mirror *mirror) {
    if (!mirror->warrant)
        return;
    if (!atomic_load_explicit(&mirror->is_asked, memory_order_relaxed))
        atomic_store(&mirror->is_asked, true);
    if (!atomic_load(&mirror->is_wanted))
        client_wake(mirror->client);
}

void mirror_touch_node(Mirror *mirror, Str node) {
    if (!node_name_is_valid(node))
        return;
    pthread_mutex_lock(&mirror->mutex);
    if (mirror->n_touches < MIRROR_TOUCHES_MAX) {
        mirror->n_touches++;
        buf_append(&mirror->touches, node);
        buf_append_char(&mirror->touches, '\n');
    }
    pthread_mutex_unlock(&mirror->mutex);
    client_wake(mirror->client);
}

void mirror_announce(Mirror *mirror, const Announcement *announcement) {
    if (mirror->announce && announce_add(mirror->announce, announcement))
        client_wake(mirror->client);
}

static void post_events(Mirror *mirror, int64_t now) {
    if (!mirror->announce)
        return;
    announce_tick(mirror->announce, now);
    if (announce_figures(mirror->announce).is_forbidden && !mirror->has_said_no_events) {
        mirror->has_said_no_events = true;
        say(mirror, (MirrorNotice){.event = MIRROR_NO_EVENTS});
    }
}

/* Up to JOBS_PER_TURN jobs that have not been taken yet; how many. */
static size_t take_jobs(Mirror *mirror, BindJob **ret) {
    size_t n = 0;

    pthread_mutex_lock(&mirror->mutex);
    for (; n < JOBS_PER_TURN && mirror->n_jobs > 0; n++) {
        ret[n] = mirror->jobs[mirror->first_job];
        mirror->first_job = (mirror->first_job + 1) % MIRROR_BINDS_MAX;
        mirror->n_jobs--;
    }
    pthread_mutex_unlock(&mirror->mutex);
    return n;
}

/* Whether there may be more. */
static bool take_binds(Mirror *mirror) {
    BindJob *jobs[JOBS_PER_TURN];
    size_t n = take_jobs(mirror, jobs);

    for (size_t i = 0; i < n; i++)
        binder_add(mirror->binder, jobs[i]);
    return n == JOBS_PER_TURN;
}

static void take_touches(Mirror *mirror) {
    _cleanup_(buf_done) Buf names = BUF_INIT(0);
    Str rest, name;

    pthread_mutex_lock(&mirror->mutex);
    names = mirror->touches;
    mirror->touches = BUF_INIT(names.ceiling);
    mirror->n_touches = 0;
    pthread_mutex_unlock(&mirror->mutex);
    rest = buf_str(&names);
    while (str_split(&rest, '\n', &name))
        if (!str_is_empty(name))
            (void)touch_add(mirror->touch, name);
    if (touch_figures(mirror->touch).is_forbidden && !mirror->has_said_forbidden) {
        mirror->has_said_forbidden = true;
        say(mirror, (MirrorNotice){.event = MIRROR_FORBIDDEN});
    }
}

/* --- status
 * ---------------------------------------------------------------------------------------- */

static void fill_kind(const Side *side, MirrorKindStatus *ret) {
    const ReflectorFigures *figures = reflector_figures(side->reflector);

    *ret = (MirrorKindStatus){
        .is_synced = figures->is_synced,
        .is_connected = figures->is_connected,
        .synced_at_nsec = figures->synced_at_nsec,
        .heard_at_nsec = figures->heard_at_nsec,
        .n_lists = figures->n_lists,
        .n_watches = figures->n_watches,
        .n_restarts = figures->n_restarts,
        .n_added = figures->n_added,
        .n_modified = figures->n_modified,
        .n_deleted = figures->n_deleted,
        .n_bookmarks = figures->n_bookmarks,
        .n_errors = figures->n_errors,
        .n_unknown = figures->n_unknown,
        .n_malformed = figures->n_malformed,
        .n_unfit = figures->n_unfit,
        .n_bytes = figures->n_bytes,
        .n_failures = figures->n_failures,
    };
    (void)snprintf(ret->last_error, sizeof(ret->last_error), "%s", figures->last_error);
}

static void update_status(Mirror *mirror) {
    TouchFigures touch = touch_figures(mirror->touch);
    StoreFigures store;
    MirrorStatus status;

    store_figures(mirror->store, &store);
    status = (MirrorStatus){
        .n_nodes = store.n_nodes,
        .n_pods = store.n_pods,
        .n_assumed = store.n_assumed,
        .n_resources_left_out = store.n_resources_left_out,
        .n_published = mirror->n_published,
        .n_bound = mirror->n_bound,
        .n_bind_failed = mirror->n_bind_failed,
        .n_expired = mirror->n_expired,
        .n_touched = touch.n_touched,
        .n_touch_failed = touch.n_failed,
    };
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        fill_kind(&mirror->sides[i], &status.kinds[i]);
    (void)snprintf(status.server, sizeof(status.server), "%s", access_server(mirror->access));
    if (mirror->warrant) {
        status.has_lease = true;
        warrant_status(mirror->warrant, &status.lease);
    }
    if (mirror->announce) {
        status.may_announce = true;
        status.events = announce_figures(mirror->announce);
    }
    pthread_mutex_lock(&mirror->mutex);
    mirror->status = status;
    pthread_mutex_unlock(&mirror->mutex);
}

void mirror_status(Mirror *mirror, MirrorStatus *ret) {
    pthread_mutex_lock(&mirror->mutex);
    *ret = mirror->status;
    pthread_mutex_unlock(&mirror->mutex);
}

bool mirror_is_synced(Mirror *mirror) {
    return atomic_load_explicit(&mirror->is_synced, memory_order_acquire);
}

/* --- the lease
 * ---------------------------------------------------------------------------------------- */

/* Who asks again and again, and somebody else binds, is told of that now and then. */
static void say_elsewhere(Mirror *mirror, const LeaseStatus *lease) {
    const LeaseStatus *said = &mirror->lease_said;
    bool is_trouble = lease->error[0] != '\0';
    bool is_other = lease->holder[0] != '\0' && strcmp(lease->holder, said->holder) != 0;

    if (lease->is_held || !lease->is_wanted)
        return;
    if (is_trouble && (strcmp(lease->error, said->error) != 0 || !said->is_wanted) &&
        may_say(&mirror->lease_said_at))
        say(mirror, (MirrorNotice){.event = MIRROR_NO_LEASE, .why = lease->error});
    else if (is_other && !is_trouble && strcmp(lease->holder, mirror->options.identity) != 0)
        say(mirror, (MirrorNotice){.event = MIRROR_ELSEWHERE, .why = lease->holder});
}

static void on_lease_changed(void *context) {
    Mirror *mirror = context;
    const LeaseStatus *said = &mirror->lease_said;
    LeaseStatus lease;

    warrant_status(mirror->warrant, &lease);
    if (lease.is_held && !said->is_held)
        say(mirror, (MirrorNotice){.event = MIRROR_TAKEN, .why = said->holder});
    else if (!lease.is_held && said->is_held && lease.n_lost > said->n_lost)
        say(mirror,
            (MirrorNotice){
                .event = MIRROR_DEPRIVED, .why = lease.error[0] ? lease.error : lease.holder});
    else if (!lease.is_held && said->is_held)
        say(mirror, (MirrorNotice){.event = MIRROR_GIVEN_UP});
    else
        say_elsewhere(mirror, &lease);
    mirror->lease_said = lease;
}

/* The flag that is set first is read last, so that a note is never between the two. Who has jobs
 * wants the lease, too: it is not given up while a Binding is under way. */
static int64_t tend_lease(Mirror *mirror, int64_t now) {
    LeaseStatus lease;
    int64_t next_at;

    if (!mirror->warrant)
        return INT64_MAX;
    if (atomic_exchange(&mirror->is_asked, false) || !binder_is_idle(mirror->binder))
        warrant_want(mirror->warrant, now);
    next_at = warrant_tick(mirror->warrant, now);
    warrant_status(mirror->warrant, &lease);
    atomic_store(&mirror->is_wanted, lease.is_wanted);
    return !lease.is_wanted && atomic_load(&mirror->is_asked) ? now : next_at;
}

/* --- the thread
 * -------------------------------------------------------------------------------------- */

/* Forgets bound pods that the watch should have shown by now. What it has not had the chance
 * to show is not over: until it goes on, we look again once in a while. Whatever is assumed
 * in between ends after what was there, so that the ledger need not be walked for it. */
static int64_t expire(Mirror *mirror, int64_t now) {
    int64_t proven = reflector_figures(mirror->sides[MIRROR_PODS].reflector)->synced_at_nsec;
    StoreFigures figures;
    int64_t next_at;
    size_t n;

    store_figures(mirror->store, &figures);
    if (figures.n_assumed == 0) {
        mirror->expire_at = 0;
        return INT64_MAX;
    }
    if (now < mirror->expire_at)
        return mirror->expire_at;
    n = store_expire(mirror->store, earlier(now, proven), &next_at);
    if (n > 0)
        say(mirror, (MirrorNotice){.event = MIRROR_UNSEEN, .n = n});
    mirror->n_expired += n;
    mirror->expire_at = next_at == INT64_MAX ? 0 : later(next_at, now + EXPIRE_PAUSE_NSEC);
    return next_at == INT64_MAX ? INT64_MAX : mirror->expire_at;
}

/* Everything but waiting. Returns until when to wait. */
static int64_t turn(Mirror *mirror) {
    int64_t now = clock_monotonic_nsec();
    int64_t next_at = INT64_MAX;

    if (take_binds(mirror))
        next_at = now;
    take_touches(mirror);
    post_events(mirror, now);
    for (size_t i = 0; i < _MIRROR_KINDS; i++) {
        next_at = earlier(next_at, reflector_tick(mirror->sides[i].reflector, now));
        say_connected(&mirror->sides[i]);
    }
    next_at = earlier(next_at, tend_lease(mirror, now));
    next_at = earlier(next_at, binder_tick(mirror->binder, now));
    next_at = earlier(next_at, expire(mirror, now));
    next_at = earlier(next_at, publish(mirror, now));
    update_status(mirror);
    return next_at;
}

static void wait_until(Mirror *mirror, int64_t until) {
    int64_t now = clock_monotonic_nsec();
    int64_t msec = until <= now ? 0 : (until - now - 1) / NSEC_PER_MSEC + 1;
    int r = client_wait(mirror->client, msec < WAIT_MAX_MSEC ? (int)msec : WAIT_MAX_MSEC);

    if (r < 0) { /* nothing that waiting a little could make worse */
        if (may_say(&mirror->wait_said_at))
            say(mirror, (MirrorNotice){.event = MIRROR_STUCK, .why = strerror(-r)});
        (void)usleep(PAUSE_USEC);
    }
}

static bool is_ending(Mirror *mirror) {
    bool ending;

    pthread_mutex_lock(&mirror->mutex);
    ending = mirror->is_ending;
    pthread_mutex_unlock(&mirror->mutex);
    return ending;
}

/* Nobody adds jobs any more. */
static void refuse_jobs(Mirror *mirror) {
    BindJob *jobs[JOBS_PER_TURN];
    size_t n;

    mirror->binder = binder_free(mirror->binder);
    while ((n = take_jobs(mirror, jobs)) > 0)
        for (size_t i = 0; i < n; i++) {
            jobs[i]->done(jobs[i], "berth is shutting down");
            on_bind_ended(mirror, BIND_FAILED);
        }
}

static int64_t end_by(Mirror *mirror) {
    int64_t at;

    pthread_mutex_lock(&mirror->mutex);
    at = mirror->end_by;
    pthread_mutex_unlock(&mirror->mutex);
    return at;
}

/* What is under way ends first; then others may bind. If it does not end in time, they have to
 * wait until the lease has run out: a Binding may still be on its way. */
static void hand_over(Mirror *mirror) {
    bool is_idle;

    while (!binder_is_idle(mirror->binder) && clock_monotonic_nsec() < end_by(mirror))
        wait_until(mirror, earlier(turn(mirror), end_by(mirror)));
    is_idle = binder_is_idle(mirror->binder);
    refuse_jobs(mirror);
    while (is_idle && !warrant_release(mirror->warrant) && clock_monotonic_nsec() < end_by(mirror))
        wait_until(mirror, earlier(end_by(mirror), clock_monotonic_nsec() + PAUSE_USEC * 1000));
}

static void *run(void *context) {
    Mirror *mirror = context;

    say_start(mirror);
    while (!is_ending(mirror))
        wait_until(mirror, turn(mirror));
    if (mirror->warrant)
        hand_over(mirror);
    refuse_jobs(mirror);
    pthread_mutex_lock(&mirror->mutex);
    mirror->has_ended = true;
    pthread_cond_broadcast(&mirror->ended);
    pthread_mutex_unlock(&mirror->mutex);
    return NULL;
}

/* --- life
 * ---------------------------------------------------------------------------------------------- */

static uint64_t random_seed(void) {
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uint64_t)clock_wall_nsec() ^ (uint64_t)getpid() << 32;
    return seed;
}

static bool make_side(Mirror *mirror, MirrorKind kind, uint64_t seed) {
    Side *side = &mirror->sides[kind];
    const ReflectorOptions options = {
        .path = kind == MIRROR_NODES ? "/api/v1/nodes" : "/api/v1/pods",
        .resource = mirror_kind_name(kind),
        .clock = clock_monotonic_nsec,
        .seed = seed,
        .silence_sec =
            mirror->options.silence_sec ? mirror->options.silence_sec : MIRROR_SILENCE_SEC,
        .sink =
            {
                .context = side,
                .begin = on_begin,
                .item = on_item,
                .end = on_end,
                .apply = on_apply,
                .notice = on_notice,
            },
    };

    side->mirror = mirror;
    side->kind = kind;
    side->reflector = reflector_new(mirror->client, &options);
    return side->reflector != NULL;
}

static bool make_warrant(Mirror *mirror) {
    if (!mirror->options.lease_name)
        return true;
    mirror->warrant = warrant_new(&(WarrantOptions){
        .client = mirror->client,
        .namespace = mirror->options.lease_namespace,
        .name = mirror->options.lease_name,
        .identity = mirror->options.identity,
        .pods = mirror->sides[MIRROR_PODS].reflector,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
        .context = mirror,
        .changed = on_lease_changed,
    });
    return mirror->warrant != NULL;
}

static bool make_announce(Mirror *mirror) {
    if (!mirror->options.may_announce)
        return true;
    mirror->announce = announce_new(&(AnnounceOptions){
        .client = mirror->client,
        .instance = mirror->options.identity,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
    });
    return mirror->announce != NULL;
}

static bool make_parts(Mirror *mirror) {
    uint64_t seed = random_seed();

    mirror->client = client_new(mirror->access);
    mirror->store = store_new();
    mirror->arena = arena_new(OBJECT_BUDGET);
    if (!mirror->client || !mirror->store || !mirror->arena)
        return false;
    mirror->touch = touch_new(&(TouchOptions){
        .client = mirror->client,
        .annotation = MIRROR_RETRY_ANNOTATION,
        .wall_clock = clock_wall_nsec,
    });
    mirror->binder = binder_new(&(BinderOptions){
        .client = mirror->client,
        .store = mirror->store,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
        .context = mirror,
        .snapshot = current_snapshot,
        .may_send = may_send,
        .ended = on_bind_ended,
    });
    return mirror->touch && mirror->binder && make_side(mirror, MIRROR_NODES, seed) &&
           make_side(mirror, MIRROR_PODS, ~seed) && make_warrant(mirror) && make_announce(mirror);
}

/* Frees what make_parts() made, also in part. The thread has ended, or never was. */
static Mirror *free_parts(Mirror *mirror) {
    warrant_free(mirror->warrant);
    announce_free(mirror->announce);
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        reflector_free(mirror->sides[i].reflector);
    binder_free(mirror->binder);
    touch_free(mirror->touch);
    client_free(mirror->client);
    snapshot_unref(mirror->snapshot);
    store_free(mirror->store);
    arena_free(mirror->arena);
    access_free(mirror->access);
    buf_done(&mirror->touches);
    pthread_cond_destroy(&mirror->ended);
    pthread_mutex_destroy(&mirror->mutex);
    free(mirror);
    return NULL;
}

static void init_lock(Mirror *mirror) {
    pthread_condattr_t attributes;

    pthread_mutex_init(&mirror->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&mirror->ended, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Signals are for the thread that waits for them. */
static int start_thread(Mirror *mirror) {
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&mirror->thread, NULL, run, mirror);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r != 0)
        return error_origin(-r);
    (void)pthread_setname_np(mirror->thread, "mirror");
    return 0;
}

int mirror_new(
    Access *access, const MirrorOptions *options, const MirrorCallbacks *callbacks, Mirror **ret) {
    Mirror *mirror = calloc(1, sizeof(*mirror));
    int r;

    if (!mirror) {
        access_free(access);
        return error_origin(-ENOMEM);
    }
    mirror->access = access;
    mirror->options = *options;
    mirror->callbacks = *callbacks;
    mirror->touches = BUF_INIT(MIRROR_TOUCHES_MAX * (NODE_NAME_MAX + 1));
    mirror->began_at = clock_monotonic_nsec();
    init_lock(mirror);
    r = make_parts(mirror) ? 0 : error_origin(-ENOMEM);
    if (r == 0) {
        update_status(mirror);
        r = error_trace(start_thread(mirror));
    }
    if (r < 0) {
        free_parts(mirror);
        return r;
    }
    *ret = mirror;
    return 0;
}

bool mirror_stop(Mirror *mirror, int64_t timeout_nsec) {
    struct timespec until = deadline_in(timeout_nsec);
    bool has_ended;

    pthread_mutex_lock(&mirror->mutex);
    mirror->is_ending = true;
    mirror->end_by = clock_monotonic_nsec() + timeout_nsec - timeout_nsec / 8;
    client_wake(mirror->client);
    while (!mirror->has_ended)
        if (pthread_cond_timedwait(&mirror->ended, &mirror->mutex, &until) != 0)
            break;
    has_ended = mirror->has_ended;
    pthread_mutex_unlock(&mirror->mutex);
    return has_ended;
}

Mirror *mirror_free(Mirror *mirror) {
    if (!mirror)
        return NULL;
    (void)mirror_stop(mirror, 0);
    (void)pthread_join(mirror->thread, NULL);
    return free_parts(mirror);
}
