/* One look at everything: a desk without a thread, until each question was asked once. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "load/desk.h"
#include "load/poller.h"

static Snapshot *borrow_snapshot(void *context) {
    return context ? snapshot_ref(context) : NULL;
}

static void ask_all(Desk *desk, int64_t timeout_nsec) {
    int64_t deadline = clock_monotonic_nsec() + timeout_nsec;
    char error[POLLER_ERROR_MAX];

    for (;;) {
        int64_t next = desk_turn(desk);

        if (desk_has_asked_all(desk))
            return;
        if (clock_monotonic_nsec() >= deadline)
            break;
        desk_wait(desk, next < deadline ? next : deadline);
    }
    (void)snprintf(error,
        sizeof(error),
        "no answer within %.1f s",
        (double)timeout_nsec / (double)NSEC_PER_SEC);
    desk_give_up(desk, error);
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

static int look(Desk *desk, const Sources *sources, Access *access, int64_t timeout_nsec) {
    char error[ACCESS_ERROR_MAX];
    Servers *servers = NULL;
    int r;

    desk->asks_once = true;
    desk->api = (Server){.access = access, .owns_access = false};
    r = servers_new(sources, &servers, error);
    if (r < 0)
        return r;
    desk_configure(desk, servers);
    ask_all(desk, timeout_nsec);
    return 0;
}

int poller_once(const Sources *sources, Access *access, const Gauge *gauges, size_t n,
    Snapshot *snapshot, int64_t timeout_nsec, Measurements **ret, PollStatus *ret_statuses) {
    const PollerCallbacks callbacks = {.context = snapshot, .snapshot = borrow_snapshot};
    _cleanup_(client_loop_freep) ClientLoop *loop = client_loop_new();
    Board board = {.lock = PTHREAD_MUTEX_INITIALIZER};
    Desk desk;
    int r;

    if (!loop)
        return -ENOMEM;
    r = desk_init(&desk, &board, loop, &callbacks, /* seed= */ 0);
    if (r == 0)
        r = readings_new(gauges, n, /* owner= */ 0, NULL, &board.readings);
    if (r == 0)
        r = look(&desk, sources, access, timeout_nsec);
    if (r == 0)
        r = show(board.readings, ret, ret_statuses);
    desk_done(&desk); /* before the loop that its clients are in */
    readings_unref(board.readings);
    return r;
}
