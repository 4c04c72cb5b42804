/*
 * A turn checks everything once: the current list, one answer, due jobs, notices. There are few
 * jobs, and a check is short; so nothing is kept sorted, and no change between two turns is missed.
 *
 * With more jobs than requests, jobs of servers that answer come first.
 */

#include "load/poll-queue.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/num.h"
#include "base/thread.h"

#define WAIT_MAX_MSEC 10000
#define STUCK_MSEC 100 /* pause after the wait itself has failed */

int poll_queue_init(PollQueue *queue, SharedReadings *shared, ClientLoop *loop,
    const PollerCallbacks *callbacks, uint64_t seed) {
    *queue = (PollQueue){
        .shared = shared,
        .loop = loop,
        .callbacks = *callbacks,
        .seeds = BACKOFF_INIT(seed),
        .vectors = arena_new(POLL_QUEUE_VECTOR_BUDGET),
        .scratch = arena_new(POLL_QUEUE_SCRATCH_BUDGET),
        .index = join_index_new(),
    };
    for (size_t i = 0; i < POLL_REQUESTS_MAX; i++)
        poll_request_init(&queue->requests[i]);
    return queue->vectors && queue->scratch && queue->index ? 0 : -ENOMEM;
}

void poll_queue_done(PollQueue *queue) {
    for (size_t i = 0; i < POLL_REQUESTS_MAX; i++)
        poll_request_done(&queue->requests[i]);
    while (queue->jobs) {
        PollJob *job = queue->jobs;

        queue->jobs = job->next;
        poll_job_free(job);
    }
    readings_unref(queue->readings);
    source_connections_free(queue->connections);
    source_connection_done(&queue->api);
    arena_free(queue->vectors);
    arena_free(queue->scratch);
    join_index_free(queue->index);
}

SourceConnection *poll_queue_connection(PollQueue *queue, const PollJob *job) {
    const Gauge *gauge = &job->model->gauge;

    if (gauge->source != GAUGE_PROMETHEUS)
        return queue->api.access ? &queue->api : NULL;
    return queue->connections ? source_connections_find(queue->connections, gauge->from) : NULL;
}

/* The API that a gauge of the API server is read from. */
static const char *api_of(const Gauge *gauge) {
    return gauge->source == GAUGE_CUSTOM ? "custom.metrics.k8s.io" : "metrics.k8s.io";
}

static void explain_no_source(const PollQueue *queue, const Gauge *gauge, char *error) {
    Message message = message_begin(error, POLLER_ERROR_MAX);

    if (gauge->source != GAUGE_PROMETHEUS) {
        message_add(&message, "no API server is known that could be asked for %s", api_of(gauge));
        return;
    }
    message_quote(&message, "there is no source named ", source_meant(gauge->from), "");
    if (!queue->connections || queue->connections->n == 0) {
        message_add(&message, ", nor any other: give berth --prometheus or --sources");
        return;
    }
    for (size_t i = 0; i < queue->connections->n; i++)
        message_quote(&message,
            i > 0 ? ", " : "; configured: ", str_from_c(queue->connections->items[i].name), "");
}

/* Sets the state of readings that have lost their source, or have found one. */
static void check_sources(PollQueue *queue) {
    for (size_t i = 0; i < queue->readings->n; i++) {
        Reading *reading = queue->readings->items[i];
        char error[POLLER_ERROR_MAX];

        if (!reading->job)
            continue;
        if (!poll_queue_connection(queue, reading->job)) {
            explain_no_source(queue, &reading->gauge, error);
            poll_queue_set_state(queue, reading, POLL_NO_SOURCE, error);
        } else if (reading->status.state == POLL_NO_SOURCE) {
            poll_queue_set_state(queue, reading, POLL_WAITING, "");
        }
    }
}

void poll_queue_configure(PollQueue *queue, SourceConnections *connections) {
    for (size_t i = 0; i < POLL_REQUESTS_MAX; i++)
        if (queue->requests[i].server != &queue->api)
            poll_request_end(&queue->requests[i]);
    source_connections_free(queue->connections);
    queue->connections = connections;
    for (PollJob *job = queue->jobs; job; job = job->next)
        schedule_restart(&job->schedule);
    if (queue->readings)
        check_sources(queue);
}

/* Finds or makes the job whose answer has the values of @reading; NULL: out of memory. */
static PollJob *find_job(PollQueue *queue, Reading *reading) {
    PollJob *job;

    for (job = queue->jobs; job; job = job->next)
        if (poll_job_fits(job, &reading->gauge))
            return job;
    job = poll_job_new(reading, (uint64_t)backoff_pick(&queue->seeds, 0, INT64_MAX - 1));
    if (!job)
        return NULL;
    job->next = queue->jobs;
    queue->jobs = job;
    return job;
}

