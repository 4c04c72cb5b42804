/* Checks of the whole installation: replicas agree, pods run apart, schedulers send requests. */

#include <math.h>

#include "checkup/verdict.h"

void judge_policies_equal(const CheckSubject *at, Verdict *verdict) {
    if (!str_eq(at->berth->policy_digest, at->first->policy_digest))
        verdict_fail(verdict,
            "berth check --live --only B601 --wait 2m   # a changed ConfigMap takes its time",
            "%.*s has %.*s, %s has %.*s", STR_FMT(at->first->url),
            STR_FMT(at->first->policy_digest), at->where, STR_FMT(at->berth->policy_digest));
}

void judge_clusters_equal(const CheckSubject *at, Verdict *verdict) {
    const BerthFact *first = at->first, *berth = at->berth;
    const BerthFact *silent = str_is_empty(first->cluster_digest) ? first : berth;

    if (str_is_empty(silent->cluster_digest))
        verdict_skip(verdict, "%.*s does not report what it sees", STR_FMT(silent->url));
    else if (!str_eq(berth->cluster_digest, first->cluster_digest))
        verdict_warn(verdict, "berth check --live --only B602   # again: do they ever agree?",
            "%.*s and %.*s differ (%zu and %zu nodes, %zu and %zu pods): on a busy cluster they do "
            "for a moment",
            STR_FMT(first->url), STR_FMT(berth->url), first->n_nodes, berth->n_nodes, first->n_pods,
            berth->n_pods);
}

void judge_pods_found(const CheckSubject *at, Verdict *verdict) {
    CheckSubject each = {.facts = at->facts};

    if (!at->facts->are_pods_known) {
        verdict_skip(verdict, at->facts->was_cluster_asked
                                  ? "the API server does not show them to us"
                                  : "no API server was named: --kubeconfig FILE");
        return;
    }
    while (pod_next(&each))
        verdict_note(verdict, "%s on %.*s", each.where,
            STR_FMT(str_is_empty(each.pod->node) ? STR("no node yet") : each.pod->node));
    if (at->facts->n_pods == 0)
        verdict_warn(
            verdict, "berth install plan", "no pod has the label app.kubernetes.io/name=berth");
}

void judge_pods_ready(const CheckSubject *at, Verdict *verdict) {
    if (at->pod->is_ready)
        return;
    verdict_fail(verdict, NULL, "%s is not%s", at->where,
        str_is_empty(at->pod->node) ? ", and has no node" : "");
    verdict_fix(verdict, "kubectl -n %.*s describe pod %.*s", STR_FMT(at->pod->namespace),
        STR_FMT(at->pod->name));
}

/* A static pod serves the kube-scheduler on its machine: one for each is enough. */
void judge_pods_two(const CheckSubject *at, Verdict *verdict) {
    if (at->facts->n_pods > 1)
        return;
    if (at->pod->is_static) {
        verdict_skip(verdict, "a static pod, as many as there are kube-schedulers");
        return;
    }
    verdict_warn(verdict, NULL, "%s is the only one", at->where);
    verdict_fix(verdict, "kubectl -n %.*s scale deployment berth --replicas=2",
        STR_FMT(at->pod->namespace));
}

void judge_pods_apart(const CheckSubject *at, Verdict *verdict) {
    const PodFact *pod = at->pod;

    if (at->facts->n_pods == 1)
        verdict_skip(verdict, "there is one");
    for (const PodFact *other = at->facts->pods; other < pod; other++) {
        if (str_is_empty(pod->node) || !str_eq(other->node, pod->node))
            continue;
        verdict_warn(verdict, NULL, "%.*s and %.*s are both on %.*s", STR_FMT(other->name),
            STR_FMT(pod->name), STR_FMT(pod->node));
        verdict_fix(verdict,
            "kubectl -n %.*s delete pod %.*s   # with a second node there is, it goes there",
            STR_FMT(pod->namespace), STR_FMT(pod->name));
    }
}

/* Entries are "NAMESPACE", or "NAMESPACE/KEY=VALUE", where only berth's own label is known. */
static bool is_exempt(const BerthFact *berth, Str namespace) {
    for (size_t i = 0; i < berth->n_exempt; i++) {
        Str rest = berth->exempt[i], name = STR_NULL;

        (void)str_split(&rest, '/', &name);
        if (str_eq(name, namespace) &&
            (rest.len == 0 || str_is(rest, "app.kubernetes.io/name=berth")))
            return true;
    }
    return false;
}

void judge_pods_exempt(const CheckSubject *at, Verdict *verdict) {
    if (!berth_expect(at->facts, verdict) || !pods_expect(at->facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, at->facts)
        for (CheckSubject each = {.facts = at->facts}; pod_next(&each);) {
            if (each.pod->is_static || is_exempt(berth, each.pod->namespace))
                continue;
            verdict_warn(
                verdict, NULL, "%.*s: policies apply to %s, too", STR_FMT(berth->url), each.where);
            verdict_fix(verdict, "berth serve --exempt %.*s/app.kubernetes.io/name=berth ...",
                STR_FMT(each.pod->namespace));
        }
}

#define ASKED_LATELY_SEC DURATION_DAY_SEC
#define ASKED_UPTIME_SEC 600.0

/* Each berth counts pods as bypassed that another one has decided about. */
void judge_no_bypass(const CheckSubject *at, Verdict *verdict) {
    bool is_only = berth_count(at->facts) == 1;

    if (at->berth->n_bypassed > 0)
        verdict_add(verdict, is_only ? CHECK_FAILED : CHECK_WARNED,
            "ignorable: false   # and look for \"bypassed\" in berth's log: it names the pods",
            "%s: %llu since its start%s", at->where, (unsigned long long)at->berth->n_bypassed,
            is_only ? "" : "; other berths may have decided about them");
}

void judge_asked_lately(const CheckSubject *at, Verdict *verdict) {
    static const char fix[] =
        "berth check --live --only scheduler   # does kube-scheduler know of berth?";
    double last = INFINITY, uptime = 0;

    FOR_EACH_BERTH (berth, at->facts, verdict) {
        for (size_t i = 0; i < berth->n_schedulers; i++)
            if (berth->schedulers[i].n_requests > 0)
                verdict_note(verdict, "%.*s: %.*s, %s ago", STR_FMT(berth->url),
                    STR_FMT(berth->schedulers[i].name),
                    duration_text(berth->schedulers[i].last_request_sec).text);
        last = fmin(last, berth_last_request_sec(berth));
        uptime = fmax(uptime, berth->uptime_sec);
    }
    if (last <= ASKED_LATELY_SEC || berth_count(at->facts) == 0)
        return;
    if (uptime < ASKED_UPTIME_SEC)
        verdict_skip(verdict, "not yet, and berth has just started");
    else if (isfinite(last))
        verdict_warn(verdict, fix, "the last time was %s ago", duration_text(last).text);
    else
        verdict_warn(verdict, fix, "no scheduler has sent a request");
}
