/* Jobs of the poll queue: the gauges of a job, its query, and when it is due. */

#include "load/poll-job.h"

#include <stdlib.h>

#include "base/nsec.h"
#include "base/num.h"
#include "base/url.h"

PollJob *poll_job_new(Reading *model, uint64_t seed) {
    PollJob *job = calloc(1, sizeof(*job));

    if (!job)
        return NULL;
    job->model = reading_ref(model);
    job->schedule = schedule_new(model->gauge.interval_nsec, seed);
    return job;
}

PollJob *poll_job_free(PollJob *job) {
    if (!job)
        return NULL;
    reading_unref(job->model);
    free(job);
    return NULL;
}

bool poll_job_fits(const PollJob *job, const Gauge *gauge) {
    const Gauge *own = &job->model->gauge;

    if (own->source != gauge->source)
        return false;
    if (gauge->source == GAUGE_RESOURCES)
        return own->is_of_pods == gauge->is_of_pods;
    if (gauge->source == GAUGE_CUSTOM)
        return str_eq(own->query, gauge->query);
    return str_eq(own->query, gauge->query) &&
           str_eq(source_meant(own->from), source_meant(gauge->from));
}

unsigned poll_job_timeout_sec(const PollJob *job) {
    int64_t sec = (job->schedule.interval_nsec - 1) / NSEC_PER_SEC + 1;

    return sec < POLLER_TIMEOUT_SEC ? (unsigned)sec : POLLER_TIMEOUT_SEC;
}

void poll_job_path(const PollJob *job, Buf *ret) {
    const Gauge *gauge = &job->model->gauge;

    if (gauge->source == GAUGE_PROMETHEUS) {
        buf_append(ret, STR("/api/v1/query"));
    } else if (gauge->source == GAUGE_CUSTOM) {
        buf_append(ret, STR("/apis/custom.metrics.k8s.io/v1beta1/nodes/*/"));
        url_escape(ret, gauge->query);
    } else {
        buf_append(ret, gauge->is_of_pods ? STR("/apis/metrics.k8s.io/v1beta1/pods")
                                          : STR("/apis/metrics.k8s.io/v1beta1/nodes"));
    }
}

/* The form has no time, so the server evaluates the query for the moment when it answers. */
void poll_job_form(const PollJob *job, Buf *ret) {
    const Gauge *gauge = &job->model->gauge;

    if (gauge->source != GAUGE_PROMETHEUS)
        return;
    buf_append(ret, STR("query="));
    url_escape(ret, gauge->query);
    buf_printf(ret, "&timeout=%us", poll_job_timeout_sec(job));
}

static int64_t sane_interval(int64_t interval_nsec) {
    int64_t least = SCHEDULE_INTERVAL_MIN_MSEC * NSEC_PER_MSEC;

    return interval_nsec > least ? interval_nsec : least;
}

Schedule schedule_new(int64_t interval_nsec, uint64_t seed) {
    return (Schedule){
        .interval_nsec = sane_interval(interval_nsec),
        .due_nsec = INT64_MIN,
        .random = BACKOFF_INIT(seed),
    };
}

/* A server that takes longer than the interval to answer gets a tenth of it to rest. */
void schedule_answered(Schedule *schedule, int64_t asked_nsec, int64_t now_nsec) {
    int64_t tenth = schedule->interval_nsec / 10, soonest = num_add_sat(now_nsec, tenth);
    int64_t jitter = backoff_pick(&schedule->random, 0, tenth);

    schedule->n_failures = 0;
    schedule->was_retried = false;
    /* Never later than the interval: maxAge is chosen by it. */
    schedule->due_nsec = num_add_sat(asked_nsec, schedule->interval_nsec - jitter);
    if (schedule->due_nsec < soonest)
        schedule->due_nsec = soonest;
}

static int64_t retry_ceiling(const Schedule *schedule) {
    int64_t most = SCHEDULE_RETRY_MAX_SEC * NSEC_PER_SEC;
    int64_t ceiling = SCHEDULE_RETRY_MSEC * NSEC_PER_MSEC;

    if (schedule->interval_nsec > most)
        most = schedule->interval_nsec;
    for (unsigned i = 0; i < schedule->n_failures && ceiling < most; i++)
        ceiling = num_add_sat(ceiling, ceiling);
    return ceiling < most ? ceiling : most;
}

void schedule_failed(Schedule *schedule, int64_t now_nsec, int retry_after_sec) {
    int64_t ceiling = retry_ceiling(schedule);
    int64_t delay = backoff_pick(&schedule->random, ceiling / 2, ceiling);

    if (retry_after_sec > SCHEDULE_RETRY_AFTER_MAX_SEC)
        retry_after_sec = SCHEDULE_RETRY_AFTER_MAX_SEC;
    if (retry_after_sec > 0 && delay < retry_after_sec * NSEC_PER_SEC)
        delay = retry_after_sec * NSEC_PER_SEC + backoff_pick(&schedule->random, 0, NSEC_PER_SEC);
    if (schedule->n_failures < UINT32_MAX)
        schedule->n_failures++;
    schedule->due_nsec = num_add_sat(now_nsec, delay);
}

void schedule_hasten(Schedule *schedule) {
    if (schedule->n_failures == 0)
        schedule->due_nsec = INT64_MIN;
}

void schedule_retry(Schedule *schedule) {
    if (schedule->n_failures == 0 || schedule->was_retried)
        return;
    schedule->was_retried = true;
    schedule->due_nsec = INT64_MIN;
}

void schedule_restart(Schedule *schedule) {
    schedule->n_failures = 0;
    schedule->was_retried = false;
    schedule->due_nsec = INT64_MIN;
}

void schedule_set_interval(Schedule *schedule, int64_t interval_nsec, int64_t now_nsec) {
    int64_t latest;

    schedule->interval_nsec = sane_interval(interval_nsec);
    latest = num_add_sat(now_nsec, schedule->interval_nsec);
    if (schedule->n_failures == 0 && schedule->due_nsec > latest)
        schedule->due_nsec = latest;
}
