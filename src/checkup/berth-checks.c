/* Checks of running berths: answers, certificates, policies, the lease. */

#include <stdio.h>

#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"
#include "wiring/scheduler-config.h"

/* --- answering ------------------------------------------------------------------------------ */

static void fix_unreachable(const BerthFact *berth, Verdict *verdict) {
    if (berth->is_forbidden)
        verdict_fix(verdict,
            "berth check --live --server %.*s --cert FILE --key FILE   # of a name on its list: "
            "berth serve --client-name or --pages-client-name NAME",
            STR_FMT(berth->url));
    else
        verdict_fix(verdict, "curl %.*s/readyz?verbose", STR_FMT(berth->url));
}

void judge_berths_answer(const InstallationFacts *facts, Verdict *verdict) {
    /* From outside a cluster berth is often unreachable: no failure. */
    if (facts->n_berths == 0)
        verdict_skip(verdict, "none was named: berth check --live --server URL ...");
    for (size_t i = 0; i < facts->n_berths; i++) {
        const BerthFact *berth = &facts->berths[i];

        if (str_is_empty(berth->error))
            continue;
        /* Most errors begin with the URL. */
        if (str_has_prefix(berth->error, berth->url))
            verdict_fail(verdict, "%.*s", STR_FMT(berth->error));
        else
            verdict_fail(verdict, "%.*s: %.*s", STR_FMT(berth->url), STR_FMT(berth->error));
        fix_unreachable(berth, verdict);
    }
}

void judge_berths_ready(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_BERTH (berth, facts, verdict) {
        if (berth->is_ready)
            continue;
        verdict_fail(verdict, "%.*s is not ready", STR_FMT(berth->url));
        verdict_quote(verdict, berth->readiness);
        verdict_fix(verdict, "curl %.*s/readyz?verbose", STR_FMT(berth->url));
    }
}

void judge_verbs_answer(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    FOR_ALL_BERTHS (berth, facts) {
        if (!berth->was_probed)
            continue;
        n++;
        if (str_is_empty(berth->probe_error))
            continue;
        verdict_fail(verdict, "%.*s", STR_FMT(berth->probe_error));
        verdict_fix(verdict,
            "urlPrefix and verbs in kube-scheduler's configuration, --listen of berth serve: "
            "compare them");
    }
    if (n == 0)
        verdict_skip(
            verdict, "the address in kube-scheduler's configuration was not tried from here");
}

void judge_versions_equal(const InstallationFacts *facts, Verdict *verdict) {
    const BerthFact *berth, *first;

    if (!berth_expect(facts, verdict))
        return;
    berth = first = berth_next(facts, NULL);
    verdict_note(verdict, "%.*s: %.*s", STR_FMT(first->url), STR_FMT(first->version));
    if (berth_count(facts) == 1)
        verdict_skip(verdict, "there is one berth");
    while ((berth = berth_next(facts, berth))) {
        if (str_eq(berth->version, first->version))
            continue;
        verdict_warn(verdict, "%.*s: %.*s", STR_FMT(berth->url), STR_FMT(berth->version));
        verdict_fix(verdict, "kubectl -n berth-system rollout status deployment");
    }
}

/* --- transport ------------------------------------------------------------------------------ */

/* If kube-scheduler calls berth on loopback, the URL of --server is only that of its pages. */
static bool outside_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (!berth_expect(facts, verdict))
        return false;
    if (!berth_entry_is_loopback(facts))
        return true;
    verdict_skip(verdict, "kube-scheduler calls berth on loopback");
    return false;
}

void judge_berth_tls(const InstallationFacts *facts, Verdict *verdict) {
    if (!outside_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts) {
        if (berth->has_tls || address_is_loopback(berth->url))
            continue;
        verdict_fail(verdict, "%.*s uses plain HTTP", STR_FMT(berth->url));
        verdict_fix(verdict,
            "berth serve --tls-cert server.crt --tls-key server.key --client-ca ca.crt ...   # "
            "berth certs DIR makes them");
    }
}

void judge_berth_certificate_lasts(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_BERTH (berth, facts, verdict) {
        char where[256];

        (void)snprintf(where, sizeof(where), "%.*s", STR_FMT(berth->url));
        if (!berth->has_tls)
            continue;
        n++;
        if (!lifetime_judge(where, berth->certificate_sec, verdict))
            verdict_skip(verdict, "%s does not report when it expires", where);
    }
    if (n == 0)
        verdict_skip(verdict, "no berth has a certificate");
}

