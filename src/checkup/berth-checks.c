/* Checks of running berths: answers, certificates, policies, the lease. */

#include "checkup/verdict.h"

void judge_berths_answer(const CheckSubject *at, Verdict *verdict) {
    /* From outside a cluster berth is often unreachable: naming none is no failure. */
    if (at->facts->n_berths == 0)
        verdict_skip(verdict, "none was named: berth check --live --server URL ...");
    for (size_t i = 0; i < at->facts->n_berths; i++) {
        const BerthFact *berth = &at->facts->berths[i];

        if (str_is_empty(berth->error))
            continue;
        /* Most errors begin with the URL. */
        if (str_has_prefix(berth->error, berth->url))
            verdict_fail(verdict, NULL, "%.*s", STR_FMT(berth->error));
        else
            verdict_fail(verdict, NULL, "%.*s: %.*s", STR_FMT(berth->url), STR_FMT(berth->error));
        if (berth->is_forbidden)
            verdict_fix(verdict,
                "berth check --live --server %.*s --cert FILE --key FILE   # of a name on its "
                "list: berth serve --client-name or --pages-client-name NAME",
                STR_FMT(berth->url));
        else
            verdict_fix(verdict, "curl '%.*s/readyz?verbose'", STR_FMT(berth->url));
    }
}

void judge_berths_ready(const CheckSubject *at, Verdict *verdict) {
    if (at->berth->is_ready)
        return;
    verdict_fail(verdict, NULL, "%s is not ready", at->where);
    verdict_quote(verdict, at->berth->readiness);
    verdict_fix(verdict, "curl '%s/readyz?verbose'", at->where);
}

void judge_verbs_answer(const CheckSubject *at, Verdict *verdict) {
    if (!BERTH_WITH(at->facts, was_probed))
        verdict_skip(
            verdict, "the address in kube-scheduler's configuration was not tried from here");
    FOR_ALL_BERTHS (berth, at->facts)
        if (berth->was_probed && !str_is_empty(berth->probe_error))
            verdict_fail(verdict,
                "urlPrefix and verbs in kube-scheduler's configuration, --listen of berth serve: "
                "compare them",
                "%.*s", STR_FMT(berth->probe_error));
}

void judge_versions_equal(const CheckSubject *at, Verdict *verdict) {
    const BerthFact *first = berth_next(at->facts, NULL);

    FOR_EACH_BERTH (berth, at->facts, verdict) {
        if (berth == first)
            verdict_note(verdict, "%.*s: %.*s", STR_FMT(berth->url), STR_FMT(berth->version));
        else if (!str_eq(berth->version, first->version))
            verdict_warn(verdict, "kubectl -n berth-system rollout status deployment", "%.*s: %.*s",
                STR_FMT(berth->url), STR_FMT(berth->version));
    }
    if (berth_count(at->facts) == 1)
        verdict_skip(verdict, "there is one berth");
}

void judge_berth_tls(const CheckSubject *at, Verdict *verdict) {
    if (!at->berth->has_tls)
        verdict_fail(verdict,
            "berth serve --tls-cert server.crt --tls-key server.key --client-ca ca.crt ...   # "
            "berth certs DIR makes them",
            "%s uses plain HTTP", at->where);
}

void judge_berth_certificate_lasts(const CheckSubject *at, Verdict *verdict) {
    if (berth_expect(at->facts, verdict) && !BERTH_WITH(at->facts, has_tls))
        verdict_skip(verdict, "no berth has a certificate");
    for (CheckSubject each = {.facts = at->facts}; reached_next(&each);)
        if (each.berth->has_tls &&
            !lifetime_judge(each.where, each.berth->certificate_sec, verdict))
            verdict_skip(verdict, "%s does not report when it expires", each.where);
}

void judge_berth_asks_names(const CheckSubject *at, Verdict *verdict) {
    if (at->berth->n_client_names == 0)
        verdict_fail(verdict,
            "berth serve --client-ca ca.crt --client-name system:kube-scheduler ...",
            "%s answers any client%s", at->where,
            at->berth->answers_bind ? ", and binds for them" : "");
}

void judge_policies_in_force(const CheckSubject *at, Verdict *verdict) {
    if (str_is_empty(at->berth->policy_rejected))
        return;
    verdict_fail(verdict, "berth check FILE   # shows the line and how to fix it",
        "%s: the newest was rejected, the last valid one is in force", at->where);
    verdict_quote(verdict, at->berth->policy_rejected);
}

void judge_lease_given(const CheckSubject *at, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_BERTH (berth, at->facts, verdict)
        n += berth->answers_bind;
    if (n < 2 && berth_count(at->facts) > 0)
        verdict_skip(verdict, n == 0 ? "no berth binds" : "one berth binds");
    FOR_ALL_BERTHS (berth, at->facts)
        if (n >= 2 && berth->answers_bind && !berth->has_lease)
            verdict_fail(verdict, "berth serve --bind --lease berth-system/berth ...",
                "%.*s binds, and has no lease", STR_FMT(berth->url));
}

#define LEASE_WANTED_SEC 10.0 /* a replica that got a request this recently wants it */
#define LEASE_TAKEN_SEC 3.0   /* and acquires it in this time */

void judge_lease_works(const CheckSubject *at, Verdict *verdict) {
    bool is_wanted = false, has_holder = false;
    size_t n = 0, n_holding = 0;

    FOR_ALL_BERTHS (berth, at->facts) {
        double requested = berth_last_request_sec(berth);

        if (!berth->answers_bind || !berth->has_lease)
            continue;
        n++;
        n_holding += berth->holds_lease;
        is_wanted |= requested >= LEASE_TAKEN_SEC && requested < LEASE_WANTED_SEC;
        has_holder |= berth->holds_lease || !str_is_empty(berth->lease_holder);
        if (berth->holds_lease)
            verdict_note(verdict, "%.*s holds it", STR_FMT(berth->url));
        if (!str_is_empty(berth->lease_error))
            verdict_fail(verdict,
                "berth check --live --only rights   # leases: create, get, update", "%.*s: %.*s",
                STR_FMT(berth->url), STR_FMT(berth->lease_error));
    }
    if (n == 0 && berth_expect(at->facts, verdict))
        verdict_skip(verdict, "no berth has a lease");
    if (n_holding > 1)
        verdict_fail(verdict, "berth serve --lease berth-system/berth ...   # the same for all",
            "%zu berths hold a lease: not the same one?", n_holding);
    if (is_wanted && !has_holder)
        verdict_warn(verdict, "kubectl -n berth-system get lease -o wide",
            "a scheduler sends requests, and no replica holds it");
}

void judge_berth_sandboxed(const CheckSubject *at, Verdict *verdict) {
    if (!str_is_empty(at->berth->sandbox_active))
        verdict_note(verdict, "%s: %.*s", at->where, STR_FMT(at->berth->sandbox_active));
    if (!str_is_empty(at->berth->sandbox_missing))
        verdict_warn(verdict,
            "berth serve without --sandbox=off, on Linux 5.13 or later with Landlock and seccomp",
            "%s: not active: %.*s", at->where, STR_FMT(at->berth->sandbox_missing));
}
