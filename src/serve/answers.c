/*
 * A request is a route and a body; the route says who answers. A worker takes a reference to the
 * view when it begins and keeps it to the end, so what is exchanged meanwhile does not matter to
 * it.
 */

#include "serve/answers.h"

#include <stdio.h>

#include "api/page-replies.h"
#include "api/routes.h"
#include "base/clock.h"
#include "base/log.h"
#include "live/verb-reply.h"

/* Refused requests are logged, but a peer must not be able to fill a disk. */
#define LOG_PER_SEC 10

/* --- verbs ------------------------------------------------------------------------------------ */

static bool may_log(Answers *answers) {
    int64_t second = clock_monotonic_nsec() / NSEC_PER_SEC;

    if (atomic_exchange(&answers->log_second, second) != second)
        atomic_store(&answers->n_logged, 0);
    return atomic_fetch_add(&answers->n_logged, 1) < LOG_PER_SEC;
}

static void log_decision(Answers *answers, Verb verb, const Decision *decision) {
    if (!str_is_empty(decision->error) && may_log(answers))
        log_warn("request answered with an error",
            LOG_CSTR("verb", verb_name(verb)),
            LOG_STR("namespace", decision->pod_namespace),
            LOG_STR("pod", decision->pod_name),
            LOG_STR("error", decision->error));
    else
        log_debug("decision",
            LOG_CSTR("verb", verb_name(verb)),
            LOG_STR("namespace", decision->pod_namespace),
            LOG_STR("pod", decision->pod_name),
            LOG_STR("uid", decision->pod_uid),
            LOG_INT("nodes_in", decision->summary.n_in),
            LOG_INT("nodes_out", decision->summary.n_out),
            LOG_INT("nodes_unknown", decision->summary.n_unknown));
}

