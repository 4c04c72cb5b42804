#include "load/telling.h"

#include "base/clock.h"
#include "base/num.h"

#define PUBLISH_REST 9 /* times as long as publishing took: it takes a tenth of a core at most */

/* --- samplings --- */

static Measurements *newest_measurements(Desk *desk) {
    Measurements *measurements;

    pthread_mutex_lock(&desk->board->lock);
    measurements = readings_measurements(desk->board->readings);
    pthread_mutex_unlock(&desk->board->lock);
    return measurements;
}

static int64_t publish_due(const Desk *desk) {
    int64_t due = desk->news_nsec + POLLER_TURN_MSEC * NSEC_PER_MSEC;

    return due > desk->publish_from_nsec ? due : desk->publish_from_nsec;
}

int64_t telling_publish(Desk *desk) {
    _cleanup_(measurements_unrefp) Measurements *measurements = NULL;
    int64_t now = clock_monotonic_nsec(), end;

    if (!desk->is_news || !desk->callbacks.publish)
        return INT64_MAX;
    if (now < publish_due(desk))
        return publish_due(desk);
    measurements = newest_measurements(desk);
    if (!measurements) { /* once more, later */
        desk->news_nsec = now;
        return publish_due(desk);
    }
    desk->is_news = false;
    desk->callbacks.publish(desk->callbacks.context, measurements);
    end = clock_monotonic_nsec();
    desk->publish_from_nsec = num_add_sat(end, PUBLISH_REST * (end - now));
    return INT64_MAX;
}

/* --- states --- */

/* Only what the desk's own thread writes is read: no lock is needed. */
static void tell(Desk *desk, Reading *reading, Str name) {
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

    if (desk->callbacks.notice)
        desk->callbacks.notice(desk->callbacks.context, &notice);
    if (status->state == POLL_OK)
        reading->outage_nsec = 0;
    reading->told = status->state;
    reading->told_nsec = clock_monotonic_nsec();
}

int64_t telling_notices(Desk *desk) {
    int64_t now = clock_monotonic_nsec(), next = INT64_MAX;

    for (size_t i = 0; desk->readings && i < desk->readings->n; i++) {
        Reading *reading = desk->readings->items[i];
        PollState state = reading->status.state;
        int64_t due = reading->told_nsec == INT64_MIN
                          ? INT64_MIN
                          : reading->told_nsec + READING_NOTICE_SEC * NSEC_PER_SEC;

        if (state == reading->told || state == POLL_WAITING)
            continue;
        if (due <= now)
            tell(desk, reading, desk->readings->names[i]);
        else if (due < next)
            next = due;
    }
    return next;
}
