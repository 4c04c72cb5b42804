/*
 * The thread turns: it takes what others left, does what is due, shows what is new, and waits for
 * the network. Everything it owns is touched by nobody else; locks are for what goes in and out.
 */

#include "kube/cluster-watcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/thread.h"
#include "kube/cluster-watcher-internal.h"
#include "model/node.h"

#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024) /* of one object while it is decoded */
#define WAIT_MAX_MSEC 1000                       /* the loop turns at least this often */
#define PAUSE_USEC 100000                        /* when waiting itself fails */
#define SAY_PAUSE_NSEC (10 * NSEC_PER_SEC)       /* between words about the same trouble */
#define EXPIRE_PAUSE_NSEC NSEC_PER_SEC           /* between walks over the ledger */

const char *watcher_kind_name(WatcherKind kind) {
    return kind == WATCHER_NODES ? "nodes" : "pods";
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* --- what people are told ------------------------------------------------------------------ */

bool watcher_may_say(int64_t *at) {
    int64_t now = clock_monotonic_nsec();

    if (*at != 0 && now - *at < SAY_PAUSE_NSEC)
        return false;
    *at = now;
    return true;
}

void watcher_say(const ClusterWatcher *watcher, WatcherNotice notice) {
    notice.server = access_server(watcher->access);
    notice.origin = access_origin(watcher->access);
    if (watcher->callbacks.notice)
        watcher->callbacks.notice(watcher->callbacks.context, &notice);
}

static void say_start(const ClusterWatcher *watcher) {
    watcher_say(watcher, (WatcherNotice){.event = WATCHER_FOLLOWING});
    if (access_is_insecure(watcher->access))
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_INSECURE});
}

/* --- messages ------------------------------------------------------------------------------ */

int watcher_bind(ClusterWatcher *watcher, BindJob *job) {
    int r = inbox_add_bind(watcher->inbox, job);

    if (r == 0)
        client_wake(watcher->client);
    return r;
}

void watcher_mark_node(ClusterWatcher *watcher, Str node) {
    if (!node_name_is_valid(node))
        return;
    inbox_add_mark(watcher->inbox, node);
    client_wake(watcher->client);
}

void watcher_post_event(ClusterWatcher *watcher, const PodEvent *event) {
    if (watcher->poster && event_poster_add(watcher->poster, event))
        client_wake(watcher->client);
}

static void post_events(ClusterWatcher *watcher, int64_t now) {
    if (!watcher->poster)
        return;
    event_poster_tick(watcher->poster, now);
    if (event_poster_figures(watcher->poster).is_forbidden && !watcher->has_said_no_events) {
        watcher->has_said_no_events = true;
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_EVENTS_FORBIDDEN});
    }
}

/* Whether there may be more. */
static bool take_binds(ClusterWatcher *watcher) {
    BindJob *jobs[INBOX_BINDS_AT_ONCE];
    size_t n = inbox_take_binds(watcher->inbox, jobs);

    for (size_t i = 0; i < n; i++)
        binder_add(watcher->binder, jobs[i]);
    return n == INBOX_BINDS_AT_ONCE;
}

static void take_marks(ClusterWatcher *watcher) {
    _cleanup_(buf_done) Buf names = inbox_take_marks(watcher->inbox);
    Str rest = buf_str(&names), name;

    while (str_split(&rest, '\n', &name))
        if (!str_is_empty(name))
            (void)node_marker_add(watcher->marker, name);
    if (node_marker_figures(watcher->marker).is_forbidden && !watcher->has_said_forbidden) {
        watcher->has_said_forbidden = true;
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_MARKS_FORBIDDEN});
    }
}

/* --- the thread ---------------------------------------------------------------------------- */

static void on_bind_ended(void *context, BindEnd end) {
    ClusterWatcher *watcher = context;

    watcher->n_bound += end == BIND_BOUND;
    watcher->n_bind_failed += end == BIND_FAILED;
    if (end == BIND_FAILED) /* an older entry of the ledger may be back, that ends sooner */
        watcher->expire_at =
            clock_earlier(watcher->expire_at, clock_monotonic_nsec() + EXPIRE_PAUSE_NSEC);
    inbox_note_bind_ended(watcher->inbox);
}

