/*
 * The way from kube-scheduler to berth: scheme, certificates, names, time.
 *
 * How kube-scheduler connects by the entry (1.16 to 1.38): the URL's scheme alone decides between
 * HTTP and HTTPS; with enableHTTPS and no CA the server's certificate is not verified, whatever
 * else is given; without enableHTTPS and CA the system's roots count.
 */

#include <stdio.h>

#include "base/nsec.h"
#include "base/shell.h"
#include "checkup/verdict.h"

#define NAME_WORD_MAX ((size_t)8 * 1024)

static bool has_certificate(const ExtenderTls *tls) {
    return !str_is_empty(tls->cert_file) || !str_is_empty(tls->cert_data);
}

void judge_server_verified(const CheckSubject *at, Verdict *verdict) {
    static const char fix[] = "tlsConfig: {caFile: ca.crt}   # the CA of berth's certificate";
    const ExtenderEntry *entry = at->entry;

    if (!str_is_empty(entry->tls.ca_file) || !str_is_empty(entry->tls.ca_data))
        return;
    if (entry->is_https || entry->tls.is_insecure)
        verdict_fail(verdict, fix, "%s: %s without a CA: nothing verifies the server at %.*s%s",
            at->where, entry->is_https ? "enableHTTPS" : "insecure: true",
            STR_FMT(entry->url_prefix),
            has_certificate(&entry->tls) ? ", client certificate or not" : "");
    else
        verdict_warn(verdict, fix,
            "%s: no CA: the certificate at %.*s must be signed by one that the system trusts",
            at->where, STR_FMT(entry->url_prefix));
}

void judge_scheme_agrees(const CheckSubject *at, Verdict *verdict) {
    Str url = at->entry->url_prefix;

    if (!address_is_http(url) && !address_is_https(url)) {
        verdict_fail(verdict, NULL, "%s: urlPrefix %.*s begins with neither http:// nor https://",
            at->where, STR_FMT(url));
        verdict_fix(verdict, "urlPrefix: https://%.*s", STR_FMT(url));
    } else if (address_is_http(url) && at->entry->is_https) {
        verdict_fail(verdict, NULL, "%s: enableHTTPS with %.*s: plain HTTP is spoken", at->where,
            STR_FMT(url));
        verdict_fix(verdict, "urlPrefix: https://%.*s", STR_FMT(str_skip(url, 7)));
    }
}

void judge_plain_on_loopback(const CheckSubject *at, Verdict *verdict) {
    Str url = at->entry->url_prefix;

    if (!address_is_http(url) || address_is_loopback(url))
        return;
    verdict_fail(verdict, NULL, "%s: plain HTTP to %.*s", at->where, STR_FMT(url));
    verdict_fix(verdict,
        "urlPrefix: https://%.*s, enableHTTPS: true, tlsConfig: {caFile: ca.crt, certFile: "
        "client.crt, keyFile: client.key}   # berth certs DIR makes them",
        STR_FMT(str_skip(url, 7)));
}

void judge_client_certificate(const CheckSubject *at, Verdict *verdict) {
    if (!has_certificate(&at->entry->tls))
        verdict_fail(verdict,
            "tlsConfig: {certFile: client.crt, keyFile: client.key}   # berth certs DIR makes "
            "them",
            "%s: no certFile or certData, and %.*s requires a certificate", at->where,
            STR_FMT(berth_with_client_ca(at->facts)->url));
}

/* Whether @berth accepts one of the names in the client certificate. */
static bool accepts(const BerthFact *berth, const SchedulerConfigFact *fact) {
    for (size_t i = 0; i < fact->n_client_names; i++)
        if (str_is_one_of(fact->client_names[i], berth->client_names, berth->n_client_names))
            return true;
    return berth->n_client_names == 0;
}

static void report_unknown_client(
    const CheckSubject *at, const BerthFact *berth, Verdict *verdict) {
    const SchedulerConfigFact *fact = at->config;
    _cleanup_(buf_done) Buf word = BUF_INIT(NAME_WORD_MAX);
    char more[64] = "";

    if (fact->n_client_names > 1)
        (void)snprintf(more, sizeof(more), " (and %zu more name%s)", fact->n_client_names - 1,
            fact->n_client_names > 2 ? "s" : "");
    verdict_fail(verdict, NULL, "%s: the certificate is %.*s's%s; %.*s accepts %.*s%s", at->where,
        STR_FMT(fact->client_names[0]), more, STR_FMT(berth->url), STR_FMT(berth->client_names[0]),
        berth->n_client_names > 1 ? " and others" : "");
    shell_word(&word, fact->client_names[0]);
    verdict_fix(verdict, "berth serve --client-name %.*s ...", STR_FMT(buf_str(&word)));
}

