/*
 * The way from kube-scheduler to berth: scheme, certificates, names, time.
 *
 * How kube-scheduler makes its connection of the entry (1.16 to 1.38): the URL's scheme alone
 * decides between HTTP and HTTPS; with enableHTTPS and no CA the server's certificate is not
 * verified, whatever else is given; without enableHTTPS and CA the system's roots count.
 */

#include <stdio.h>

#include "base/nsec.h"
#include "base/shell.h"
#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"
#include "wiring/scheduler-config.h"

#define NAME_WORD_MAX ((size_t)8 * 1024)

static bool has_ca(const ExtenderTls *tls) {
    return !str_is_empty(tls->ca_file) || !str_is_empty(tls->ca_data);
}

static bool has_certificate(const ExtenderTls *tls) {
    return !str_is_empty(tls->cert_file) || !str_is_empty(tls->cert_data);
}

/* The next entry with HTTPS. */
static bool https_next(const InstallationFacts *facts, BerthEntry *entry) {
    while (berth_entry_next(facts, entry))
        if (address_is_https(entry->entry->url_prefix))
            return true;
    return false;
}

static bool https_expect(const InstallationFacts *facts, Verdict *verdict) {
    BerthEntry found = {0};

    if (!berth_entry_expect(facts, verdict))
        return false;
    if (https_next(facts, &found))
        return true;
    verdict_skip(verdict, "kube-scheduler uses plain HTTP");
    return false;
}

/* --- the server ---------------------------------------------------------------------------- */

void judge_server_verified(const InstallationFacts *facts, Verdict *verdict) {
    if (!https_expect(facts, verdict))
        return;
    for (BerthEntry found = {0}; https_next(facts, &found);) {
        const ExtenderEntry *entry = found.entry;

        if (has_ca(&entry->tls))
            continue;
        if (entry->is_https || entry->tls.is_insecure)
            verdict_fail(verdict, "%s: %s without a CA: nothing verifies the server at %.*s%s",
                found.where, entry->is_https ? "enableHTTPS" : "insecure: true",
                STR_FMT(entry->url_prefix),
                has_certificate(&entry->tls) ? ", client certificate or not" : "");
        else
            verdict_warn(verdict,
                "%s: no CA: the certificate at %.*s must be signed by one that the system trusts",
                found.where, STR_FMT(entry->url_prefix));
        verdict_fix(verdict, "tlsConfig: {caFile: ca.crt}   # the CA of berth's certificate");
    }
}

void judge_not_insecure(const InstallationFacts *facts, Verdict *verdict) {
    if (!https_expect(facts, verdict))
        return;
    for (BerthEntry found = {0}; https_next(facts, &found);) {
        if (!found.entry->tls.is_insecure)
            continue;
        verdict_fail(verdict,
            "%s: insecure: true: kube-scheduler does not verify the server at %.*s", found.where,
            STR_FMT(found.entry->url_prefix));
        verdict_fix(verdict,
            "tlsConfig: {insecure: false, caFile: ca.crt}   # the CA of berth's certificate");
    }
}

void judge_scheme_agrees(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        Str url = found.entry->url_prefix;

        if (!address_is_http(url) && !address_is_https(url)) {
            verdict_fail(verdict, "%s: urlPrefix %.*s begins with neither http:// nor https://",
                found.where, STR_FMT(url));
            verdict_fix(verdict, "urlPrefix: https://%.*s", STR_FMT(url));
        } else if (address_is_http(url) && found.entry->is_https) {
            verdict_fail(verdict, "%s: enableHTTPS with %.*s: plain HTTP is spoken", found.where,
                STR_FMT(url));
            verdict_fix(verdict, "urlPrefix: https://%.*s", STR_FMT(str_skip(url, 7)));
        }
    }
}

void judge_plain_on_loopback(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        Str url = found.entry->url_prefix;

        if (!address_is_http(url) || address_is_loopback(url))
            continue;
        verdict_fail(verdict, "%s: plain HTTP to %.*s", found.where, STR_FMT(url));
        verdict_fix(verdict,
            "urlPrefix: https://%.*s, enableHTTPS: true, tlsConfig: {caFile: ca.crt, certFile: "
            "client.crt, keyFile: client.key}   # berth certs DIR makes them",
            STR_FMT(str_skip(url, 7)));
    }
}

