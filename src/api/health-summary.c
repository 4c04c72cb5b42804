/*
 * Collects facts from the daemon's parts. Each reason is a function that writes its clause if the
 * facts require it. The table has the reasons by weight: the first one decides.
 */

#include "api/health-summary.h"

#include "api/context.h"
#include "base/calendar.h"
#include "live/gauge-state.h"

const char *const health_names[] = {
    [HEALTH_HEALTHY] = "healthy",
    [HEALTH_DEGRADED] = "degraded",
    [HEALTH_BYPASSED] = "bypassed",
    [HEALTH_NOT_READY] = "not ready",
};

/* Clauses after "degraded because". */

static void say_bypassed(const HealthFacts *facts, Buf *out) {
    if (!facts->is_bypassed)
        return;
    buf_append(out, STR("pods bypassed berth, "));
    buf_append_grouped(out, facts->n_bypassed);
    buf_append(out, STR(" since it started"));
}

static void say_lost(const HealthFacts *facts, Buf *out) {
    if (facts->is_watch_lost)
        buf_printf(out, "no update from the API server for %lld s",
            (long long)(facts->silence_nsec / NSEC_PER_SEC));
}

static void say_certificate(const HealthFacts *facts, Buf *out) {
    int64_t days = facts->certificate_nsec / NSEC_PER_SEC / CALENDAR_DAY_SEC;

    if (!facts->has_certificate)
        return;
    if (facts->certificate_nsec < 0)
        buf_append(out, STR("the certificate has expired"));
    else if (days == 0)
        buf_append(out, STR("the certificate expires within a day"));
    else if (days < facts->limits.certificate_days)
        buf_printf(out, "the certificate expires in %lld day%s", (long long)days, PLURAL(days));
}

/* Files whose newest version was rejected. */
static void say_refused(const HealthFacts *facts, Buf *out) {
    static const struct {
        ReloadKind kind;
        const char *what;
    } files[] = {
        {RELOAD_CLUSTER, "cluster file"},
        {RELOAD_SOURCES, "metrics sources file"},
        {RELOAD_PAGES_TOKEN, "pages token"},
    };

    for (size_t i = 0; i < ELEMENTS_OF(files); i++) {
        if (!facts->is_refused[files[i].kind])
            continue;
        buf_printf(
            out, "the newest %s was rejected and the last good one is in force", files[i].what);
        return;
    }
}

static void say_stale(const HealthFacts *facts, Buf *out) {
    if (facts->n_stale == 0)
        return;
    if (facts->n_stale == 1)
        buf_printf(out, "the metric %.*s has no value on any node", STR_FMT(facts->stale_metric));
    else
        buf_printf(out, "%zu metrics have no value on any node, among them %.*s", facts->n_stale,
            STR_FMT(facts->stale_metric));
    if (!str_is_empty(facts->stale_why))
        buf_printf(out, ": %.*s", STR_FMT(facts->stale_why));
}

/* With few samples one error is not a rate. */
static bool is_over_rate(const HealthFacts *facts, uint64_t n, uint64_t of) {
    return (double)n * 100 > facts->limits.errors_percent * (double)of &&
           (n > 1 || of >= HEALTH_SUMMARY_FEW);
}

static double percent(uint64_t n, uint64_t of) {
    return of > 0 ? 100.0 * (double)n / (double)of : 0.0;
}

static void say_late(const HealthFacts *facts, Buf *out) {
    if (is_over_rate(facts, facts->n_late, facts->n_decided))
        buf_printf(out, "%.1f %% of requests in the last 5 minutes exceeded the deadline",
            percent(facts->n_late, facts->n_decided));
}

static void say_errors(const HealthFacts *facts, Buf *out) {
    if (is_over_rate(facts, facts->n_errors, facts->n_requests))
        buf_printf(out, "%.1f %% of requests in the last 5 minutes failed",
            percent(facts->n_errors, facts->n_requests));
}

static void say_slow(const HealthFacts *facts, Buf *out) {
    if ((double)facts->p99_nsec * 100 >
        facts->limits.latency_percent * (double)facts->deadline_nsec)
        buf_printf(out, "p99 latency of filter is %.0f ms, and the deadline is %.0f ms",
            (double)facts->p99_nsec / (double)NSEC_PER_MSEC,
            (double)facts->deadline_nsec / (double)NSEC_PER_MSEC);
}

