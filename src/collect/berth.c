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
    JSON_MEMBER("rule", TEXT, CountingFact, rule),
    JSON_MEMBER("withoutBind", TEXT, CountingFact, without_bind),
};

static const JsonField policy_fields[] = {
    JSON_MEMBER("name", TEXT, PolicyFact, name),
    {"mode", JSON_FIELD_CUSTOM, .read = read_mode},
    JSON_MEMBER("matched", COUNT, PolicyFact, n_matched),
    JSON_MEMBER("rejectedAll", COUNT, PolicyFact, n_rejected_all),
    JSON_LIST_OF("counting", PolicyFact, counting, n_counting, FACTS_COUNTING_MAX, counting_fields),
};

static const JsonField admission_fields[] = {
    JSON_MEMBER("name", TEXT, AdmissionFact, name),
    JSON_MEMBER("digest", TEXT, AdmissionFact, digest),
};

static const JsonField slot_fields[] = {
    JSON_MEMBER("resource", TEXT, SlotFact, resource),
    JSON_MEMBER("limit", INT, SlotFact, limit),
};

static const JsonField scheduler_fields[] = {
    JSON_MEMBER("name", TEXT, SchedulerFact, name),
    JSON_MEMBER("asked", COUNT, SchedulerFact, n_requests),
    JSON_MEMBER("lastAskedTime", TEXT, SchedulerFact, last_request_time),
};

