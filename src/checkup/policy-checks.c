/* Policies in force, and the metrics they read. kube-scheduler may have called any of several
 * replicas: the counts of a policy are summed over all of them. */

#include <math.h>

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"

#define MATCH_UPTIME_SEC 3600.0 /* before that, having matched nothing means nothing */
#define REJECTS_MIN 5u          /* so many pods it let pass nowhere, and no other */
#define METRIC_UPTIME_SEC 120.0 /* by then every source has been queried */

void judge_policy_exists(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_BERTH (berth, facts, verdict) {
        if (berth->n_policies > 0) {
            verdict_note(verdict, "%.*s: %s%zu", STR_FMT(berth->url),
                berth->n_policies >= FACTS_POLICIES_MAX ? "of more, looked at " : "",
                berth->n_policies);
            continue;
        }
        verdict_warn(verdict, "%.*s has none: every node passes", STR_FMT(berth->url));
        verdict_fix(verdict, "berth serve --policy FILE-OR-FOLDER ...");
    }
}

/* --- what they have done -------------------------------------------------------------------- */

typedef struct PolicySum {
    uint64_t n_matched, n_rejected_all;
} PolicySum;

static PolicySum policy_sum(const InstallationFacts *facts, Str name) {
    PolicySum sum = {.n_matched = 0};

    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_policies; i++) {
            if (!str_eq(berth->policies[i].name, name))
                continue;
            sum.n_matched += berth->policies[i].n_matched;
            sum.n_rejected_all += berth->policies[i].n_rejected_all;
        }
    return sum;
}

/* Whether an earlier berth has it: each policy is reported once. */
static bool was_reported(const InstallationFacts *facts, const BerthFact *until, Str name) {
    for (const BerthFact *berth = NULL; (berth = berth_next(facts, berth)) && berth != until;)
        for (size_t i = 0; i < berth->n_policies; i++)
            if (str_eq(berth->policies[i].name, name))
                return true;
    return false;
}

typedef void (*PolicyJudge)(const InstallationFacts *facts, const BerthFact *berth,
    const PolicyFact *policy, Verdict *verdict);

static void each_policy(const InstallationFacts *facts, PolicyJudge judge, Verdict *verdict) {
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_policies; i++)
            if (!was_reported(facts, berth, berth->policies[i].name))
                judge(facts, berth, &berth->policies[i], verdict);
}

static void judge_match_of(const InstallationFacts *facts, const BerthFact *berth,
    const PolicyFact *policy, Verdict *verdict) {
    if (policy_sum(facts, policy->name).n_matched > 0)
        return;
    verdict_warn(verdict, "%.*s has applied to no pod yet", STR_FMT(policy->name));
    verdict_fix(verdict,
        "berth explain --policy FILE --pod NAMESPACE/NAME   # does its match mean that pod?");
}

/* The longest uptime of a berth that got requests; 0: none did. */
static double asked_uptime_sec(const InstallationFacts *facts) {
    double longest = 0;

    FOR_ALL_BERTHS (berth, facts)
        if (isfinite(berth_last_request_sec(berth)) && berth->uptime_sec > longest)
            longest = berth->uptime_sec;
    return longest;
}

void judge_policy_matches(const InstallationFacts *facts, Verdict *verdict) {
    double uptime = asked_uptime_sec(facts);

    if (!berth_expect(facts, verdict))
        return;
    if (uptime == 0)
        verdict_skip(verdict, "no scheduler has sent a request yet");
    else if (uptime < MATCH_UPTIME_SEC)
        verdict_skip(verdict, "up for %s only", duration_text(uptime).text);
    else
        each_policy(facts, judge_match_of, verdict);
}

