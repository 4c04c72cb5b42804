/* Checks of the validating webhook for PlacementPolicies: berth answers, and its certificate is
 * trusted.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/origin.h"
#include "checkup/berths.h"
#include "checkup/judges.h"
#include "checkup/verdict.h"

#define WHERE_MAX 320u
#define TIMEOUT_DEFAULT_SEC 10 /* of Kubernetes */
#define TIMEOUT_LONG_SEC 5
#define REPLICAS_MIN 2u

#define LISTEN_FIX                                                                                 \
    "berth serve --admission-listen 0.0.0.0:8445 ...   # helm: "                                   \
    "policiesFromCluster.admission.enabled=true"

typedef struct HookText {
    char text[WHERE_MAX];
} HookText;

static HookText where(const WebhookFact *webhook) {
    HookText ret;

    (void)snprintf(ret.text, sizeof(ret.text), "ValidatingWebhookConfiguration %.*s",
        STR_FMT(webhook->configuration));
    return ret;
}

static bool fails_closed(const WebhookFact *webhook) {
    return !str_is(webhook->failure_policy, "Ignore");
}

/* What follows if the API server gets no answer. */
static const char *effect(const WebhookFact *webhook) {
    return fails_closed(webhook)
               ? "failurePolicy is Fail: the API server rejects all new and changed policies"
               : "policies with mistakes are stored";
}

static void fix_field(
    const WebhookFact *webhook, const char *field, const char *value, Verdict *verdict) {
    verdict_fix(verdict,
        "kubectl patch validatingwebhookconfiguration %.*s --type json -p '[{\"op\": \"add\", "
        "\"path\": \"/webhooks/%zu/%s\", \"value\": %s}]'",
        STR_FMT(webhook->configuration), webhook->index, field, value);
}

static void fix_by_deleting(const WebhookFact *webhook, Verdict *verdict) {
    verdict_fix(verdict,
        "kubectl delete validatingwebhookconfiguration %.*s   # until it works; policies in force "
        "are not affected",
        STR_FMT(webhook->configuration));
}

static bool webhooks_expect(const InstallationFacts *facts, Verdict *verdict) {
    if (!cluster_expect(facts, verdict))
        return false;
    if (facts->webhooks.is_known)
        return true;
    verdict_skip(verdict, "webhooks cannot be listed: %.*s", STR_FMT(facts->webhooks.error));
    return false;
}

/* --- who listens ------------------------------------------------------------------------------ */

static void report_not_listening(const WebhookFact *webhook, const char *who, Verdict *verdict) {
    verdict_fail(verdict, "%s: %s runs without --admission-listen; %s", where(webhook).text, who,
        effect(webhook));
    verdict_fix(verdict, LISTEN_FIX);
    fix_by_deleting(webhook, verdict);
}

/* By their own pages; if none could be reached, by the arguments of their pods. */
static void judge_listeners(
    const InstallationFacts *facts, const WebhookFact *webhook, Verdict *verdict) {
    char who[WHERE_MAX];

    FOR_ALL_BERTHS (berth, facts) {
        (void)snprintf(who, sizeof(who), "%.*s", STR_FMT(berth->url));
        if (!berth->answers_reviews)
            report_not_listening(webhook, who, verdict);
    }
    for (size_t i = 0; berth_count(facts) == 0 && i < facts->n_pods; i++) {
        const PodFact *pod = &facts->pods[i];

        (void)snprintf(who, sizeof(who), "%.*s/%.*s", STR_FMT(pod->namespace), STR_FMT(pod->name));
        if (pod->has_arguments && !pod->answers_reviews)
            report_not_listening(webhook, who, verdict);
    }
}