/* Forgets bound pods that the watch should have shown by now. What it has not had the chance
 * to show is not over: until it goes on, we look again once in a while. Whatever is assumed
 * in between ends after what was there, so that the ledger need not be walked for it. */
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
    n = store_expire(watcher->store, clock_earlier(now, proven), &next_at);
    if (n > 0)
        watcher_say(watcher, (WatcherNotice){.event = WATCHER_ASSUMED_EXPIRED, .n = n});
    watcher->n_expired += n;
    watcher->expire_at = next_at == INT64_MAX ? 0 : later(next_at, now + EXPIRE_PAUSE_NSEC);
    return next_at == INT64_MAX ? INT64_MAX : watcher->expire_at;
}

/* Everything but waiting. Returns until when to wait. */
static int64_t turn(ClusterWatcher *watcher) {
    int64_t now = clock_monotonic_nsec();
    int64_t next_at = INT64_MAX;

    if (take_binds(watcher))
        next_at = now;
    take_marks(watcher);
    post_events(watcher, now);
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        next_at = clock_earlier(next_at, watched_resource_tick(&watcher->resources[i], now));
    next_at = clock_earlier(next_at, watcher_tend_lease(watcher, now));
    next_at = clock_earlier(next_at, binder_tick(watcher->binder, now));
    next_at = clock_earlier(next_at, expire(watcher, now));
    next_at = clock_earlier(next_at, watcher_show(watcher, now));
    watcher_update_status(watcher);
    return next_at;
}

static void wait_until(ClusterWatcher *watcher, int64_t until) {
    int64_t now = clock_monotonic_nsec();
    int64_t msec = until <= now ? 0 : (until - now - 1) / NSEC_PER_MSEC + 1;
    int r = client_wait(watcher->client, msec < WAIT_MAX_MSEC ? (int)msec : WAIT_MAX_MSEC);

    if (r < 0) { /* nothing that waiting a little could make worse */
        if (watcher_may_say(&watcher->wait_said_at))
            watcher_say(
                watcher, (WatcherNotice){.event = WATCHER_WAIT_FAILED, .why = strerror(-r)});
        (void)usleep(PAUSE_USEC);
    }
}

static bool is_ending(ClusterWatcher *watcher) {
    bool ending;

    pthread_mutex_lock(&watcher->mutex);
    ending = watcher->is_ending;
    pthread_mutex_unlock(&watcher->mutex);
    return ending;
}

/* Nobody adds jobs any more. */
static void refuse_jobs(ClusterWatcher *watcher) {
    BindJob *jobs[INBOX_BINDS_AT_ONCE];
    size_t n;

    watcher->binder = binder_free(watcher->binder);
    while ((n = inbox_take_binds(watcher->inbox, jobs)) > 0)
        for (size_t i = 0; i < n; i++) {
            jobs[i]->done(jobs[i], "berth is shutting down");
            on_bind_ended(watcher, BIND_FAILED);
        }
}

static int64_t end_by(ClusterWatcher *watcher) {
    int64_t at;

    pthread_mutex_lock(&watcher->mutex);
    at = watcher->end_by;
    pthread_mutex_unlock(&watcher->mutex);
    return at;
}

/* What is under way ends first; then others may bind. If it does not end in time, they have to
 * wait until the lease has run out: a Binding may still be on its way. */
static void hand_over(ClusterWatcher *watcher) {
    bool is_idle;

    while (!binder_is_idle(watcher->binder) && clock_monotonic_nsec() < end_by(watcher))
        wait_until(watcher, clock_earlier(turn(watcher), end_by(watcher)));
    is_idle = binder_is_idle(watcher->binder);
    refuse_jobs(watcher);
    while (is_idle && !bind_permit_release(watcher->permit) &&
           clock_monotonic_nsec() < end_by(watcher))
        wait_until(
            watcher, clock_earlier(end_by(watcher), clock_monotonic_nsec() + PAUSE_USEC * 1000));
}

static void *run(void *context) {
    ClusterWatcher *watcher = context;

    say_start(watcher);
    while (!is_ending(watcher))
        wait_until(watcher, turn(watcher));
    if (watcher->permit)
        hand_over(watcher);
    refuse_jobs(watcher);
    pthread_mutex_lock(&watcher->mutex);
    watcher->has_ended = true;
    pthread_cond_broadcast(&watcher->ended);
    pthread_mutex_unlock(&watcher->mutex);
    return NULL;
}