/* --- the client ------------------------------------------------------------------------------- */

/* The first berth that requires client certificates. */
static const BerthFact *find_client_ca(const InstallationFacts *facts) {
    FOR_ALL_BERTHS (berth, facts)
        if (berth->n_client_names > 0)
            return berth;
    return NULL;
}

static bool client_ca_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (!https_expect(facts, verdict) || !berth_expect(facts, verdict))
        return false;
    if (find_client_ca(facts))
        return true;
    verdict_skip(verdict, "no berth requires a client certificate");
    return false;
}

void judge_client_certificate(const InstallationFacts *facts, Verdict *verdict) {
    if (!client_ca_expect(facts, verdict))
        return;
    for (BerthEntry found = {0}; https_next(facts, &found);) {
        if (has_certificate(&found.entry->tls))
            continue;
        verdict_fail(verdict, "%s: no certFile or certData, and %.*s requires a certificate",
            found.where, STR_FMT(find_client_ca(facts)->url));
        verdict_fix(verdict,
            "tlsConfig: {certFile: client.crt, keyFile: client.key}   # berth certs DIR makes "
            "them");
    }
}

static bool is_listed(const BerthFact *berth, Str name) {
    for (size_t i = 0; i < berth->n_client_names; i++)
        if (str_eq(berth->client_names[i], name))
            return true;
    return false;
}

/* One of its names is enough. */
static bool accepts(const BerthFact *berth, const SchedulerConfigFact *fact) {
    for (size_t i = 0; i < fact->n_client_names; i++)
        if (is_listed(berth, fact->client_names[i]))
            return true;
    return berth->n_client_names == 0;
}

static void report_unknown_client(
    const BerthEntry *found, const BerthFact *berth, Verdict *verdict) {
    const SchedulerConfigFact *fact = found->fact;
    _cleanup_(buf_done) Buf word = BUF_INIT(NAME_WORD_MAX);
    char more[64] = "";

    if (fact->n_client_names > 1)
        (void)snprintf(more, sizeof(more), " (and %zu more name%s)", fact->n_client_names - 1,
            fact->n_client_names > 2 ? "s" : "");
    verdict_fail(verdict, "%s: the certificate is %.*s's%s; %.*s accepts %.*s%s", found->where,
        STR_FMT(fact->client_names[0]), more, STR_FMT(berth->url), STR_FMT(berth->client_names[0]),
        berth->n_client_names > 1 ? " and others" : "");
    shell_word(&word, fact->client_names[0]);
    verdict_fix(verdict, "berth serve --client-name %.*s ...", STR_FMT(buf_str(&word)));
}

static void judge_name_at(
    const InstallationFacts *facts, const BerthEntry *found, Verdict *verdict) {
    if (found->fact->n_client_names == 0) {
        verdict_fail(
            verdict, "%s: the certificate has no name that berth could know it by", found->where);
        verdict_fix(verdict, "berth certs DIR   # makes one with a name");
        return;
    }
    FOR_ALL_BERTHS (berth, facts)
        if (!accepts(berth, found->fact))
            report_unknown_client(found, berth, verdict);
}

void judge_client_name(const InstallationFacts *facts, Verdict *verdict) {
    if (!client_ca_expect(facts, verdict))
        return;
    for (BerthEntry found = {0}; https_next(facts, &found);) {
        if (found.fact->client_certificate_sec == 0)
            verdict_skip(
                verdict, "%s: its client certificate cannot be read from here", found.where);
        else
            judge_name_at(facts, &found, verdict);
    }
}

void judge_client_certificate_lasts(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_ENTRY (found, facts, verdict) {
        if (!has_certificate(&found.entry->tls))
            continue;
        n++;
        if (!lifetime_judge(found.where, found.fact->client_certificate_sec, verdict))
            verdict_skip(
                verdict, "%s: its client certificate cannot be read from here", found.where);
    }
    if (n == 0)
        verdict_skip(verdict, "kube-scheduler has no client certificate");
}

