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

void judge_ignored_resources(const CheckSubject *at, Verdict *verdict) {
    size_t n = 0;

    (void)entry_expect(at->facts, verdict);
    FOR_EACH_ENTRY (found, at->facts) {
        for (size_t i = 0; i < found.entry->n_managed; i++, n++) {
            const ManagedResource *resource = &found.entry->managed[i];

            if (!resource->is_ignored_by_scheduler)
                continue;
            verdict_warn(verdict, NULL,
                "%s: %.*s is ignoredByScheduler: only berth counts it, and no pod is preempted for "
                "it",
                found.where, STR_FMT(resource->name));
            verdict_fix(verdict, "ignoredByScheduler: false   # and nodes offer %.*s",
                STR_FMT(resource->name));
        }
    }
    if (n == 0 && verdict->state == CHECK_PASSED)
        verdict_skip(verdict, "managedResources are not set: every pod is sent to berth");
}

#define SAMPLE_FLOOR 100u /* fewer nodes are always all evaluated */

/* How many of @n nodes kube-scheduler looks for (1.16 to 1.38). */
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

static bool has_same_managed(const ExtenderEntry *a, const ExtenderEntry *b) {
    for (size_t i = 0; i < a->n_managed; i++)
        if (!entry_manages(b, a->managed[i].name))
            return false;
    return a->n_managed == b->n_managed;
}

/* Where berth is, and how it is got to, may well differ. */
static void compare_entries(
    const CheckSubject *first, const CheckSubject *other, Verdict *verdict) {
    const ExtenderEntry *a = first->entry, *b = other->entry;
    const struct {
        const char *what;
        bool is_same;
    } aspects[] = {
        {"verbs", str_eq(a->filter_verb, b->filter_verb) &&
                      str_eq(a->prioritize_verb, b->prioritize_verb) &&
                      str_eq(a->preempt_verb, b->preempt_verb) &&
                      str_eq(a->bind_verb, b->bind_verb)},
        {"weight", a->weight == b->weight},
        {"httpTimeout", a->timeout_nsec == b->timeout_nsec},
        {"nodeCacheCapable", a->is_node_cache_capable == b->is_node_cache_capable},
        {"ignorable", a->is_ignorable == b->is_ignorable},
        {"managedResources", has_same_managed(a, b)},
    };

    for (size_t i = 0; i < ELEMENTS_OF(aspects); i++) {
        if (aspects[i].is_same)
            continue;
        verdict_warn(
            verdict, NULL, "%s and %s differ in %s", first->where, other->where, aspects[i].what);
        verdict_fix(verdict, "make %s the same in both", aspects[i].what);
    }
}

void judge_configs_agree(const CheckSubject *at, Verdict *verdict) {
    CheckSubject first = {.facts = at->facts}, found;
    size_t n = 1;

    if (!entry_expect(at->facts, verdict) || !entry_next(&first))
        return;
    for (found = first; entry_next(&found); n++)
        compare_entries(&first, &found, verdict);
    if (n == 1)
        verdict_skip(verdict, "one configuration lists berth");
}

/* Beside a berth on loopback there is one kube-scheduler in each of berth's pods. */
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
