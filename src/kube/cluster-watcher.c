/* The thread: each turn takes binds, runs the due work of reflectors, lease and binder, publishes
 * changes, and waits for the network. No other thread touches its data. */

#include "kube/cluster-watcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "kube/cluster-watcher-internal.h"

#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024) /* for decoding one object */
#define WAIT_MAX_MSEC 1000                       /* at least one turn in this time */
#define PAUSE_USEC 100000                        /* if waiting fails */
#define NOTICE_PAUSE_NSEC (10 * NSEC_PER_SEC)    /* between notices of one kind */
#define EXPIRE_PAUSE_NSEC NSEC_PER_SEC           /* between checks of assumed pods */
#define PUBLISH_PAUSE_NSEC NSEC_PER_SEC          /* after a failure to make or publish a snapshot */
#define BINDS_AT_ONCE 64u

const char *watcher_kind_name(WatcherKind kind) {
    if (kind == WATCHER_POLICIES)
        return "placementpolicies.berth.dev";
    if (kind >= _WATCHER_KINDS)
        return related_kind_name((RelatedKind)(kind - _WATCHER_KINDS));
    return kind == WATCHER_NODES ? "nodes" : "pods";
}

/* --- notices ------------------------------------------------------------------------------- */

bool watcher_may_notify(int64_t *at) {
    int64_t now = clock_monotonic_nsec();

    if (*at != 0 && now - *at < NOTICE_PAUSE_NSEC)
        return false;
    *at = now;
    return true;
}

void watcher_notify(const ClusterWatcher *watcher, WatcherNotice notice) {
    notice.server = access_server(watcher->access);
    notice.origin = access_origin(watcher->access);
    if (watcher->callbacks.notice)
        watcher->callbacks.notice(watcher->callbacks.context, &notice);
}

/* --- from other threads -------------------------------------------------------------------- */

int watcher_bind(ClusterWatcher *watcher, BindJob *job) {
    int r = 0;

    pthread_mutex_lock(&watcher->lock);
    if (watcher->is_ending) {
        r = -ESHUTDOWN;
    } else if (watcher->n_binds == WATCHER_BINDS_MAX) {
        r = -EBUSY;
    } else {
        watcher->binds[(watcher->first_bind + watcher->n_waiting_binds++) % WATCHER_BINDS_MAX] =
            job;
        watcher->n_binds++;
    }
    pthread_mutex_unlock(&watcher->lock);
    if (r == 0)
        client_wake(watcher->client);
    return r;
}

/* Takes the oldest waiting job; NULL: none. */
static BindJob *take_bind(ClusterWatcher *watcher) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&watcher->lock);
    BindJob *job = watcher->binds[watcher->first_bind];

    if (watcher->n_waiting_binds == 0)
        return NULL;
    watcher->first_bind = (watcher->first_bind + 1) % WATCHER_BINDS_MAX;
    watcher->n_waiting_binds--;
    return job;
}

/* Returns whether there may be more. */
static bool take_binds(ClusterWatcher *watcher) {
    for (size_t i = 0; i < BINDS_AT_ONCE; i++) {
        BindJob *job = take_bind(watcher);

        if (!job)
            return false;
        watcher->only_expects = job->is_expected;
        binder_add(watcher->binder, job);
    }
    return true;
}

/* --- snapshots ----------------------------------------------------------------------------- */

/* Whether all nodes and pods are listed; for the first snapshot also related objects, because rules
 * that read them would fail. If the API server refuses to list those, they are not waited for,
 * since otherwise no pod would ever be placed. */
static bool is_complete(const ClusterWatcher *watcher) {
    size_t n_kinds = watcher->n_published > 0 ? _WATCHER_KINDS : WATCHER_POLICIES;

    for (size_t i = 0; i < n_kinds; i++) {
        const Reflector *reflector = watcher->resources[i].reflector;
        const ReflectorFigures *figures = reflector ? reflector_figures(reflector) : NULL;

        if (figures && !figures->is_synced && !(i >= _WATCHER_KINDS && figures->is_refused))
            return false;
    }
    return true;
}