static void say_pending(const HealthFacts *facts, Buf *out) {
    if (facts->limits.pending == 0 || facts->n_blocked < facts->limits.pending)
        return;
    buf_append(out, STR("policies keep "));
    buf_append_grouped(out, facts->n_blocked);
    buf_append(out, facts->n_blocked == 1 ? STR(" pod pending") : STR(" pods pending"));
}

static const struct {
    Health health; /* the state, if this is the first reason */
    void (*say)(const HealthFacts *facts, Buf *out);
    size_t flag; /* without say(): a bool of the facts, and its text */
    const char *text;
    const char *link; /* the page with details; NULL: none */
} reasons[] = {
    {HEALTH_NOT_READY, NULL, offsetof(HealthFacts, is_draining), "berth is shutting down"},
    {HEALTH_NOT_READY, NULL, offsetof(HealthFacts, is_unsynced),
        "the cluster has not been listed yet"},
    {HEALTH_BYPASSED, say_bypassed},
    {HEALTH_DEGRADED, say_lost},
    {HEALTH_DEGRADED, NULL, offsetof(HealthFacts, is_refused[RELOAD_POLICY]),
        "the newest policy was rejected and the last good one is in force"},
    {HEALTH_DEGRADED, say_certificate},
    {HEALTH_DEGRADED, NULL, offsetof(HealthFacts, is_refused[RELOAD_CERTIFICATES]),
        "the newest certificate was rejected and the last good one is used"},
    {HEALTH_DEGRADED, say_refused},
    {HEALTH_DEGRADED, say_stale},
    {HEALTH_DEGRADED, say_late},
    {HEALTH_DEGRADED, say_errors},
    {HEALTH_DEGRADED, say_slow, .link = "/latency"},
    {HEALTH_DEGRADED, say_pending, .link = "/pods?state=pending"},
};

#define CLAUSE_MAX 1024u

static void add_reasons(const HealthFacts *facts, Arena *arena, HealthSummary *ret) {
    for (size_t i = 0; i < ELEMENTS_OF(reasons) && ret->n_reasons < HEALTH_SUMMARY_REASONS_MAX;
         i++) {
        _cleanup_(buf_done) Buf clause = BUF_INIT(CLAUSE_MAX);

        if (reasons[i].say)
            reasons[i].say(facts, &clause);
        else if (*(const bool *)((const char *)facts + reasons[i].flag))
            buf_append(&clause, str_from_c(reasons[i].text));
        if (clause.len == 0)
            continue;
        if (ret->n_reasons == 0)
            ret->health = reasons[i].health;
        ret->links[ret->n_reasons] = reasons[i].link;
        ret->reasons[ret->n_reasons++] = arena_copy(arena, buf_str(&clause));
    }
}

bool health_summary_say(const HealthFacts *facts, Arena *arena, HealthSummary *ret) {
    const char *name;

    *ret = (HealthSummary){
        .facts = *facts,
        .health = HEALTH_HEALTHY,
        .error_rate = percent(facts->n_errors, facts->n_requests) / 100.0,
    };
    add_reasons(facts, arena, ret);
    name = health_names[ret->health];
    if (ret->n_reasons == 0)
        ret->text = str_from_c(name);
    else if (ret->n_reasons == 1)
        ret->text = arena_printf(arena, "%s because %.*s", name, STR_FMT(ret->reasons[0]));
    else
        ret->text = arena_printf(arena, "%s because %.*s; and %zu more", name,
            STR_FMT(ret->reasons[0]), ret->n_reasons - 1);
    return !arena_has_failed(arena);
}

#define DIGITS 12u

static void collect_cluster(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, HealthFacts *ret) {
    int64_t bypassed_at = changes_last(api->changes, CHANGE_BYPASSED);
    int64_t updated_nsec;
    LiveStatus live;

    ret->silence_nsec = -1;
    if (!api->live)
        return;
    live_status(api->live, &live);
    ret->is_unsynced = !live.is_synced;
    ret->is_watch_lost =
        watch_is_lost(&live.watcher, ret->limits.silence_nsec, now_nsec, &updated_nsec);
    if (updated_nsec > 0)
        ret->silence_nsec = now_nsec - updated_nsec;
    ret->n_bypassed = live.n_bypassed;
    ret->is_bypassed =
        bypassed_at > 0 && wall_nsec - bypassed_at < HEALTH_SUMMARY_BYPASS_SEC * NSEC_PER_SEC;
}