void judge_client_name(const CheckSubject *at, Verdict *verdict) {
    if (at->config->client_certificate_sec == 0)
        verdict_skip(verdict, "%s: its client certificate cannot be read from here", at->where);
    else if (at->config->n_client_names == 0)
        verdict_fail(verdict, "berth certs DIR   # makes one with a name",
            "%s: the certificate has no name that berth could know it by", at->where);
    else
        FOR_ALL_BERTHS (berth, at->facts)
            if (!accepts(berth, at->config))
                report_unknown_client(at, berth, verdict);
}

void judge_client_certificate_lasts(const CheckSubject *at, Verdict *verdict) {
    size_t n = 0;

    FOR_EACH_ENTRY (found, at->facts) {
        if (!has_certificate(&found.entry->tls))
            continue;
        n++;
        if (!lifetime_judge(found.where, found.config->client_certificate_sec, verdict))
            verdict_skip(
                verdict, "%s: its client certificate cannot be read from here", found.where);
    }
    if (n == 0 && entry_expect(at->facts, verdict))
        verdict_skip(verdict, "kube-scheduler has no client certificate");
}

/* In a pod of a cluster kube-scheduler needs no kubeconfig. With one it is a static pod or a
 * process of the host, and uses the host's DNS. */
void judge_host_resolves(const CheckSubject *at, Verdict *verdict) {
    Str url = at->entry->url_prefix, kubeconfig = at->config->config.kubeconfig;

    if (address_is_service(url) && !str_is_empty(kubeconfig))
        verdict_warn(verdict,
            "urlPrefix: http://127.0.0.1:8080   # berth beside kube-scheduler, or the Service's "
            "clusterIP with tlsConfig.serverName",
            "%s: %.*s is a Service, and this kube-scheduler (kubeconfig %.*s) seems to run on its "
            "host's network",
            at->where, STR_FMT(url), STR_FMT(kubeconfig));
}

#define DEADLINE_DEFAULT_SEC 0.1 /* berth serve --deadline */
#define TIMEOUT_LONG_SEC 2.0     /* kube-scheduler is blocked while it waits */
#define TIMEOUT_BIND_SEC 12.0    /* berth gives the API server 10 s for a bind */

/* Below 0: no timeout. */
static double timeout_sec(const ExtenderEntry *entry) {
    int64_t nsec = entry->timeout_nsec == 0 ? WIRING_TIMEOUT_DEFAULT : entry->timeout_nsec;

    return (double)nsec / NSEC_PER_SEC;
}

void judge_timeout_deadline(const CheckSubject *at, Verdict *verdict) {
    double deadline = 0; /* the longest of all */

    FOR_ALL_BERTHS (berth, at->facts)
        deadline = berth->deadline_sec > deadline ? berth->deadline_sec : deadline;
    deadline = deadline > 0 ? deadline : DEADLINE_DEFAULT_SEC;
    if (!entry_expect(at->facts, verdict))
        return;
    if (berth_count(at->facts) == 0)
        verdict_note(verdict, "berth's deadline is taken to be the default, 100 ms");
    FOR_EACH_ENTRY (found, at->facts) {
        double timeout = timeout_sec(found.entry);

        if (timeout >= 0 && timeout <= deadline)
            verdict_fail(verdict, "httpTimeout: 1s   # or a shorter berth serve --deadline",
                "%s: httpTimeout %s; berth may take %s", found.where, duration_text(timeout).text,
                duration_text(deadline).text);
    }
}

void judge_timeout_verbs(const CheckSubject *at, Verdict *verdict) {
    double timeout = timeout_sec(at->entry);
    bool has_bind = !str_is_empty(at->entry->bind_verb);
    const char *given = at->entry->timeout_nsec == 0 ? " (kube-scheduler's default)" : "";
    const char *fix = has_bind ? "httpTimeout: 15s" : "httpTimeout: 1s";

    if (timeout < 0)
        verdict_fail(verdict, fix, "%s: a negative httpTimeout is none at all", at->where);
    else if (has_bind && timeout < TIMEOUT_BIND_SEC)
        verdict_warn(verdict, fix, "%s: httpTimeout %s%s, and a bind may take 10 s", at->where,
            duration_text(timeout).text, given);
    else if (!has_bind && timeout > TIMEOUT_LONG_SEC)
        verdict_warn(verdict, fix,
            "%s: httpTimeout %s%s: a berth that hangs stops scheduling for as long, pod by pod",
            at->where, duration_text(timeout).text, given);
}