/* 0; or -ENOMEM, and the old snapshot stays. */
static int make_snapshot(ClusterWatcher *watcher) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    int r = store_publish(watcher->store, &snapshot);

    if (r < 0)
        return r;
    if (snapshot == watcher->snapshot)
        return 0;
    snapshot_unref(watcher->snapshot);
    watcher->snapshot = TAKE_PTR(snapshot);
    watcher->is_published = false;
    return 0;
}

/* Returns false if the callback rejects the snapshot; a later turn publishes it, or a newer one,
 * again. */
static bool publish_snapshot(ClusterWatcher *watcher) {
    StoreFigures figures;

    if (!watcher->callbacks.publish(watcher->callbacks.context, watcher->snapshot))
        return false;
    if (watcher->n_published++ == 0) {
        store_figures(watcher->store, &figures);
        watcher_notify(
            watcher, (WatcherNotice){.event = WATCHER_SYNCED,
                         .n_nodes = figures.n_nodes,
                         .n_pods = figures.n_pods,
                         .msec = (clock_monotonic_nsec() - watcher->began_at) / NSEC_PER_MSEC});
    }
    watcher->is_published = true;
    atomic_store_explicit(&watcher->is_synced, true, memory_order_release);
    return true;
}

/* Publishes the first event after a quiet time at once, later ones after WATCHER_TURN_MSEC: a burst
 * costs one snapshot per turn. Returns when a snapshot is due. */
static int64_t publish(ClusterWatcher *watcher, int64_t now_nsec) {
    int64_t due = watcher->published_at + WATCHER_TURN_MSEC * NSEC_PER_MSEC;
    bool has_news = !watcher->snapshot || !watcher->is_published || store_is_dirty(watcher->store);

    if (!has_news || !is_complete(watcher))
        return INT64_MAX;
    if (now_nsec < watcher->publish_at)
        return watcher->publish_at;
    if (!watcher->is_urgent && now_nsec < due)
        return due;
    watcher->is_urgent = false;
    if (make_snapshot(watcher) < 0 || (!watcher->is_published && !publish_snapshot(watcher))) {
        watcher->publish_at = clock_monotonic_nsec() + PUBLISH_PAUSE_NSEC;
        return watcher->publish_at;
    }
    watcher->published_at = clock_monotonic_nsec();
    return INT64_MAX;
}

/* --- objects that pods refer to ------------------------------------------------------------ */

void watcher_want_related(ClusterWatcher *watcher, unsigned kinds) {
    if (atomic_exchange(&watcher->wants_related, kinds) != kinds)
        client_wake(watcher->client);
}

bool watcher_has_related(ClusterWatcher *watcher, unsigned kinds) {
    return (atomic_load_explicit(&watcher->has_related, memory_order_acquire) & kinds) == kinds;
}

/* Starts to watch wanted kinds, and stops others. Without memory the next turn tries again. */
static void begin_related(ClusterWatcher *watcher) {
    unsigned wanted = atomic_load(&watcher->wants_related);

    for (unsigned i = 0; i < _RELATED_KINDS; i++) {
        WatchedResource *resource = &watcher->resources[_WATCHER_KINDS + i];
        bool is_wanted = wanted & RELATED_BIT(i);

        if (is_wanted && !resource->reflector)
            (void)watched_resource_init(
                watcher, (WatcherKind)(_WATCHER_KINDS + i), watcher->seed + i + 1);
        else if (!is_wanted && resource->reflector)
            watched_resource_done(resource);
    }
}

/* Updates has_related. The last snapshot may have a kind that is no longer or not yet watched. */
static void note_related(ClusterWatcher *watcher) {
    unsigned has = 0;

    for (unsigned i = 0; watcher->is_published && i < _RELATED_KINDS; i++) {
        const Reflector *reflector = watcher->resources[_WATCHER_KINDS + i].reflector;

        if (reflector && reflector_figures(reflector)->is_synced &&
            snapshot_related(watcher->snapshot)->kinds[i])
            has |= RELATED_BIT(i);
    }
    atomic_store_explicit(&watcher->has_related, has, memory_order_release);
}

/* BinderOptions.snapshot. Published before the loop waits, so before a Binding is sent, unless the
 * callback rejects it. */
static Snapshot *current_snapshot(void *context) {
    ClusterWatcher *watcher = context;

    if (!is_complete(watcher) || make_snapshot(watcher) < 0)
        return NULL;
    watcher->is_urgent = true;
    return watcher->snapshot;
}