static void judge_pass_of(const InstallationFacts *facts, const BerthFact *berth,
    const PolicyFact *policy, Verdict *verdict) {
    PolicySum sum = policy_sum(facts, policy->name);

    if (sum.n_matched < REJECTS_MIN || sum.n_rejected_all < sum.n_matched)
        return;
    if (policy->is_observing)
        verdict_warn(verdict, "%.*s would have rejected every node for each of %llu pods",
            STR_FMT(policy->name), (unsigned long long)sum.n_matched);
    else
        verdict_fail(verdict, "%.*s rejected every node for each of %llu pods",
            STR_FMT(policy->name), (unsigned long long)sum.n_matched);
    verdict_fix(verdict, "berth explain --last NAMESPACE/NAME   # which rule, on which node");
}

void judge_policy_lets_pass(const InstallationFacts *facts, Verdict *verdict) {
    if (berth_expect(facts, verdict))
        each_policy(facts, judge_pass_of, verdict);
}

static void judge_mode_of(const InstallationFacts *facts, const BerthFact *berth,
    const PolicyFact *policy, Verdict *verdict) {
    if (!policy->is_observing)
        return;
    verdict_warn(verdict, "%.*s only observes", STR_FMT(policy->name));
    verdict_fix(verdict, "mode: Enforce   # in spec of the policy, when its records look right");
}

void judge_policy_enforced(const InstallationFacts *facts, Verdict *verdict) {
    if (berth_expect(facts, verdict))
        each_policy(facts, judge_mode_of, verdict);
}

/* --- metrics -------------------------------------------------------------------------------- */

static bool metrics_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (!berth_expect(facts, verdict))
        return false;
    FOR_ALL_BERTHS (berth, facts)
        if (berth->n_sources > 0)
            return true;
    verdict_skip(verdict, "no policy reads a metric");
    return false;
}

/* A berth that has just started has not queried yet. */
static bool is_waiting(const BerthFact *berth, const SourceFact *source) {
    return str_is(source->state, "waiting") && berth->uptime_sec < METRIC_UPTIME_SEC;
}

static void judge_source(const BerthFact *berth, const SourceFact *source, Verdict *verdict) {
    if (str_is(source->state, "ok"))
        return;
    if (is_waiting(berth, source)) {
        verdict_skip(verdict, "%.*s: no answer yet", STR_FMT(source->metric));
        return;
    }
    if (source->n_covered == 0)
        verdict_fail(verdict, "%.*s: %.*s of source %.*s is %.*s: %.*s", STR_FMT(berth->url),
            STR_FMT(source->metric), STR_FMT(source->source), STR_FMT(source->state),
            STR_FMT(str_is_empty(source->error) ? STR("no node has a value") : source->error));
    else
        verdict_warn(verdict, "%.*s: %.*s of source %.*s is %.*s, its last values count: %.*s",
            STR_FMT(berth->url), STR_FMT(source->metric), STR_FMT(source->source),
            STR_FMT(source->state), STR_FMT(source->error));
    verdict_fix(verdict, "curl %.*s/api/v1/sources", STR_FMT(berth->url));
}

void judge_metrics_answered(const InstallationFacts *facts, Verdict *verdict) {
    if (!metrics_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_sources; i++)
            judge_source(berth, &berth->sources[i], verdict);
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
        verdict_fail(verdict, "%.*s: %.*s has a value for none of %zu nodes", STR_FMT(berth->url),
            STR_FMT(source->metric), source->n_nodes);
    else
        verdict_warn(verdict,
            "%.*s: %.*s has a value for %zu of %zu nodes (a metric of pods has one only where such "
            "pods are)",
            STR_FMT(berth->url), STR_FMT(source->metric), source->n_covered, source->n_nodes);
    verdict_fix(verdict, "curl %.*s/api/v1/sources   # join, unmatched and uncovered say why",
        STR_FMT(berth->url));
}

void judge_metrics_cover(const InstallationFacts *facts, Verdict *verdict) {
    if (!metrics_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts)
        for (size_t i = 0; i < berth->n_sources; i++)
            judge_cover(berth, &berth->sources[i], verdict);
}
