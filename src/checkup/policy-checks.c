/* Policies in force, and the metrics they read. kube-scheduler may have called any of several
 * replicas: the counts of a policy are summed over all of them. */

#include <math.h>

#include "checkup/verdict.h"

#define MATCH_UPTIME_SEC 3600.0 /* before that, a policy without pods means nothing */
#define REJECTS_MIN 5u          /* fewer pods than this mean nothing */
#define METRIC_UPTIME_SEC 120.0 /* by then every source has been queried */

void judge_policy_exists(const CheckSubject *at, Verdict *verdict) {
    size_t n = at->berth->n_policies;

    if (n > 0)
        verdict_note(verdict, "%s: %s%zu", at->where,
            n >= FACTS_POLICIES_MAX ? "of more, looked at " : "", n);
    else
        verdict_warn(verdict, "berth serve --policy FILE-OR-FOLDER ...",
            "%s has none: every node passes", at->where);
}

/* The first policy of this name; @ret gets a copy of it with the counts of all berths. */
static const PolicyFact *sum_policy(const InstallationFacts *facts, Str name, PolicyFact *ret) {
    const PolicyFact *first = NULL;

    *ret = (PolicyFact){0};
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_policies; i++) {
            const PolicyFact *policy = &berth->policies[i];
            PolicyFact before = *ret;

            if (!str_eq(policy->name, name))
                continue;
            first = first ? first : policy;
            *ret = *first;
            ret->n_matched = before.n_matched + policy->n_matched;
            ret->n_rejected_all = before.n_rejected_all + policy->n_rejected_all;
        }
    return first;
}

/* Judges each policy once, with the counts of all berths. */
static void each_policy(const InstallationFacts *facts,
    void (*judge)(const PolicyFact *policy, Verdict *verdict), Verdict *verdict) {
    PolicyFact sum;

    FOR_EACH_BERTH (berth, facts, verdict)
        for (size_t i = 0; i < berth->n_policies; i++)
            if (sum_policy(facts, berth->policies[i].name, &sum) == &berth->policies[i])
                judge(&sum, verdict);
}

static void judge_match_of(const PolicyFact *policy, Verdict *verdict) {
    if (policy->n_matched == 0)
        verdict_warn(verdict,
            "berth explain --policy FILE --pod NAMESPACE/NAME   # does its match mean that pod?",
            "%.*s has applied to no pod yet", STR_FMT(policy->name));
}

void judge_policy_matches(const CheckSubject *at, Verdict *verdict) {
    double uptime = 0; /* the longest of a berth that got requests */

    FOR_ALL_BERTHS (berth, at->facts)
        if (isfinite(berth_last_request_sec(berth)))
            uptime = fmax(uptime, berth->uptime_sec);
    if (uptime >= MATCH_UPTIME_SEC)
        each_policy(at->facts, judge_match_of, verdict);
    else if (berth_expect(at->facts, verdict) && uptime == 0)
        verdict_skip(verdict, "no scheduler has sent a request yet");
    else if (uptime > 0)
        verdict_skip(verdict, "up for %s only", duration_text(uptime).text);
}

static void judge_pass_of(const PolicyFact *policy, Verdict *verdict) {
    if (policy->n_matched >= REJECTS_MIN && policy->n_rejected_all >= policy->n_matched)
        verdict_add(verdict, policy->is_observing ? CHECK_WARNED : CHECK_FAILED,
            "berth explain --last NAMESPACE/NAME   # which rule, on which node",
            "%.*s %s every node for each of %llu pods", STR_FMT(policy->name),
            policy->is_observing ? "would have rejected" : "rejected",
            (unsigned long long)policy->n_matched);
}

void judge_policy_lets_pass(const CheckSubject *at, Verdict *verdict) {
    each_policy(at->facts, judge_pass_of, verdict);
}

static void judge_mode_of(const PolicyFact *policy, Verdict *verdict) {
    if (policy->is_observing)
        verdict_warn(verdict,
            "mode: Enforce   # in spec of the policy, when its records look right",
            "%.*s only observes", STR_FMT(policy->name));
}

void judge_policy_enforced(const CheckSubject *at, Verdict *verdict) {
    each_policy(at->facts, judge_mode_of, verdict);
}

static void each_source(const InstallationFacts *facts,
    void (*judge)(const BerthFact *berth, const SourceFact *source, Verdict *verdict),
    Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_BERTH (berth, facts, verdict)
        for (size_t i = 0; i < berth->n_sources; i++, n++)
            judge(berth, &berth->sources[i], verdict);
    if (n == 0 && berth_count(facts) > 0)
        verdict_skip(verdict, "no policy reads a metric");
}

/* A berth that has just started has not queried yet. */
static bool is_waiting(const BerthFact *berth, const SourceFact *source) {
    return str_is(source->state, "waiting") && berth->uptime_sec < METRIC_UPTIME_SEC;
}

static void judge_source(const BerthFact *berth, const SourceFact *source, Verdict *verdict) {
    bool has_values = source->n_covered > 0;
    Str error = source->error;

    if (str_is(source->state, "ok"))
        return;
    if (is_waiting(berth, source)) {
        verdict_skip(verdict, "%.*s: no answer yet", STR_FMT(source->metric));
        return;
    }
    if (!has_values && str_is_empty(error))
        error = STR("no node has a value");
    verdict_add(verdict, has_values ? CHECK_WARNED : CHECK_FAILED, NULL,
        "%.*s: %.*s of source %.*s is %.*s%s: %.*s", STR_FMT(berth->url), STR_FMT(source->metric),
        STR_FMT(source->source), STR_FMT(source->state),
        has_values ? ", its last values count" : "", STR_FMT(error));
    verdict_fix(verdict, "curl %.*s/api/v1/sources", STR_FMT(berth->url));
}

void judge_metrics_answered(const CheckSubject *at, Verdict *verdict) {
    each_source(at->facts, judge_source, verdict);
}

static void judge_cover(const BerthFact *berth, const SourceFact *source, Verdict *verdict) {
    if (source->n_nodes == 0 || is_waiting(berth, source)) {
        verdict_skip(verdict, "%.*s: %s", STR_FMT(source->metric),
            source->n_nodes == 0 ? "no nodes are known" : "no answer yet");
        return;
    }
    if (source->n_covered >= source->n_nodes) {
        verdict_note(verdict, "%.*s: %zu of %zu nodes", STR_FMT(source->metric), source->n_covered,
            source->n_nodes);
        return;
    }
    if (source->n_covered == 0)
        verdict_fail(verdict, NULL, "%.*s: %.*s has a value for none of %zu nodes",
            STR_FMT(berth->url), STR_FMT(source->metric), source->n_nodes);
    else
        verdict_warn(verdict, NULL,
            "%.*s: %.*s has a value for %zu of %zu nodes (a metric of pods has one only where such "
            "pods are)",
            STR_FMT(berth->url), STR_FMT(source->metric), source->n_covered, source->n_nodes);
    verdict_fix(verdict, "curl %.*s/api/v1/sources   # join, unmatched and uncovered say why",
        STR_FMT(berth->url));
}

void judge_metrics_cover(const CheckSubject *at, Verdict *verdict) {
    each_source(at->facts, judge_cover, verdict);
}