/* --- figures ------------------------------------------------------------------------------- */

static void update_status(ClusterWatcher *watcher) {
    StoreFigures store;
    WatcherStatus status;

    store_figures(watcher->store, &store);
    status = (WatcherStatus){
        .n_nodes = store.n_nodes,
        .n_pods = store.n_pods,
        .n_assumed = store.n_assumed,
        .n_resources_left_out = store.n_resources_left_out,
        .related_wanted = atomic_load(&watcher->wants_related),
        .n_published = watcher->n_published,
        .n_bound = watcher->n_bound,
        .n_bind_failed = watcher->n_bind_failed,
        .n_expired = watcher->n_expired,
        .n_guesses_wrong = store.n_guesses[false],
        .n_guesses_right = store.n_guesses[true],
        .has_lease = watcher->lease,
        .watches_policies = watcher->options.policies,
        .publishes = watcher_may_write(watcher, WATCHER_PUBLISHED),
        .nominates = watcher_may_write(watcher, WATCHER_NOMINATIONS),
    };
    for (size_t i = 0; i < _WATCHER_ALL_KINDS; i++)
        if (watcher->resources[i].reflector)
            status.kinds[i] = *reflector_figures(watcher->resources[i].reflector);
    for (size_t i = 0; i < _RELATED_KINDS; i++)
        status.n_related[i] = store_count_related(watcher->store, (RelatedKind)i);
    for (size_t i = 0; i < _WATCHER_WRITES; i++)
        if (watcher->writes[i])
            status.writes[i] = write_queue_figures(watcher->writes[i]);
    if (status.watches_policies)
        status.n_policies = policy_objects_count(watcher->options.policies);
    (void)snprintf(status.server, sizeof(status.server), "%s", access_server(watcher->access));
    if (watcher->lease)
        lease_status(watcher->lease, &status.lease);
    pthread_mutex_lock(&watcher->lock);
    watcher->status = status;
    pthread_mutex_unlock(&watcher->lock);
}

void watcher_status(ClusterWatcher *watcher, WatcherStatus *ret) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&watcher->lock);

    *ret = watcher->status;
}

bool watcher_is_synced(ClusterWatcher *watcher) {
    return atomic_load_explicit(&watcher->is_synced, memory_order_acquire);
}

/* --- the thread ---------------------------------------------------------------------------- */

static void on_bind_ended(void *context, BindEnd end) {
    ClusterWatcher *watcher = context;

    watcher->n_bound += end == BIND_BOUND;
    watcher->n_bind_failed += end == BIND_FAILED;
    if (end == BIND_FAILED) /* an older assumed pod that expires sooner may be restored */
        watcher->expire_at =
            clock_earlier(watcher->expire_at, clock_monotonic_nsec() + EXPIRE_PAUSE_NSEC);
    pthread_mutex_lock(&watcher->lock);
    watcher->n_binds--;
    pthread_mutex_unlock(&watcher->lock);
}

/* Forgets assumed pods that the watch should have shown by now. Bound pods do not expire while the
 * watch is behind: this checks again later. Expected pods expire on time. A pod that is assumed
 * later also expires later, so it need not be searched. */
static int64_t expire(ClusterWatcher *watcher, int64_t now) {
    int64_t proven = reflector_figures(watcher->resources[WATCHER_PODS].reflector)->synced_at_nsec;
    StoreFigures figures;
    int64_t next_at;
    size_t n;

    store_figures(watcher->store, &figures);
    if (figures.n_assumed == 0) {
        watcher->expire_at = 0;
        return INT64_MAX;
    }
    if (now < watcher->expire_at)
        return watcher->expire_at;
    n = store_expire(
        watcher->store, watcher->only_expects ? now : clock_earlier(now, proven), &next_at);
    if (n > 0)
        watcher_notify(watcher, (WatcherNotice){.event = WATCHER_ASSUMED_EXPIRED, .n = n});
    watcher->n_expired += n;
    watcher->expire_at = 0;
    if (next_at == INT64_MAX)
        return INT64_MAX;
    watcher->expire_at = next_at > now + EXPIRE_PAUSE_NSEC ? next_at : now + EXPIRE_PAUSE_NSEC;
    return watcher->expire_at;
}

