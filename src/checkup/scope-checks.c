/* Checks of the pods and nodes that kube-schedulers send to berth. */

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "wiring/scheduler-config.h"

/* --- managed resources ---------------------------------------------------------------------- */

static bool berth_manages(const BerthFact *berth, Str name) {
    for (size_t i = 0; i < berth->n_managed; i++)
        if (str_eq(berth->managed[i], name))
            return true;
    return false;
}

static bool entry_manages(const ExtenderEntry *entry, Str name) {
    for (size_t i = 0; i < entry->n_managed; i++)
        if (str_eq(entry->managed[i].name, name))
            return true;
    return false;
}

static void compare_managed(const BerthEntry *found, const BerthFact *berth, Verdict *verdict) {
    for (size_t i = 0; i < found->entry->n_managed; i++) {
        Str name = found->entry->managed[i].name;

        if (berth_manages(berth, name))
            continue;
        verdict_fail(verdict, "%s: %.*s is managed; %.*s runs without it", found->where,
            STR_FMT(name), STR_FMT(berth->url));
        verdict_fix(verdict, "berth serve --managed-resource %.*s ...", STR_FMT(name));
    }
    for (size_t i = 0; i < berth->n_managed; i++) {
        if (entry_manages(found->entry, berth->managed[i]))
            continue;
        verdict_fail(verdict, "%.*s runs with %.*s; managedResources at %s do not have it",
            STR_FMT(berth->url), STR_FMT(berth->managed[i]), found->where);
        verdict_fix(verdict,
            "managedResources: [{name: %.*s}]   # or berth serve without --managed-resource",
            STR_FMT(berth->managed[i]));
    }
}

void judge_managed_resources(const InstallationFacts *facts, Verdict *verdict) {
    pairs_judge(facts, compare_managed, verdict);
}

