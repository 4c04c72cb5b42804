/* Checks of the whole installation: replicas agree, pods run apart, schedulers send requests. */

#include <math.h>

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"

/* --- replicas ------------------------------------------------------------------------------- */

static bool replicas_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (!berth_expect(facts, verdict))
        return false;
    if (berth_count(facts) > 1)
        return true;
    verdict_skip(verdict, "there is one berth");
    return false;
}

void judge_policies_equal(const InstallationFacts *facts, Verdict *verdict) {
    const BerthFact *berth, *first;

    if (!replicas_expect(facts, verdict))
        return;
    berth = first = berth_next(facts, NULL);
    while ((berth = berth_next(facts, berth))) {
        if (str_eq(berth->policy_digest, first->policy_digest))
            continue;
        verdict_fail(verdict, "%.*s has %.*s, %.*s has %.*s", STR_FMT(first->url),
            STR_FMT(first->policy_digest), STR_FMT(berth->url), STR_FMT(berth->policy_digest));
        verdict_fix(verdict,
            "berth check --live --only B601 --wait 2m   # a changed ConfigMap takes its time");
    }
}

void judge_clusters_equal(const InstallationFacts *facts, Verdict *verdict) {
    const BerthFact *berth, *first;

    if (!watchers_expect(facts, verdict))
        return;
    berth = first = watcher_next(facts, NULL);
    while ((berth = watcher_next(facts, berth))) {
        const BerthFact *silent = str_is_empty(first->cluster_digest) ? first : berth;

        if (str_is_empty(silent->cluster_digest)) {
            verdict_skip(verdict, "%.*s does not report what it sees", STR_FMT(silent->url));
            continue;
        }
        if (str_eq(berth->cluster_digest, first->cluster_digest))
            continue;
        verdict_warn(verdict,
            "%.*s and %.*s differ (%zu and %zu nodes, %zu and %zu pods): on a busy cluster they do "
            "for a moment",
            STR_FMT(first->url), STR_FMT(berth->url), first->n_nodes, berth->n_nodes, first->n_pods,
            berth->n_pods);
        verdict_fix(verdict, "berth check --live --only B602   # again: do they ever agree?");
    }
}

/* --- pods ----------------------------------------------------------------------------------- */

static bool pods_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (facts->are_pods_known && facts->n_pods > 0)
        return true;
    verdict_skip(verdict, "berth's pods are not known (B603)");
    return false;
}

void judge_pods_found(const InstallationFacts *facts, Verdict *verdict) {
    if (!facts->are_pods_known) {
        verdict_skip(verdict, facts->was_cluster_asked
                                  ? "the API server does not show them to us"
                                  : "no API server was named: --kubeconfig FILE");
        return;
    }
    for (size_t i = 0; i < facts->n_pods; i++)
        verdict_note(verdict, "%.*s/%.*s on %.*s", STR_FMT(facts->pods[i].namespace),
            STR_FMT(facts->pods[i].name),
            STR_FMT(str_is_empty(facts->pods[i].node) ? STR("no node yet") : facts->pods[i].node));
    if (facts->n_pods > 0)
        return;
    verdict_warn(verdict, "no pod has the label app.kubernetes.io/name=berth");
    verdict_fix(verdict, "berth install plan");
}

void judge_pods_ready(const InstallationFacts *facts, Verdict *verdict) {
    if (!pods_expect(facts, verdict))
        return;
    for (size_t i = 0; i < facts->n_pods; i++) {
        const PodFact *pod = &facts->pods[i];

        if (pod->is_ready)
            continue;
        verdict_fail(verdict, "%.*s/%.*s is not%s", STR_FMT(pod->namespace), STR_FMT(pod->name),
            str_is_empty(pod->node) ? ", and has no node" : "");
        verdict_fix(verdict, "kubectl -n %.*s describe pod %.*s", STR_FMT(pod->namespace),
            STR_FMT(pod->name));
    }
}

/* One static pod is right where there is one kube-scheduler: they live and die together. */
void judge_pods_two(const InstallationFacts *facts, Verdict *verdict) {
    if (!pods_expect(facts, verdict) || facts->n_pods > 1)
        return;
    if (facts->pods[0].is_static) {
        verdict_skip(verdict, "a static pod, as many as there are kube-schedulers");
        return;
    }
    verdict_warn(verdict, "%.*s/%.*s is the only one", STR_FMT(facts->pods[0].namespace),
        STR_FMT(facts->pods[0].name));
    verdict_fix(verdict, "kubectl -n %.*s scale deployment berth --replicas=2",
        STR_FMT(facts->pods[0].namespace));
}

