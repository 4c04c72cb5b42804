/* The figures and states that the health summary is made from. */

#include "api/health-facts.h"

#include "api/context.h"
#include "base/nsec.h"
#include "live/gauge-state.h"
#include "monitor/watch-changes.h"

#define DIGITS 12u

static void look_at_cluster(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, HealthFacts *ret) {
    int64_t bypassed_at = changes_last(api->changes, CHANGE_BYPASSED);
    int64_t heard_nsec;
    LiveStatus live;

    ret->silence_nsec = -1;
    if (!api->live)
        return;
    live_status(api->live, &live);
    ret->is_unsynced = !live.is_synced;
    ret->is_watch_lost = watch_is_lost(&live.watcher, now_nsec, &heard_nsec);
    if (heard_nsec > 0)
        ret->silence_nsec = now_nsec - heard_nsec;
    ret->n_bypassed = live.n_bypassed;
    ret->is_bypassed =
        bypassed_at > 0 && wall_nsec - bypassed_at < HEALTH_SUMMARY_BYPASS_SEC * NSEC_PER_SEC;
}

static void look_at_configuration(ApiContext *api, int64_t wall_nsec, HealthFacts *ret) {
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

/* Nothing has gone wrong yet with what was not answered yet; an annotation has nobody to fail. */
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

static void look_at_metrics(ApiContext *api, const View *view, int64_t wall_nsec, int64_t now_nsec,
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

static void look_at_requests(ApiContext *api, int64_t now_nsec, HealthFacts *ret) {
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

bool health_summary_facts(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, Arena *arena, HealthFacts *ret) {
    _cleanup_(view_unrefp) View *view = current_view(api->current);
    char digest[DIGEST_TEXT_MAX];

    *ret = (HealthFacts){.is_draining = atomic_load(&api->is_draining)};
    look_at_cluster(api, wall_nsec, now_nsec, ret);
    look_at_configuration(api, wall_nsec, ret);
    look_at_metrics(api, view, wall_nsec, now_nsec, arena, ret);
    look_at_requests(api, now_nsec, ret);
    ret->policy_digest =
        arena_copy(arena, str_of(digest_print(view->program->digest, digest), DIGITS));
    ret->n_nodes = view->table->names->n_nodes;
    ret->n_waiting = recent_pods_count_pending(api->recent_pods);
    return !arena_has_failed(arena);
}
