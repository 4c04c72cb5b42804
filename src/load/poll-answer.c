/*
 * Reads an answer for all readings of its job: parses it once (from metrics.k8s.io once for each
 * resource), joins it for each reading, and takes the shared lock only to store the results.
 *
 * After a failure the last measurement stays. A valid answer replaces it, also with fewer nodes or
 * none.
 */

#include "load/poll-queue.h"

#include <errno.h>

#include "base/clock.h"
#include "base/message.h"
#include "base/thread.h"
#include "load/vector.h"

typedef struct PollAnswer {
    PollQueue *queue;
    PollRequest *request;
    const NodeTable *table;
    JoinTime time;

    /* The vector that was read last. */
    bool has_vector;
    Str resource;
    Vector vector;
    int r;                        /* the result of reading it ... */
    char error[POLLER_ERROR_MAX]; /* ... and in words */
} PollAnswer;

static bool is_down(PollState state) {
    return state != POLL_OK && state != POLL_WAITING;
}

/* Call it with the lock of SharedReadings held. */
static void set_state(Reading *reading, PollState state, const char *error) {
    PollStatus *status = &reading->status;
    Message message = message_begin(status->error, sizeof(status->error));

    message_add(&message, "%s", error);
    status->state = state;
    if (is_down(state) && reading->down_nsec == 0) {
        reading->down_nsec = clock_monotonic_nsec();
        status->failing_since_nsec = clock_wall_nsec();
    } else if (!is_down(state) && reading->down_nsec != 0) {
        reading->outage_nsec = clock_monotonic_nsec() - reading->down_nsec;
        reading->down_nsec = 0;
        status->failing_since_nsec = 0;
    }
}

void poll_queue_set_state(PollQueue *queue, Reading *reading, PollState state, const char *error) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&queue->shared->lock);

    set_state(reading, state, error);
}

/* Copies the figures of the job. Call it with the lock held. */
static void set_figures(Reading *reading, const PollRequest *request) {
    PollStatus *status = &reading->status;

    status->n_ok = request->job->n_ok;
    status->n_failed = request->job->n_failed;
    status->duration_nsec = request->ended_nsec - request->uptime_nsec;
    status->n_bytes = request->body.len;
}

static void fail_reading(
    PollQueue *queue, Reading *reading, const PollRequest *request, const char *error) {
    _unlock_ pthread_mutex_t *held = mutex_hold(&queue->shared->lock);

    set_state(reading, POLL_FAILING, error);
    set_figures(reading, request);
}

static bool is_joined(const JoinReport *report) {
    return report->n_covered > 0 || report->n_workloads > 0;
}

/* Takes @measurement. */
static void take_sampling(const PollAnswer *answer, Reading *reading, const JoinReport *report,
    Measurement *measurement) {
    PollStatus *status = &reading->status;
    char error[POLLER_ERROR_MAX];
    Message why = message_begin(error, sizeof(error)), warning;
    Measurement *before;

    if (!is_joined(report))
        message_add(&why, "%s: %s", access_server(answer->request->server->access), report->error);

    pthread_mutex_lock(&answer->queue->shared->lock);
    before = reading->measurement;
    reading->measurement = measurement;
    set_state(reading, is_joined(report) ? POLL_OK : POLL_UNJOINED, error);
    set_figures(reading, answer->request);
    warning = message_begin(status->warning, sizeof(status->warning));
    message_show(&warning, answer->vector.warning, sizeof(status->warning) - 1);
    status->answered_at_nsec = clock_wall_nsec();
    status->answered_uptime = clock_monotonic_nsec();
    status->report = *report;
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        status->n_dropped[i] += report->n_dropped[i];
    pthread_mutex_unlock(&answer->queue->shared->lock);

    measurement_unref(before); /* may be large */
}