static void want_job(PollQueue *queue, Reading *reading) {
    PollJob *job = reading->job;

    if (!job) {
        job = find_job(queue, reading);
        if (!job) {
            queue->is_incomplete = true;
            return;
        }
        reading->job = job;
        job->has_more = true;
    }
    if (!job->is_wanted || reading->gauge.interval_nsec < job->interval_nsec)
        job->interval_nsec = reading->gauge.interval_nsec;
    job->is_wanted = true;
}

static void update_jobs(PollQueue *queue) {
    PollJob **at = &queue->jobs;

    while (*at) {
        PollJob *job = *at;

        if (!job->is_wanted) {
            *at = job->next;
            for (size_t i = 0; i < POLL_REQUESTS_MAX; i++)
                if (queue->requests[i].job == job)
                    poll_request_end(&queue->requests[i]);
            poll_job_free(job);
            continue;
        }
        schedule_set_interval(&job->schedule, job->interval_nsec, clock_monotonic_nsec());
        /* An answer under way also serves readings that are added meanwhile. */
        if (job->has_more && !job->is_under_way)
            schedule_hasten(&job->schedule);
        job->is_wanted = job->has_more = false;
        at = &job->next;
    }
}

/* Takes over the current list, if it has changed. Readings in both lists keep their jobs. A removed
 * reading never returns: its gauge would get a new one. */
static void take_list(PollQueue *queue) {
    Readings *before = queue->readings;

    pthread_mutex_lock(&queue->shared->lock);
    if (queue->shared->readings != before)
        queue->readings = readings_ref(queue->shared->readings);
    pthread_mutex_unlock(&queue->shared->lock);
    if (!queue->readings || (queue->readings == before && !queue->is_incomplete))
        return;

    queue->is_incomplete = false;
    for (size_t i = 0; i < queue->readings->n; i++)
        if (queue->readings->items[i]->status.is_polled)
            want_job(queue, queue->readings->items[i]);
    update_jobs(queue);
    check_sources(queue);
    if (queue->readings != before)
        readings_unref(before);
}

static PollRequest *free_request(PollQueue *queue) {
    for (size_t i = 0; i < POLL_REQUESTS_MAX; i++)
        if (!queue->requests[i].job)
            return &queue->requests[i];
    return NULL;
}

static bool may_send(const PollQueue *queue, const SourceConnection *server) {
    unsigned n_failing = 0;

    if (!server->is_failing)
        return server->n_requests < POLL_SHARE_MAX;
    for (size_t i = 0; i < POLL_REQUESTS_MAX; i++)
        n_failing += queue->requests[i].job && queue->requests[i].server->is_failing;
    return server->n_requests == 0 && n_failing < POLL_SHARE_MAX;
}

/* Jobs of servers that answer come first, then those that are due earlier. */
static bool is_before(PollQueue *queue, const PollJob *a, const PollJob *b) {
    bool a_fails = poll_queue_connection(queue, a)->is_failing,
         b_fails = poll_queue_connection(queue, b)->is_failing;

    return a_fails != b_fails ? b_fails : a->schedule.due_nsec < b->schedule.due_nsec;
}

/* The job to send now; NULL: none. *ret_next: when the next one is due. */
static PollJob *choose_job(PollQueue *queue, int64_t now, int64_t *ret_next) {
    PollJob *best = NULL;

    *ret_next = INT64_MAX;
    for (PollJob *job = queue->jobs; job; job = job->next) {
        SourceConnection *server = poll_queue_connection(queue, job);

        if (job->is_under_way || !server)
            continue;
        if (job->schedule.due_nsec > now) {
            if (job->schedule.due_nsec < *ret_next)
                *ret_next = job->schedule.due_nsec;
        } else if (may_send(queue, server) && (!best || is_before(queue, job, best))) {
            best = job;
        }
    }
    return best;
}

static bool has_cluster(PollQueue *queue) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot =
        queue->callbacks.snapshot(queue->callbacks.context);

    return snapshot && (queue->asks_once || snapshot_table(snapshot)->names->n_nodes > 0);
}

