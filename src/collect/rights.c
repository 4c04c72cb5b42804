/*
 * Permissions of an account, by access reviews: the API server knows every role and authorizer, and
 * no operation is tried.
 */

#include "cli/terminal.h"
#include "collect/collect.h"
#include "json/write.h"

#define REVIEW_MAX ((size_t)64 * 1024)
#define API "authorization.k8s.io/v1"

/* Features of berth that need permissions. */
typedef enum Feature {
    FEATURE_ALWAYS, /* every berth that watches a cluster */
    FEATURE_BIND,
    FEATURE_WAKE_UP,
    FEATURE_EVENTS,
    FEATURE_PUBLISH,
    FEATURE_NOMINATE,
    FEATURE_POLICIES,
    FEATURE_LEASES, /* one more for each LeaseUse */
    FEATURE_LEASES_LAST = FEATURE_LEASES + _LEASE_USES - 1,
    FEATURE_NODE_METRICS, /* metrics.k8s.io */
    FEATURE_POD_METRICS,
    FEATURE_NAMESPACES, /* a policy reads them */
    FEATURE_CLAIMS,
    FEATURE_NONE, /* never needed */
} Feature;

typedef struct Right {
    Feature feature;
    bool is_refused;   /* berths without the feature must not have it */
    const char *verbs; /* "get list watch" */
    Str group, resource, subresource;
    const char *why;
} Right;

#define READ "get list watch"
#define CORE STR("")
#define RBAC STR("rbac.authorization.k8s.io")
#define LEASE(use, why)                                                                            \
    {                                                                                              \
        FEATURE_LEASES + (use), false, "create get update", STR("coordination.k8s.io"),            \
            STR("leases"), STR(""), "to agree on who " why                                         \
    }
#define NEVER(verbs, group, resource, subresource)                                                 \
    { FEATURE_NONE, true, verbs, group, STR(resource), STR(subresource), "berth never needs it" }

#define CLUSTER_WHY "to know the cluster"
#define CLAIMS_WHY "since a policy reads pod.claims"
#define METRICS_WHY "for metrics of metrics.k8s.io"

/* The same as in docs/threat-model.md and the shipped roles. */
static const Right rights[] = {
    {FEATURE_ALWAYS, false, READ, CORE, STR("nodes"), STR(""), CLUSTER_WHY},
    {FEATURE_ALWAYS, false, READ, CORE, STR("pods"), STR(""), CLUSTER_WHY},
    {FEATURE_BIND, true, "create", CORE, STR("pods"), STR("binding"), "to bind pods (--bind)"},
    LEASE(LEASE_OF_BINDS, "binds (--lease)"),
    {FEATURE_WAKE_UP, true, "patch", CORE, STR("nodes"), STR(""),
        "to wake pods (--wake-up), or to publish labels (--publish)"},
    {FEATURE_PUBLISH, true, "patch", CORE, STR("nodes"), STR("status"),
        "to publish slots (--publish)"},
    LEASE(LEASE_OF_PUBLISHING, "publishes (--publish-lease)"),
    {FEATURE_NOMINATE, true, "patch", CORE, STR("pods"), STR("status"),
        "to nominate nodes for pods (--nominate)"},
    {FEATURE_NOMINATE, false, READ, CORE, STR("services"), STR(""),
        "to nominate nodes for pods of Services (--nominate)"},
    LEASE(LEASE_OF_NOMINATIONS, "nominates (--nominate-lease)"),
    {FEATURE_POLICIES, false, READ, STR("berth.dev"), STR("placementpolicies"), STR(""),
        "to read policies of the cluster (--policies-from-cluster)"},
    {FEATURE_POLICIES, true, "patch", STR("berth.dev"), STR("placementpolicies"), STR("status"),
        "to write the status of policies (--policies-from-cluster)"},
    LEASE(LEASE_OF_POLICIES, "writes the status of policies (--policies-lease)"),
    {FEATURE_EVENTS, false, "create", STR("events.k8s.io"), STR("events"), STR(""),
        "to write events (--events)"},
    {FEATURE_NODE_METRICS, false, "list", STR("metrics.k8s.io"), STR("nodes"), STR(""),
        METRICS_WHY},
    {FEATURE_POD_METRICS, false, "list", STR("metrics.k8s.io"), STR("pods"), STR(""), METRICS_WHY},
    {FEATURE_NAMESPACES, false, READ, CORE, STR("namespaces"), STR(""),
        "since a policy or --nominate reads namespaces"},
    {FEATURE_CLAIMS, false, READ, CORE, STR("persistentvolumeclaims"), STR(""), CLAIMS_WHY},
    {FEATURE_CLAIMS, false, READ, CORE, STR("persistentvolumes"), STR(""), CLAIMS_WHY},

    NEVER("create patch", STR("berth.dev"), "placementpolicies", ""),
    NEVER("get list", CORE, "secrets", ""),
    NEVER("create update patch delete", CORE, "pods", ""),
    NEVER("create", CORE, "pods", "exec"),
    NEVER("create", CORE, "pods", "eviction"),
    NEVER("patch", CORE, "pods", "ephemeralcontainers"),
    NEVER("update delete", CORE, "nodes", ""),
    NEVER("get", CORE, "nodes", "proxy"),
    NEVER("list", CORE, "configmaps", ""),
    NEVER("create", CORE, "serviceaccounts", "token"),
    NEVER("impersonate", CORE, "users", ""),
    NEVER("impersonate", CORE, "groups", ""),
    NEVER("impersonate", CORE, "serviceaccounts", ""),
    NEVER("escalate bind", RBAC, "clusterroles", ""),
    NEVER("create", RBAC, "clusterrolebindings", ""),
    NEVER("*", STR("*"), "*", ""),
};