static void judge_no_webhook(const InstallationFacts *facts, Verdict *verdict) {
    size_t n = 0;

    FOR_ALL_BERTHS (berth, facts)
        n += berth->answers_reviews;
    for (size_t i = 0; berth_count(facts) == 0 && i < facts->n_pods; i++)
        n += facts->pods[i].answers_reviews;
    if (n > 0)
        verdict_note(verdict,
            "berth runs with --admission-listen, and no ValidatingWebhookConfiguration has the API "
            "server ask it: policies with mistakes are stored");
    else
        verdict_skip(verdict, "no webhook checks policies before they are stored");
}

/* --- what the API server calls ---------------------------------------------------------------- */

static void judge_path(const WebhookFact *webhook, Verdict *verdict) {
    bool has_service = str_is_empty(webhook->url);
    Str path = webhook->path, server = STR_NULL;
    char value[WHERE_MAX];
    Origin origin;

    if (!has_service && origin_parse(webhook->url, &origin)) {
        path = origin.path;
        server = str_take(webhook->url, webhook->url.len - path.len);
    }
    if (str_is(path, FACTS_WEBHOOK_PATH))
        return;
    verdict_fail(verdict,
        "%s: its path is \"%.*s\", and berth answers at " FACTS_WEBHOOK_PATH "; %s",
        where(webhook).text, STR_FMT(path), effect(webhook));
    (void)snprintf(value, sizeof(value), "\"%.*s" FACTS_WEBHOOK_PATH "\"", STR_FMT(server));
    fix_field(
        webhook, has_service ? "clientConfig/service/path" : "clientConfig/url", value, verdict);
}

static void judge_timeout(const WebhookFact *webhook, Verdict *verdict) {
    int64_t timeout = webhook->timeout_sec > 0 ? webhook->timeout_sec : TIMEOUT_DEFAULT_SEC;

    if (timeout <= TIMEOUT_LONG_SEC)
        return;
    verdict_warn(verdict,
        "%s: timeoutSeconds %" PRId64 ": if berth hangs, each kubectl apply of a policy takes that "
        "long",
        where(webhook).text, timeout);
    fix_field(webhook, "timeoutSeconds", "3", verdict);
}

static void report_few(const WebhookFact *webhook, Verdict *verdict) {
    if (webhook->n_ready > 0) {
        verdict_fail(verdict,
            "%s: Service %.*s/%.*s has one ready endpoint; while it is replaced, the API "
            "server rejects all new and changed policies (failurePolicy is Fail)",
            where(webhook).text, STR_FMT(webhook->namespace), STR_FMT(webhook->service));
        verdict_fix(verdict, "kubectl -n %.*s scale deployment %.*s --replicas=2",
            STR_FMT(webhook->namespace), STR_FMT(webhook->service));
    } else {
        verdict_add(verdict, fails_closed(webhook) ? CHECK_FAILED : CHECK_WARNED,
            "%s: Service %.*s/%.*s has no ready endpoint; %s", where(webhook).text,
            STR_FMT(webhook->namespace), STR_FMT(webhook->service), effect(webhook));
        verdict_fix(verdict, "kubectl -n %.*s describe pods -l app.kubernetes.io/name=berth",
            STR_FMT(webhook->namespace));
    }
    if (fails_closed(webhook))
        fix_field(webhook, "failurePolicy", "\"Ignore\"", verdict);
}

static void judge_endpoints(const WebhookFact *webhook, Verdict *verdict) {
    if (!webhook->are_endpoints_known)
        verdict_skip(verdict, "%s: the endpoints of its Service cannot be listed: %.*s",
            where(webhook).text, STR_FMT(webhook->service_error));
    else if (webhook->n_ready < (fails_closed(webhook) ? REPLICAS_MIN : 1))
        report_few(webhook, verdict);
}

