#pragma once

/*
 * PollJob: a query that is sent to one server again and again, for all gauges that it answers.
 *
 *     PROMETHEUS   a query of a source
 *     RESOURCES    the list of nodes, or of pods; cpu and memory are in the same answer
 *     CUSTOM       one metric of all nodes
 *
 * Threads: the queue's.
 */

#include "kube/backoff.h"
#include "load/reading.h"

/*
 * Schedule: when to poll next. First at once; after an answer one interval after the last query,
 * minus up to a tenth, so that jobs spread out; after a failure with a delay that doubles with each
 * failure in a row, or after the server's Retry-After. Time is an argument (monotonic), randomness
 * comes from the seed.
 */

#define SCHEDULE_INTERVAL_MIN_MSEC 100 /* the least of a gauge */
#define SCHEDULE_RETRY_MSEC 1000       /* after the first failure; half of it is jitter */
#define SCHEDULE_RETRY_MAX_SEC POLLER_BACKOFF_MAX_SEC /* or the interval if that is longer */
#define SCHEDULE_RETRY_AFTER_MAX_SEC BACKOFF_RETRY_AFTER_MAX_SEC

typedef struct Schedule {
    int64_t interval_nsec;
    int64_t due_nsec;    /* INT64_MIN: at once; INT64_MAX: never */
    unsigned n_failures; /* in a row */
    bool was_retried;    /* among them, by schedule_retry() */
    Backoff random;
} Schedule;

Schedule schedule_new(int64_t interval_nsec, uint64_t seed);

/* The job of @asked_nsec was answered, at @now_nsec. */
void schedule_answered(Schedule *schedule, int64_t asked_nsec, int64_t now_nsec);

/* It failed. @retry_after_sec is the server's Retry-After, -1: none. */
void schedule_failed(Schedule *schedule, int64_t now_nsec, int retry_after_sec);

/* At once, unless it is failing: then it is tried again when it would have been. */
void schedule_hasten(Schedule *schedule);

/* At once, if it is failing: its server answers other jobs again. Only once per row of failures, or
 * a job that always fails would be polled whenever another is answered. */
void schedule_retry(Schedule *schedule);

/* At once, and what failed before is forgotten: it is another server now. */
void schedule_restart(Schedule *schedule);

/* Another interval. A shorter one counts from now on. */
void schedule_set_interval(Schedule *schedule, int64_t interval_nsec, int64_t now_nsec);

#define POLL_FORM_MAX ((size_t)200 * 1024)

struct PollJob {
    PollJob *next;
    Reading *model; /* a reference: one with this query */
    Schedule schedule;
    bool is_under_way;
    uint64_t n_ok, n_failed; /* requests */

    /* While a list is taken over. */
    bool is_wanted, has_more;
    int64_t interval_nsec;
};

/* NULL when out of memory. */
PollJob *poll_job_new(Reading *model, uint64_t seed);
PollJob *poll_job_free(PollJob *job); /* takes NULL */

/* Whether the answer to @job has the values of @gauge. */
bool poll_job_fits(const PollJob *job, const Gauge *gauge);

/* The timeout of one request: the interval, at most POLLER_TIMEOUT_SEC. */
unsigned poll_job_timeout_sec(const PollJob *job);

/* The path after the server's URL, and the parameters, as in a query or a form; metrics.k8s.io has
 * none. */
void poll_job_path(const PollJob *job, Buf *ret);
void poll_job_form(const PollJob *job, Buf *ret);