void judge_berth_asks_names(const InstallationFacts *facts, Verdict *verdict) {
    if (!outside_expect(facts, verdict))
        return;
    FOR_ALL_BERTHS (berth, facts) {
        if (berth->n_client_names > 0 || address_is_loopback(berth->url))
            continue;
        verdict_fail(verdict, "%.*s answers any client%s", STR_FMT(berth->url),
            berth->answers_bind ? ", and binds for them" : "");
        verdict_fix(
            verdict, "berth serve --client-ca ca.crt --client-name system:kube-scheduler ...");
    }
}

/* --- policies ------------------------------------------------------------------------------- */

void judge_policies_in_force(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_BERTH (berth, facts, verdict) {
        if (str_is_empty(berth->policy_rejected))
            continue;
        verdict_fail(verdict, "%.*s: the newest was rejected, the last valid one is in force",
            STR_FMT(berth->url));
        verdict_quote(verdict, berth->policy_rejected);
        verdict_fix(verdict, "berth check FILE   # shows the line and how to fix it");
    }
}

/* --- the bind lease --------------------------------------------------------------------------- */

static const BerthFact *binder_next(const InstallationFacts *facts, const BerthFact *berth) {
    while ((berth = berth_next(facts, berth)) && !berth->answers_bind)
        ;
    return berth;
}

void judge_lease_given(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    if (!berth_expect(facts, verdict))
        return;
    for (const BerthFact *berth = NULL; (berth = binder_next(facts, berth));)
        n++;
    if (n < 2)
        verdict_skip(verdict, n == 0 ? "no berth binds" : "one berth binds");
    for (const BerthFact *berth = NULL; n >= 2 && (berth = binder_next(facts, berth));) {
        if (berth->has_lease)
            continue;
        verdict_fail(verdict, "%.*s binds, and has no lease", STR_FMT(berth->url));
        verdict_fix(verdict, "berth serve --bind --lease berth-system/berth ...");
    }
}

#define LEASE_WANTED_SEC 10.0 /* a replica with a request this recent wants it */
#define LEASE_TAKEN_SEC 3.0   /* and acquires it in this time */

typedef struct LeaseHolders {
    size_t n, n_holding;
    bool is_wanted, has_holder;
} LeaseHolders;

static LeaseHolders lease_holders(const InstallationFacts *facts, Verdict *verdict) {
    LeaseHolders holders = {.n = 0};

    for (const BerthFact *berth = NULL; (berth = binder_next(facts, berth));) {
        double requested = berth_last_request_sec(berth);

        if (!berth->has_lease)
            continue;
        holders.n++;
        holders.n_holding += berth->holds_lease;
        holders.is_wanted |= requested >= LEASE_TAKEN_SEC && requested < LEASE_WANTED_SEC;
        holders.has_holder |= berth->holds_lease || !str_is_empty(berth->lease_holder);
        if (berth->holds_lease)
            verdict_note(verdict, "%.*s holds it", STR_FMT(berth->url));
        if (str_is_empty(berth->lease_error))
            continue;
        verdict_fail(verdict, "%.*s: %.*s", STR_FMT(berth->url), STR_FMT(berth->lease_error));
        verdict_fix(verdict, "berth check --live --only rights   # leases: create, get, update");
    }
    return holders;
}

void judge_lease_works(const InstallationFacts *facts, Verdict *verdict) {
    LeaseHolders holders = lease_holders(facts, verdict);

    if (holders.n == 0 && berth_expect(facts, verdict))
        verdict_skip(verdict, "no berth has a lease");
    if (holders.n_holding > 1) {
        verdict_fail(verdict, "%zu berths hold a lease: not the same one?", holders.n_holding);
        verdict_fix(verdict, "berth serve --lease berth-system/berth ...   # the same for all");
    }
    if (holders.is_wanted && !holders.has_holder) {
        verdict_warn(verdict, "a scheduler sends requests, and no replica holds it");
        verdict_fix(verdict, "kubectl -n berth-system get lease -o wide");
    }
}

/* --- the sandbox ------------------------------------------------------------------------------ */

void judge_berth_sandboxed(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_BERTH (berth, facts, verdict) {
        if (!str_is_empty(berth->sandbox_active))
            verdict_note(
                verdict, "%.*s: %.*s", STR_FMT(berth->url), STR_FMT(berth->sandbox_active));
        if (str_is_empty(berth->sandbox_missing))
            continue;
        verdict_warn(verdict, "%.*s: not active: %.*s", STR_FMT(berth->url),
            STR_FMT(berth->sandbox_missing));
        verdict_fix(verdict,
            "berth serve without --sandbox=off, on Linux 5.13 or later with Landlock and seccomp");
    }
}