static void collect_configuration(ApiContext *api, int64_t wall_nsec, HealthFacts *ret) {
    for (size_t i = 0; i < _RELOAD_MAX; i++) {
        ReloadState state;

        reloads_get(api->reloads, (ReloadKind)i, &state);
        ret->is_refused[i] = state.is_used && !state.is_good;
    }
    ret->has_certificate = api->tls != NULL;
    if (api->tls) {
        int64_t left_sec = tls_store_expiry(api->tls) - wall_nsec / NSEC_PER_SEC;

        if (__builtin_mul_overflow(left_sec, NSEC_PER_SEC, &ret->certificate_nsec))
            ret->certificate_nsec = left_sec < 0 ? INT64_MIN : INT64_MAX;
    }
}

/* A metric without an answer yet is not stale; an annotation is read with the nodes. */
static bool is_stale(const GaugeState *state) {
    if (state->figures.n_present > 0 || state->figures.n_nodes == 0)
        return false;
    return state->gauge->source == GAUGE_ANNOTATION ||
           (state->poll && state->poll->state != POLL_WAITING);
}

static const char *why_stale(const GaugeState *state) {
    if (!state->poll)
        return "";
    switch (state->poll->state) {
    case POLL_FAILING:
        return "its source does not answer";
    case POLL_UNJOINED:
        return "no series matches a node";
    case POLL_NO_SOURCE:
        return "no source with this name is configured";
    default:
        return "the last answer has expired";
    }
}

static void collect_metrics(ApiContext *api, const View *view, int64_t wall_nsec, int64_t now_nsec,
    Arena *arena, HealthFacts *ret) {
    GaugeTime time = {.now_nsec = wall_nsec, .uptime_nsec = now_nsec};
    MeasuringStatus status = {0};

    ret->metrics_age_nsec = -1;
    if (!api->measuring || !measuring_status(api->measuring, view, arena, &status))
        return;
    for (size_t i = 0; i < view->program->n_gauges && i < MEASURING_SHOWN_MAX; i++) {
        GaugeState state = gauge_state(view, &status, i, time);

        if (state.at_nsec != 0 && state.age_nsec > ret->metrics_age_nsec)
            ret->metrics_age_nsec = state.age_nsec;
        if (!is_stale(&state) || ret->n_stale++ > 0)
            continue;
        ret->stale_metric = arena_copy(arena, state.gauge->name);
        ret->stale_why = str_from_c(why_stale(&state));
    }
}

static void collect_requests(ApiContext *api, int64_t now_nsec, HealthFacts *ret) {
    LatencyVerb verbs[_VERB_MAX];

    latency_read(api->latency, HEALTH_SUMMARY_WINDOW_SEC, now_nsec, verbs);
    for (size_t i = 0; i < _VERB_MAX; i++) {
        ret->n_requests += verbs[i].parts[LATENCY_TOTAL].n;
        ret->n_errors += verbs[i].n_errors;
        ret->n_decided += verbs[i].n_decided;
        ret->n_late += verbs[i].n_late;
    }
    ret->p99_nsec = verbs[VERB_FILTER].parts[LATENCY_TOTAL].p99_nsec;
    ret->deadline_nsec = api->fixed.deadline_nsec;
}

bool health_summary_make(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, Arena *arena, HealthSummary *ret) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    HealthFacts facts = {
        .limits = api->fixed.health, .is_draining = atomic_load(&api->is_draining)};
    PendingFigures pending;
    char digest[DIGEST_TEXT_MAX];

    collect_cluster(api, wall_nsec, now_nsec, &facts);
    collect_configuration(api, wall_nsec, &facts);
    collect_metrics(api, view, wall_nsec, now_nsec, arena, &facts);
    collect_requests(api, now_nsec, &facts);
    facts.policy_digest =
        arena_copy(arena, str_of(digest_print(view->program->digest, digest), DIGITS));
    facts.n_nodes = view->table->names->n_nodes;
    recent_pods_pending(api->recent_pods, &pending);
    facts.n_waiting = pending.n;
    facts.n_blocked = pending.n_by_policies;
    return health_summary_say(&facts, arena, ret);
}
