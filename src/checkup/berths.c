/* Iterates over the configurations and berths that could be read. */

#include "checkup/berths.h"

#include <math.h>
#include <stdio.h>

#include "wiring/scheduler-config.h"

bool config_is_readable(const SchedulerConfigFact *fact) {
    return str_is_empty(fact->error) && !fact->is_invalid;
}

/* --- entries -------------------------------------------------------------------------------- */

static void set_where(BerthEntry *found) {
    const Place *place = &found->entry->place;

    if (place->line > 0)
        (void)snprintf(found->where, sizeof(found->where), "%.*s:%zu", STR_FMT(found->fact->origin),
            place->line);
    else
        (void)snprintf(found->where, sizeof(found->where), "%.*s", STR_FMT(found->fact->origin));
}

bool berth_entry_next(const InstallationFacts *facts, BerthEntry *entry) {
    while (entry->at < facts->n_configs) {
        const SchedulerConfigFact *fact = &facts->configs[entry->at++];

        if (!config_is_readable(fact) || fact->berth_index >= fact->config.n_extenders)
            continue;
        entry->fact = fact;
        entry->entry = &fact->config.extenders[fact->berth_index];
        set_where(entry);
        return true;
    }
    return false;
}

bool berth_entry_expect(const InstallationFacts *facts, Verdict *verdict) {
    BerthEntry found = {0};

    if (berth_entry_next(facts, &found))
        return true;
    verdict_skip(verdict, "no configuration that could be read lists berth (B101 to B103)");
    return false;
}

bool berth_entry_is_loopback(const InstallationFacts *facts) {
    BerthEntry found = {0};
    size_t n = 0;

    for (; berth_entry_next(facts, &found); n++)
        if (!address_is_loopback(found.entry->url_prefix))
            return false;
    return n > 0;
}

/* --- berths --------------------------------------------------------------------------------- */

const BerthFact *berth_next(const InstallationFacts *facts, const BerthFact *berth) {
    for (size_t i = berth ? (size_t)(berth - facts->berths) + 1 : 0; i < facts->n_berths; i++)
        if (str_is_empty(facts->berths[i].error))
            return &facts->berths[i];
    return NULL;
}

size_t berth_count(const InstallationFacts *facts) {
    size_t n = 0;

    FOR_ALL_BERTHS (berth, facts)
        n++;
    return n;
}

bool berth_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (berth_count(facts) > 0)
        return true;
    verdict_skip(verdict, facts->is_offline ? "no berth is contacted with --offline"
                                            : "no berth could be reached (B201)");
    return false;
}

const BerthFact *watcher_next(const InstallationFacts *facts, const BerthFact *berth) {
    while ((berth = berth_next(facts, berth)) && !berth->knows_cluster)
        ;
    return berth;
}

bool watcher_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (!berth_expect(facts, verdict))
        return false;
    if (watcher_next(facts, NULL))
        return true;
    verdict_skip(verdict, "no berth has a cluster: it judges the nodes that requests carry");
    return false;
}

bool watchers_expect(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    if (!watcher_expect(facts, verdict))
        return false;
    for (const BerthFact *berth = NULL; (berth = watcher_next(facts, berth));)
        n++;
    if (n > 1)
        return true;
    verdict_skip(verdict,
        berth_count(facts) == 1 ? "there is one berth" : "only one of the berths has a cluster");
    return false;
}

bool cluster_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (facts->was_cluster_asked && str_is_empty(facts->cluster_error))
        return true;
    verdict_skip(verdict, "this needs an API server: --kubeconfig or --in-cluster");
    return false;
}

void pairs_judge(const InstallationFacts *facts, PairJudge judge, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict)
        FOR_EACH_BERTH (berth, facts, verdict)
            judge(&found, berth, verdict);
}

double berth_last_request_sec(const BerthFact *berth) {
    double last = INFINITY;

    for (size_t i = 0; i < berth->n_schedulers; i++)
        if (berth->schedulers[i].n_requests > 0)
            last = fmin(last, berth->schedulers[i].last_request_sec);
    return last;
}

/* --- releases ------------------------------------------------------------------------------- */

/* Vendors append their own suffixes: "v1.29.3-gke.1", "1.30+". */
int release_minor(Str version) {
    int minor = -1;

    if (str_has_prefix(version, STR("v")))
        version = str_skip(version, 1);
    if (!str_has_prefix(version, STR("1.")))
        return -1;
    version = str_skip(version, 2);
    for (size_t i = 0; i < version.len && i < 4; i++) {
        if (version.ptr[i] < '0' || version.ptr[i] > '9')
            break;
        minor = (minor < 0 ? 0 : minor) * 10 + (version.ptr[i] - '0');
    }
    return minor;
}
