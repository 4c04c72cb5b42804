/* Checks of berths' cluster state, its age, and clocks. */

#include <math.h>

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"

/* On a quiet cluster the API server lets berth hear of itself every minute, at first after two:
 * less than that means nothing. */
#define STALE_WARN_SEC 180.0
#define STALE_FAIL_SEC 300.0

#define SKEW_WARN_SEC 2.0 /* the API server sends whole seconds only */
#define SKEW_FAIL_SEC 60.0

static void report_error(const BerthFact *berth, Verdict *verdict) {
    if (!str_is_empty(berth->cluster_error))
        verdict_quote(verdict, berth->cluster_error);
    verdict_fix(verdict, "curl %.*s/readyz?verbose", STR_FMT(berth->url));
    verdict_fix(verdict, "berth check --live --only rights");
}

void judge_cluster_listed(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_WATCHER (berth, facts, verdict) {
        if (berth->is_synced)
            continue;
        verdict_fail(verdict, "%.*s has not yet", STR_FMT(berth->url));
        report_error(berth, verdict);
    }
}

void judge_cluster_connected(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_WATCHER (berth, facts, verdict) {
        if (berth->is_connected)
            continue;
        verdict_warn(verdict, "%.*s is not", STR_FMT(berth->url));
        report_error(berth, verdict);
    }
}

void judge_cluster_fresh(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_WATCHER (berth, facts, verdict) {
        double stale = berth->staleness_sec;

        if (!berth->is_synced || stale < 0)
            verdict_fail(
                verdict, "%.*s has no update from the API server yet", STR_FMT(berth->url));
        else if (stale > STALE_WARN_SEC && stale <= STALE_FAIL_SEC)
            verdict_warn(verdict, "%.*s: last update from the API server %s ago",
                STR_FMT(berth->url), duration_text(stale).text);
        else if (!(stale <= STALE_WARN_SEC))
            verdict_fail(verdict, "%.*s: last update from the API server %s ago",
                STR_FMT(berth->url), duration_text(stale).text);
        else
            continue;
        report_error(berth, verdict);
    }
}

void judge_cluster_has_nodes(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_WATCHER (berth, facts, verdict) {
        if (berth->n_nodes > 0) {
            verdict_note(verdict, "%.*s: %zu nodes, %zu pods", STR_FMT(berth->url), berth->n_nodes,
                berth->n_pods);
            continue;
        }
        verdict_fail(verdict, "%.*s knows none", STR_FMT(berth->url));
        verdict_fix(verdict, "kubectl get nodes   # with the kubeconfig that berth has");
    }
}

void judge_node_counts_equal(const InstallationFacts *facts, Verdict *verdict) {
    const BerthFact *berth, *first;

    if (!watchers_expect(facts, verdict))
        return;
    berth = first = watcher_next(facts, NULL);
    while ((berth = watcher_next(facts, berth))) {
        if (berth->n_nodes == first->n_nodes)
            continue;
        verdict_warn(verdict, "%.*s knows %zu nodes, %.*s %zu", STR_FMT(first->url), first->n_nodes,
            STR_FMT(berth->url), berth->n_nodes);
        verdict_fix(verdict, "berth check --live --only cluster   # again: is one of them behind?");
    }
}

/* --- clocks --------------------------------------------------------------------------------- */

static bool judge_skew(double skew, Verdict *verdict, Str whose, const char *reference) {
    const char *side = skew > 0 ? "ahead of" : "behind";

    if (fabs(skew) <= SKEW_WARN_SEC)
        return true;
    if (fabs(skew) > SKEW_FAIL_SEC)
        verdict_fail(
            verdict, "%.*s is %s %s %s", STR_FMT(whose), duration_text(skew).text, side, reference);
    else
        verdict_warn(
            verdict, "%.*s is %s %s %s", STR_FMT(whose), duration_text(skew).text, side, reference);
    return false;
}

/* Both were compared with this machine's clock, which may be the one that is wrong. */
void judge_berth_clock(const InstallationFacts *facts, Verdict *verdict) {
    double reference = facts->is_skew_known ? facts->cluster_skew_sec : 0;

    FOR_EACH_BERTH (berth, facts, verdict)
        if (!judge_skew(berth->clock_skew_sec - reference, verdict, berth->url,
                facts->is_skew_known ? "the API server" : "this machine"))
            verdict_fix(verdict, "timedatectl   # on berth's node: is its clock synchronised?");
}

void judge_own_clock(const InstallationFacts *facts, Verdict *verdict) {
    if (!facts->is_skew_known) {
        verdict_skip(verdict, "the API server's time is not known");
        return;
    }
    if (!judge_skew(-facts->cluster_skew_sec, verdict, STR("this machine"), "the API server"))
        verdict_fix(verdict, "timedatectl   # is the clock synchronised?");
}
