/* Checks of the pods and nodes that kube-schedulers send to berth. */

#include "checkup/verdict.h"

static bool entry_manages(const ExtenderEntry *entry, Str name) {
    for (size_t i = 0; i < entry->n_managed; i++)
        if (str_eq(entry->managed[i].name, name))
            return true;
    return false;
}

void judge_managed_resources(const CheckSubject *at, Verdict *verdict) {
    FOR_EACH_BERTH (berth, at->facts, verdict) {
        for (size_t i = 0; i < at->entry->n_managed; i++) {
            Str name = at->entry->managed[i].name;

            if (str_is_one_of(name, berth->managed, berth->n_managed))
                continue;
            verdict_fail(verdict, NULL, "%s: %.*s is managed; %.*s runs without it", at->where,
                STR_FMT(name), STR_FMT(berth->url));
            verdict_fix(verdict, "berth serve --managed-resource %.*s ...", STR_FMT(name));
        }
        for (size_t i = 0; i < berth->n_managed; i++) {
            Str name = berth->managed[i];

            if (entry_manages(at->entry, name))
                continue;
            verdict_fail(verdict, NULL,
                "%.*s runs with %.*s; managedResources at %s do not have it", STR_FMT(berth->url),
                STR_FMT(name), at->where);
            verdict_fix(verdict,
                "managedResources: [{name: %.*s}]   # or berth serve without --managed-resource",
                STR_FMT(name));
        }
    }
}

#define SAMPLE_FLOOR 100u /* fewer nodes are always all evaluated */

/* The number of eligible nodes, of @n, at which kube-scheduler stops looking (1.16 to 1.38). */
static size_t sample_size(size_t n, int percentage) {
    size_t share = percentage > 0 ? (size_t)percentage : n / 125 < 45 ? 50 - n / 125 : 5, size;

    if (n < SAMPLE_FLOOR || share >= 100)
        return n;
    size = n / 100 * share + n % 100 * share / 100;
    return size < SAMPLE_FLOOR ? SAMPLE_FLOOR : size;
}

void judge_sample(const CheckSubject *at, Verdict *verdict) {
    static const char fix[] = "percentageOfNodesToScore: 100";
    int percentage = at->config->config.percentage;
    size_t n = 0; /* nodes that some berth knows */

    FOR_ALL_BERTHS (berth, at->facts)
        n = berth->n_nodes > n ? berth->n_nodes : n;
    if (percentage >= 100 || (n > 0 && sample_size(n, percentage) >= n))
        return;
    if (n == 0)
        verdict_warn(verdict, fix,
            "%.*s: percentageOfNodesToScore is not 100: from 100 nodes on berth gets a "
            "sample, 500 of 5,000",
            STR_FMT(at->config->origin));
    else
        verdict_warn(verdict, fix,
            "%.*s: of %zu nodes berth gets %zu at most (percentageOfNodesToScore %s)",
            STR_FMT(at->config->origin), n, sample_size(n, percentage),
            percentage > 0 ? "is lower than 100" : "is not set");
}

static bool serves(const SchedulerConfig *config, Str name) {
    return str_is_one_of(name, config->scheduler_names, config->n_scheduler_names) ||
           (config->n_scheduler_names == 0 && str_is(name, "default-scheduler"));
}

static void judge_pod(const CheckSubject *at, Verdict *verdict) {
    const InstallationFacts *facts = at->facts;
    Str scheduler = at->pod->scheduler_name;
    bool is_known = false, has_asked = false;

    if (at->pod->is_static)
        return;
    FOR_EACH_ENTRY (found, facts) {
        const ExtenderEntry *entry = found.entry;
        bool is_needed = !str_is_empty(entry->filter_verb) || !str_is_empty(entry->bind_verb);

        /* A pod without managed resources waits for this entry, also an exempt one (--exempt);
         * failed scores do not block. */
        if (serves(&found.config->config, scheduler) && is_needed && !entry->is_ignorable &&
            entry->n_managed == 0)
            verdict_fail(verdict,
                "managedResources: [{name: ...}]   # or ignorable: true, or another schedulerName "
                "for berth's pods",
                "%s: %.*s places pod %s, and calls berth for it: while berth is down it cannot "
                "start",
                found.where, STR_FMT(scheduler), at->where);
    }
    for (size_t i = 0; i < facts->n_configs; i++)
        is_known |=
            config_is_readable(&facts->configs[i]) && serves(&facts->configs[i].config, scheduler);
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_schedulers; i++)
            has_asked |=
                str_eq(berth->schedulers[i].name, scheduler) && berth->schedulers[i].n_requests > 0;
    if (!is_known && has_asked)
        verdict_skip(verdict, "%.*s places pod %s and calls berth; its configuration is not known",
            STR_FMT(scheduler), at->where);
}

void judge_self_deadlock(const CheckSubject *at, Verdict *verdict) {
    if (!entry_expect(at->facts, verdict))
        return;
    if (!at->facts->are_pods_known || at->facts->n_pods == 0)
        verdict_skip(verdict, "it is not known which scheduler places berth's pods");
    else
        for (CheckSubject each = {.facts = at->facts}; pod_next(&each);)
            judge_pod(&each, verdict);
}

/* If kube-scheduler calls berth on loopback, each of berth's pods has one beside it. */
void judge_leader_election(const CheckSubject *at, Verdict *verdict) {
    if (at->config->config.has_leader_election)
        return;
    if (!at->facts->are_pods_known || !address_is_loopback(at->entry->url_prefix))
        verdict_skip(verdict, "%.*s: leaderElect: false is right as long as there is one of them",
            STR_FMT(at->config->origin));
    else if (at->facts->n_pods >= 2)
        verdict_fail(verdict, "leaderElection: {leaderElect: true}",
            "%.*s: leaderElect: false, and there are %zu pods with a kube-scheduler each",
            STR_FMT(at->config->origin), at->facts->n_pods);
}
