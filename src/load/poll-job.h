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

#define SCHEDULE_INTERVAL_MIN_MSEC 100 /* shorter intervals are raised to it */
#define SCHEDULE_RETRY_MSEC 1000       /* after the first failure; half of it is jitter */
#define SCHEDULE_RETRY_MAX_SEC POLLER_BACKOFF_MAX_SEC /* or the interval if that is longer */
#define SCHEDULE_RETRY_AFTER_MAX_SEC BACKOFF_RETRY_AFTER_MAX_SEC

typedef struct Schedule {
    int64_t interval_nsec;
    int64_t due_nsec;    /* INT64_MIN: at once; INT64_MAX: never */
    unsigned n_failures; /* in a row */
    bool was_retried;    /* schedule_retry() has acted since the last answer */
    Backoff random;
} Schedule;

Schedule schedule_new(int64_t interval_nsec, uint64_t seed);

/* The query that was sent at @asked_nsec was answered, at @now_nsec. */
void schedule_answered(Schedule *schedule, int64_t asked_nsec, int64_t now_nsec);

/* The query failed, at @now_nsec. @retry_after_sec is the server's Retry-After, -1: none. */
void schedule_failed(Schedule *schedule, int64_t now_nsec, int retry_after_sec);

/* Makes the job due at once, unless it is failing: then its delay stays. */
void schedule_hasten(Schedule *schedule);

/* Makes a failing job due at once: its server answers other jobs again. Only once per row of
 * failures, or a job that always fails would be polled whenever another one is answered. */
void schedule_retry(Schedule *schedule);

/* Makes the job due at once and forgets its failures: it has another server now. */
void schedule_restart(Schedule *schedule);

/* Sets the interval. A shorter one counts from @now_nsec. */
void schedule_set_interval(Schedule *schedule, int64_t interval_nsec, int64_t now_nsec);

#define POLL_FORM_MAX ((size_t)200 * 1024)

struct PollJob {
    PollJob *next;
    Reading *model; /* any reading with this query; a reference */
    Schedule schedule;
    bool is_under_way;
    uint64_t n_ok, n_failed; /* requests */

    /* Used only while a list is taken over. */
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
