/*
 * A request is a route and a body; the route says who answers. A worker takes a reference to the
 * view when it begins and keeps it to the end, so what is exchanged meanwhile does not matter to
 * it.
 */

#include "serve/answers.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "serve/decisions-page.h"
#include "serve/health.h"
#include "serve/routes.h"
#include "serve/sources-page.h"
#include "serve/verbreply.h"
#include "version.h"

#define PAGE_MAX ((size_t)8 * 1024 * 1024)

/* Refused requests are logged, but a peer must not be able to fill a disk. */
#define LOG_PER_SEC 10

/* --- verbs ---------------------------------------------------------------------- */

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
            LOG_INT("nodes_in", decision->n_in),
            LOG_INT("nodes_out", decision->n_out),
            LOG_INT("nodes_unknown", decision->n_unknown));
}

/* @since_nsec: when answering it began, monotonic; -1: not known. */
static void note_decision(
    Answers *answers, Verb verb, const View *view, const Decision *decision, int64_t since_nsec) {
    PastTimes times = {
        .at_nsec = clock_wall_nsec(),
        .duration_nsec = since_nsec < 0 ? -1 : clock_monotonic_nsec() - since_nsec,
    };

    metrics_note_decision(answers->metrics, verb, view->program, decision);
    decisions_note(answers->decisions, view, verb, decision, times);
    if (!answers->is_quiet)
        log_decision(answers, verb, decision);
}

void answers_note_bind(Answers *answers, const Decision *decision) {
    _cleanup_(view_unrefp) View *view = answers->view(answers->context);

    note_decision(answers, VERB_BIND, view, decision, /* since_nsec= */ -1);
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
    _cleanup_(view_unrefp) View *view = answers->view(answers->context);
    _cleanup_(arena_freep) Arena *scratch = arena_new(VERB_SCRATCH_BUDGET);
    int64_t begin = clock_monotonic_nsec();
    Allowance allowance = {.limit_nsec = answers->deadline_nsec};
    Moment moment = {
        .now_nsec = clock_wall_nsec(),
        .is_over = is_over,
        .context = &allowance,
        .scratch = scratch,
    };
    Answer answer;

    switch (verb) {
    case VERB_FILTER:
        extender_filter(view, &moment, request->body, request->arena, &answer);
        if (answer.decision.args)
            callers_note(
                answers->callers, answer.decision.args->pod.scheduler_name, moment.now_nsec);
        if (answers->live)
            live_note_filter(answers->live, view, &answer.decision);
        break;
    case VERB_PRIORITIZE:
        extender_prioritize(view, &moment, request->body, request->arena, &answer);
        break;
    case VERB_PREEMPT:
        extender_preempt(view, &moment, request->body, request->arena, &answer);
        break;
    default:
        answer_bind(answers, request->body, request->arena, &answer);
        break;
    }
    note_decision(answers, verb, view, &answer.decision, begin);
    if (!answers->is_quiet)
        warnings_note(answers->warnings,
            view,
            verb,
            &answer.decision,
            &moment,
            request->arena,
            clock_monotonic_nsec());
    reply_with(reply, &answer);
}

/* It begins before the view is taken: who is rejected by a view that is no longer in force is
 * known to wait when the next one comes. */
static void answer_filter(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    if (answers->live)
        live_begin_filter(answers->live);
    answer_verb(answers, VERB_FILTER, request, reply);
    if (answers->live)
        live_end_filter(answers->live);
}

/* --- pages ---------------------------------------------------------------------- */

/* A page of text, copied to where the reply may point. */
static void reply_text(
    const HttpRequest *request, HttpReply *reply, unsigned status, const char *type, Str text) {
    Str *slice = ARENA_ARRAY(request->arena, Str, 1);

    reply->status = status;
    reply->content_type = type;
    if (slice)
        *slice = arena_copy(request->arena, text);
    reply->slices = slice;
    reply->n_slices = slice && slice->ptr ? 1 : 0;
}

static void reply_error(const HttpRequest *request, HttpReply *reply, unsigned status, Str text) {
    Answer answer = {0};

    answer_error(&answer, request->arena, status, text);
    reply_with(reply, &answer);
}

/* A page that was written; empty: nothing could be. Half of one would pass for a whole. */
static void reply_page(const HttpRequest *request, HttpReply *reply, unsigned status,
    const char *type, const Buf *page) {
    if (buf_error(page) || page->len == 0)
        reply_error(request, reply, 500, STR("berth: the page needs more memory than it may have"));
    else
        reply_text(request, reply, status, type, buf_str(page));
}

