/* The steps after each verb, in order: recent pods, Events, counters, history, log. */

#include "serve/observers.h"

#include "base/log.h"

/* Refused requests are logged, but a peer must not be able to fill a disk. */
#define LOG_PER_SEC 10

static void observe_recent_pods(Answers *answers, const Observation *o) {
    recent_pods_note(
        answers->api->recent_pods, o->view, o->verb, o->decision, o->now_nsec, o->at_nsec);
}

static void observe_live(Answers *answers, const Observation *o) {
    if (answers->api->live && o->verb == VERB_FILTER)
        live_observe_filter(answers->api->live, o->view, o->decision, o->now_nsec);
}

static void observe_metrics(Answers *answers, const Observation *o) {
    AnswerCounts *counts = &answers->api->counts;

    metrics_note_decision(answers->api->metrics, o->verb, o->view->program, o->decision);
    atomic_fetch_add_explicit(&counts->answered[o->verb], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(
        &counts->rejected_nodes, o->decision->summary.n_rejected, memory_order_relaxed);
}

static void observe_latency(Answers *answers, const Observation *o) {
    latency_note_decision(answers->api->latency, o->verb, &o->decision->summary, o->now_nsec);
    if (!str_is_empty(o->decision->error))
        latency_note_error(answers->api->latency, o->verb, o->now_nsec);
}

static void observe_history(Answers *answers, const Observation *o) {
    PastTimes times = {
        .at_nsec = o->at_nsec,
        .duration_nsec = o->begin_nsec < 0 ? -1 : o->now_nsec - o->begin_nsec,
    };

    decisions_note(answers->api->decisions, o->view, o->verb, o->decision, times);
}

static bool may_log(Answers *answers, int64_t now_nsec) {
    int64_t second = now_nsec / NSEC_PER_SEC;

    if (atomic_exchange(&answers->log_second, second) != second)
        atomic_store(&answers->n_logged, 0);
    return atomic_fetch_add(&answers->n_logged, 1) < LOG_PER_SEC;
}

static void observe_log(Answers *answers, const Observation *o) {
    const Decision *decision = o->decision;

    if (answers->is_quiet)
        return;
    if (!str_is_empty(decision->error) && may_log(answers, o->now_nsec))
        log_warn("request answered with an error", LOG_CSTR("verb", verb_name(o->verb)),
            LOG_STR("namespace", decision->pod_namespace), LOG_STR("pod", decision->pod_name),
            LOG_STR("error", decision->error));
    else
        log_debug("decision", LOG_CSTR("verb", verb_name(o->verb)),
            LOG_STR("namespace", decision->pod_namespace), LOG_STR("pod", decision->pod_name),
            LOG_STR("uid", decision->pod_uid), LOG_INT("nodes_in", decision->summary.n_in),
            LOG_INT("nodes_out", decision->summary.n_out),
            LOG_INT("nodes_unknown", decision->summary.n_unknown));
}

static void observe_warnings(Answers *answers, const Observation *o) {
    if (!answers->is_quiet && o->arena)
        warnings_note(
            answers->warnings, o->view, o->verb, o->decision, o->time, o->arena, o->now_nsec);
}

static const struct {
    const char *name;
    void (*observe)(Answers *answers, const Observation *observation);
} observers[] = {
    {"recent pods", observe_recent_pods}, /* first: a bind may follow the reply at once, and Events
                                             are limited per pod */
    {"live", observe_live}, {"metrics", observe_metrics}, {"latency", observe_latency},
    {"history", observe_history}, {"log", observe_log},
    {"warnings", observe_warnings}, /* last: judges again, in the time that is left */
};

void observers_run(Answers *answers, const Observation *observation) {
    for (size_t i = 0; i < ELEMENTS_OF(observers); i++)
        observers[i].observe(answers, observation);
}
