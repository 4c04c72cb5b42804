#include "load/question.h"

#include <stdlib.h>

#include "base/nsec.h"
#include "base/url.h"

Question *question_new(Reading *model, uint64_t seed) {
    Question *question = calloc(1, sizeof(*question));

    if (!question)
        return NULL;
    question->model = reading_ref(model);
    question->schedule = schedule_new(model->gauge.interval_nsec, seed);
    return question;
}

Question *question_free(Question *question) {
    if (!question)
        return NULL;
    reading_unref(question->model);
    free(question);
    return NULL;
}

bool question_fits(const Question *question, const Gauge *gauge) {
    const Gauge *own = &question->model->gauge;

    if (own->source != gauge->source)
        return false;
    if (gauge->source == GAUGE_RESOURCES)
        return own->is_of_pods == gauge->is_of_pods;
    return str_eq(own->query, gauge->query) &&
           str_eq(source_meant(own->from), source_meant(gauge->from));
}

unsigned question_timeout_sec(const Question *question) {
    int64_t sec = (question->schedule.interval_nsec - 1) / NSEC_PER_SEC + 1;

    return sec < POLLER_TIMEOUT_SEC ? (unsigned)sec : POLLER_TIMEOUT_SEC;
}

const char *question_path(const Question *question) {
    const Gauge *gauge = &question->model->gauge;

    if (gauge->source == GAUGE_PROMETHEUS)
        return "/api/v1/query";
    return gauge->is_of_pods ? "/apis/metrics.k8s.io/v1beta1/pods"
                             : "/apis/metrics.k8s.io/v1beta1/nodes";
}

/* No time: an answer is of the moment in which the server gives it. */
void question_form(const Question *question, Buf *ret) {
    const Gauge *gauge = &question->model->gauge;

    if (gauge->source != GAUGE_PROMETHEUS)
        return;
    buf_append(ret, STR("query="));
    url_escape(ret, gauge->query);
    buf_printf(ret, "&timeout=%us", question_timeout_sec(question));
}