/* NULL when there is none. */
static const LiveStatus *live_status_of(Answers *answers, LiveStatus *ret) {
    if (!answers->live)
        return NULL;
    live_status(answers->live, ret);
    return ret;
}

static void answer_health(Answers *answers, HealthProbe probe, const HttpRequest *request,
    const Reader *reader, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    _cleanup_(view_unrefp) View *view = answers->view(answers->context);
    MeasuringStatus measuring;
    LiveStatus live;
    HealthState state = {
        .shows_reasons = reader->sees_reasons,
        .is_draining = atomic_load(&answers->is_draining),
        .reloads = answers->reloads,
        .live = live_status_of(answers, &live),
        .program = view->program,
        .measuring = &measuring,
        .now_nsec = clock_monotonic_nsec(),
    };
    unsigned status;

    (void)measuring_status(answers->measuring, view, request->arena, &measuring);
    status = health_page(probe, request->query, &state, &page);
    reply_text(request, reply, status, "text/plain; charset=utf-8", buf_str(&page));
}

static void answer_metrics(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(PAGE_MAX);
    _cleanup_(view_unrefp) View *view = answers->view(answers->context);
    DecisionsFigures decisions = {0};
    MeasuringStatus measuring;
    LiveStatus live;
    MetricsState state = {
        .view = view,
        .live = live_status_of(answers, &live),
        .decisions = &decisions,
        .measuring = &measuring,
        .arena = request->arena,
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
        .server = answers->server,
        .reloads = answers->reloads,
        .certificate_expiry_sec = answers->tls ? tls_store_expiry(answers->tls) : 0,
        .started_at_sec = answers->fixed.started_at_sec,
    };

    (void)measuring_status(answers->measuring, view, request->arena, &measuring);
    if (answers->decisions)
        decisions_figures(answers->decisions, &decisions);
    metrics_page(answers->metrics, &state, &page);
    reply_page(request, reply, 200, "text/plain; version=0.0.4; charset=utf-8", &page);
}

static void answer_decisions(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(DECISIONS_PAGE_MAX);
    Str id = route_rest(request->path);
    unsigned status =
        str_is_empty(id)
            ? decisions_list_page(answers->decisions, request->query, request->arena, &page)
            : decisions_one_page(answers->decisions, id, request->query, request->arena, &page);

    reply_page(request, reply, status, "application/json", &page);
}

static void answer_sources(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(SOURCES_PAGE_MAX);
    _cleanup_(view_unrefp) View *view = answers->view(answers->context);
    MeasuringStatus status;
    SourcesState state = {
        .view = view,
        .status = &status,
        .now_nsec = clock_wall_nsec(),
        .uptime_nsec = clock_monotonic_nsec(),
    };

    if (measuring_status(answers->measuring, view, request->arena, &status))
        sources_page(&state, &page);
    reply_page(request, reply, 200, "application/json", &page);
}

static void answer_status(Answers *answers, const HttpRequest *request, HttpReply *reply) {
    _cleanup_(buf_done) Buf page = BUF_INIT(STATUS_PAGE_MAX);
    _cleanup_(view_unrefp) View *view = answers->view(answers->context);
    LiveStatus live;
    StatusState state = {
        .fixed = &answers->fixed,
        .view = view,
        .live = live_status_of(answers, &live),
        .reloads = answers->reloads,
        .metrics = answers->metrics,
        .callers = answers->callers,
        .tls = answers->tls,
        .wall_nsec = clock_wall_nsec(),
        .now_nsec = clock_monotonic_nsec(),
    };

    status_page(&state, &page);
    reply_page(request, reply, 200, "application/json", &page);
}

#define INDEX_HEAD "berth " BERTH_VERSION ", a Kubernetes scheduler extender\n\n"
#define INDEX_VERBS                                                                                \
    "POST  .../filter  .../prioritize  .../preempt  .../bind   the scheduler's verbs\n"
#define INDEX_PAGES                                                                                \
    "GET   /readyz?verbose  /livez  /healthz                   health\n"                           \
    "GET   /metrics                                            figures for Prometheus\n"           \
    "GET   /api/v1/decisions  /api/v1/decisions/ID             what was decided lately\n"          \
    "GET   /api/v1/sources                                     what is measured, and by whom\n"    \
    "GET   /api/v1/status                                      what this berth is and does\n"      \
    "GET   /version                                            version\n"