static void read_vector(PollAnswer *answer, const Gauge *gauge) {
    Str body = buf_str(&answer->request->body);
    Arena *arena = answer->queue->vectors;
    char why[VECTOR_ERROR_MAX] = "";
    Message message;

    if (answer->has_vector &&
        (gauge->source != GAUGE_RESOURCES || str_eq(answer->resource, gauge->resource)))
        return;
    arena_reset(arena);
    message = message_begin(answer->error, sizeof(answer->error));
    answer->has_vector = true;
    answer->resource = gauge->resource;
    answer->r = gauge->source == GAUGE_PROMETHEUS
                    ? vector_read_prometheus(body, arena, &answer->vector, why)
                : gauge->source == GAUGE_CUSTOM
                    ? vector_read_custom(body, arena, &answer->vector, why)
                    : vector_read_resources(
                          body, gauge->resource, gauge->is_of_pods, arena, &answer->vector, why);
    if (answer->r < 0)
        message_add(&message, "%s: %s", access_server(answer->request->server->access),
            answer->r == -ENOMEM || why[0] == '\0' ? "out of memory for its answer" : why);
}

static void measure(PollAnswer *answer, Reading *reading) {
    Arena *scratch = answer->queue->scratch;
    JoinReport report = {0};
    Measurement *measurement = NULL;

    read_vector(answer, &reading->gauge);
    if (answer->r < 0) {
        fail_reading(answer->queue, reading, answer->request, answer->error);
        return;
    }
    arena_reset(scratch);
    if (join_vector(&reading->gauge, &answer->vector, answer->table, &answer->time,
            answer->queue->index, reading->memory, scratch, &report, &measurement) < 0)
        fail_reading(
            answer->queue, reading, answer->request, "out of memory for joining its answer");
    else
        take_sampling(answer, reading, &report, measurement);
}

static void take_failure(PollQueue *queue, PollRequest *request, const char *error) {
    const Readings *readings = queue->readings;
    PollJob *job = request->job;

    job->n_failed++;
    schedule_failed(&job->schedule, clock_monotonic_nsec(), request->retry_after_sec);
    for (size_t i = 0; i < readings->n; i++)
        if (readings->items[i]->job == job)
            fail_reading(queue, readings->items[i], request, error);
}

static void take_answer(PollQueue *queue, PollRequest *request, Snapshot *snapshot) {
    PollJob *job = request->job;
    PollAnswer answer = {
        .queue = queue,
        .request = request,
        .table = snapshot_table(snapshot),
        .time = {.asked_nsec = request->asked_nsec,
            .uptime_nsec = request->uptime_nsec,
            .server_sec = request->date_sec},
    };

    read_vector(&answer, &job->model->gauge);
    if (answer.r < 0) {
        take_failure(queue, request, answer.error);
        return;
    }
    job->n_ok++;
    schedule_answered(&job->schedule, request->uptime_nsec, clock_monotonic_nsec());
    for (size_t i = 0; i < queue->readings->n; i++)
        if (queue->readings->items[i]->job == job)
            measure(&answer, queue->readings->items[i]);
    arena_reset(queue->vectors);
    arena_reset(queue->scratch);
    if (!queue->is_news)
        queue->news_nsec = clock_monotonic_nsec();
    queue->is_news = true;
}

/* When a server works again, its failed jobs are retried at once. */
static void note_success(PollQueue *queue, const PollRequest *request) {
    SourceConnection *server = request->server;
    bool was_failing = server->is_failing;

    server->is_failing = false;
    server->answered_nsec = request->ended_nsec;
    for (PollJob *job = queue->jobs; job && was_failing; job = job->next)
        if (!job->is_under_way && poll_queue_connection(queue, job) == server)
            schedule_retry(&job->schedule);
}

void poll_queue_take_answer(PollQueue *queue, PollRequest *request) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[POLLER_ERROR_MAX];
    bool has_failed, blames_server; /* false: only this job fails */

    arena_reset(queue->scratch);
    has_failed = poll_request_error(request, queue->scratch, error);
    blames_server =
        request->outcome == CALL_DONE ? request->status >= 500 : request->outcome != CALL_TOO_LARGE;
    if (!has_failed || !blames_server)
        note_success(queue, request);
    else if (request->server->answered_nsec < request->uptime_nsec)
        request->server->is_failing = true; /* else it works, and this job is too much for it */
    if (has_failed) {
        take_failure(queue, request, error);
        return;
    }
    snapshot = queue->callbacks.snapshot(queue->callbacks.context);
    if (snapshot) /* else it is polled again when there is a cluster */
        take_answer(queue, request, snapshot);
}
