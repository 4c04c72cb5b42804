/* Answers requests: verbs from a view, pages by their route. A worker holds one view for a whole
 * request, so that a newer view cannot change a running one. */

#include "serve/answers.h"

#include <stdio.h>

#include "api/routes.h"
#include "base/clock.h"
#include "base/log.h"
#include "live/verb-reply.h"

/* Errors are logged, but a client must not be able to fill a disk. */
#define LOG_PER_SEC 10

static void count(ApiContext *api, const Observation *o) {
    AnswerCounts *counts = &api->counts;

    metrics_note_decision(api->metrics, o->verb, o->view->program, o->decision, o->at_nsec);
    atomic_fetch_add_explicit(&counts->answered[o->verb], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(
        &counts->rejected_nodes, o->decision->summary.n_rejected, memory_order_relaxed);
    latency_note_decision(api->latency, o->verb, &o->decision->summary, o->now_nsec);
    if (!str_is_empty(o->decision->error))
        latency_note_error(api->latency, o->verb, o->now_nsec);
}

static bool may_log(Answers *answers, int64_t now_nsec) {
    int64_t second = now_nsec / NSEC_PER_SEC;

    if (atomic_exchange(&answers->log_second, second) != second)
        atomic_store(&answers->n_logged, 0);
    return atomic_fetch_add(&answers->n_logged, 1) < LOG_PER_SEC;
}

static void log_answer(Answers *answers, const Observation *o) {
    const Decision *decision = o->decision;

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

void answers_observe(Answers *answers, const Observation *o) {
    ApiContext *api = answers->api;
    PastTimes times = {
        .at_nsec = o->at_nsec,
        .duration_nsec = o->begin_nsec < 0 ? -1 : o->now_nsec - o->begin_nsec,
    };

    /* First: a bind may follow the reply at once, and Events are limited per pod. */
    recent_pods_note(api->recent_pods, o->view, o->verb, o->decision, o->now_nsec, o->at_nsec);
    if (api->live && o->verb == VERB_FILTER)
        live_observe_filter(api->live, o->view, o->decision, o->now_nsec);
    count(api, o);
    decisions_note(api->decisions, o->view, o->verb, o->decision, times);
    if (!answers->is_quiet)
        log_answer(answers, o);
    if (!answers->is_quiet && o->arena) /* last: it evaluates again, in the rest of the time */
        warnings_note(
            &answers->warnings, o->view, o->verb, o->decision, o->time, o->arena, o->now_nsec);
}

void answers_note_bind(void *context, const Decision *decision) {
    Answers *answers = context;
    _cleanup_(view_unrefp) View *view = current_view(answers->api->current);

    answers_observe(answers, &(Observation){
                                 .verb = VERB_BIND,
                                 .view = view,
                                 .decision = decision,
                                 .at_nsec = clock_wall_nsec(),
                                 .begin_nsec = -1,
                                 .now_nsec = clock_monotonic_nsec(),
                             });
}

static void answer_bind(Answers *answers, Str body, Arena *arena, Answer *answer) {
    char error[512] = "";
    BindArgs args;

    if (!extender_bind_request(body, arena, &args, answer))
        return;
    if (answers->bind_hook)
        answers->bind_hook->bind(answers->bind_hook->context, &args, error, sizeof(error));
    else
        (void)snprintf(error, sizeof(error),
            "berth: cannot bind: it has no API server to talk to; remove bindVerb from the "
            "extender's configuration, or start it with --kubeconfig or --in-cluster, and --bind");
    extender_bind_reply(&args, str_from_c(error), arena, answer);
}

/* The time to evaluate policies. It starts when it is first checked, so that reading a large body
 * does not count. */
typedef struct Allowance {
    int64_t limit_nsec;
    int64_t end_nsec; /* monotonic; 0: not started */
} Allowance;

static bool is_over(void *context) {
    Allowance *allowance = context;
    int64_t now = clock_monotonic_nsec();

    if (allowance->end_nsec == 0)
        allowance->end_nsec = now + allowance->limit_nsec;
    return now >= allowance->end_nsec;
}

/* Limit for one evaluation by the scalar machine. */
#define VERB_SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

static RequestTime request_time(Allowance *allowance, Arena *scratch) {
    return (RequestTime){
        .now_nsec = clock_wall_nsec(),
        .is_over = is_over,
        .context = allowance,
        .scratch = scratch,
    };
}

static void evaluate(Answers *answers, Verb verb, const View *view, const RequestTime *time,
    Str body, Arena *arena, Answer *ret) {
    if (verb == VERB_FILTER)
        extender_filter(view, time, body, arena, ret);
    else if (verb == VERB_PRIORITIZE)
        extender_prioritize(view, time, body, arena, ret);
    else if (verb == VERB_PREEMPT)
        extender_preempt(view, time, body, arena, ret);
    else
        answer_bind(answers, body, arena, ret);
}

/* @ret_newer: for filters of a watched cluster, which may wait for nodes that @view lacks.
 * *ret_newer is then the newer view that was used, or NULL. @kept may be NULL; @ret is valid until
 * @kept is given back. */
static void decide(Answers *answers, Verb verb, const View *view, View **ret_newer, KeptPod *kept,
    Str body, Arena *arena, Answer *ret) {
    _cleanup_(arena_freep) Arena *scratch = arena_new(VERB_SCRATCH_BUDGET);
    int64_t begin = clock_monotonic_nsec();
    Allowance allowance = {.limit_nsec = answers->api->fixed.deadline_nsec};
    RequestTime time = request_time(&allowance, scratch);

    time.kept_pod = kept;
    evaluate(answers, verb, view, &time, body, arena, ret);
    if (ret_newer)
        *ret_newer = node_wait(
            &answers->node_wait, answers->api->current, view, &ret->decision, NODE_WAIT_NSEC);
    if (ret_newer && *ret_newer) {
        view = *ret_newer;
        allowance.end_nsec = 0;
        time.now_nsec = clock_wall_nsec();
        evaluate(answers, verb, view, &time, body, arena, ret);
    }
    answers_observe(answers, &(Observation){
                                 .verb = verb,
                                 .view = view,
                                 .decision = &ret->decision,
                                 .time = &time,
                                 .arena = arena,
                                 .at_nsec = time.now_nsec,
                                 .begin_nsec = begin,
                                 .now_nsec = clock_monotonic_nsec(),
                             });
}

void answers_filter(void *context, const View *view, Str body, Arena *arena, Answer *ret) {
    decide(context, VERB_FILTER, view, /* ret_newer= */ NULL, /* kept= */ NULL, body, arena, ret);
}

static void answer_verb(Answers *answers, Verb verb, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = current_view(answers->api->current), *newer = NULL;
    KeptPod *kept = kept_pods_take(&answers->kept_pods);
    bool is_watched = verb == VERB_FILTER && answers->api->live;
    Answer answer;

    decide(answers, verb, view, is_watched ? &newer : NULL, kept, request->body, request->arena,
        &answer);
    reply_with(reply, &answer);
    if (is_watched)
        live_expect(answers->api->live, request, newer ? newer : view, &answer.decision, reply);
    kept_pods_give(&answers->kept_pods, kept);
    if (is_watched)
        reply->waited_nsec = live_wait(answers->api->live);
}

/* Without answers_observe(): records, counts and expects nothing. */
static void answer_dry_run(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = current_view(answers->api->current);
    _cleanup_(arena_freep) Arena *scratch = arena_new(VERB_SCRATCH_BUDGET);
    Allowance allowance = {.limit_nsec = answers->api->fixed.deadline_nsec};
    RequestTime time = request_time(&allowance, scratch);
    Answer answer;

    extender_filter_dry_run(view, &time, request->body, request->arena, &answer);
    reply_with(reply, &answer);
}

static PageAccess access_of(const ApiContext *api, const HttpRequest *request) {
    return (PageAccess){
        .sees_reasons = request->is_authenticated && !request->is_misaddressed,
        .may_replay = true,
        .has_verbs = true,
        .has_dashboard = api->dashboard_on_verbs,
    };
}

static void make_page(void *context, const HttpRequest *request, HttpReply *reply) {
    ApiContext *api = context;
    PageAccess access = access_of(api, request);

    route_reply(route_find(api, request), api, request, &access, reply);
}

static void handle_verb(
    Answers *answers, const Route *route, const HttpRequest *request, HttpReply *reply) {
    if (route->kind == REQUEST_BIND && answers->api->live) {
        live_bind(answers->api->live, request, reply->tag, reply);
        return;
    }
    if (route->kind == REQUEST_DRY_RUN) {
        answer_dry_run(answers, request, reply);
        return;
    }
    /* Before the view is taken: if a view no longer in force rejects the pod, it counts as parked
     * when the next view comes. */
    if (route->kind == REQUEST_FILTER)
        recent_pods_begin_filter(answers->api->recent_pods);
    answer_verb(answers, (Verb)route->kind, request, reply);
}

void answers_handle(void *context, const HttpRequest *request, HttpReply *reply) {
    Answers *answers = context;
    const Route *route = route_find(answers->api, request);

    reply->tag = route_tag(route);
    if (route_is_verb(route))
        handle_verb(answers, route, request, reply);
    else if (route->pace == ROUTE_AT_ONCE)
        make_page(answers->api, request, reply);
    else
        route_defer(route, answers->api, request, make_page, reply);
}

/* On loopback a browser is admitted like any program, but it may act for another site: a page may
 * post here without the user's knowledge, or read replies if its DNS resolves its name to loopback.
 * No scheduler sends an Origin. */
static bool admit_browser(const Route *route, const HttpRequest *request, HttpReply *reply) {
    if (route_is_verb(route) && request->has_origin)
        reply_error(request, reply, 403,
            STR("berth: verbs are not for browsers: the request has an Origin"));
    else if (route->clients == ROUTE_VIEWERS && request->is_misaddressed)
        reply_error(request, reply, 403, STR(PAGE_MISADDRESSED));
    else
        return true;
    return false;
}

/* Checks before the body is read whether the client may send the request, and whether the route
 * exists. Health is open to all: a kubelet's probe has no client certificate. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply) {
    const Answers *answers = context;
    const Route *route = route_find(answers->api, request);
    PageAccess access = access_of(answers->api, request);

    reply->tag = route_tag(route);
    if (!request->is_authenticated && route->clients != ROUTE_EVERYONE) {
        reply_error(request, reply, 403,
            STR("berth: a client certificate with an allowed name is required (--client-ca, "
                "--client-name)"));
        return false;
    }
    return admit_browser(route, request, reply) && route_admit(route, request, &access, reply);
}

void answers_finished(void *context, const HttpOutcome *outcome) {
    Answers *answers = context;
    const Route *route = route_of_tag(outcome->tag);
    const int64_t parts[_LATENCY_PARTS] = {
        [LATENCY_READ] = outcome->read_nsec,
        [LATENCY_EVALUATE] = outcome->handle_nsec - outcome->waited_nsec,
        [LATENCY_WRITE] = outcome->duration_nsec - outcome->read_nsec - outcome->handle_nsec,
        [LATENCY_TOTAL] = outcome->duration_nsec - outcome->waited_nsec,
    };

    metrics_note_request(answers->api->metrics, route->kind, outcome);
    if (route->kind < (RequestKind)_VERB_MAX && outcome->status != 0 && outcome->handle_nsec > 0)
        latency_note_request(
            answers->api->latency, (Verb)route->kind, parts, clock_monotonic_nsec());
}
