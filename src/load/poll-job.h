#pragma once

/*
 * PollJob: what is asked of one server, again and again, for all gauges that want to know it.
 *
 *     PROMETHEUS   a query of a source
 *     RESOURCES    the list of nodes, or of pods; cpu and memory are in the same answer
 *
 * Threads: the queue's.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "load/reading.h"
#include "load/schedule.h"

#define POLL_FORM_MAX ((size_t)200 * 1024)

struct PollJob {
    PollJob *next;
    Reading *model; /* a reference: one whose gauge asks this */
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

/* Whether the answer to @job tells what @gauge wants to know. */
bool poll_job_fits(const PollJob *job, const Gauge *gauge);

/* Of one request: no longer than the interval, at most POLLER_TIMEOUT_SEC. */
unsigned poll_job_timeout_sec(const PollJob *job);

/* What is asked, behind the server's URL, and with which parameters, as in a query or a form; for
 * metrics.k8s.io there are none. */
const char *poll_job_path(const PollJob *job);
void poll_job_form(const PollJob *job, Buf *ret);