static bool is_lease(Feature feature) {
    return feature >= FEATURE_LEASES && feature <= FEATURE_LEASES_LAST;
}

static bool measures(const BerthFact *berth, bool is_of_pods) {
    for (size_t i = 0; i < berth->n_sources; i++)
        if (str_is(berth->sources[i].source, "metrics.k8s.io") &&
            berth->sources[i].is_of_pods == is_of_pods)
            return true;
    return false;
}

static bool uses(const BerthFact *berth, Feature feature) {
    const bool features[FEATURE_NONE] = {
        [FEATURE_BIND] = berth->answers_bind,
        [FEATURE_WAKE_UP] =
            berth->has_wake_up || (berth->has_publish && berth->n_published_labels > 0),
        [FEATURE_EVENTS] = berth->has_events,
        [FEATURE_PUBLISH] = berth->has_publish,
        [FEATURE_NOMINATE] = berth->has_nominator,
        [FEATURE_POLICIES] = berth->has_cluster_policies,
        [FEATURE_NODE_METRICS] = measures(berth, /* is_of_pods= */ false),
        [FEATURE_POD_METRICS] = measures(berth, /* is_of_pods= */ true),
        [FEATURE_NAMESPACES] = berth->watches_namespaces,
        [FEATURE_CLAIMS] = berth->watches_claims,
    };

    return is_lease(feature) ? !str_is_empty(berth->leases[feature - FEATURE_LEASES].name)
                             : features[feature];
}

/* Returns 1 if some berth, *ret_berth, uses it; 0 if none does; -1 if no berth could be reached.
 * Leases, metrics and watches count even if a later page of that berth could not be read. */
static int has_feature(
    const InstallationFacts *facts, Feature feature, const BerthFact **ret_berth) {
    int has = -1;

    if (feature == FEATURE_ALWAYS || feature == FEATURE_NONE)
        return feature == FEATURE_ALWAYS;
    for (size_t i = 0; has <= 0 && i < facts->n_berths; i++) {
        if (feature <= FEATURE_POLICIES && !str_is_empty(facts->berths[i].error))
            continue;
        has = uses(&facts->berths[i], feature);
        *ret_berth = &facts->berths[i];
    }
    return has;
}

static void choose_rights(InstallationFacts *facts) {
    for (size_t i = 0; i < ELEMENTS_OF(rights); i++) {
        const Right *right = &rights[i];
        const BerthFact *berth = NULL;
        int has = has_feature(facts, right->feature, &berth);
        Str verbs = str_from_c(right->verbs), verb;

        if (has < 0 || (has == 0 && !right->is_refused))
            continue;
        while (facts->n_rights < FACTS_RIGHTS_MAX && str_split(&verbs, ' ', &verb)) {
            RightFact *fact = &facts->rights[facts->n_rights++];

            *fact = (RightFact){
                .verb = verb,
                .group = right->group,
                .resource = right->resource,
                .subresource = right->subresource,
                .why = has > 0 || right->feature == FEATURE_NONE
                           ? right->why
                           : "no berth that was checked uses it",
                .wanted = has > 0 ? RIGHT_NEEDED : RIGHT_FORBIDDEN,
            };
            if (!is_lease(right->feature) || !berth)
                continue;
            fact->namespace = berth->leases[right->feature - FEATURE_LEASES].namespace;
            if (!str_is(verb, "create")) /* which cannot be limited to a name */
                fact->name = berth->leases[right->feature - FEATURE_LEASES].name;
        }
    }
}

/* Writes the groups of @subject, which are known for a service account. */
static void write_groups(JsonWriter *writer, Str subject) {
    static const Str prefix = STR("system:serviceaccount:");
    Str rest, namespace;

    json_write(writer, "groups: ['system:authenticated'");
    if (str_has_prefix(subject, prefix)) {
        rest = str_skip(subject, prefix.len);
        (void)str_split(&rest, ':', &namespace);
        json_write(
            writer, "'system:serviceaccounts', 'system:serviceaccounts:%.*s'", STR_FMT(namespace));
    }
    json_write_end_array(writer);
}