/* Does all due work. Returns until when to wait. */
static int64_t turn(ClusterWatcher *watcher) {
    int64_t now = clock_monotonic_nsec();
    int64_t next_at = INT64_MAX;

    if (take_binds(watcher))
        next_at = now;
    next_at = clock_earlier(next_at, watcher_send_writes(watcher, now));
    watcher_keep_wanted(watcher);
    begin_related(watcher);
    next_at = clock_earlier(next_at, watcher_find_version(watcher, now));
    for (size_t i = 0; i < _WATCHER_ALL_KINDS; i++)
        if (watcher->resources[i].reflector && (i != WATCHER_PODS || watcher->version.is_known))
            next_at = clock_earlier(next_at, watched_resource_tick(&watcher->resources[i], now));
    next_at = clock_earlier(next_at, watcher_tick_lease(watcher, now));
    next_at = clock_earlier(next_at, binder_tick(watcher->binder, now));
    next_at = clock_earlier(next_at, expire(watcher, now));
    next_at = clock_earlier(next_at, publish(watcher, now));
    binder_settle_expected(watcher->binder);
    watcher_note_published(watcher);
    note_related(watcher);
    update_status(watcher);
    return next_at;
}

static void wait_until(ClusterWatcher *watcher, int64_t until) {
    int64_t now = clock_monotonic_nsec();
    int64_t msec = until <= now ? 0 : (until - now - 1) / NSEC_PER_MSEC + 1;
    int r = client_wait(watcher->client, msec < WAIT_MAX_MSEC ? (int)msec : WAIT_MAX_MSEC);

    if (r < 0) {
        if (watcher_may_notify(&watcher->wait_reported_at))
            watcher_notify(
                watcher, (WatcherNotice){.event = WATCHER_WAIT_FAILED, .why = strerror(-r)});
        (void)usleep(PAUSE_USEC);
    }
}

/* Whether the thread must end; *ret_by: until when it may take. */
static bool is_ending(ClusterWatcher *watcher, int64_t *ret_by) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&watcher->lock);

    *ret_by = watcher->end_by;
    return watcher->is_ending;
}

/* Waits up to PAUSE_USEC. False: the time is over. Reads the deadline again, because another
 * watcher_stop() may allow less. */
static bool wait_to_end(ClusterWatcher *watcher) {
    int64_t now = clock_monotonic_nsec(), end_by;

    (void)is_ending(watcher, &end_by);
    if (now < end_by)
        wait_until(watcher, clock_earlier(end_by, now + PAUSE_USEC * 1000));
    return now < end_by;
}

/* Fails all jobs; watcher_bind() accepts no more. */
static void refuse_jobs(ClusterWatcher *watcher) {
    BindJob *job;

    watcher->binder = binder_free(watcher->binder);
    while ((job = take_bind(watcher))) {
        job->done(job, "berth is shutting down");
        on_bind_ended(watcher, BIND_FAILED);
    }
}

/* Waits for running Bindings, then releases the lease. If they do not end in time, or a result is
 * unknown, the lease is not released: other replicas wait until it expires, because a Binding may
 * still be committed. */
static void hand_over_binds(ClusterWatcher *watcher) {
    int64_t end_by;
    bool is_decided;

    while (is_ending(watcher, &end_by) && !binder_is_idle(watcher->binder) &&
           clock_monotonic_nsec() < end_by)
        wait_until(watcher, clock_earlier(turn(watcher), end_by));
    is_decided = binder_is_decided(watcher->binder);
    refuse_jobs(watcher);
    while (is_decided && !lease_release(watcher->lease) && wait_to_end(watcher))
        ;
}

static void *run(void *context) {
    ClusterWatcher *watcher = context;
    int64_t end_by;

    watcher_notify(watcher, (WatcherNotice){.event = WATCHER_FOLLOWING});
    if (access_is_insecure(watcher->access))
        watcher_notify(watcher, (WatcherNotice){.event = WATCHER_INSECURE});
    while (!is_ending(watcher, &end_by))
        wait_until(watcher, turn(watcher));
    if (watcher->lease)
        hand_over_binds(watcher);
    for (size_t i = 0; i < _WATCHER_WRITES; i++) /* another replica may write at once */
        while (
            watcher->writes[i] && !write_queue_release(watcher->writes[i]) && wait_to_end(watcher))
            ;
    refuse_jobs(watcher);
    pthread_mutex_lock(&watcher->lock);
    watcher->has_ended = true;
    pthread_cond_broadcast(&watcher->ended);
    pthread_mutex_unlock(&watcher->lock);
    return NULL;
}

