/* One look at everything: a queue without a thread, until each job was asked once. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "load/poll-queue.h"
#include "load/poller.h"

static Snapshot *borrow_snapshot(void *context) {
    return context ? snapshot_ref(context) : NULL;
}

static void ask_all(PollQueue *queue, int64_t timeout_nsec) {
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
    (void)snprintf(error,
        sizeof(error),
        "no answer within %.1f s",
        (double)timeout_nsec / (double)NSEC_PER_SEC);
    poll_queue_give_up(queue, error);
}

/* What was found. Nobody else is there: no lock is needed. */
static int show(const Readings *readings, Measurements **ret, PollStatus *ret_statuses) {
    *ret = readings_measurements(readings);
    if (!*ret)
        return -ENOMEM;
    for (size_t i = 0; i < readings->n; i++)
        ret_statuses[i] = readings->items[i]->status;
    return 0;
}

static int look(
    PollQueue *queue, const MetricSources *sources, Access *access, int64_t timeout_nsec) {
    char error[ACCESS_ERROR_MAX];
    SourceConnections *connections = NULL;
    int r;

    queue->asks_once = true;
    queue->api = (SourceConnection){.access = access, .owns_access = false};
    r = source_connections_new(sources, &connections, error);
    if (r < 0)
        return r;
    poll_queue_configure(queue, connections);
    ask_all(queue, timeout_nsec);
    return 0;
}

int poller_once(const MetricSources *sources, Access *access, const Gauge *gauges, size_t n,
    Snapshot *snapshot, int64_t timeout_nsec, Measurements **ret, PollStatus *ret_statuses) {
    const PollerCallbacks callbacks = {.context = snapshot, .snapshot = borrow_snapshot};
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    SharedReadings shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
    PollQueue queue;
    int r;

    if (!loop)
        return -ENOMEM;
    r = poll_queue_init(&queue, &shared, loop, &callbacks, /* seed= */ 0);
    if (r == 0)
        r = readings_new(gauges, n, /* owner= */ 0, NULL, &shared.readings);
    if (r == 0)
        r = look(&queue, sources, access, timeout_nsec);
    if (r == 0)
        r = show(shared.readings, ret, ret_statuses);
    poll_queue_done(&queue); /* before the loop that its clients are in */
    readings_unref(shared.readings);
    return r;
}
