/*
 * Each reason is a function that looks at the facts and writes its clause, or nothing; the table
 * has them in the order of their weight, and the first one speaks.
 */

#include "api/health-summary.h"

#include <stdio.h>

#include "api/health-facts.h"
#include "base/buf.h"
#include "base/nsec.h"

#define DAY_SEC 86400

const char *health_name(Health health) {
    static const char *const names[] = {
        [HEALTH_HEALTHY] = "healthy",
        [HEALTH_DEGRADED] = "degraded",
        [HEALTH_BYPASSED] = "bypassed",
        [HEALTH_NOT_READY] = "not ready",
    };

    return names[health];
}

/* --- reasons: clauses that go on from "degraded because" ------------------------------------- */

static void say_draining(const HealthFacts *facts, Buf *out) {
    if (facts->is_draining)
        buf_append(out, STR("berth is shutting down"));
}

static void say_unsynced(const HealthFacts *facts, Buf *out) {
    if (facts->is_unsynced)
        buf_append(out, STR("the cluster has not been listed yet"));
}

static void say_bypassed(const HealthFacts *facts, Buf *out) {
    if (!facts->is_bypassed)
        return;
    buf_append(out, STR("pods bypassed berth, "));
    buf_append_grouped(out, facts->n_bypassed);
    buf_append(out, STR(" since it started"));
}

static void say_lost(const HealthFacts *facts, Buf *out) {
    if (facts->is_watch_lost)
        buf_printf(out,
            "no update from the API server for %lld s",
            (long long)(facts->silence_nsec / NSEC_PER_SEC));
}

static void say_policy(const HealthFacts *facts, Buf *out) {
    if (facts->is_refused[RELOAD_POLICY])
        buf_append(out, STR("the newest policy was rejected and the last good one is in force"));
}

static void say_certificate(const HealthFacts *facts, Buf *out) {
    int64_t days = facts->certificate_nsec / NSEC_PER_SEC / DAY_SEC;

    if (!facts->has_certificate)
        return;
    if (facts->certificate_nsec < 0)
        buf_append(out, STR("the certificate has expired"));
    else if (days == 0)
        buf_append(out, STR("the certificate expires within a day"));
    else if (days < HEALTH_SUMMARY_CERTIFICATE_DAYS)
        buf_printf(
            out, "the certificate expires in %lld day%s", (long long)days, days == 1 ? "" : "s");
}

static void say_certificate_refused(const HealthFacts *facts, Buf *out) {
    if (facts->is_refused[RELOAD_CERTIFICATES])
        buf_append(out, STR("the newest certificate was rejected and the last good one is used"));
}

/* What is left of the files. */
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
        buf_printf(out,
            "%zu metrics have no value on any node, among them %.*s",
            facts->n_stale,
            STR_FMT(facts->stale_metric));
    if (!str_is_empty(facts->stale_why))
        buf_printf(out, ": %.*s", STR_FMT(facts->stale_why));
}

/* Of few one alone is no rate. */
static bool is_over_rate(uint64_t n, uint64_t of) {
    return (double)n > HEALTH_SUMMARY_RATE_MAX * (double)of && (n > 1 || of >= HEALTH_SUMMARY_FEW);
}

static double percent(uint64_t n, uint64_t of) {
    return of > 0 ? 100.0 * (double)n / (double)of : 0.0;
}

static void say_late(const HealthFacts *facts, Buf *out) {
    if (is_over_rate(facts->n_late, facts->n_decided))
        buf_printf(out,
            "%.1f %% of requests in the last 5 minutes exceeded the deadline",
            percent(facts->n_late, facts->n_decided));
}

static void say_errors(const HealthFacts *facts, Buf *out) {
    if (is_over_rate(facts->n_errors, facts->n_requests))
        buf_printf(out,
            "%.1f %% of requests in the last 5 minutes failed",
            percent(facts->n_errors, facts->n_requests));
}

static void say_slow(const HealthFacts *facts, Buf *out) {
    if (facts->p99_nsec * 2 > facts->deadline_nsec)
        buf_printf(out,
            "p99 latency of filter is %.0f ms, and the deadline is %.0f ms",
            (double)facts->p99_nsec / (double)NSEC_PER_MSEC,
            (double)facts->deadline_nsec / (double)NSEC_PER_MSEC);
}

static const struct {
    Health health; /* what it makes of us, as the first */
    void (*say)(const HealthFacts *facts, Buf *out);
} reasons[] = {
    {HEALTH_NOT_READY, say_draining},
    {HEALTH_NOT_READY, say_unsynced},
    {HEALTH_BYPASSED, say_bypassed},
    {HEALTH_DEGRADED, say_lost},
    {HEALTH_DEGRADED, say_policy},
    {HEALTH_DEGRADED, say_certificate},
    {HEALTH_DEGRADED, say_certificate_refused},
    {HEALTH_DEGRADED, say_refused},
    {HEALTH_DEGRADED, say_stale},
    {HEALTH_DEGRADED, say_late},
    {HEALTH_DEGRADED, say_errors},
    {HEALTH_DEGRADED, say_slow},
};

/* --- the sentence ----------------------------------------------------------------------------- */

#define CLAUSE_MAX 1024u

static void add_reasons(const HealthFacts *facts, Arena *arena, HealthSummary *ret) {
    for (size_t i = 0; i < ELEMENTS_OF(reasons) && ret->n_reasons < HEALTH_SUMMARY_REASONS_MAX;
         i++) {
        _cleanup_(buf_done) Buf clause = BUF_INIT(CLAUSE_MAX);

        reasons[i].say(facts, &clause);
        if (clause.len == 0)
            continue;
        if (ret->n_reasons == 0)
            ret->health = reasons[i].health;
        ret->reasons[ret->n_reasons++] = arena_copy(arena, buf_str(&clause));
    }
}

static Str make_text(const HealthSummary *summary, Arena *arena) {
    const char *name = health_name(summary->health);

    if (summary->n_reasons == 0)
        return str_from_c(name);
    if (summary->n_reasons == 1)
        return arena_printf(arena, "%s because %.*s", name, STR_FMT(summary->reasons[0]));
    return arena_printf(arena,
        "%s because %.*s; and %zu more",
        name,
        STR_FMT(summary->reasons[0]),
        summary->n_reasons - 1);
}

bool health_summary_say(const HealthFacts *facts, Arena *arena, HealthSummary *ret) {
    *ret = (HealthSummary){
        .health = HEALTH_HEALTHY,
        .error_rate = percent(facts->n_errors, facts->n_requests) / 100.0,
        .n_requests = facts->n_requests,
        .p99_nsec = facts->p99_nsec,
        .deadline_nsec = facts->deadline_nsec,
        .cluster_age_nsec = facts->silence_nsec,
        .metrics_age_nsec = facts->metrics_age_nsec,
        .policy_digest = facts->policy_digest,
        .n_nodes = facts->n_nodes,
        .n_waiting = facts->n_waiting,
        .n_bypassed = facts->n_bypassed,
    };
    add_reasons(facts, arena, ret);
    ret->text = make_text(ret, arena);
    return !arena_has_failed(arena);
}

bool health_summary_make(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, Arena *arena, HealthSummary *ret) {
    HealthFacts facts;

    *ret = (HealthSummary){0};
    return health_summary_facts(api, wall_nsec, now_nsec, arena, &facts) &&
           health_summary_say(&facts, arena, ret);
}
