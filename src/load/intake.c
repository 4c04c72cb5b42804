/*
 * One answer serves all readings of its question. It is read once (of metrics.k8s.io once for each
 * resource), joined for each, and what is learned is written under the board's lock at the end:
 * nobody waits while something is read or joined.
 *
 * A failure leaves the last sampling where it is. An answer takes its place also where it names
 * fewer nodes, or none: then that is what the source knows.
 */

#include "load/intake.h"

#include <errno.h>

#include "base/clock.h"
#include "load/phrase.h"
#include "load/vector.h"

typedef struct Intake {
    Desk *desk;
    Request *request;
    const NodeTable *table;
    JoinTime time;

    /* The vector that was read last. */
    bool has_vector;
    Str resource;
    Vector vector;
    int r;                        /* what reading it said ... */
    char error[POLLER_ERROR_MAX]; /* ... and in words */
} Intake;

/* --- states --- */

static bool is_down(PollState state) {
    return state != POLL_OK && state != POLL_WAITING;
}

/* The board's lock is held. */
static void set_state(Reading *reading, PollState state, const char *error) {
    PollStatus *status = &reading->status;
    Phrase phrase = phrase_begin(status->error, sizeof(status->error));

    phrase_add(&phrase, "%s", error);
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

void intake_state(Desk *desk, Reading *reading, PollState state, const char *error) {
    pthread_mutex_lock(&desk->board->lock);
    set_state(reading, state, error);
    pthread_mutex_unlock(&desk->board->lock);
}

/* --- what came, into a reading --- */

/* What of the status is the question's. The board's lock is held. */
static void set_figures(Reading *reading, const Request *request) {
    PollStatus *status = &reading->status;

    status->n_ok = request->question->n_ok;
    status->n_failed = request->question->n_failed;
    status->duration_nsec = request->ended_nsec - request->uptime_nsec;
    status->n_bytes = request->body.len;
}

static void fail_reading(Desk *desk, Reading *reading, const Request *request, const char *error) {
    pthread_mutex_lock(&desk->board->lock);
    set_state(reading, POLL_FAILING, error);
    set_figures(reading, request);
    pthread_mutex_unlock(&desk->board->lock);
}

static bool is_joined(const JoinReport *report) {
    return report->n_covered > 0 || report->n_workloads > 0;
}

/* Why no node has a value, though there was an answer. */
static void explain_unjoined(const Intake *intake, const JoinReport *report, char *error) {
    Phrase phrase = phrase_begin(error, POLLER_ERROR_MAX);

    phrase_add(&phrase, "%s: %s", access_server(intake->request->server->access), report->error);
}

static void show_warning(PollStatus *status, Str warning) {
    Phrase phrase = phrase_begin(status->warning, sizeof(status->warning));

    phrase_show(&phrase, warning, sizeof(status->warning) - 1);
}

/* Takes @sampling. */
static void take_sampling(
    const Intake *intake, Reading *reading, const JoinReport *report, Sampling *sampling) {
    PollStatus *status = &reading->status;
    char error[POLLER_ERROR_MAX] = "";
    Sampling *before;

    if (!is_joined(report))
        explain_unjoined(intake, report, error);

    pthread_mutex_lock(&intake->desk->board->lock);
    before = reading->sampling;
    reading->sampling = sampling;
    set_state(reading, is_joined(report) ? POLL_OK : POLL_UNJOINED, error);
    set_figures(reading, intake->request);
    show_warning(status, intake->vector.warning);
    status->answered_at_nsec = clock_wall_nsec();
    status->answered_uptime = clock_monotonic_nsec();
    status->report = *report;
    for (size_t i = 0; i < _JOIN_DROPS; i++)
        status->n_dropped[i] += report->n_dropped[i];
    pthread_mutex_unlock(&intake->desk->board->lock);

    sampling_unref(before); /* may be large */
}

/* --- reading and joining --- */

static void read_vector(Intake *intake, const Gauge *gauge) {
    Str body = buf_str(&intake->request->body);
    Arena *arena = intake->desk->vectors;
    char why[VECTOR_ERROR_MAX] = "";
    Phrase phrase;

    if (intake->has_vector &&
        (gauge->source == GAUGE_PROMETHEUS || str_eq(intake->resource, gauge->resource)))
        return;
    arena_reset(arena);
    phrase = phrase_begin(intake->error, sizeof(intake->error));
    intake->has_vector = true;
    intake->resource = gauge->resource;
    intake->r = gauge->source == GAUGE_PROMETHEUS
                    ? vector_read_prometheus(body, arena, &intake->vector, why)
                    : vector_read_resources(
                          body, gauge->resource, gauge->is_of_pods, arena, &intake->vector, why);
    if (intake->r < 0)
        phrase_add(&phrase,
            "%s: %s",
            access_server(intake->request->server->access),
            intake->r == -ENOMEM || why[0] == '\0' ? "out of memory for its answer" : why);
}

static void measure(Intake *intake, Reading *reading) {
    Arena *scratch = intake->desk->scratch;
    JoinReport report = {0};
    Sampling *sampling = NULL;

    read_vector(intake, &reading->gauge);
    if (intake->r < 0) {
        fail_reading(intake->desk, reading, intake->request, intake->error);
        return;
    }
    arena_reset(scratch);
    join_memory_share(reading->memory, intake->desk->index);
    if (join_vector(&reading->gauge,
            &intake->vector,
            intake->table,
            &intake->time,
            reading->memory,
            scratch,
            &report,
            &sampling) < 0)
        fail_reading(
            intake->desk, reading, intake->request, "out of memory for joining its answer");
    else
        take_sampling(intake, reading, &report, sampling);
}

static void measure_all(Intake *intake) {
    const Readings *readings = intake->desk->readings;

    for (size_t i = 0; i < readings->n; i++)
        if (readings->items[i]->question == intake->request->question)
            measure(intake, readings->items[i]);
    arena_reset(intake->desk->vectors);
    arena_reset(intake->desk->scratch);
}

/* --- requests --- */

static void note_news(Desk *desk) {
    if (!desk->is_news)
        desk->news_nsec = clock_monotonic_nsec();
    desk->is_news = true;
}

static void take_failure(Desk *desk, Request *request, const char *error) {
    const Readings *readings = desk->readings;
    Question *question = request->question;

    question->n_failed++;
    schedule_failed(&question->schedule, clock_monotonic_nsec(), request->retry_after_sec);
    for (size_t i = 0; i < readings->n; i++)
        if (readings->items[i]->question == question)
            fail_reading(desk, readings->items[i], request, error);
}

static void take_answer(Desk *desk, Request *request, Snapshot *snapshot) {
    Question *question = request->question;
    Intake intake = {
        .desk = desk,
        .request = request,
        .table = snapshot_table(snapshot),
        .time = {.asked_nsec = request->asked_nsec,
            .uptime_nsec = request->uptime_nsec,
            .server_sec = request->date_sec},
    };

    read_vector(&intake, &question->model->gauge);
    if (intake.r < 0) {
        take_failure(desk, request, intake.error);
        return;
    }
    question->n_ok++;
    schedule_answered(&question->schedule, request->uptime_nsec, clock_monotonic_nsec());
    measure_all(&intake);
    note_news(desk);
}

/* A server that has answered something else meanwhile works: it is this question that is too much
 * for it. */
static void note_failure(const Request *request) {
    if (request->server->answered_nsec < request->uptime_nsec)
        request->server->is_failing = true;
}

/* A server that works again is asked at once what it has not answered. */
static void note_success(Desk *desk, const Request *request) {
    Server *server = request->server;
    bool was_failing = server->is_failing;

    server->is_failing = false;
    server->answered_nsec = request->ended_nsec;
    for (Question *question = desk->questions; question && was_failing; question = question->next)
        if (!question->is_under_way && desk_server(desk, question) == server)
            schedule_retry(&question->schedule);
}

void intake_request(Desk *desk, Request *request) {
    _cleanup_(snapshot_unrefp) Snapshot *snapshot = NULL;
    char error[POLLER_ERROR_MAX];
    bool has_failed;

    arena_reset(desk->scratch);
    has_failed = request_complaint(request, desk->scratch, error);
    if (has_failed && request_blames_server(request))
        note_failure(request);
    else
        note_success(desk, request);
    if (has_failed) {
        take_failure(desk, request, error);
        return;
    }
    snapshot = desk->callbacks.snapshot(desk->callbacks.context);
    if (snapshot) /* else it is asked again when there is a cluster */
        take_answer(desk, request, snapshot);
}
