/*
 * The poller's thread, and the functions for other threads: they set a list of gauges, new
 * connections or is_ending under the lock, and wake the thread, which takes them over in its next
 * turn.
 */

#include "load/poller.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/thread.h"
#include "load/poll-queue.h"

struct Poller {
    pthread_t thread;
    ClientLoop *loop;
    PollQueue queue; /* the thread's */

    SharedReadings shared;      /* its lock also guards the fields below */
    SourceConnections *pending; /* not taken over yet; NULL: none */
    bool is_ending, has_ended;
    pthread_cond_t ended;
};

const char *poll_state_name(PollState state) {
    static const char *const names[] = {
        [POLL_WAITING] = "waiting",
        [POLL_OK] = "ok",
        [POLL_FAILING] = "failing",
        [POLL_UNJOINED] = "unjoined",
        [POLL_NO_SOURCE] = "no_source",
    };

    return names[state];
}

/* Takes over what other threads have set. Returns false if the thread is to end. */
static bool take_changes(Poller *poller) {
    SourceConnections *connections;
    bool is_ending;

    pthread_mutex_lock(&poller->shared.lock);
    connections = TAKE_PTR(poller->pending);
    is_ending = poller->is_ending;
    pthread_mutex_unlock(&poller->shared.lock);

    if (connections)
        poll_queue_configure(&poller->queue, connections);
    return !is_ending;
}

static void *run(void *context) {
    Poller *poller = context;

    while (take_changes(poller))
        poll_queue_wait(&poller->queue, poll_queue_turn(&poller->queue));

    pthread_mutex_lock(&poller->shared.lock);
    poller->has_ended = true;
    pthread_cond_broadcast(&poller->ended);
    pthread_mutex_unlock(&poller->shared.lock);
    return NULL;
}

/* The thread has ended, or was never started. */
static Poller *free_parts(Poller *poller) {
    poll_queue_done(&poller->queue);
    source_connections_free(poller->pending);
    readings_unref(poller->shared.readings);
    client_loop_free(poller->loop);
    pthread_cond_destroy(&poller->ended);
    pthread_mutex_destroy(&poller->shared.lock);
    free(poller);
    return NULL;
}

static int make_parts(
    Poller *poller, const PollerOptions *options, const PollerCallbacks *callbacks, char *error) {
    int r;

    poller->loop = client_loop_new();
    r = poll_queue_init(&poller->queue, &poller->shared, poller->loop, callbacks, options->seed);
    poller->queue.api = (SourceConnection){.access = options->access, .owns_access = true};
    if (r < 0 || !poller->loop)
        return message_fail(-ENOMEM, error, "out of memory for the metric queries");
    r = source_connections_new(options->sources, &poller->pending, error);
    if (r < 0)
        return r;
    r = thread_start(&poller->thread, "poller", run, poller);
    return r < 0 ? message_fail(r, error, "cannot start a thread: %s", strerror(-r)) : 0;
}

int poller_new(
    const PollerOptions *options, const PollerCallbacks *callbacks, Poller **ret, char *error) {
    Poller *poller = calloc(1, sizeof(*poller));
    int r;

    if (!poller) {
        access_free(options->access);
        return message_fail(-ENOMEM, error, "out of memory for the metric queries");
    }
    pthread_mutex_init(&poller->shared.lock, NULL);
    deadline_cond_init(&poller->ended);
    r = make_parts(poller, options, callbacks, error);
    if (r < 0) {
        free_parts(poller);
        return r;
    }
    *ret = poller;
    return 0;
}

bool poller_stop(Poller *poller, int64_t timeout_nsec) {
    struct timespec until = deadline_in(timeout_nsec);
    _unlock_ pthread_mutex_t *held = mutex_hold(&poller->shared.lock);

    poller->is_ending = true;
    client_loop_wake(poller->loop);
    while (!poller->has_ended)
        if (pthread_cond_timedwait(&poller->ended, &poller->shared.lock, &until) != 0)
            break;
    return poller->has_ended;
}

