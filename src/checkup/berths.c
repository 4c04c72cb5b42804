/* Iterates over the configurations and berths that could be read. */

#include "checkup/berths.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

bool config_is_readable(const SchedulerConfigFact *fact) {
    return str_is_empty(fact->error) && !fact->is_invalid;
}

/* --- entries -------------------------------------------------------------------------------- */

bool entry_next(CheckSubject *at) {
    while (at->next < at->facts->n_configs) {
        const SchedulerConfigFact *fact = &at->facts->configs[at->next++];
        size_t line;

        if (!config_is_readable(fact) || fact->berth_index >= fact->config.n_extenders)
            continue;
        at->config = fact;
        at->entry = &fact->config.extenders[fact->berth_index];
        line = at->entry->place.line;
        if (line > 0)
            (void)snprintf(at->where, sizeof(at->where), "%.*s:%zu", STR_FMT(fact->origin), line);
        else
            (void)snprintf(at->where, sizeof(at->where), "%.*s", STR_FMT(fact->origin));
        return true;
    }
    return false;
}

bool entry_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(verdict, entry_next(&(CheckSubject){.facts = facts}),
        "no configuration that could be read lists berth (B101 to B103)");
}

/* The next entry with HTTPS. */
static bool https_next(CheckSubject *at) {
    while (entry_next(at))
        if (address_is_https(at->entry->url_prefix))
            return true;
    return false;
}

static bool https_expect(const InstallationFacts *facts, Verdict *verdict) {
    return entry_expect(facts, verdict) &&
           verdict_expect(verdict, https_next(&(CheckSubject){.facts = facts}),
               "kube-scheduler uses plain HTTP");
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
    return verdict_expect(verdict, berth_count(facts) > 0,
        facts->is_offline ? "no berth is contacted with --offline"
                          : "no berth could be reached (B201)");
}

const BerthFact *berth_with(const InstallationFacts *facts, size_t flag) {
    FOR_ALL_BERTHS (berth, facts)
        if (*(const bool *)((const char *)berth + flag))
            return berth;
    return NULL;
}

bool reached_next(CheckSubject *at) {
    at->berth = berth_next(at->facts, at->berth);
    if (at->berth)
        (void)snprintf(at->where, sizeof(at->where), "%.*s", STR_FMT(at->berth->url));
    return at->berth;
}

/* A berth on loopback is no concern of the network. If kube-scheduler calls berth on loopback, the
 * URL of --server is only that of its pages. */
static bool outside_next(CheckSubject *at) {
    while (reached_next(at))
        if (!address_is_loopback(at->berth->url))
            return true;
    return false;
}

static bool outside_expect(const InstallationFacts *facts, Verdict *verdict) {
    bool is_outside = !entry_next(&(CheckSubject){.facts = facts});

    FOR_EACH_ENTRY (at, facts)
        is_outside |= !address_is_loopback(at.entry->url_prefix);
    return berth_expect(facts, verdict) &&
           verdict_expect(verdict, is_outside, "kube-scheduler calls berth on loopback");
}

/* Those that watch the cluster. */
static bool watcher_next(CheckSubject *at) {
    while (reached_next(at))
        if (at->berth->knows_cluster)
            return true;
    return false;
}

static bool watcher_expect(const InstallationFacts *facts, Verdict *verdict) {
    return berth_expect(facts, verdict) &&
           verdict_expect(verdict, BERTH_WITH(facts, knows_cluster),
               "no berth has a cluster: it judges the nodes that requests carry");
}

/* --- clients --------------------------------------------------------------------------------- */

const BerthFact *berth_with_client_ca(const InstallationFacts *facts) {
    FOR_ALL_BERTHS (berth, facts)
        if (berth->n_client_names > 0)
            return berth;
    return NULL;
}

static bool client_expect(const InstallationFacts *facts, Verdict *verdict) {
    return https_expect(facts, verdict) && berth_expect(facts, verdict) &&
           verdict_expect(
               verdict, berth_with_client_ca(facts), "no berth requires a client certificate");
}

/* --- replicas, to be compared with the first -------------------------------------------------- */

static bool other_next(CheckSubject *at) {
    if (!at->first && reached_next(at))
        at->first = at->berth;
    return reached_next(at);
}

static bool others_expect(const InstallationFacts *facts, Verdict *verdict) {
    return berth_expect(facts, verdict) &&
           verdict_expect(verdict, berth_count(facts) > 1, "there is one berth");
}

static bool other_watcher_next(CheckSubject *at) {
    if (!at->first && watcher_next(at))
        at->first = at->berth;
    return watcher_next(at);
}

static bool other_watchers_expect(const InstallationFacts *facts, Verdict *verdict) {
    return watcher_expect(facts, verdict) &&
           verdict_expect(verdict, other_watcher_next(&(CheckSubject){.facts = facts}),
               berth_count(facts) == 1 ? "there is one berth"
                                       : "only one of the berths has a cluster");
}

/* --- pods ------------------------------------------------------------------------------------- */

bool pod_next(CheckSubject *at) {
    at->pod = at->next < at->facts->n_pods ? &at->facts->pods[at->next++] : NULL;
    if (at->pod)
        (void)snprintf(at->where, sizeof(at->where), "%.*s/%.*s", STR_FMT(at->pod->namespace),
            STR_FMT(at->pod->name));
    return at->pod;
}

bool pods_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(
        verdict, facts->are_pods_known && facts->n_pods > 0, "berth's pods are not known (B603)");
}

/* --- scopes ----------------------------------------------------------------------------------- */

void scope_judge(
    CheckScope scope, CheckJudge judge, const InstallationFacts *facts, Verdict *verdict) {
    static const struct {
        bool (*expect)(const InstallationFacts *facts, Verdict *verdict);
        bool (*next)(CheckSubject *at);
    } scopes[] = {
        [SCOPE_ENTRIES] = {entry_expect, entry_next},
        [SCOPE_HTTPS] = {https_expect, https_next},
        [SCOPE_CLIENTS] = {client_expect, https_next},
        [SCOPE_BERTHS] = {berth_expect, reached_next},
        [SCOPE_OUTSIDE] = {outside_expect, outside_next},
        [SCOPE_WATCHERS] = {watcher_expect, watcher_next},
        [SCOPE_OTHERS] = {others_expect, other_next},
        [SCOPE_OTHER_WATCHERS] = {other_watchers_expect, other_watcher_next},
        [SCOPE_PODS] = {pods_expect, pod_next},
    };
    CheckSubject at = {.facts = facts};

    assert(scope == SCOPE_ALL || (scopes[scope].expect && scopes[scope].next));
    if (scope == SCOPE_ALL)
        judge(&at, verdict);
    else if (scopes[scope].expect(facts, verdict))
        while (scopes[scope].next(&at))
            judge(&at, verdict);
}

bool cluster_expect(const InstallationFacts *facts, Verdict *verdict) {
    return verdict_expect(verdict, facts->was_cluster_asked && str_is_empty(facts->cluster_error),
        "this needs an API server: --kubeconfig or --in-cluster");
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