/* --- life ---------------------------------------------------------------------------------- */

static uint64_t random_seed(void) {
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uint64_t)clock_wall_nsec() ^ (uint64_t)getpid() << 32;
    return seed;
}

static bool make_members(ClusterWatcher *watcher) {
    uint64_t seed = watcher->options.seed ? watcher->options.seed : random_seed();

    watcher->seed = seed;
    atomic_store(&watcher->wants_related, watcher->options.related);
    watcher->client = client_new(watcher->access);
    watcher->store = store_new();
    watcher->arena = arena_new(OBJECT_BUDGET);
    if (!watcher->client || !watcher->store || !watcher->arena || !watcher_needs_init(watcher))
        return false;
    watcher->binder = binder_new(&(BinderOptions){
        .client = watcher->client,
        .store = watcher->store,
        .context = watcher,
        .snapshot = current_snapshot,
        .may_send = watcher_may_bind,
        .ended = on_bind_ended,
    });
    return watcher->binder && watched_resource_init(watcher, WATCHER_NODES, seed) &&
           watched_resource_init(watcher, WATCHER_PODS, ~seed) &&
           (!watcher->options.policies ||
               watched_resource_init(watcher, WATCHER_POLICIES, seed + WATCHER_POLICIES)) &&
           watcher_make_writes(watcher) && watcher_make_lease(watcher);
}

/* Frees what make_members() made, also partly. The thread must have ended, or not been started. */
static ClusterWatcher *free_members(ClusterWatcher *watcher) {
    call_cancel(watcher->version.call);
    buf_done(&watcher->version.answer);
    lease_free(watcher->lease);
    for (size_t i = 0; i < _WATCHER_WRITES; i++)
        write_queue_free(watcher->writes[i]);
    for (size_t i = 0; i < _WATCHER_ALL_KINDS; i++)
        reflector_free(watcher->resources[i].reflector);
    binder_free(watcher->binder);
    client_free(watcher->client);
    snapshot_unref(watcher->snapshot);
    store_free(watcher->store);
    free(watcher->keeping);
    free(watcher->wanted);
    free(watcher->published);
    arena_free(watcher->arena);
    access_free(watcher->access);
    pthread_cond_destroy(&watcher->ended);
    pthread_mutex_destroy(&watcher->lock);
    free(watcher);
    return NULL;
}

int watcher_new(Access *access, const WatcherOptions *options, const WatcherCallbacks *callbacks,
    ClusterWatcher **ret) {
    ClusterWatcher *watcher = calloc(1, sizeof(*watcher));
    int r;

    if (!watcher) {
        access_free(access);
        return -ENOMEM;
    }
    watcher->access = access;
    watcher->options = *options;
    watcher->callbacks = *callbacks;
    watcher->began_at = clock_monotonic_nsec();
    pthread_mutex_init(&watcher->lock, NULL);
    deadline_cond_init(&watcher->ended);
    r = make_members(watcher) ? 0 : -ENOMEM;
    if (r == 0) {
        update_status(watcher);
        r = thread_start(&watcher->thread, "watcher", run, watcher);
    }
    if (r < 0) {
        free_members(watcher);
        return r;
    }
    *ret = watcher;
    return 0;
}

bool watcher_stop(ClusterWatcher *watcher, int64_t timeout_nsec) {
    struct timespec until = deadline_in(timeout_nsec);
    _unlock_ pthread_mutex_t *held = mutex_hold(&watcher->lock);

    watcher->is_ending = true;
    watcher->end_by = clock_monotonic_nsec() + timeout_nsec - timeout_nsec / 8;
    client_wake(watcher->client);
    while (!watcher->has_ended)
        if (pthread_cond_timedwait(&watcher->ended, &watcher->lock, &until) != 0)
            break;
    return watcher->has_ended;
}

ClusterWatcher *watcher_free(ClusterWatcher *watcher) {
    if (!watcher)
        return NULL;
    (void)watcher_stop(watcher, 0);
    thread_join(watcher->thread);
    return free_members(watcher);
}