static void count_decision(Answers *answers, Verb verb, const Decision *decision, int64_t now) {
    const DecisionSummary *summary = &decision->summary;

    atomic_fetch_add_explicit(&answers->api->counts.answered[verb], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(
        &answers->api->counts.rejected_nodes, summary->n_rejected, memory_order_relaxed);
    latency_note_decision(answers->api->latency, verb, summary, now);
    if (!str_is_empty(decision->error))
        latency_note_error(answers->api->latency, verb, now);
}

/* @told_nsec: the time that rules were told, since 1970. @since_nsec: when answering it began,
 * monotonic; -1: not known. */
static void note_decision(Answers *answers, Verb verb, const View *view, const Decision *decision,
    int64_t told_nsec, int64_t since_nsec) {
    int64_t now = clock_monotonic_nsec();
    PastTimes times = {
        .at_nsec = told_nsec,
        .duration_nsec = since_nsec < 0 ? -1 : now - since_nsec,
    };

    metrics_note_decision(answers->api->metrics, verb, view->program, decision);
    count_decision(answers, verb, decision, now);
    decisions_note(answers->api->decisions, view, verb, decision, times);
    if (!answers->is_quiet)
        log_decision(answers, verb, decision);
}

void answers_note_bind(Answers *answers, const Decision *decision) {
    _cleanup_(view_unrefp) View *view = current_view(answers->api->current);

    note_decision(answers, VERB_BIND, view, decision, clock_wall_nsec(), /* since_nsec= */ -1);
}

static void answer_bind(Answers *answers, Str body, Arena *arena, Answer *answer) {
    char error[512] = "";
    BindArgs args;

    if (!extender_bind_request(body, arena, &args, answer))
        return;
    if (answers->bind_hook)
        answers->bind_hook->bind(answers->bind_hook->context, &args, error, sizeof(error));
    else
        (void)snprintf(error,
            sizeof(error),
            "berth: cannot bind: it has no API server to talk to; remove bindVerb from the "
            "extender's configuration, or start it with --kubeconfig or --in-cluster, and --bind");
    extender_bind_reply(&args, str_from_c(error), arena, answer);
}

/* The time to evaluate policies in. It begins when it is first asked for: large bodies take their
 * time to be read, and that is not the policies'. */
typedef struct Allowance {
    int64_t limit_nsec;
    int64_t end_nsec; /* monotonic; 0: it has not begun */
} Allowance;

static bool is_over(void *context) {
    Allowance *allowance = context;
    int64_t now = clock_monotonic_nsec();

    if (allowance->end_nsec == 0)
        allowance->end_nsec = now + allowance->limit_nsec;
    return now >= allowance->end_nsec;
}

/* What one evaluation by the scalar machine may take. */
#define VERB_SCRATCH_BUDGET ((size_t)64 * 1024 * 1024)

static void answer_verb(Answers *answers, Verb verb, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(view_unrefp) View *view = current_view(answers->api->current);
    _cleanup_(arena_freep) Arena *scratch = arena_new(VERB_SCRATCH_BUDGET);
    int64_t begin = clock_monotonic_nsec();
    Allowance allowance = {.limit_nsec = answers->api->fixed.deadline_nsec};
    RequestTime time = {
        .now_nsec = clock_wall_nsec(),
        .is_over = is_over,
        .context = &allowance,
        .scratch = scratch,
    };
    Answer answer;

    switch (verb) {
    case VERB_FILTER:
        extender_filter(view, &time, request->body, request->arena, &answer);
        if (answer.decision.args)
            callers_note(
                answers->api->callers, answer.decision.args->pod.scheduler_name, time.now_nsec);
        if (answers->api->live)
            live_note_filter(answers->api->live, view, &answer.decision);
        break;
    case VERB_PRIORITIZE:
        extender_prioritize(view, &time, request->body, request->arena, &answer);
        break;
    case VERB_PREEMPT:
        extender_preempt(view, &time, request->body, request->arena, &answer);
        break;
    default:
        answer_bind(answers, request->body, request->arena, &answer);
        break;
    }
    note_decision(answers, verb, view, &answer.decision, time.now_nsec, begin);
    if (!answers->is_quiet)
        warnings_note(answers->warnings,
            view,
            verb,
            &answer.decision,
            &time,
            request->arena,
            clock_monotonic_nsec());
    reply_with(reply, &answer);
}

/* It begins before the view is taken: who is rejected by a view that is no longer in force is
 * known to wait when the next one comes. */
static void answer_filter(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    if (answers->api->live)
        live_begin_filter(answers->api->live);
    answer_verb(answers, VERB_FILTER, request, reply);
    if (answers->api->live)
        live_end_filter(answers->api->live);
}

/* --- the server's callbacks ------------------------------------------------------------------- */

static PageAccess access_of(const ApiContext *api, const HttpRequest *request) {
    return (PageAccess){
        .sees_reasons = request->is_authenticated && !request->is_misaddressed,
        .has_verbs = true,
        .has_dashboard = api->dashboard_on_verbs,
    };
}

static void show(void *context, const HttpRequest *request, HttpReply *reply) {
    ApiContext *api = context;
    PageAccess access = access_of(api, request);

    page_show(api, request, &access, reply);
}

/* All but health, which must be told when everybody is busy, is for others to make. */
static void handle_page(
    Answers *answers, Route route, const HttpRequest *request, HttpReply *reply) {
    if (route_is_health(route))
        show(answers->api, request, reply);
    else if (route == ROUTE_EVENTS)
        page_listen(answers->api, request, reply);
    else
        page_hand_over(answers->api, request, route, show, reply);
}

void answers_handle(void *context, const HttpRequest *request, HttpReply *reply) {
    Answers *answers = context;
    Route route = page_route(answers->api, request);

    reply->tag = (int)route;
    switch (route) {
    case ROUTE_BIND:
        if (answers->api->live)
            live_bind(answers->api->live, request, (int)route, reply);
        else
            answer_verb(answers, VERB_BIND, request, reply);
        break;
    case ROUTE_FILTER:
        answer_filter(answers, request, reply);
        break;
    case ROUTE_PRIORITIZE:
    case ROUTE_PREEMPT:
        answer_verb(answers, (Verb)route, request, reply);
        break;
    default:
        handle_page(answers, route, request, reply);
        break;
    }
}

/* On loopback a browser is let in like any other program, but it may be at work for somebody else:
 * for a page that posts here without asking, or for one that has made its own name mean loopback
 * and may then read what is answered. No scheduler sends an Origin. */
static bool admit_browser(const HttpRequest *request, Route route, HttpReply *reply) {
    if (route_is_verb(route) && request->has_origin)
        page_refuse(request,
            reply,
            403,
            STR("berth: verbs are not for browsers: the request has an Origin"));
    else if (!route_is_verb(route) && !route_is_health(route) && request->is_misaddressed)
        page_refuse(request, reply, 403, STR(PAGE_MISADDRESSED));
    else
        return true;
    return false;
}

/* Before the body is read: who may ask, and is there anything to ask here? Health
 * is open to all, because a kubelet's probe has no client certificate. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply) {
    const Answers *answers = context;
    Route route = page_route(answers->api, request);
    PageAccess access = access_of(answers->api, request);

    reply->tag = (int)route;
    if (!request->is_authenticated && !route_is_health(route)) {
        page_refuse(request,
            reply,
            403,
            STR("berth: a client certificate with an allowed name is needed (--client-ca, "
                "--client-name)"));
        return false;
    }
    return admit_browser(request, route, reply) && page_admit(request, &access, route, reply);
}

static void note_latency(Answers *answers, Verb verb, const HttpOutcome *outcome) {
    const int64_t parts[_LATENCY_PARTS] = {
        [LATENCY_READ] = outcome->read_nsec,
        [LATENCY_EVALUATE] = outcome->handle_nsec,
        [LATENCY_WRITE] = outcome->duration_nsec - outcome->read_nsec - outcome->handle_nsec,
        [LATENCY_TOTAL] = outcome->duration_nsec,
    };

    latency_note_request(answers->api->latency, verb, parts, clock_monotonic_nsec());
}

void answers_finished(void *context, const HttpOutcome *outcome) {
    Answers *answers = context;
    Route route = outcome->tag >= 0 && outcome->tag < _ROUTE_MAX ? (Route)outcome->tag : ROUTE_NONE;

    metrics_note_request(answers->api->metrics, route, outcome);
    if (route_is_verb(route) && outcome->status != 0 && outcome->handle_nsec > 0)
        note_latency(answers, (Verb)route, outcome);
}