void judge_ignored_resources(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_ENTRY (found, facts, verdict) {
        for (size_t i = 0; i < found.entry->n_managed; i++, n++) {
            const ManagedResource *resource = &found.entry->managed[i];

            if (!resource->is_ignored_by_scheduler)
                continue;
            verdict_warn(verdict,
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

/* --- a sample of nodes ---------------------------------------------------------------------- */

#define SAMPLE_FLOOR 100u /* fewer nodes are always all evaluated */

/* How many of @n nodes kube-scheduler looks for (1.16 to 1.38). */
static size_t sample_size(size_t n, int percentage) {
    size_t share = percentage > 0 ? (size_t)percentage : n / 125 < 45 ? 50 - n / 125 : 5, size;

    if (n < SAMPLE_FLOOR || share >= 100)
        return n;
    size = n / 100 * share + n % 100 * share / 100;
    return size < SAMPLE_FLOOR ? SAMPLE_FLOOR : size;
}

static size_t most_nodes(const InstallationFacts *facts) {
    size_t most = 0;

    FOR_ALL_BERTHS (berth, facts)
        if (berth->n_nodes > most)
            most = berth->n_nodes;
    return most;
}

static void judge_sample_of(const BerthEntry *found, size_t n, Verdict *verdict) {
    int percentage = found->fact->config.percentage;
    size_t size = sample_size(n, percentage);

    if (percentage >= 100 || (n > 0 && size >= n))
        return;
    if (n == 0)
        verdict_warn(verdict,
            "%.*s: percentageOfNodesToScore is not 100: from 100 nodes on berth gets a "
            "sample, 500 of 5,000",
            STR_FMT(found->fact->origin));
    else
        verdict_warn(verdict,
            "%.*s: of %zu nodes berth gets %zu at most (percentageOfNodesToScore %s)",
            STR_FMT(found->fact->origin), n, size,
            percentage > 0 ? "is lower than 100" : "is not set");
    verdict_fix(verdict, "percentageOfNodesToScore: 100");
}

void judge_sample(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = most_nodes(facts);

    FOR_EACH_ENTRY (found, facts, verdict)
        judge_sample_of(&found, n, verdict);
}

/* --- berth's own pods ----------------------------------------------------------------------- */

static bool serves(const SchedulerConfig *config, Str name) {
    for (size_t i = 0; i < config->n_scheduler_names; i++)
        if (str_eq(config->scheduler_names[i], name))
            return true;
    return config->n_scheduler_names == 0 && str_is(name, "default-scheduler");
}

/* Whether a pod without managed resources waits for this entry. Exempt pods (--exempt) wait, too;
 * failed scores do not block. */
static bool holds_up(const ExtenderEntry *entry) {
    bool is_needed = !str_is_empty(entry->filter_verb) || !str_is_empty(entry->bind_verb);

    return is_needed && !entry->is_ignorable && entry->n_managed == 0;
}

static void judge_pod_at(const PodFact *pod, const BerthEntry *found, Verdict *verdict) {
    if (!serves(&found->fact->config, pod->scheduler_name) || !holds_up(found->entry))
        return;
    verdict_fail(verdict,
        "%s: %.*s places pod %.*s/%.*s, and calls berth for it: while berth is down it cannot "
        "start",
        found->where, STR_FMT(pod->scheduler_name), STR_FMT(pod->namespace), STR_FMT(pod->name));
    verdict_fix(verdict,
        "managedResources: [{name: ...}]   # or ignorable: true, or another schedulerName for "
        "berth's pods");
}

/* Whether a scheduler without a known configuration has sent requests. */
static bool has_asked(const InstallationFacts *facts, Str name) {
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_schedulers; i++)
            if (str_eq(berth->schedulers[i].name, name) && berth->schedulers[i].n_requests > 0)
                return true;
    return false;
}

static bool is_served(const InstallationFacts *facts, Str name) {
    for (size_t i = 0; i < facts->n_configs; i++)
        if (config_is_readable(&facts->configs[i]) && serves(&facts->configs[i].config, name))
            return true;
    return false;
}

static void judge_pod(const InstallationFacts *facts, const PodFact *pod, Verdict *verdict) {
    if (pod->is_static)
        return;
    FOR_EACH_ENTRY (found, facts, verdict)
        judge_pod_at(pod, &found, verdict);
    if (!is_served(facts, pod->scheduler_name) && has_asked(facts, pod->scheduler_name))
        verdict_skip(verdict,
            "%.*s places pod %.*s/%.*s and calls berth; its configuration is not known",
            STR_FMT(pod->scheduler_name), STR_FMT(pod->namespace), STR_FMT(pod->name));
}

void judge_self_deadlock(const InstallationFacts *facts, Verdict *verdict) {
    if (!berth_entry_expect(facts, verdict))
        return;
    if (!facts->are_pods_known || facts->n_pods == 0) {
        verdict_skip(verdict, "it is not known which scheduler places berth's pods");
        return;
    }
    for (size_t i = 0; i < facts->n_pods; i++)
        judge_pod(facts, &facts->pods[i], verdict);
}

/* --- several configurations ----------------------------------------------------------------- */

static bool has_same_verbs(const ExtenderEntry *a, const ExtenderEntry *b) {
    return str_eq(a->filter_verb, b->filter_verb) &&
           str_eq(a->prioritize_verb, b->prioritize_verb) &&
           str_eq(a->preempt_verb, b->preempt_verb) && str_eq(a->bind_verb, b->bind_verb);
}

static bool has_same_managed(const ExtenderEntry *a, const ExtenderEntry *b) {
    for (size_t i = 0; i < a->n_managed; i++)
        if (!entry_manages(b, a->managed[i].name))
            return false;
    return a->n_managed == b->n_managed;
}

/* Where berth is, and how it is got to, may well differ. */
static void compare_entries(const BerthEntry *first, const BerthEntry *other, Verdict *verdict) {
    const ExtenderEntry *a = first->entry, *b = other->entry;
    const struct {
        const char *what;
        bool is_same;
    } aspects[] = {
        {"verbs", has_same_verbs(a, b)},
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
            verdict, "%s and %s differ in %s", first->where, other->where, aspects[i].what);
        verdict_fix(verdict, "make %s the same in both", aspects[i].what);
    }
}

void judge_configs_agree(const InstallationFacts *facts, Verdict *verdict) {
    BerthEntry first = {0}, found;
    size_t n = 1;

    if (!berth_entry_expect(facts, verdict) || !berth_entry_next(facts, &first))
        return;
    for (found = first; berth_entry_next(facts, &found); n++)
        compare_entries(&first, &found, verdict);
    if (n == 1)
        verdict_skip(verdict, "one configuration lists berth");
}

/* Beside a berth on loopback there is one kube-scheduler in each of berth's pods. */
void judge_leader_election(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        if (found.fact->config.has_leader_election)
            continue;
        if (!facts->are_pods_known || !address_is_loopback(found.entry->url_prefix)) {
            verdict_skip(verdict,
                "%.*s: leaderElect: false is right as long as there is one of them",
                STR_FMT(found.fact->origin));
            continue;
        }
        if (facts->n_pods < 2)
            continue;
        verdict_fail(verdict,
            "%.*s: leaderElect: false, and there are %zu pods with a kube-scheduler each",
            STR_FMT(found.fact->origin), facts->n_pods);
        verdict_fix(verdict, "leaderElection: {leaderElect: true}");
    }
}