static Str index_text(const Reader *reader) {
    return reader->has_verbs ? STR(INDEX_HEAD INDEX_VERBS INDEX_PAGES)
                             : STR(INDEX_HEAD INDEX_PAGES);
}

/* --- the server's callbacks ------------------------------------------------------ */

void answers_show(
    Answers *answers, const HttpRequest *request, const Reader *reader, HttpReply *reply) {
    Route route = route_find(request->path);

    reply->tag = (int)route;
    switch (route) {
    case ROUTE_LIVEZ:
        answer_health(answers, HEALTH_LIVEZ, request, reader, reply);
        break;
    case ROUTE_READYZ:
        answer_health(answers, HEALTH_READYZ, request, reader, reply);
        break;
    case ROUTE_HEALTHZ:
        answer_health(answers, HEALTH_HEALTHZ, request, reader, reply);
        break;
    case ROUTE_METRICS:
        answer_metrics(answers, request, reply);
        break;
    case ROUTE_DECISIONS:
        answer_decisions(answers, request, reply);
        break;
    case ROUTE_SOURCES:
        answer_sources(answers, request, reply);
        break;
    case ROUTE_STATUS:
        answer_status(answers, request, reply);
        break;
    case ROUTE_VERSION:
        reply_text(
            request, reply, 200, "application/json", STR("{\"version\":\"" BERTH_VERSION "\"}\n"));
        break;
    case ROUTE_INDEX:
        reply_text(request, reply, 200, "text/plain; charset=utf-8", index_text(reader));
        break;
    default:
        reply_error(request, reply, 404, STR("berth: no such path"));
        break;
    }
}

void answers_handle(void *context, const HttpRequest *request, HttpReply *reply) {
    Answers *answers = context;
    Route route = route_find(request->path);
    const Reader reader = {
        .sees_reasons = request->is_authenticated && !request->is_misaddressed,
        .has_verbs = true,
    };

    reply->tag = (int)route;
    switch (route) {
    case ROUTE_BIND:
        if (answers->live)
            live_bind(answers->live, request, (int)route, reply);
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
        answers_show(answers, request, &reader, reply);
        break;
    }
}

void answers_refuse(const HttpRequest *request, HttpReply *reply, unsigned status, Str text) {
    reply_error(request, reply, status, text);
}

bool answers_admit_route(const HttpRequest *request, HttpReply *reply) {
    Route route = route_find(request->path);

    if (route == ROUTE_NONE) {
        reply_error(request, reply, 404, STR("berth: no such path; / lists those there are"));
        return false;
    }
    if (!str_is(request->method, route_method(route)) &&
        !(str_is(request->method, "HEAD") && !route_is_verb(route))) {
        reply_error(request, reply, 405, STR("berth: wrong method for this path"));
        reply->allow = route_is_verb(route) ? "POST" : "GET, HEAD";
        return false;
    }
    if (request->has_body && !route_is_verb(route)) {
        reply_error(request, reply, 413, STR("berth: no body is taken here"));
        return false;
    }
    return true;
}

/* On loopback a browser is let in like any other program, but it may be at work for somebody else:
 * for a page that posts here without asking, or for one that has made its own name mean loopback
 * and may then read what is answered. No scheduler sends an Origin. */
static bool admit_browser(const HttpRequest *request, Route route, HttpReply *reply) {
    if (route_is_verb(route) && request->has_origin)
        reply_error(request,
            reply,
            403,
            STR("berth: verbs are not for browsers: the request has an Origin"));
    else if (!route_is_verb(route) && !route_is_health(route) && request->is_misaddressed)
        reply_error(request, reply, 403, STR(ANSWERS_MISADDRESSED));
    else
        return true;
    return false;
}

/* Before the body is read: who may ask, and is there anything to ask here? Health
 * is open to all, because a kubelet's probe has no client certificate. */
bool answers_admit(void *context, const HttpRequest *request, HttpReply *reply) {
    Route route = route_find(request->path);

    (void)context;
    reply->tag = (int)route;
    if (!request->is_authenticated && !route_is_health(route)) {
        reply_error(request,
            reply,
            403,
            STR("berth: a client certificate with an allowed name is needed (--client-ca, "
                "--client-name)"));
        return false;
    }
    return admit_browser(request, route, reply) && answers_admit_route(request, reply);
}

void answers_finished(void *context, const HttpOutcome *outcome) {
    Answers *answers = context;
    Route route = outcome->tag >= 0 && outcome->tag < _ROUTE_MAX ? (Route)outcome->tag : ROUTE_NONE;

    metrics_note_request(answers->metrics, route, outcome);
}
