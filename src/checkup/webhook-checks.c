/* Checks of the validating webhook for PlacementPolicies: berth answers, and its certificate is
 * trusted.
 */

#include <inttypes.h>
#include <stdio.h>

#include "base/origin.h"
#include "checkup/verdict.h"

#define TEXT_MAX 320u
#define TIMEOUT_DEFAULT_SEC 10 /* of Kubernetes */
#define TIMEOUT_LONG_SEC 5
#define REPLICAS_MIN 2u

#define LISTEN_FIX                                                                                 \
    "berth serve --admission-listen 0.0.0.0:8445 ...   # helm: "                                   \
    "policiesFromCluster.admission.enabled=true"

static bool webhook_next(CheckSubject *at) {
    const WebhooksFact *webhooks = &at->facts->webhooks;

    at->webhook = at->next < webhooks->n ? &webhooks->items[at->next++] : NULL;
    if (at->webhook)
        (void)snprintf(at->where, sizeof(at->where), "ValidatingWebhookConfiguration %.*s",
            STR_FMT(at->webhook->configuration));
    return at->webhook;
}

static bool fails_closed(const WebhookFact *webhook) {
    return !str_is(webhook->failure_policy, "Ignore");
}

/* What follows if the API server gets no answer. */
static const char *effect(const CheckSubject *at) {
    return fails_closed(at->webhook)
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

static void report_not_listening(const CheckSubject *at, const char *who, Verdict *verdict) {
    verdict_fail(verdict, LISTEN_FIX, "%s: %s runs without --admission-listen; %s", at->where, who,
        effect(at));
    fix_by_deleting(at->webhook, verdict);
}

static void judge_path(const CheckSubject *at, Verdict *verdict) {
    const WebhookFact *webhook = at->webhook;
    bool has_service = str_is_empty(webhook->url);
    Str path = webhook->path, server = STR_NULL;
    char value[TEXT_MAX];
    Origin origin;

    if (!has_service && origin_parse(webhook->url, &origin)) {
        path = origin.path;
        server = str_take(webhook->url, webhook->url.len - path.len);
    }
    if (str_is(path, FACTS_WEBHOOK_PATH))
        return;
    verdict_fail(verdict, NULL,
        "%s: its path is \"%.*s\", and berth answers at " FACTS_WEBHOOK_PATH "; %s", at->where,
        STR_FMT(path), effect(at));
    (void)snprintf(value, sizeof(value), "\"%.*s" FACTS_WEBHOOK_PATH "\"", STR_FMT(server));
    fix_field(
        webhook, has_service ? "clientConfig/service/path" : "clientConfig/url", value, verdict);
}

static void report_few(const CheckSubject *at, Verdict *verdict) {
    const WebhookFact *webhook = at->webhook;

    if (webhook->n_ready > 0) {
        verdict_fail(verdict, NULL,
            "%s: Service %.*s/%.*s has one ready endpoint; while it is replaced, the API "
            "server rejects all new and changed policies (failurePolicy is Fail)",
            at->where, STR_FMT(webhook->namespace), STR_FMT(webhook->service));
        verdict_fix(verdict, "kubectl -n %.*s scale deployment %.*s --replicas=2",
            STR_FMT(webhook->namespace), STR_FMT(webhook->service));
    } else {
        verdict_add(verdict, fails_closed(webhook) ? CHECK_FAILED : CHECK_WARNED, NULL,
            "%s: Service %.*s/%.*s has no ready endpoint; %s", at->where,
            STR_FMT(webhook->namespace), STR_FMT(webhook->service), effect(at));
        verdict_fix(verdict, "kubectl -n %.*s describe pods -l app.kubernetes.io/name=berth",
            STR_FMT(webhook->namespace));
    }
    if (fails_closed(webhook))
        fix_field(webhook, "failurePolicy", "\"Ignore\"", verdict);
}

static void judge_service(const CheckSubject *at, Verdict *verdict) {
    const WebhookFact *webhook = at->webhook;
    Str namespace = webhook->namespace, service = webhook->service;

    if (!webhook->is_service_known) {
        verdict_skip(verdict, "%s: Service %.*s/%.*s cannot be read: %.*s", at->where,
            STR_FMT(namespace), STR_FMT(service), STR_FMT(webhook->service_error));
    } else if (!webhook->has_service) {
        verdict_fail(verdict, NULL, "%s: there is no Service %.*s/%.*s; %s", at->where,
            STR_FMT(namespace), STR_FMT(service), effect(at));
        fix_by_deleting(webhook, verdict);
    } else if (!webhook->has_port) {
        verdict_fail(verdict, NULL, "%s: Service %.*s/%.*s has no port %" PRId64 "; %s", at->where,
            STR_FMT(namespace), STR_FMT(service), webhook->port, effect(at));
        verdict_fix(verdict,
            "kubectl -n %.*s patch service %.*s --type json -p '[{\"op\": \"add\", \"path\": "
            "\"/spec/ports/-\", \"value\": {\"name\": \"admission\", \"port\": %" PRId64
            ", \"targetPort\": \"admission\"}}]'",
            STR_FMT(namespace), STR_FMT(service), webhook->port);
    } else if (!webhook->are_endpoints_known) {
        verdict_skip(verdict, "%s: the endpoints of its Service cannot be listed: %.*s", at->where,
            STR_FMT(webhook->service_error));
    } else if (webhook->n_ready < (fails_closed(webhook) ? REPLICAS_MIN : 1)) {
        report_few(at, verdict);
    }
}

void judge_webhook_answered(const CheckSubject *at, Verdict *verdict) {
    bool is_listening = BERTH_WITH(at->facts, answers_reviews);

    if (!webhooks_expect(at->facts, verdict))
        return;
    for (size_t i = 0; berth_count(at->facts) == 0 && i < at->facts->n_pods; i++)
        is_listening |= at->facts->pods[i].answers_reviews;
    if (at->facts->webhooks.n == 0 && is_listening)
        verdict_note(verdict,
            "berth runs with --admission-listen, and no ValidatingWebhookConfiguration has the API "
            "server ask it: policies with mistakes are stored");
    else if (at->facts->webhooks.n == 0)
        verdict_skip(verdict, "no webhook checks policies before they are stored");
    for (CheckSubject each = {.facts = at->facts}; webhook_next(&each);) {
        CheckSubject berths = {.facts = at->facts}, pods = {.facts = at->facts};
        int64_t timeout;

        /* Who listens: by their own pages; if none could be reached, by the arguments of their
         * pods. */
        while (reached_next(&berths))
            if (!berths.berth->answers_reviews)
                report_not_listening(&each, berths.where, verdict);
        while (berth_count(at->facts) == 0 && pod_next(&pods))
            if (pods.pod->has_arguments && !pods.pod->answers_reviews)
                report_not_listening(&each, pods.where, verdict);
        judge_path(&each, verdict);
        timeout = each.webhook->timeout_sec > 0 ? each.webhook->timeout_sec : TIMEOUT_DEFAULT_SEC;
        if (timeout > TIMEOUT_LONG_SEC) {
            verdict_warn(verdict, NULL,
                "%s: timeoutSeconds %" PRId64 ": if berth hangs, each kubectl apply of a policy "
                "takes that long",
                each.where, timeout);
            fix_field(each.webhook, "timeoutSeconds", "3", verdict);
        }
        if (str_is_empty(each.webhook->url))
            judge_service(&each, verdict);
    }
}

static void judge_certificate(const CheckSubject *at, Verdict *verdict) {
    const WebhookFact *webhook = at->webhook;
    char ca[TEXT_MAX];

    if (str_is_empty(webhook->ca_bundle))
        verdict_fail(verdict, NULL,
            "%s: it has no caBundle, so the API server trusts public CAs only; %s", at->where,
            effect(at));
    else if (!str_is_empty(webhook->ca_error))
        verdict_fail(verdict, NULL, "%s: its caBundle cannot be read: %.*s; %s", at->where,
            STR_FMT(webhook->ca_error), effect(at));
    else {
        (void)snprintf(ca, sizeof(ca), "the CA of webhook %.*s", STR_FMT(webhook->name));
        (void)lifetime_judge(ca, webhook->ca_sec, verdict);
        if (str_is_empty(webhook->untrusted)) {
            if (webhook->n_verified == 0)
                verdict_skip(verdict,
                    "%s: its certificate is not checked: no berth with --admission-listen could be "
                    "reached (B201, B508)",
                    at->where);
            return;
        }
        verdict_fail(verdict, NULL, "%s: the API server refuses the certificate of %.*s: %.*s; %s",
            at->where, STR_FMT(webhook->untrusted), STR_FMT(webhook->untrusted_why), effect(at));
    }
    fix_field(webhook, "clientConfig/caBundle", "\"'$(base64 -w0 ca.crt)'\"", verdict);
}

void judge_webhook_trusted(const CheckSubject *at, Verdict *verdict) {
    if (!webhooks_expect(at->facts, verdict))
        return;
    if (at->facts->webhooks.n == 0)
        verdict_skip(verdict, "no webhook checks policies before they are stored");
    for (CheckSubject each = {.facts = at->facts}; webhook_next(&each);)
        judge_certificate(&each, verdict);
}
