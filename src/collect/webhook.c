/*
 * Webhooks that have the API server ask berth about PlacementPolicies, the Services that they name,
 * and whether the API server would trust the certificates of running berths.
 */

#include "base/base64.h"
#include "base/clock.h"
#include "base/origin.h"
#include "base/url.h"
#include "certs/authority.h"
#include "collect/collect.h"

#define CONFIGURATIONS                                                                             \
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?limit=1000"
#define SLICES "/endpointslices?limit=1000&labelSelector=kubernetes.io%2Fservice-name%3D"
#define SERVICE_PORT 443 /* of a webhook that names none */
#define PATH_TEXT_MAX ((size_t)2048)
#define BUNDLE_MAX ((size_t)1024 * 1024)

#define RULE_TEXTS_MAX 256u /* of one list */

typedef struct Rule {
    Str *groups, *resources;
    size_t n_groups, n_resources;
} Rule;

/* A webhook while it is read. */
typedef struct Hook {
    WebhookFact fact;
    bool is_for_policies;
} Hook;

typedef struct Configuration {
    Str name, label;
    Hook *hooks;
    size_t n_hooks;
} Configuration;

/* apiGroups ["*"] does not count: such webhooks belong to policy engines. */
static void read_rule(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        JSON_LIST("apiGroups", Rule, groups, n_groups, RULE_TEXTS_MAX, json_read_text),
        JSON_LIST("resources", Rule, resources, n_resources, RULE_TEXTS_MAX, json_read_text),
    };
    Rule rule = {0};

    JSON_READ_FIELDS(reader, arena, fields, &rule);
    ((Hook *)target)->is_for_policies |=
        str_is_one_of(STR("berth.dev"), rule.groups, rule.n_groups) &&
        (str_is_one_of(STR("placementpolicies"), rule.resources, rule.n_resources) ||
            str_is_one_of(STR("*"), rule.resources, rule.n_resources));
}

static void read_hook(JsonReader *reader, Arena *arena, void *target) {
#define AT(field) offsetof(Hook, fact.field)
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, AT(name)},
        {"clientConfig.url", JSON_FIELD_TEXT, AT(url)},
        {"clientConfig.service.namespace", JSON_FIELD_TEXT, AT(namespace)},
        {"clientConfig.service.name", JSON_FIELD_TEXT, AT(service)},
        {"clientConfig.service.path", JSON_FIELD_TEXT, AT(path)},
        {"clientConfig.service.port", JSON_FIELD_INT, AT(port)},
        {"clientConfig.caBundle", JSON_FIELD_TEXT, AT(ca_bundle)},
        {"failurePolicy", JSON_FIELD_TEXT, AT(failure_policy)},
        {"timeoutSeconds", JSON_FIELD_INT, AT(timeout_sec)},
        {"rules", JSON_FIELD_ARRAY, .read = read_rule},
    };
    Hook *hook = target;

    hook->fact.port = SERVICE_PORT;
    JSON_READ_FIELDS(reader, arena, fields, hook);
}

/* A policy engine may have webhooks for PlacementPolicies, too. */
static bool is_ours(const Configuration *configuration, const Hook *hook) {
    const WebhookFact *fact = &hook->fact;

    return hook->is_for_policies && (str_is(configuration->label, "berth") ||
                                        str_has_suffix(fact->name, STR(".berth.dev")) ||
                                        str_is(fact->path, FACTS_WEBHOOK_PATH) ||
                                        str_has_suffix(fact->url, STR(FACTS_WEBHOOK_PATH)));
}

static void read_configuration(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"metadata.name", JSON_FIELD_TEXT, offsetof(Configuration, name)},
        {"metadata.labels.app.kubernetes.io/name", JSON_FIELD_TEXT, offsetof(Configuration, label)},
        JSON_LIST("webhooks", Configuration, hooks, n_hooks, FACTS_WEBHOOKS_MAX, read_hook),
    };
    WebhooksFact *webhooks = target;
    Configuration configuration = {0};

    JSON_READ_FIELDS(reader, arena, fields, &configuration);
    for (size_t i = 0; i < configuration.n_hooks; i++) {
        WebhookFact *place = &webhooks->items[webhooks->n];

        if (!is_ours(&configuration, &configuration.hooks[i]) || webhooks->n == FACTS_WEBHOOKS_MAX)
            continue;
        *place = configuration.hooks[i].fact;
        place->configuration = configuration.name;
        place->index = i;
        webhooks->n++;
    }
}

static void list_webhooks(Collector *collector) {
    static const JsonField fields[] = {{"items", JSON_FIELD_ARRAY, .read = read_configuration}};
    WebhooksFact *webhooks = &collector->facts->webhooks;
    char error[BLOCKING_CLIENT_ERROR_MAX] = "";
    BlockingReply reply;

    webhooks->items = ARENA_ARRAY(collector->arena, WebhookFact, FACTS_WEBHOOKS_MAX);
    webhooks->is_known = collect_get(collector, CONFIGURATIONS, &reply, error) &&
                         JSON_READ_DOCUMENT(reply.body, collector->arena, fields, webhooks);
    if (!webhooks->is_known)
        webhooks->error = error[0]
                              ? arena_copy(collector->arena, str_from_c(error))
                              : STR("the reply is not a list of ValidatingWebhookConfigurations");
}

typedef struct Slice {
    Str type; /* of its addresses */
    size_t n_ready;
} Slice;