/* --- where it is ---------------------------------------------------------------------------- */

/* In a pod of a cluster kube-scheduler needs no kubeconfig. With one it is a static pod or a
 * process of the host, and uses the host's DNS. */
void judge_host_resolves(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict) {
        Str url = found.entry->url_prefix, kubeconfig = found.fact->config.kubeconfig;

        if (!address_is_service(url) || str_is_empty(kubeconfig))
            continue;
        verdict_warn(verdict,
            "%s: %.*s is a Service, and this kube-scheduler (kubeconfig %.*s) seems to run on its "
            "host's network",
            found.where, STR_FMT(url), STR_FMT(kubeconfig));
        verdict_fix(verdict,
            "urlPrefix: http://127.0.0.1:8080   # berth beside kube-scheduler, or the Service's "
            "clusterIP with tlsConfig.serverName");
    }
}

/* --- how long it may take ------------------------------------------------------------------- */

#define DEADLINE_DEFAULT_SEC 0.1 /* berth serve --deadline */
#define TIMEOUT_LONG_SEC 2.0     /* kube-scheduler is blocked while it waits */
#define TIMEOUT_BIND_SEC 12.0    /* berth gives the API server 10 s for a bind */

/* Below 0: for ever. */
static double timeout_sec(const ExtenderEntry *entry) {
    int64_t nsec = entry->timeout_nsec == 0 ? WIRING_TIMEOUT_DEFAULT : entry->timeout_nsec;

    return (double)nsec / NSEC_PER_SEC;
}

/* The longest of all. */
static double deadline_sec(const InstallationFacts *facts) {
    double longest = 0;

    FOR_ALL_BERTHS (berth, facts)
        if (berth->deadline_sec > longest)
            longest = berth->deadline_sec;
    return longest > 0 ? longest : DEADLINE_DEFAULT_SEC;
}

void judge_timeout_deadline(const InstallationFacts *facts, Verdict *verdict) {
    double deadline = deadline_sec(facts);

    if (!berth_entry_expect(facts, verdict))
        return;
    if (berth_count(facts) == 0)
        verdict_note(verdict, "berth's deadline is taken to be the default, 100 ms");
    FOR_EACH_ENTRY (found, facts, verdict) {
        double timeout = timeout_sec(found.entry);

        if (timeout < 0 || timeout > deadline)
            continue;
        verdict_fail(verdict, "%s: httpTimeout %s; berth may take %s", found.where,
            duration_text(timeout).text, duration_text(deadline).text);
        verdict_fix(verdict, "httpTimeout: 1s   # or a shorter berth serve --deadline");
    }
}

static void judge_timeout_of(const BerthEntry *found, Verdict *verdict) {
    double timeout = timeout_sec(found->entry);
    bool has_bind = !str_is_empty(found->entry->bind_verb);
    const char *given = found->entry->timeout_nsec == 0 ? " (kube-scheduler's default)" : "";

    if (timeout < 0)
        verdict_fail(verdict, "%s: a negative httpTimeout is none at all", found->where);
    else if (has_bind && timeout < TIMEOUT_BIND_SEC)
        verdict_warn(verdict, "%s: httpTimeout %s%s, and a bind may take 10 s", found->where,
            duration_text(timeout).text, given);
    else if (!has_bind && timeout > TIMEOUT_LONG_SEC)
        verdict_warn(verdict,
            "%s: httpTimeout %s%s: a berth that hangs stops scheduling for as long, pod by pod",
            found->where, duration_text(timeout).text, given);
    else
        return;
    verdict_fix(verdict, has_bind ? "httpTimeout: 15s" : "httpTimeout: 1s");
}

void judge_timeout_verbs(const InstallationFacts *facts, Verdict *verdict) {
    FOR_EACH_ENTRY (found, facts, verdict)
        judge_timeout_of(&found, verdict);
}
