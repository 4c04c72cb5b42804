/*
 * The thread turns: it takes what others left, does what is due, shows what is new, and waits for
 * the network. Everything it owns is touched by nobody else; locks are for what goes in and out.
 */

#include "kube/mirror.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/thread.h"
#include "kube/mirror-part.h"
#include "model/node.h"

#define OBJECT_BUDGET ((size_t)64 * 1024 * 1024) /* of one object while it is decoded */
#define WAIT_MAX_MSEC 1000                       /* the loop turns at least this often */
#define PAUSE_USEC 100000                        /* when waiting itself fails */
#define SAY_PAUSE_NSEC (10 * NSEC_PER_SEC)       /* between words about the same trouble */
#define EXPIRE_PAUSE_NSEC NSEC_PER_SEC           /* between walks over the ledger */

const char *mirror_kind_name(MirrorKind kind) {
    return kind == MIRROR_NODES ? "nodes" : "pods";
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* --- what people are told ------------------------------------------------------------------ */

bool mirror_may_say(int64_t *at) {
    int64_t now = clock_monotonic_nsec();

    if (*at != 0 && now - *at < SAY_PAUSE_NSEC)
        return false;
    *at = now;
    return true;
}

void mirror_say(const Mirror *mirror, MirrorNotice notice) {
    notice.server = access_server(mirror->access);
    notice.origin = access_origin(mirror->access);
    if (mirror->callbacks.notice)
        mirror->callbacks.notice(mirror->callbacks.context, &notice);
}

static void say_start(const Mirror *mirror) {
    mirror_say(mirror, (MirrorNotice){.event = MIRROR_FOLLOWING});
    if (access_is_insecure(mirror->access))
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_INSECURE});
}

/* --- messages ------------------------------------------------------------------------------ */

int mirror_bind(Mirror *mirror, BindJob *job) {
    int r = inbox_add_bind(mirror->inbox, job);

    if (r == 0)
        client_wake(mirror->client);
    return r;
}

void mirror_touch_node(Mirror *mirror, Str node) {
    if (!node_name_is_valid(node))
        return;
    inbox_add_touch(mirror->inbox, node);
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
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_NO_EVENTS});
    }
}

/* Whether there may be more. */
static bool take_binds(Mirror *mirror) {
    BindJob *jobs[INBOX_BINDS_AT_ONCE];
    size_t n = inbox_take_binds(mirror->inbox, jobs);

    for (size_t i = 0; i < n; i++)
        binder_add(mirror->binder, jobs[i]);
    return n == INBOX_BINDS_AT_ONCE;
}

static void take_touches(Mirror *mirror) {
    _cleanup_(buf_done) Buf names = inbox_take_touches(mirror->inbox);
    Str rest = buf_str(&names), name;

    while (str_split(&rest, '\n', &name))
        if (!str_is_empty(name))
            (void)touch_add(mirror->touch, name);
    if (touch_figures(mirror->touch).is_forbidden && !mirror->has_said_forbidden) {
        mirror->has_said_forbidden = true;
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_FORBIDDEN});
    }
}

/* --- the thread ---------------------------------------------------------------------------- */

static void on_bind_ended(void *context, BindEnd end) {
    Mirror *mirror = context;

    mirror->n_bound += end == BIND_BOUND;
    mirror->n_bind_failed += end == BIND_FAILED;
    if (end == BIND_FAILED) /* an older entry of the ledger may be back, that ends sooner */
        mirror->expire_at =
            clock_earlier(mirror->expire_at, clock_monotonic_nsec() + EXPIRE_PAUSE_NSEC);
    inbox_note_bind_ended(mirror->inbox);
}

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
    n = store_expire(mirror->store, clock_earlier(now, proven), &next_at);
    if (n > 0)
        mirror_say(mirror, (MirrorNotice){.event = MIRROR_UNSEEN, .n = n});
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
    for (size_t i = 0; i < _MIRROR_KINDS; i++)
        next_at = clock_earlier(next_at, side_tick(&mirror->sides[i], now));
    next_at = clock_earlier(next_at, mirror_tend_lease(mirror, now));
    next_at = clock_earlier(next_at, binder_tick(mirror->binder, now));
    next_at = clock_earlier(next_at, expire(mirror, now));
    next_at = clock_earlier(next_at, mirror_show(mirror, now));
    mirror_update_status(mirror);
    return next_at;
}

static void wait_until(Mirror *mirror, int64_t until) {
    int64_t now = clock_monotonic_nsec();
    int64_t msec = until <= now ? 0 : (until - now - 1) / NSEC_PER_MSEC + 1;
    int r = client_wait(mirror->client, msec < WAIT_MAX_MSEC ? (int)msec : WAIT_MAX_MSEC);

    if (r < 0) { /* nothing that waiting a little could make worse */
        if (mirror_may_say(&mirror->wait_said_at))
            mirror_say(mirror, (MirrorNotice){.event = MIRROR_STUCK, .why = strerror(-r)});
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
    BindJob *jobs[INBOX_BINDS_AT_ONCE];
    size_t n;

    mirror->binder = binder_free(mirror->binder);
    while ((n = inbox_take_binds(mirror->inbox, jobs)) > 0)
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
        wait_until(mirror, clock_earlier(turn(mirror), end_by(mirror)));
    is_idle = binder_is_idle(mirror->binder);
    refuse_jobs(mirror);
    while (is_idle && !warrant_release(mirror->warrant) && clock_monotonic_nsec() < end_by(mirror))
        wait_until(
            mirror, clock_earlier(end_by(mirror), clock_monotonic_nsec() + PAUSE_USEC * 1000));
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

/* --- life ---------------------------------------------------------------------------------- */

static uint64_t random_seed(void) {
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
        seed = (uint64_t)clock_wall_nsec() ^ (uint64_t)getpid() << 32;
    return seed;
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
    mirror->inbox = inbox_new();
    mirror->store = store_new();
    mirror->arena = arena_new(OBJECT_BUDGET);
    if (!mirror->client || !mirror->inbox || !mirror->store || !mirror->arena)
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
        .snapshot = mirror_current_snapshot,
        .may_send = mirror_may_bind,
        .ended = on_bind_ended,
    });
    return mirror->touch && mirror->binder &&
           side_init(&mirror->sides[MIRROR_NODES], mirror, MIRROR_NODES, seed) &&
           side_init(&mirror->sides[MIRROR_PODS], mirror, MIRROR_PODS, ~seed) &&
           mirror_make_warrant(mirror) && make_announce(mirror);
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
    inbox_free(mirror->inbox);
    snapshot_unref(mirror->snapshot);
    store_free(mirror->store);
    arena_free(mirror->arena);
    access_free(mirror->access);
    pthread_cond_destroy(&mirror->ended);
    pthread_mutex_destroy(&mirror->mutex);
    free(mirror);
    return NULL;
}

int mirror_new(
    Access *access, const MirrorOptions *options, const MirrorCallbacks *callbacks, Mirror **ret) {
    Mirror *mirror = calloc(1, sizeof(*mirror));
    int r;

    if (!mirror) {
        access_free(access);
        return -ENOMEM;
    }
    mirror->access = access;
    mirror->options = *options;
    mirror->callbacks = *callbacks;
    mirror->began_at = clock_monotonic_nsec();
    pthread_mutex_init(&mirror->mutex, NULL);
    deadline_cond_init(&mirror->ended);
    r = make_parts(mirror) ? 0 : -ENOMEM;
    if (r == 0) {
        mirror_update_status(mirror);
        r = thread_start(&mirror->thread, "mirror", run, mirror);
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

    inbox_close(mirror->inbox);
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