typedef struct ReadyCount { /* a pod may have an address of each family */
    size_t n_v6, n_other;
} ReadyCount;

static void read_endpoint(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"conditions.ready", JSON_FIELD_BOOL, 0}};
    bool is_ready = true; /* unless it says otherwise */

    JSON_READ_FIELDS(reader, arena, fields, &is_ready);
    ((Slice *)target)->n_ready += is_ready;
}

static void read_slice(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"addressType", JSON_FIELD_TEXT, offsetof(Slice, type)},
        {"endpoints", JSON_FIELD_ARRAY, .read = read_endpoint},
    };
    ReadyCount *count = target;
    Slice slice = {0};

    JSON_READ_FIELDS(reader, arena, fields, &slice);
    *(str_is(slice.type, "IPv6") ? &count->n_v6 : &count->n_other) += slice.n_ready;
}

static void read_port(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {{"port", JSON_FIELD_INT, 0}};
    WebhookFact *webhook = target;
    int64_t port = 0;

    JSON_READ_FIELDS(reader, arena, fields, &port);
    webhook->has_port |= port == webhook->port;
}

/* A GET of @api/namespaces/NAMESPACE@below SERVICE. */
static bool get_of_service(Collector *collector, const WebhookFact *webhook, Str api, Str below,
    BlockingReply *ret, char *error) {
    _cleanup_(buf_done) Buf path = BUF_INIT(PATH_TEXT_MAX);

    buf_append(&path, api);
    buf_append(&path, STR("/namespaces/"));
    url_escape(&path, webhook->namespace);
    buf_append(&path, below);
    url_escape(&path, webhook->service);
    return collect_get(collector, url_text(&path), ret, error);
}

static void find_service(Collector *collector, WebhookFact *webhook) {
    static const JsonField ports[] = {{"spec.ports", JSON_FIELD_ARRAY, .read = read_port}};
    static const JsonField slices[] = {{"items", JSON_FIELD_ARRAY, .read = read_slice}};
    char error[BLOCKING_CLIENT_ERROR_MAX] = "";
    BlockingReply reply = {0};
    ReadyCount count = {0};

    webhook->has_service =
        get_of_service(collector, webhook, STR("/api/v1"), STR("/services/"), &reply, error) &&
        JSON_READ_DOCUMENT(reply.body, collector->arena, ports, webhook);
    webhook->is_service_known = webhook->has_service || reply.status == 404;
    if (!webhook->is_service_known)
        webhook->service_error = arena_copy(collector->arena, str_from_c(error));
    if (!webhook->has_service)
        return;
    webhook->are_endpoints_known =
        get_of_service(
            collector, webhook, STR("/apis/discovery.k8s.io/v1"), STR(SLICES), &reply, error) &&
        JSON_READ_DOCUMENT(reply.body, collector->arena, slices, &count);
    webhook->n_ready = count.n_v6 > count.n_other ? count.n_v6 : count.n_other;
    if (!webhook->are_endpoints_known)
        webhook->service_error = arena_copy(collector->arena, str_from_c(error));
}

/* The name that the API server expects in the certificate. */
static Str host_of(const Collector *collector, const WebhookFact *webhook) {
    Origin origin;

    if (str_is_empty(webhook->url))
        return arena_printf(collector->arena, "%.*s.%.*s.svc", STR_FMT(webhook->service),
            STR_FMT(webhook->namespace));
    return origin_parse(webhook->url, &origin) ? origin.host : STR_NULL;
}

static void verify_berths(const Collector *collector, Str bundle, WebhookFact *webhook) {
    const InstallationFacts *facts = collector->facts;
    Str host = host_of(collector, webhook);
    char error[ACCESS_ERROR_MAX];

    for (size_t i = 0; i < facts->n_berths; i++) {
        const BerthFact *berth = &facts->berths[i];

        if (str_is_empty(berth->webhook_chain) || !str_is_empty(webhook->untrusted))
            continue;
        webhook->n_verified++;
        if (ca_bundle_verify(bundle, berth->webhook_chain, host, error) == 0)
            continue;
        webhook->untrusted = berth->url;
        webhook->untrusted_why = arena_copy(collector->arena, str_from_c(error));
    }
}

static void read_bundle(const Collector *collector, WebhookFact *webhook) {
    _cleanup_(buf_done) Buf bundle = BUF_INIT(BUNDLE_MAX);
    char error[ACCESS_ERROR_MAX] = "it is no base64, or too large";
    int64_t until;

    if (str_is_empty(webhook->ca_bundle))
        return;
    if (!base64_decode(webhook->ca_bundle, &bundle) || buf_error(&bundle) ||
        ca_bundle_read(buf_str(&bundle), &until, error) < 0) {
        webhook->ca_error = arena_copy(collector->arena, str_from_c(error));
        return;
    }
    webhook->ca_sec = (double)until - (double)clock_wall_nsec() / NSEC_PER_SEC;
    verify_berths(collector, buf_str(&bundle), webhook);
}

/* Also without a berth that reads policies of the cluster: a webhook may be left over. */
void collect_webhooks(Collector *collector) {
    WebhooksFact *webhooks = &collector->facts->webhooks;

    list_webhooks(collector);
    for (size_t i = 0; i < webhooks->n; i++) {
        read_bundle(collector, &webhooks->items[i]);
        if (str_is_empty(webhooks->items[i].url))
            find_service(collector, &webhooks->items[i]);
    }
}
