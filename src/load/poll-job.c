#include "load/poll-job.h"

#include <stdlib.h>

#include "base/nsec.h"
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
    return str_eq(own->query, gauge->query) &&
           str_eq(source_meant(own->from), source_meant(gauge->from));
}

unsigned poll_job_timeout_sec(const PollJob *job) {
    int64_t sec = (job->schedule.interval_nsec - 1) / NSEC_PER_SEC + 1;

    return sec < POLLER_TIMEOUT_SEC ? (unsigned)sec : POLLER_TIMEOUT_SEC;
}

const char *poll_job_path(const PollJob *job) {
    const Gauge *gauge = &job->model->gauge;

    if (gauge->source == GAUGE_PROMETHEUS)
        return "/api/v1/query";
    return gauge->is_of_pods ? "/apis/metrics.k8s.io/v1beta1/pods"
                             : "/apis/metrics.k8s.io/v1beta1/nodes";
}

/* No time: an answer is of the moment in which the server gives it. */
void poll_job_form(const PollJob *job, Buf *ret) {
    const Gauge *gauge = &job->model->gauge;

    if (gauge->source != GAUGE_PROMETHEUS)
        return;
    buf_append(ret, STR("query="));
    url_escape(ret, gauge->query);
    buf_printf(ret, "&timeout=%us", poll_job_timeout_sec(job));
}
