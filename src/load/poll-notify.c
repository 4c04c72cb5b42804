#include "load/poll-notify.h"

#include "base/clock.h"
#include "base/num.h"

#define PUBLISH_REST 9 /* times as long as publishing took: it takes a tenth of a core at most */

/* --- measurements --- */

static Measurements *newest_measurements(PollQueue *queue) {
    Measurements *measurements;

    pthread_mutex_lock(&queue->shared->lock);
    measurements = readings_measurements(queue->shared->readings);
    pthread_mutex_unlock(&queue->shared->lock);
    return measurements;
}

static int64_t publish_due(const PollQueue *queue) {
    int64_t due = queue->news_nsec + POLLER_TURN_MSEC * NSEC_PER_MSEC;

    return due > queue->publish_from_nsec ? due : queue->publish_from_nsec;
}

int64_t poll_queue_publish(PollQueue *queue) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    int64_t now = clock_monotonic_nsec(), end;

    if (!queue->is_news || !queue->callbacks.publish)
        return INT64_MAX;
    if (now < publish_due(queue))
        return publish_due(queue);
    measurements = newest_measurements(queue);
    if (!measurements) { /* once more, later */
        queue->news_nsec = now;
        return publish_due(queue);
    }
    queue->is_news = false;
    queue->callbacks.publish(queue->callbacks.context, measurements);
    end = clock_monotonic_nsec();
    queue->publish_from_nsec = num_add_sat(end, PUBLISH_REST * (end - now));
    return INT64_MAX;
}

/* --- states --- */

/* Only what the queue's own thread writes is read: no lock is needed. */
static void tell(PollQueue *queue, Reading *reading, Str name) {
    const Gauge *gauge = &reading->gauge;
    const PollStatus *status = &reading->status;
    bool is_query = gauge->source == GAUGE_PROMETHEUS;
    PollerNotice notice = {
        .was = reading->told,
        .is = status->state,
        .gauge = name,
        .source = is_query ? source_meant(gauge->from) : STR("metrics.k8s.io"),
        .query = is_query ? gauge->query : gauge->resource,
        .error = status->error,
        .report = &status->report,
        .down_nsec = status->state == POLL_OK ? reading->outage_nsec : 0,
    };

    if (queue->callbacks.notice)
        queue->callbacks.notice(queue->callbacks.context, &notice);
    if (status->state == POLL_OK)
        reading->outage_nsec = 0;
    reading->told = status->state;
    reading->told_nsec = clock_monotonic_nsec();
}

int64_t poll_queue_notify(PollQueue *queue) {
    int64_t now = clock_monotonic_nsec(), next = INT64_MAX;

    for (size_t i = 0; queue->readings && i < queue->readings->n; i++) {
        Reading *reading = queue->readings->items[i];
        PollState state = reading->status.state;
        int64_t due = reading->told_nsec == INT64_MIN
                          ? INT64_MIN
                          : reading->told_nsec + READING_NOTICE_SEC * NSEC_PER_SEC;

        if (state == reading->told || state == POLL_WAITING)
            continue;
        if (due <= now)
            tell(queue, reading, queue->readings->names[i]);
        else if (due < next)
            next = due;
    }
    return next;
}
