/* Checks of berths' cluster state, its age, and clocks. */

#include <math.h>

#include "checkup/verdict.h"

/* A quiet API server sends something every minute, at first after two: a shorter silence means
 * nothing. */
#define STALE_WARN_SEC 180.0
#define STALE_FAIL_SEC 300.0

#define SKEW_WARN_SEC 2.0 /* the API server sends whole seconds only */
#define SKEW_FAIL_SEC 60.0

static void explain_state(const CheckSubject *at, Verdict *verdict) {
    verdict_quote(verdict, at->berth->cluster_error);
    verdict_fix(verdict, "curl '%s/readyz?verbose'", at->where);
    verdict_fix(verdict, "berth check --live --only rights");
}

void judge_cluster_listed(const CheckSubject *at, Verdict *verdict) {
    if (at->berth->is_synced)
        return;
    verdict_fail(verdict, NULL, "%s has not yet", at->where);
    explain_state(at, verdict);
}

void judge_cluster_connected(const CheckSubject *at, Verdict *verdict) {
    if (at->berth->is_connected)
        return;
    verdict_warn(verdict, NULL, "%s is not", at->where);
    explain_state(at, verdict);
}

void judge_cluster_fresh(const CheckSubject *at, Verdict *verdict) {
    double stale = at->berth->staleness_sec;

    if (!at->berth->is_synced || stale < 0)
        verdict_fail(verdict, NULL, "%s has no update from the API server yet", at->where);
    else if (stale <= STALE_WARN_SEC)
        return;
    else
        verdict_add(verdict, stale <= STALE_FAIL_SEC ? CHECK_WARNED : CHECK_FAILED, NULL,
            "%s: last update from the API server %s ago", at->where, duration_text(stale).text);
    explain_state(at, verdict);
}

void judge_cluster_has_nodes(const CheckSubject *at, Verdict *verdict) {
    if (at->berth->n_nodes > 0)
        verdict_note(
            verdict, "%s: %zu nodes, %zu pods", at->where, at->berth->n_nodes, at->berth->n_pods);
    else
        verdict_fail(verdict, "kubectl get nodes   # with the kubeconfig that berth has",
            "%s knows none", at->where);
}

/* Both skews are relative to this machine's clock, which may be wrong; their difference is not. */
void judge_berth_clock(const CheckSubject *at, Verdict *verdict) {
    bool is_known = at->facts->is_skew_known;
    double skew = at->berth->clock_skew_sec - (is_known ? at->facts->cluster_skew_sec : 0);

    if (fabs(skew) > SKEW_WARN_SEC)
        verdict_add(verdict, fabs(skew) > SKEW_FAIL_SEC ? CHECK_FAILED : CHECK_WARNED,
            "timedatectl   # on berth's node: is its clock synchronised?", "%s is %s %s %s",
            at->where, duration_text(skew).text, skew > 0 ? "ahead of" : "behind",
            is_known ? "the API server" : "this machine");
}
