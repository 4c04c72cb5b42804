/* Counts of policies of the cluster, and metrics without a source, for their status. */

#include "live/gauge-state.h"
#include "serve/daemon-internal.h"

#define REPORT_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct PolicyFacts {
    Daemon *daemon;
    View *view;
    MeasuringStatus measuring;
    bool is_measured;
    PendingFigures pending;
} PolicyFacts;

static const Policy *find_policy(const Program *program, Str name) {
    for (size_t i = 0; i < program->n_policies; i++)
        if (str_eq(program->policies[i].name, name))
            return &program->policies[i];
    return NULL;
}

static void count_rule(PolicyFacts *facts, const Policy *policy, Str rule, PolicyCounts *ret) {
    RuleFigure figure = metrics_of_rule(facts->daemon->api.metrics, policy->name, rule);

    ret->n_rejected += policy->is_observed ? figure.n_observed : figure.n_rejected;
    ret->n_errors += figure.n_failed;
}

static void count(PolicyFacts *facts, const Policy *policy, PolicyCounts *ret) {
    ret->n_pods = metrics_of_policy(facts->daemon->api.metrics, policy->name).n_matched;
    for (size_t i = 0; i < policy->n_filters; i++)
        count_rule(facts, policy, policy->filters[i].name, ret);
    for (size_t i = 0; i < policy->n_scores; i++)
        count_rule(facts, policy, policy->scores[i].name, ret);
    for (size_t i = 0; i < facts->pending.n_policies; i++)
        if (str_eq(facts->pending.policies[i].policy, policy->name))
            ret->n_pending = facts->pending.policies[i].n;
}

/* The first metric of the policy whose source is not configured. */
static Str find_missing_source(PolicyFacts *facts, Str policy, Arena *arena) {
    const Program *program = facts->view->program;

    for (size_t i = 0; facts->is_measured && i < facts->measuring.n; i++)
        if (facts->measuring.items[i].state == POLL_NO_SOURCE &&
            str_eq(gauge_policy(program, i), policy))
            return arena_printf(arena, "metric %.*s: %s", STR_FMT(program->gauges[i].name),
                facts->measuring.items[i].error);
    return STR_NULL;
}

static void fill(void *context, Arena *arena, PolicyStatus *status) {
    PolicyFacts *facts = context;
    const Policy *policy = find_policy(facts->view->program, status->name);

    if (!policy || status->in_force == 0)
        return;
    count(facts, policy, &status->counts);
    status->note = find_missing_source(facts, status->name, arena);
}

void daemon_report_policies(Daemon *daemon, int64_t now_nsec) {
    _cleanup_(arena_freep) Arena *arena = arena_new(REPORT_BUDGET);
    _cleanup_(view_unrefp) View *view = daemon_view(daemon);
    PolicyFacts facts = {.daemon = daemon, .view = view};
    ReloadState reload;

    if (!daemon->files.cluster || !arena)
        return;
    reloads_get(&daemon->files.reloads, RELOAD_POLICY, &reload);
    recent_pods_pending(daemon->api.recent_pods, &facts.pending);
    if (view->program->n_gauges > 0)
        facts.is_measured = measuring_status(daemon->measuring, view, arena, &facts.measuring);
    live_report_policies(daemon->live,
        &(PolicyReport){.policies = daemon->files.cluster,
            .replica = str_from_c(daemon->identity),
            .error = str_from_c(reload.is_good ? "" : reload.error),
            .context = &facts,
            .fill = fill},
        now_nsec);
}