static void judge_service(const WebhookFact *webhook, Verdict *verdict) {
    if (!webhook->is_service_known) {
        verdict_skip(verdict, "%s: Service %.*s/%.*s cannot be read: %.*s", where(webhook).text,
            STR_FMT(webhook->namespace), STR_FMT(webhook->service),
            STR_FMT(webhook->service_error));
    } else if (!webhook->has_service) {
        verdict_fail(verdict, "%s: there is no Service %.*s/%.*s; %s", where(webhook).text,
            STR_FMT(webhook->namespace), STR_FMT(webhook->service), effect(webhook));
        fix_by_deleting(webhook, verdict);
    } else if (!webhook->has_port) {
        verdict_fail(verdict, "%s: Service %.*s/%.*s has no port %" PRId64 "; %s",
            where(webhook).text, STR_FMT(webhook->namespace), STR_FMT(webhook->service),
            webhook->port, effect(webhook));
        verdict_fix(verdict,
            "kubectl -n %.*s patch service %.*s --type json -p '[{\"op\": \"add\", \"path\": "
            "\"/spec/ports/-\", \"value\": {\"name\": \"admission\", \"port\": %" PRId64
            ", \"targetPort\": \"admission\"}}]'",
            STR_FMT(webhook->namespace), STR_FMT(webhook->service), webhook->port);
    } else {
        judge_endpoints(webhook, verdict);
    }
}

void judge_webhook_answered(const InstallationFacts *facts, Verdict *verdict) {
    if (!webhooks_expect(facts, verdict))
        return;
    if (facts->webhooks.n == 0)
        judge_no_webhook(facts, verdict);
    for (size_t i = 0; i < facts->webhooks.n; i++) {
        const WebhookFact *webhook = &facts->webhooks.items[i];

        judge_listeners(facts, webhook, verdict);
        judge_path(webhook, verdict);
        judge_timeout(webhook, verdict);
        if (str_is_empty(webhook->url))
            judge_service(webhook, verdict);
    }
}

/* --- certificates ----------------------------------------------------------------------------- */

static void fix_bundle(const WebhookFact *webhook, Verdict *verdict) {
    fix_field(webhook, "clientConfig/caBundle", "\"'$(base64 -w0 ca.crt)'\"", verdict);
}

static void judge_berths_certificate(const WebhookFact *webhook, Verdict *verdict) {
    if (!str_is_empty(webhook->untrusted)) {
        verdict_fail(verdict, "%s: the API server refuses the certificate of %.*s: %.*s; %s",
            where(webhook).text, STR_FMT(webhook->untrusted), STR_FMT(webhook->untrusted_why),
            effect(webhook));
        fix_bundle(webhook, verdict);
    } else if (webhook->n_verified == 0) {
        verdict_skip(verdict,
            "%s: its certificate is not checked: no berth with --admission-listen could be reached "
            "(B201, B508)",
            where(webhook).text);
    }
}

void judge_webhook_trusted(const InstallationFacts *facts, Verdict *verdict) {
    if (!webhooks_expect(facts, verdict))
        return;
    if (facts->webhooks.n == 0)
        verdict_skip(verdict, "no webhook checks policies before they are stored");
    for (size_t i = 0; i < facts->webhooks.n; i++) {
        const WebhookFact *webhook = &facts->webhooks.items[i];

        if (str_is_empty(webhook->ca_bundle)) {
            verdict_fail(verdict,
                "%s: it has no caBundle, so the API server trusts public CAs only; %s",
                where(webhook).text, effect(webhook));
            fix_bundle(webhook, verdict);
        } else if (!str_is_empty(webhook->ca_error)) {
            verdict_fail(verdict, "%s: its caBundle cannot be read: %.*s; %s", where(webhook).text,
                STR_FMT(webhook->ca_error), effect(webhook));
            fix_bundle(webhook, verdict);
        } else {
            HookText ca;

            (void)snprintf(
                ca.text, sizeof(ca.text), "the CA of webhook %.*s", STR_FMT(webhook->name));
            (void)lifetime_judge(ca.text, webhook->ca_sec, verdict);
            judge_berths_certificate(webhook, verdict);
        }
    }
}
