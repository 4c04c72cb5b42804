/*
 * Requests three pages from a berth. Health needs no authorization, so a berth that rejects us is
 * distinguished from one that does not run.
 */

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/calendar.h"
#include "base/clock.h"
#include "base/nsec.h"
#include "cli/server-source.h"
#include "collect/collect.h"

#define TEXTS_MAX 256u /* of one list */
#define SOURCE_FACTS_MAX 256u
#define SCHEDULERS_MAX 64u
#define MAX_SCORE 1000000

/* The page while it is read. */
typedef struct Status {
    BerthFact fact;
    int64_t max_score, n_filters, n_scores;
    Str time, certificate_end;
} Status;

/* Seconds from our clock to the time in @text; 0: not a time. */
static double seconds_until(Str text, int64_t now_nsec) {
    uint32_t nanos;
    int64_t sec;

    return calendar_parse(text, &sec, &nanos)
               ? (double)sec + nanos / 1e9 - (double)now_nsec / (double)NSEC_PER_SEC
               : 0;
}

static void read_verb(JsonReader *reader, Arena *arena, void *target) {
    Str verb = STR_NULL;

    json_string(reader, arena, &verb);
    ((Status *)target)->fact.answers_bind |= str_is(verb, "bind");
}

static void read_mode(JsonReader *reader, Arena *arena, void *target) {
    Str mode = STR_NULL;

    json_string(reader, arena, &mode);
    ((PolicyFact *)target)->is_observing = str_is(mode, "Observe");
}

static const JsonField counting_fields[] = {
    {"rule", JSON_FIELD_TEXT, offsetof(CountingFact, rule)},
    {"withoutBind", JSON_FIELD_TEXT, offsetof(CountingFact, without_bind)},
};

static const JsonField policy_fields[] = {
    {"name", JSON_FIELD_TEXT, offsetof(PolicyFact, name)},
    {"mode", JSON_FIELD_CUSTOM, .read = read_mode},
    {"matched", JSON_FIELD_COUNT, offsetof(PolicyFact, n_matched)},
    {"rejectedAll", JSON_FIELD_COUNT, offsetof(PolicyFact, n_rejected_all)},
    JSON_LIST_OF("counting", PolicyFact, counting, n_counting, FACTS_COUNTING_MAX, counting_fields),
};

static const JsonField admission_fields[] = {
    {"name", JSON_FIELD_TEXT, offsetof(AdmissionFact, name)},
    {"digest", JSON_FIELD_TEXT, offsetof(AdmissionFact, digest)},
};

static const JsonField slot_fields[] = {
    {"resource", JSON_FIELD_TEXT, offsetof(SlotFact, resource)},
    {"limit", JSON_FIELD_INT, offsetof(SlotFact, limit)},
};

static const JsonField scheduler_fields[] = {
    {"name", JSON_FIELD_TEXT, offsetof(SchedulerFact, name)},
    {"asked", JSON_FIELD_COUNT, offsetof(SchedulerFact, n_requests)},
    {"lastAskedTime", JSON_FIELD_TEXT, offsetof(SchedulerFact, last_request_time)},
};