void judge_pods_apart(const InstallationFacts *facts, Verdict *verdict) {
    if (!pods_expect(facts, verdict))
        return;
    if (facts->n_pods == 1)
        verdict_skip(verdict, "there is one");
    for (size_t i = 1; i < facts->n_pods; i++)
        for (size_t k = 0; k < i; k++) {
            const PodFact *a = &facts->pods[k], *b = &facts->pods[i];

            if (str_is_empty(a->node) || !str_eq(a->node, b->node))
                continue;
            verdict_warn(verdict, "%.*s and %.*s are both on %.*s", STR_FMT(a->name),
                STR_FMT(b->name), STR_FMT(a->node));
            verdict_fix(verdict,
                "kubectl -n %.*s delete pod %.*s   # with a second node there is, it goes there",
                STR_FMT(b->namespace), STR_FMT(b->name));
        }
}

/* "NAMESPACE", or "NAMESPACE/KEY=VALUE": of the latter, berth's own label is what we know. */
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

static void judge_exempt_at(const BerthFact *berth, const PodFact *pod, Verdict *verdict) {
    if (pod->is_static || is_exempt(berth, pod->namespace))
        return;
    verdict_warn(verdict, "%.*s: policies apply to %.*s/%.*s, too", STR_FMT(berth->url),
        STR_FMT(pod->namespace), STR_FMT(pod->name));
    verdict_fix(verdict, "berth serve --exempt %.*s/app.kubernetes.io/name=berth ...",
        STR_FMT(pod->namespace));
}

void judge_pods_exempt(const InstallationFacts *facts, Verdict *verdict) {
    if (!berth_expect(facts, verdict) || !pods_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < facts->n_pods; i++)
            judge_exempt_at(berth, &facts->pods[i], verdict);
}

/* --- requests ------------------------------------------------------------------------------- */

#define ASKED_LATELY_SEC DURATION_DAY_SEC
#define ASKED_UPTIME_SEC 600.0

/* Of several berths each counts pods that another one decided about. */
void judge_no_bypass(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_BERTH (berth, facts, verdict) {
        if (berth->n_bypassed == 0)
            continue;
        if (berth_count(facts) == 1)
            verdict_fail(verdict, "%.*s: %llu since its start", STR_FMT(berth->url),
                (unsigned long long)berth->n_bypassed);
        else
            verdict_warn(verdict,
                "%.*s: %llu since its start; other berths may have decided about them",
                STR_FMT(berth->url), (unsigned long long)berth->n_bypassed);
        verdict_fix(verdict,
            "ignorable: false   # and look for \"bypassed\" in berth's log: it names the pods");
    }
}

static double longest_uptime_sec(const InstallationFacts *facts) {
    double longest = 0;

    FOR_ALL_BERTHS (berth, facts)
        longest = fmax(longest, berth->uptime_sec);
    return longest;
}

static void report_schedulers(const BerthFact *berth, Verdict *verdict) {
    for (size_t i = 0; i < berth->n_schedulers; i++)
        if (berth->schedulers[i].n_requests > 0)
            verdict_note(verdict, "%.*s: %.*s, %s ago", STR_FMT(berth->url),
                STR_FMT(berth->schedulers[i].name),
                duration_text(berth->schedulers[i].last_request_sec).text);
}

void judge_asked_lately(const InstallationFacts *facts, Verdict *verdict) {
    double last = INFINITY;

    FOR_EACH_BERTH (berth, facts, verdict) {
        report_schedulers(berth, verdict);
        last = fmin(last, berth_last_request_sec(berth));
    }
    if (last <= ASKED_LATELY_SEC)
        return;
    if (longest_uptime_sec(facts) < ASKED_UPTIME_SEC) {
        verdict_skip(verdict, "not yet, and berth has just started");
        return;
    }
    if (isfinite(last))
        verdict_warn(verdict, "the last time was %s ago", duration_text(last).text);
    else
        verdict_warn(verdict, "no scheduler has sent a request");
    verdict_fix(
        verdict, "berth check --live --only scheduler   # does kube-scheduler know of berth?");
}