static void write_review(Buf *out, const RightFact *right, Str subject, bool is_self) {
    JsonWriter writer = JSON_WRITER(out);

    json_write(&writer, "{apiVersion: %s, kind: %s, spec: {", API,
        is_self ? "SelfSubjectAccessReview" : "SubjectAccessReview");
    if (!is_self) {
        json_write(&writer, "user?: %.*s", STR_FMT(subject));
        write_groups(&writer, subject);
    }
    json_write(&writer,
        "resourceAttributes: {verb?: %.*s, group?: %.*s, resource?: %.*s, subresource?: %.*s, "
        "namespace?: %.*s, name?: %.*s}}}",
        STR_FMT(right->verb), STR_FMT(right->group), STR_FMT(right->resource),
        STR_FMT(right->subresource), STR_FMT(right->namespace), STR_FMT(right->name));
}

typedef struct Review {
    RightAnswer answer;
    Str error;
} Review;

static void read_allowed(JsonReader *reader, Arena *arena, void *target) {
    bool is_allowed = false;

    json_bool(reader, &is_allowed);
    ((Review *)target)->answer = is_allowed ? RIGHT_ALLOWED : RIGHT_DENIED;
}

/* A denial with an evaluationError counts as unknown. */
static void read_review(Str body, Arena *arena, RightFact *ret) {
    static const JsonField fields[] = {
        {"status.allowed", JSON_FIELD_CUSTOM, .read = read_allowed},
        JSON_MEMBER("status.evaluationError", TEXT, Review, error),
    };
    Review review = {0};

    if (!JSON_READ_DOCUMENT(body, arena, fields, &review) || review.answer == RIGHT_UNKNOWN)
        ret->error = STR("the API server's reply is no access review");
    else if (review.answer == RIGHT_DENIED && !str_is_empty(review.error))
        ret->error = review.error;
    else
        ret->answer = review.answer;
}

/* Returns false if further requests would fail, too. */
static bool review(Collector *collector, bool is_self, RightFact *right) {
    _cleanup_(buf_done) Buf body = BUF_INIT(REVIEW_MAX);
    BlockingRequest request = {
        .method = "POST",
        .path = is_self ? "/apis/" API "/selfsubjectaccessreviews"
                        : "/apis/" API "/subjectaccessreviews",
    };
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;

    if (collect_is_late(collector)) {
        right->error = STR(COLLECT_LATE);
        return false;
    }
    write_review(&body, right, collector->facts->subject, is_self);
    (void)terminal_check(buf_error(&body), "an access review", NULL);
    request.body = buf_str(&body);
    if (collect_ask(collector, &request, &reply, error)) {
        if (reply.status == 200 || reply.status == 201) {
            read_review(reply.body, collector->arena, right);
            return true;
        }
        blocking_client_explain(&reply, collector->arena, error);
    }
    right->error = arena_copy(collector->arena, str_from_c(error));
    return false;
}

/* Our user name at the API server (Kubernetes 1.28 and later). */
static Str fetch_username(const Collector *collector) {
    static const JsonField fields[] = {{"status.userInfo.username", JSON_FIELD_TEXT, 0}};
    const BlockingRequest request = {
        .method = "POST",
        .path = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        .body = STR("{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"SelfSubjectReview\"}"),
    };
    char error[BLOCKING_CLIENT_ERROR_MAX];
    BlockingReply reply;
    Str name = STR_NULL;

    if (collect_ask(collector, &request, &reply, error) &&
        (reply.status == 200 || reply.status == 201) &&
        JSON_READ_DOCUMENT(reply.body, collector->arena, fields, &name) && !str_is_empty(name))
        return name;
    return STR("the service account of this pod");
}

/* The user name of a service account, "NAMESPACE/NAME". */
static Str account_user(Arena *arena, Str account) {
    Str namespace = STR_NULL;

    (void)str_split(&account, '/', &namespace);
    return arena_printf(
        arena, "system:serviceaccount:%.*s:%.*s", STR_FMT(namespace), STR_FMT(account));
}

/* The account to check; empty: none is known. */
static Str choose_subject(const Collector *collector, bool *ret_is_self) {
    const CollectOptions *options = collector->options;

    *ret_is_self = false;
    if (options->user)
        return str_from_c(options->user);
    if (options->service_account)
        return account_user(collector->arena, str_from_c(options->service_account));
    *ret_is_self = options->is_self;
    if (options->is_self)
        return fetch_username(collector);
    if (!str_is_empty(collector->service_account))
        return account_user(collector->arena, collector->service_account);
    return STR("");
}

void collect_rights(Collector *collector) {
    InstallationFacts *facts = collector->facts;
    bool is_self, goes_on = true;

    facts->subject = choose_subject(collector, &is_self);
    facts->rights = ARENA_ARRAY(collector->arena, RightFact, FACTS_RIGHTS_MAX);
    if (str_is_empty(facts->subject)) {
        collect_note(collector, "%s\n",
            "no permissions were checked: name the account with --service-account NAMESPACE/NAME");
        return;
    }
    choose_rights(facts);
    for (size_t i = 0; i < facts->n_rights; i++)
        if (goes_on)
            goes_on = review(collector, is_self, &facts->rights[i]);
        else
            facts->rights[i].error = facts->rights[i - 1].error;
}