/* Starts due jobs, as far as there is room. Returns when there will be more to do. */
static int64_t send_due(PollQueue *queue) {
    bool is_known = false;

    for (;;) {
        PollRequest *request = free_request(queue);
        int64_t now = clock_monotonic_nsec(), next;
        PollJob *job = choose_job(queue, now, &next);
        SourceConnection *server;

        if (!job || !request)
            return next;
        if (!is_known && !has_cluster(queue))
            return now + POLL_QUEUE_LOOK_MSEC * NSEC_PER_MSEC;
        is_known = true;
        server = poll_queue_connection(queue, job);
        if (!server->client)
            server->client = client_new_in(queue->loop, server->access);
        if (!server->client || !poll_request_start(request, job, server))
            schedule_failed(&job->schedule, clock_monotonic_nsec(), -1);
    }
}

/* Takes one answer at a time, so that the thread can end between two. */
static bool take_answer(PollQueue *queue) {
    for (size_t i = 0; i < POLL_REQUESTS_MAX; i++) {
        PollRequest *request = &queue->requests[i];
        PollJob *job = request->job;

        if (!job || !poll_request_settle(request))
            continue;
        poll_queue_take_answer(queue, request);
        if (queue->asks_once)
            job->schedule.due_nsec = INT64_MAX;
        poll_request_end(request);
        return true;
    }
    return false;
}

int64_t poll_queue_turn(PollQueue *queue) {
    int64_t next = INT64_MAX;

    take_list(queue);
    if (!queue->readings)
        return next;
    if (take_answer(queue))
        next = clock_monotonic_nsec();
    next = clock_earlier(next, send_due(queue));
    next = clock_earlier(next, poll_queue_publish(queue));
    next = clock_earlier(next, poll_queue_notify(queue));
    return queue->is_incomplete ? clock_earlier(next, clock_monotonic_nsec() + NSEC_PER_SEC) : next;
}

void poll_queue_wait(PollQueue *queue, int64_t until_nsec) {
    int64_t now = clock_monotonic_nsec(), msec = 0;

    if (until_nsec > now)
        msec = (until_nsec - now - 1) / NSEC_PER_MSEC + 1;
    if (msec > WAIT_MAX_MSEC)
        msec = WAIT_MAX_MSEC;
    if (client_loop_wait(queue->loop, (int)msec) < 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = STUCK_MSEC * NSEC_PER_MSEC}, NULL);
}

bool poll_queue_has_asked_all(PollQueue *queue) {
    for (const PollJob *job = queue->jobs; job; job = job->next)
        if (job->n_ok + job->n_failed == 0 && poll_queue_connection(queue, job))
            return false;
    return true;
}

void poll_queue_give_up(PollQueue *queue, const char *error) {
    for (size_t i = 0; i < queue->readings->n; i++)
        if (queue->readings->items[i]->status.state == POLL_WAITING)
            poll_queue_set_state(queue, queue->readings->items[i], POLL_FAILING, error);
}

#define PUBLISH_REST 9 /* times as long as publishing took: it takes a tenth of a core at most */

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
    pthread_mutex_lock(&queue->shared->lock);
    measurements = readings_measurements(queue->shared->readings);
    pthread_mutex_unlock(&queue->shared->lock);
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

/* Reads only fields that the queue's own thread writes: no lock is needed. */
static void notify(PollQueue *queue, Reading *reading, Str name) {
    const Gauge *gauge = &reading->gauge;
    const PollStatus *status = &reading->status;
    bool is_query = gauge->source == GAUGE_PROMETHEUS;
    PollerNotice notice = {
        .is = status->state,
        .gauge = name,
        .source = is_query ? source_meant(gauge->from) : str_from_c(api_of(gauge)),
        .query = gauge->source == GAUGE_RESOURCES ? gauge->resource : gauge->query,
        .error = status->error,
        .report = &status->report,
        .down_nsec = status->state == POLL_OK ? reading->outage_nsec : 0,
    };

    if (queue->callbacks.notice)
        queue->callbacks.notice(queue->callbacks.context, &notice);
    if (status->state == POLL_OK)
        reading->outage_nsec = 0;
    reading->reported = status->state;
    reading->reported_nsec = clock_monotonic_nsec();
}

int64_t poll_queue_notify(PollQueue *queue) {
    int64_t now = clock_monotonic_nsec(), next = INT64_MAX;

    for (size_t i = 0; queue->readings && i < queue->readings->n; i++) {
        Reading *reading = queue->readings->items[i];
        PollState state = reading->status.state;
        int64_t due = reading->reported_nsec == INT64_MIN
                          ? INT64_MIN
                          : reading->reported_nsec + READING_NOTICE_SEC * NSEC_PER_SEC;

        if (state == reading->reported || state == POLL_WAITING)
            continue;
        if (due <= now)
            notify(queue, reading, queue->readings->names[i]);
        else if (due < next)
            next = due;
    }
    return next;
}