/* --- life ---------------------------------------------------------------------------------- */

static uint64_t random_seed(void) {
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uint64_t)clock_wall_nsec() ^ (uint64_t)getpid() << 32;
    return seed;
}

static bool make_poster(ClusterWatcher *watcher) {
    if (!watcher->options.posts_events)
        return true;
    watcher->poster = event_poster_new(&(EventPosterOptions){
        .client = watcher->client,
        .instance = watcher->options.identity,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
    });
    return watcher->poster != NULL;
}

static bool make_parts(ClusterWatcher *watcher) {
    uint64_t seed = random_seed();

    watcher->client = client_new(watcher->access);
    watcher->inbox = inbox_new();
    watcher->store = store_new();
    watcher->arena = arena_new(OBJECT_BUDGET);
    if (!watcher->client || !watcher->inbox || !watcher->store || !watcher->arena)
        return false;
    watcher->marker = node_marker_new(&(NodeMarkerOptions){
        .client = watcher->client,
        .annotation = WATCHER_RETRY_ANNOTATION,
        .wall_clock = clock_wall_nsec,
    });
    watcher->binder = binder_new(&(BinderOptions){
        .client = watcher->client,
        .store = watcher->store,
        .clock = clock_monotonic_nsec,
        .wall_clock = clock_wall_nsec,
        .context = watcher,
        .snapshot = watcher_current_snapshot,
        .may_send = watcher_may_bind,
        .ended = on_bind_ended,
    });
    return watcher->marker && watcher->binder &&
           watched_resource_init(
               &watcher->resources[WATCHER_NODES], watcher, WATCHER_NODES, seed) &&
           watched_resource_init(&watcher->resources[WATCHER_PODS], watcher, WATCHER_PODS, ~seed) &&
           watcher_make_permit(watcher) && make_poster(watcher);
}

/* Frees what make_parts() made, also in part. The thread has ended, or never was. */
static ClusterWatcher *free_parts(ClusterWatcher *watcher) {
    bind_permit_free(watcher->permit);
    event_poster_free(watcher->poster);
    for (size_t i = 0; i < _WATCHER_KINDS; i++)
        reflector_free(watcher->resources[i].reflector);
    binder_free(watcher->binder);
    node_marker_free(watcher->marker);
    client_free(watcher->client);
    inbox_free(watcher->inbox);
    snapshot_unref(watcher->snapshot);
    store_free(watcher->store);
    arena_free(watcher->arena);
    access_free(watcher->access);
    pthread_cond_destroy(&watcher->ended);
    pthread_mutex_destroy(&watcher->mutex);
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
    pthread_mutex_init(&watcher->mutex, NULL);
    deadline_cond_init(&watcher->ended);
    r = make_parts(watcher) ? 0 : -ENOMEM;
    if (r == 0) {
        watcher_update_status(watcher);
        r = thread_start(&watcher->thread, "watcher", run, watcher);
    }
    if (r < 0) {
        free_parts(watcher);
        return r;
    }
    *ret = watcher;
    return 0;
}

bool watcher_stop(ClusterWatcher *watcher, int64_t timeout_nsec) {
    struct timespec until = deadline_in(timeout_nsec);
    bool has_ended;

    inbox_close(watcher->inbox);
    pthread_mutex_lock(&watcher->mutex);
    watcher->is_ending = true;
    watcher->end_by = clock_monotonic_nsec() + timeout_nsec - timeout_nsec / 8;
    client_wake(watcher->client);
    while (!watcher->has_ended)
        if (pthread_cond_timedwait(&watcher->ended, &watcher->mutex, &until) != 0)
            break;
    has_ended = watcher->has_ended;
    pthread_mutex_unlock(&watcher->mutex);
    return has_ended;
}

ClusterWatcher *watcher_free(ClusterWatcher *watcher) {
    if (!watcher)
        return NULL;
    (void)watcher_stop(watcher, 0);
    (void)pthread_join(watcher->thread, NULL);
    return free_parts(watcher);
}