#define AT(field) offsetof(Status, fact.field)
#define LIST(path, field, max, read) JSON_LIST(path, Status, fact.field, fact.n_##field, max, read)
#define LIST_OF(path, field, max, fields)                                                          \
    JSON_LIST_OF(path, Status, fact.field, fact.n_##field, max, fields)
#define LEASE(path, use)                                                                           \
    {path ".namespace", JSON_FIELD_TEXT, AT(leases[use].namespace)}, {                             \
        path ".name", JSON_FIELD_TEXT, AT(leases[use].name)                                        \
    }

/* A resource that it watches besides nodes and pods. */
static void read_watch(JsonReader *reader, Arena *arena, void *target) {
    BerthFact *fact = &((Status *)target)->fact;
    Str resource = STR_NULL;

    json_string_member(reader, arena, STR("resource"), &resource);
    fact->watches_namespaces |= str_is(resource, "namespaces");
    fact->watches_claims |= str_is(resource, "persistentvolumeclaims");
}

/* Adds to *ret; strings are slices of @body or in @arena. False when @body is no such page; *ret is
 * half filled in then. @now_nsec: since 1970, when the page came. */
static bool berth_status_read(Str body, int64_t now_nsec, Arena *arena, BerthFact *ret) {
    static const JsonField fields[] = {
        {"version", JSON_FIELD_TEXT, AT(version)},
        {"time", JSON_FIELD_TEXT, offsetof(Status, time)},
        {"uptimeSeconds", JSON_FIELD_DOUBLE, AT(uptime_sec)},
        {"verbs", JSON_FIELD_ARRAY, .read = read_verb},
        {"nodeCacheCapable", JSON_FIELD_BOOL, AT(knows_cluster)},
        {"deadlineSeconds", JSON_FIELD_DOUBLE, AT(deadline_sec)},
        {"maxScore", JSON_FIELD_INT, offsetof(Status, max_score)},
        {"policy.digest", JSON_FIELD_TEXT, AT(policy_digest)},
        {"policy.filters", JSON_FIELD_INT, offsetof(Status, n_filters)},
        {"policy.scores", JSON_FIELD_INT, offsetof(Status, n_scores)},
        {"policy.rejected", JSON_FIELD_TEXT, AT(policy_rejected)},
        {"policy.waiting", JSON_FIELD_TEXT, AT(policy_waiting)},
        LIST_OF("policy.list", policies, FACTS_POLICIES_MAX, policy_fields),
        {"cluster.synced", JSON_FIELD_BOOL, AT(is_synced)},
        {"cluster.connected", JSON_FIELD_BOOL, AT(is_connected)},
        {"cluster.stalenessSeconds", JSON_FIELD_DOUBLE, AT(staleness_sec)},
        {"cluster.error", JSON_FIELD_TEXT, AT(cluster_error)},
        {"cluster.nodes", JSON_FIELD_COUNT, AT(n_nodes)},
        {"cluster.pods", JSON_FIELD_COUNT, AT(n_pods)},
        {"cluster.digest", JSON_FIELD_TEXT, AT(cluster_digest)},
        {"cluster.watches", JSON_FIELD_ARRAY, .read = read_watch},
        LEASE("bind.lease", LEASE_OF_BINDS),
        {"bind.lease.holder", JSON_FIELD_TEXT, AT(lease_holder)},
        {"bind.lease.held", JSON_FIELD_BOOL, AT(holds_lease)},
        {"bind.lease.error", JSON_FIELD_TEXT, AT(lease_error)},
        {"wakeUp", JSON_FIELD_BOOL, AT(has_wake_up)},
        {"events", JSON_FIELD_BOOL, AT(has_events)},
        {"nominate.enabled", JSON_FIELD_BOOL, AT(has_nominator)},
        {"policiesFromCluster.enabled", JSON_FIELD_BOOL, AT(has_cluster_policies)},
        {"policiesFromCluster.definition", JSON_FIELD_TEXT, AT(definition)},
        {"policiesFromCluster.admission.certificate", JSON_FIELD_CUSTOM, AT(answers_reviews),
            json_read_presence},
        LEASE("policiesFromCluster.lease", LEASE_OF_POLICIES),
        LEASE("publish.lease", LEASE_OF_PUBLISHING),
        LEASE("nominate.lease", LEASE_OF_NOMINATIONS),
        {"publish.enabled", JSON_FIELD_BOOL, AT(has_publish)},
        {"publish.isWriter", JSON_FIELD_BOOL, AT(is_publish_writer)},
        {"publish.filters", JSON_FIELD_COUNT, AT(n_published)},
        {"publish.labels", JSON_FIELD_COUNT, AT(n_published_labels)},
        LIST_OF("publish.admission", admission, FACTS_POLICIES_MAX, admission_fields),
        LIST_OF("publish.slots", slots, FACTS_POLICIES_MAX, slot_fields),
        LIST("managedResources", managed, TEXTS_MAX, json_read_text),
        LIST("exempt", exempt, TEXTS_MAX, json_read_text),
        {"tls.enabled", JSON_FIELD_BOOL, AT(has_tls)},
        {"tls.notAfter", JSON_FIELD_TEXT, offsetof(Status, certificate_end)},
        LIST("tls.clientNames", client_names, TEXTS_MAX, json_read_text),
        {"sandbox.active", JSON_FIELD_TEXT, AT(sandbox_active)},
        {"sandbox.missing", JSON_FIELD_TEXT, AT(sandbox_missing)},
        {"bypassed", JSON_FIELD_COUNT, AT(n_bypassed)},
        LIST_OF("schedulers", schedulers, SCHEDULERS_MAX, scheduler_fields),
    };
    Status status = {.fact = *ret};
    bool is_read = JSON_READ_DOCUMENT(body, arena, fields, &status);

    *ret = status.fact;
    ret->clock_skew_sec = seconds_until(status.time, now_nsec);
    ret->certificate_sec = seconds_until(status.certificate_end, now_nsec);
    ret->max_score = status.max_score < MAX_SCORE ? (int)status.max_score : MAX_SCORE;
    ret->has_filters = status.n_filters > 0;
    ret->has_scores = status.n_scores > 0;
    for (size_t i = 0; i < ret->n_schedulers; i++)
        ret->schedulers[i].last_request_sec =
            fmax(0, -seconds_until(ret->schedulers[i].last_request_time, now_nsec));
    ret->has_lease = !str_is_empty(ret->leases[LEASE_OF_BINDS].name);
    return is_read && !str_is_empty(ret->version);
}

static const JsonField source_fields[] = {
    {"name", JSON_FIELD_TEXT, offsetof(SourceFact, metric)},
    {"source", JSON_FIELD_TEXT, offsetof(SourceFact, source)},
    {"state", JSON_FIELD_TEXT, offsetof(SourceFact, state)},
    {"error", JSON_FIELD_TEXT, offsetof(SourceFact, error)},
    {"perPod", JSON_FIELD_BOOL, offsetof(SourceFact, is_of_pods)},
    {"nodes.covered", JSON_FIELD_COUNT, offsetof(SourceFact, n_covered)},
    {"nodes.of", JSON_FIELD_COUNT, offsetof(SourceFact, n_nodes)},
};

#define READINESS_PATH "/readyz?verbose"
#define READINESS_MAX 1024u

/* Retries while berths report different clusters. */
#define AGREEMENT_TRIES 4
#define AGREEMENT_LONG_NSEC (5 * NSEC_PER_SEC) /* not again after that */
#define AGREEMENT_PAUSE_NSEC (250 * NSEC_PER_MSEC)

/* A page. False with fact->error: none came; of health, any status is a page. */
static bool fetch_page(const BerthAccess *access, const char *path, Arena *arena,
    BlockingReply *ret, BerthFact *fact) {
    char error[BERTH_CLIENT_ERROR_MAX];

    if (berth_client_request(access, str_from_c(path), STR_NULL, arena, ret, error)) {
        if (ret->status == 200 || strcmp(path, READINESS_PATH) == 0)
            return true;
        fact->is_forbidden = ret->status == 401 || ret->status == 403;
        berth_client_explain(access, ret, arena, error);
    }
    fact->error = arena_copy(arena, str_from_c(error));
    return false;
}

static void not_a_berth(BerthFact *fact, const char *path, Arena *arena) {
    fact->error = arena_printf(arena,
        "%.*s: the page at %s is not berth's, or is of another version", STR_FMT(fact->url), path);
}

/* Health needs no authorization; failures are lines that start with [-], or an error as JSON. */
static bool collect_readiness(const BerthAccess *access, Arena *arena, BerthFact *fact) {
    _cleanup_(buf_done) Buf text = BUF_INIT(READINESS_MAX);
    BlockingReply reply;
    Str rest, line;

    if (!fetch_page(access, READINESS_PATH, arena, &reply, fact))
        return false;
    fact->is_ready = reply.status == 200;
    rest = reply.body;
    while (!fact->is_ready && str_split(&rest, '\n', &line))
        if (str_has_prefix(line, STR("[-]")) || str_has_prefix(line, STR("{")))
            buf_printf(&text, "%s%.*s", text.len > 0 ? "\n" : "", STR_FMT(line));
    fact->readiness = arena_copy(arena, buf_str(&text));
    return true;
}

void collect_berth(const BerthAccess *access, Arena *arena, BerthFact *fact) {
    BlockingReply reply;

    *fact = (BerthFact){.url = str_from_c(access->server)};
    if (!collect_readiness(access, arena, fact) ||
        !fetch_page(access, "/api/v1/status", arena, &reply, fact))
        return;
    fact->status = reply.body;
    if (!berth_status_read(reply.body, clock_wall_nsec(), arena, fact))
        not_a_berth(fact, "/api/v1/status", arena);
}

static void collect_one(Collector *collector, const char *server, BerthFact *fact) {
    static const JsonField sources[] = {
        JSON_LIST_OF("metrics", BerthFact, sources, n_sources, SOURCE_FACTS_MAX, source_fields)};
    BerthAccess access = collector->options->access;
    Arena *arena = collector->arena;
    BlockingReply reply;

    access.server = server;
    if (collect_is_late(collector)) {
        *fact = (BerthFact){.url = str_from_c(server), .error = STR(COLLECT_LATE)};
        return;
    }
    collect_berth(&access, arena, fact);
    if (str_is_empty(fact->error) && fetch_page(&access, "/api/v1/sources", arena, &reply, fact) &&
        !JSON_READ_DOCUMENT(reply.body, arena, sources, fact))
        not_a_berth(fact, "/api/v1/sources", arena);
}

/* The default address was not given by the user: if no berth is there, that is reported only when
 * nothing else was given either. */
static void collect_default(Collector *collector) {
    const CollectOptions *options = collector->options;
    BerthFact *fact = &collector->facts->berths[0];
    bool is_all = !collector->client && options->n_configs == 0;

    collect_one(collector, SERVER_SOURCE_DEFAULT, fact);
    collector->facts->n_berths = str_is_empty(fact->error) || is_all;
    if (collector->facts->n_berths == 0)
        collect_note(collector,
            "no berth was checked: none answers at %s; name it with --server URL\n",
            SERVER_SOURCE_DEFAULT);
}

/* All of them know the same cluster: on a busy one two answers that were not given at the same
 * moment differ without anything being wrong. */
static bool do_clusters_agree(const InstallationFacts *facts) {
    Str first = STR_NULL;

    for (size_t i = 0; i < facts->n_berths; i++) {
        const BerthFact *berth = &facts->berths[i];

        if (!str_is_empty(berth->error) || str_is_empty(berth->cluster_digest))
            continue;
        if (str_is_empty(first))
            first = berth->cluster_digest;
        else if (!str_eq(first, berth->cluster_digest))
            return false;
    }
    return true;
}

void collect_berths(Collector *collector) {
    const CollectOptions *options = collector->options;
    InstallationFacts *facts = collector->facts;
    int64_t start;

    facts->berths = ARENA_ARRAY(collector->arena, BerthFact, FACTS_BERTHS_MAX);
    if (options->n_servers == 0) {
        collect_default(collector);
        return;
    }
    start = clock_monotonic_nsec();
    for (int i = 0; i < AGREEMENT_TRIES; i++) {
        if (i > 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = AGREEMENT_PAUSE_NSEC}, NULL);
        facts->n_berths = options->n_servers;
        for (size_t k = 0; k < options->n_servers; k++)
            collect_one(collector, options->servers[k], &facts->berths[k]);
        if (do_clusters_agree(facts) || clock_monotonic_nsec() - start > AGREEMENT_LONG_NSEC)
            break;
    }
}