#define LIST(path, field, max, read) JSON_LIST(path, Status, fact.field, fact.n_##field, max, read)
#define LIST_OF(path, field, max, fields)                                                          \
    JSON_LIST_OF(path, Status, fact.field, fact.n_##field, max, fields)
#define LEASE(path, use)                                                                           \
    JSON_MEMBER(path ".namespace", TEXT, Status, fact.leases[use].namespace),                      \
        JSON_MEMBER(path ".name", TEXT, Status, fact.leases[use].name)

/* Notes a resource that berth watches besides nodes and pods. */
static void read_watch(JsonReader *reader, Arena *arena, void *target) {
    BerthFact *fact = &((Status *)target)->fact;
    Str resource = STR_NULL;

    json_string_member(reader, arena, STR("resource"), &resource);
    fact->watches_namespaces |= str_is(resource, "namespaces");
    fact->watches_claims |= str_is(resource, "persistentvolumeclaims");
}

/* Adds the page @body, which came at @now_nsec (since 1970), to *ret; strings are slices of @body
 * or in @arena. Returns false, with *ret half filled in, if @body is no such page. */
static bool berth_status_read(Str body, int64_t now_nsec, Arena *arena, BerthFact *ret) {
    static const JsonField fields[] = {
        JSON_MEMBER("version", TEXT, Status, fact.version),
        JSON_MEMBER("time", TEXT, Status, time),
        JSON_MEMBER("uptimeSeconds", DOUBLE, Status, fact.uptime_sec),
        {"verbs", JSON_FIELD_ARRAY, .read = read_verb},
        JSON_MEMBER("nodeCacheCapable", BOOL, Status, fact.knows_cluster),
        JSON_MEMBER("deadlineSeconds", DOUBLE, Status, fact.deadline_sec),
        JSON_MEMBER("maxScore", INT, Status, max_score),
        JSON_MEMBER("policy.digest", TEXT, Status, fact.policy_digest),
        JSON_MEMBER("policy.filters", INT, Status, n_filters),
        JSON_MEMBER("policy.scores", INT, Status, n_scores),
        JSON_MEMBER("policy.rejected", TEXT, Status, fact.policy_rejected),
        JSON_MEMBER("policy.waiting", TEXT, Status, fact.policy_waiting),
        LIST_OF("policy.list", policies, FACTS_POLICIES_MAX, policy_fields),
        JSON_MEMBER("cluster.synced", BOOL, Status, fact.is_synced),
        JSON_MEMBER("cluster.connected", BOOL, Status, fact.is_connected),
        JSON_MEMBER("cluster.stalenessSeconds", DOUBLE, Status, fact.staleness_sec),
        JSON_MEMBER("cluster.error", TEXT, Status, fact.cluster_error),
        JSON_MEMBER("cluster.nodes", COUNT, Status, fact.n_nodes),
        JSON_MEMBER("cluster.pods", COUNT, Status, fact.n_pods),
        JSON_MEMBER("cluster.digest", TEXT, Status, fact.cluster_digest),
        {"cluster.watches", JSON_FIELD_ARRAY, .read = read_watch},
        LEASE("bind.lease", LEASE_OF_BINDS),
        JSON_MEMBER("bind.lease.holder", TEXT, Status, fact.lease_holder),
        JSON_MEMBER("bind.lease.held", BOOL, Status, fact.holds_lease),
        JSON_MEMBER("bind.lease.error", TEXT, Status, fact.lease_error),
        JSON_MEMBER("wakeUp", BOOL, Status, fact.has_wake_up),
        JSON_MEMBER("events", BOOL, Status, fact.has_events),
        JSON_MEMBER("nominate.enabled", BOOL, Status, fact.has_nominator),
        JSON_MEMBER("policiesFromCluster.enabled", BOOL, Status, fact.has_cluster_policies),
        JSON_MEMBER("policiesFromCluster.definition", TEXT, Status, fact.definition),
        JSON_CUSTOM("policiesFromCluster.admission.certificate", Status, fact.answers_reviews,
            json_read_presence),
        LEASE("policiesFromCluster.lease", LEASE_OF_POLICIES),
        LEASE("publish.lease", LEASE_OF_PUBLISHING),
        LEASE("nominate.lease", LEASE_OF_NOMINATIONS),
        JSON_MEMBER("publish.enabled", BOOL, Status, fact.has_publish),
        JSON_MEMBER("publish.isWriter", BOOL, Status, fact.is_publish_writer),
        JSON_MEMBER("publish.filters", COUNT, Status, fact.n_published),
        JSON_MEMBER("publish.labels", COUNT, Status, fact.n_published_labels),
        LIST_OF("publish.admission", admission, FACTS_POLICIES_MAX, admission_fields),
        LIST_OF("publish.slots", slots, FACTS_POLICIES_MAX, slot_fields),
        LIST("managedResources", managed, TEXTS_MAX, json_read_text),
        LIST("exempt", exempt, TEXTS_MAX, json_read_text),
        JSON_MEMBER("tls.enabled", BOOL, Status, fact.has_tls),
        JSON_MEMBER("tls.notAfter", TEXT, Status, certificate_end),
        LIST("tls.clientNames", client_names, TEXTS_MAX, json_read_text),
        JSON_MEMBER("sandbox.active", TEXT, Status, fact.sandbox_active),
        JSON_MEMBER("sandbox.missing", TEXT, Status, fact.sandbox_missing),
        JSON_MEMBER("bypassed", COUNT, Status, fact.n_bypassed),
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
    JSON_MEMBER("name", TEXT, SourceFact, metric),
    JSON_MEMBER("source", TEXT, SourceFact, source),
    JSON_MEMBER("state", TEXT, SourceFact, state),
    JSON_MEMBER("error", TEXT, SourceFact, error),
    JSON_MEMBER("perPod", BOOL, SourceFact, is_of_pods),
    JSON_MEMBER("nodes.covered", COUNT, SourceFact, n_covered),
    JSON_MEMBER("nodes.of", COUNT, SourceFact, n_nodes),
};

#define READINESS_PATH "/readyz?verbose"
#define READINESS_MAX 1024u

/* Retries while berths report different clusters. */
#define AGREEMENT_TRIES 4
#define AGREEMENT_LONG_NSEC (5 * NSEC_PER_SEC) /* no retry after that */
#define AGREEMENT_PAUSE_NSEC (250 * NSEC_PER_MSEC)

/* Fetches a page. False, with fact->error, if none came; for health any status is a page. */
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

/* Whether all berths report the same cluster. On a busy cluster, replies that were not given at the
 * same moment differ without a fault. */
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