Poller *poller_free(Poller *poller) {
    if (!poller)
        return NULL;
    (void)poller_stop(poller, 0);
    thread_join(poller->thread);
    return free_parts(poller);
}

int poller_follow(
    Poller *poller, const Gauge *gauges, size_t n, uint64_t owner, Measurements **ret) {
    _cleanup_(readings_unrefp) Readings *readings = NULL;
    Readings *before = NULL;
    int r;

    pthread_mutex_lock(&poller->shared.lock);
    r = readings_new(gauges, n, owner, poller->shared.readings, &readings);
    if (r == 0) {
        *ret = readings_measurements(readings);
        r = *ret ? 0 : -ENOMEM;
    }
    if (r == 0) {
        before = poller->shared.readings;
        poller->shared.readings = TAKE_PTR(readings);
        client_loop_wake(poller->loop);
    }
    pthread_mutex_unlock(&poller->shared.lock);
    readings_unref(before); /* outside of the lock */
    return r;
}

int poller_configure(Poller *poller, const MetricSources *sources, char *error) {
    SourceConnections *connections = NULL, *before;
    int r = source_connections_new(sources, &connections, error);

    if (r < 0)
        return r;
    pthread_mutex_lock(&poller->shared.lock);
    before = poller->pending;
    poller->pending = connections;
    pthread_mutex_unlock(&poller->shared.lock);
    client_loop_wake(poller->loop);
    source_connections_free(before); /* never taken over: the thread has made no clients of them */
    return 0;
}

size_t poller_status(Poller *poller, PollStatus *ret, size_t n, uint64_t *ret_owner) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&poller->shared.lock);
    const Readings *readings = poller->shared.readings;

    *ret_owner = readings ? readings->owner : 0;
    for (size_t i = 0; readings && i < readings->n && i < n; i++)
        ret[i] = readings->items[i]->status;
    return readings ? readings->n : 0;
}

static Snapshot *borrow_snapshot(void *context) {
    return context ? snapshot_ref(context) : NULL;
}

static void poll_all(PollQueue *queue, int64_t timeout_nsec) {
    int64_t deadline = clock_monotonic_nsec() + timeout_nsec;
    char error[POLLER_ERROR_MAX];

    for (;;) {
        int64_t next = poll_queue_turn(queue);

        if (poll_queue_has_asked_all(queue))
            return;
        if (clock_monotonic_nsec() >= deadline)
            break;
        poll_queue_wait(queue, next < deadline ? next : deadline);
    }
    (void)snprintf(error, sizeof(error), "no answer within %.1f s",
        (double)timeout_nsec / (double)NSEC_PER_SEC);
    poll_queue_give_up(queue, error);
}

int poller_once(const MetricSources *sources, Access *access, const Gauge *gauges, size_t n,
    Snapshot *snapshot, int64_t timeout_nsec, Measurements **ret, PollStatus *ret_statuses) {
    const PollerCallbacks callbacks = {.context = snapshot, .snapshot = borrow_snapshot};
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    SharedReadings shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
    SourceConnections *connections = NULL;
    char error[ACCESS_ERROR_MAX];
    PollQueue queue;
    int r;

    if (!loop)
        return -ENOMEM;
    r = poll_queue_init(&queue, &shared, loop, &callbacks, /* seed= */ 0)
        ?: readings_new(gauges, n, /* owner= */ 0, NULL, &shared.readings)
        ?: source_connections_new(sources, &connections, error);
    queue.asks_once = true;
    queue.api = (SourceConnection){.access = access, .owns_access = false};
    if (r == 0) {
        poll_queue_configure(&queue, connections);
        poll_all(&queue, timeout_nsec);
        *ret = readings_measurements(shared.readings); /* no other thread: no lock is needed */
        r = *ret ? 0 : -ENOMEM;
    }
    for (size_t i = 0; r == 0 && i < n; i++)
        ret_statuses[i] = shared.readings->items[i]->status;
    poll_queue_done(&queue); /* before the loop that its clients are in */
    readings_unref(shared.readings);
    return r;
}
