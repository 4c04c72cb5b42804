/*
 * Reads the pages of a running berth by tables of their fields.
 */

#include "collect/berth-pages.h"

#include <math.h>

#include "base/calendar.h"
#include "base/nsec.h"
#include "base/vec.h"
#include "json/fields.h"

#define TEXTS_MAX 256u /* of one list */
#define SOURCES_MAX 256u
#define SCHEDULERS_MAX 64u
#define MAX_SCORE 1000000

/* The page while it is read. */
typedef struct Status {
    BerthFact fact;
    BerthNeeds needs;
    int64_t now_nsec;
    int64_t max_score, n_filters, n_scores;
    Str time, certificate_end;
} Status;

/* --- values ---------------------------------------------------------------------------------- */

/* Seconds from our clock to the time in @text; 0: it is none. */
static double seconds_until(Str text, int64_t now_nsec) {
    uint32_t nanos;
    int64_t sec;

    return calendar_parse(text, &sec, &nanos)
               ? (double)sec + nanos / 1e9 - (double)now_nsec / (double)NSEC_PER_SEC
               : 0;
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Strings; those over the limit are dropped. */
static Str *read_texts(JsonReader *reader, Arena *arena, size_t *ret_n) {
    VEC(Str) texts = {0};

    json_array(reader);
    while (json_element(reader)) {
        Str text = STR_NULL, *place = NULL;

        json_string(reader, arena, &text);
        if (texts.n < TEXTS_MAX)
            place = VEC_PUSH(&texts, arena);
        if (place)
            *place = text;
    }
    *ret_n = texts.n;
    return texts.items;
}

static void read_verbs(JsonReader *reader, Arena *arena, void *target) {
    size_t n;
    Str *verbs = read_texts(reader, arena, &n);

    for (size_t i = 0; i < n; i++)
        ((Status *)target)->fact.answers_bind |= str_is(verbs[i], "bind");
}

static void read_managed(JsonReader *reader, Arena *arena, void *target) {
    BerthFact *fact = &((Status *)target)->fact;

    fact->managed = read_texts(reader, arena, &fact->n_managed);
}

static void read_exempt(JsonReader *reader, Arena *arena, void *target) {
    BerthFact *fact = &((Status *)target)->fact;

    fact->exempt = read_texts(reader, arena, &fact->n_exempt);
}

static void read_client_names(JsonReader *reader, Arena *arena, void *target) {
    BerthFact *fact = &((Status *)target)->fact;

    fact->client_names = read_texts(reader, arena, &fact->n_client_names);
}

static void read_mode(JsonReader *reader, Arena *arena, void *target) {
    Str mode = STR_NULL;

    json_string(reader, arena, &mode);
    ((PolicyFact *)target)->is_observing = str_is(mode, "Observe");
}

static void read_policies(JsonReader *reader, Arena *arena, void *target) {
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(PolicyFact, name)},
        {"mode", JSON_FIELD_CUSTOM, .read = read_mode},
        {"matched", JSON_FIELD_COUNT, offsetof(PolicyFact, n_matched)},
        {"rejectedAll", JSON_FIELD_COUNT, offsetof(PolicyFact, n_rejected_all)},
    };
    BerthFact *fact = &((Status *)target)->fact;
    VEC(PolicyFact) policies = {0};

    json_array(reader);
    while (json_element(reader)) {
        PolicyFact *policy = policies.n < FACTS_POLICIES_MAX ? VEC_PUSH(&policies, arena) : NULL;

        if (policy)
            JSON_READ_FIELDS(reader, arena, fields, policy);
        else
            json_skip(reader, NULL);
    }
    fact->policies = policies.items;
    fact->n_policies = policies.n;
}

static void read_schedulers(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Entry {
        SchedulerFact fact;
        Str last;
    } Entry;
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(Entry, fact.name)},
        {"asked", JSON_FIELD_COUNT, offsetof(Entry, fact.n_asked)},
        {"lastAskedTime", JSON_FIELD_TEXT, offsetof(Entry, last)},
    };
    Status *status = target;
    VEC(SchedulerFact) schedulers = {0};

    json_array(reader);
    while (json_element(reader)) {
        SchedulerFact *scheduler =
            schedulers.n < SCHEDULERS_MAX ? VEC_PUSH(&schedulers, arena) : NULL;
        Entry entry = {0};

        JSON_READ_FIELDS(reader, arena, fields, &entry);
        if (!scheduler)
            continue;
        entry.fact.last_asked_sec = fmax(0, -seconds_until(entry.last, status->now_nsec));
        *scheduler = entry.fact;
    }
    status->fact.schedulers = schedulers.items;
    status->fact.n_schedulers = schedulers.n;
}

/* --- /api/v1/status -------------------------------------------------------------------------- */

#define AT(field) offsetof(Status, fact.field)

bool berth_status_read(
    Str body, int64_t now_nsec, Arena *arena, BerthFact *ret, BerthNeeds *needs) {
    static const JsonField fields[] = {
        {"version", JSON_FIELD_TEXT, AT(version)},
        {"identity", JSON_FIELD_TEXT, AT(identity)},
        {"time", JSON_FIELD_TEXT, offsetof(Status, time)},
        {"uptimeSeconds", JSON_FIELD_DOUBLE, AT(uptime_sec)},
        {"verbs", JSON_FIELD_CUSTOM, .read = read_verbs},
        {"nodeCacheCapable", JSON_FIELD_BOOL, AT(knows_cluster)},
        {"deadlineSeconds", JSON_FIELD_DOUBLE, AT(deadline_sec)},
        {"maxScore", JSON_FIELD_INT, offsetof(Status, max_score)},
        {"policy.digest", JSON_FIELD_TEXT, AT(policy_digest)},
        {"policy.filters", JSON_FIELD_INT, offsetof(Status, n_filters)},
        {"policy.scores", JSON_FIELD_INT, offsetof(Status, n_scores)},
        {"policy.refused", JSON_FIELD_TEXT, AT(policy_refused)},
        {"policy.list", JSON_FIELD_CUSTOM, .read = read_policies},
        {"cluster.synced", JSON_FIELD_BOOL, AT(is_synced)},
        {"cluster.connected", JSON_FIELD_BOOL, AT(is_connected)},
        {"cluster.stalenessSeconds", JSON_FIELD_DOUBLE, AT(staleness_sec)},
        {"cluster.error", JSON_FIELD_TEXT, AT(cluster_error)},
        {"cluster.nodes", JSON_FIELD_COUNT, AT(n_nodes)},
        {"cluster.pods", JSON_FIELD_COUNT, AT(n_pods)},
        {"cluster.digest", JSON_FIELD_TEXT, AT(cluster_digest)},
        {"bind.lease.namespace", JSON_FIELD_TEXT, offsetof(Status, needs.lease_namespace)},
        {"bind.lease.name", JSON_FIELD_TEXT, offsetof(Status, needs.lease_name)},
        {"bind.lease.holder", JSON_FIELD_TEXT, AT(lease_holder)},
        {"bind.lease.held", JSON_FIELD_BOOL, AT(holds_lease)},
        {"bind.lease.error", JSON_FIELD_TEXT, AT(lease_error)},
        {"wakeUp", JSON_FIELD_BOOL, AT(has_wake_up)},
        {"events", JSON_FIELD_BOOL, AT(has_events)},
        {"managedResources", JSON_FIELD_CUSTOM, .read = read_managed},
        {"exempt", JSON_FIELD_CUSTOM, .read = read_exempt},
        {"tls.enabled", JSON_FIELD_BOOL, AT(has_tls)},
        {"tls.notAfter", JSON_FIELD_TEXT, offsetof(Status, certificate_end)},
        {"tls.clientNames", JSON_FIELD_CUSTOM, .read = read_client_names},
        {"bypassed", JSON_FIELD_COUNT, AT(n_bypassed)},
        {"schedulers", JSON_FIELD_CUSTOM, .read = read_schedulers},
    };
    Status status = {.fact = *ret, .needs = *needs, .now_nsec = now_nsec};
    JsonReader reader;

    json_reader_init(&reader, body);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        return false;
    JSON_READ_FIELDS(&reader, arena, fields, &status);
    json_end(&reader);
    *ret = status.fact;
    *needs = status.needs;
    ret->clock_skew_sec = seconds_until(status.time, now_nsec);
    ret->certificate_sec = seconds_until(status.certificate_end, now_nsec);
    ret->max_score = status.max_score < MAX_SCORE ? (int)status.max_score : MAX_SCORE;
    ret->has_filters = status.n_filters > 0;
    ret->has_scores = status.n_scores > 0;
    ret->has_lease = !str_is_empty(needs->lease_name);
    return json_error(&reader) == JSON_OK && !str_is_empty(ret->version);
}

/* --- /api/v1/sources ------------------------------------------------------------------------- */

typedef struct Sources {
    VEC(SourceFact) list;
    BerthNeeds *needs;
} Sources;

static void read_source(JsonReader *reader, Arena *arena, void *target) {
    typedef struct Metric {
        SourceFact fact;
        bool is_of_pods;
    } Metric;
    static const JsonField fields[] = {
        {"name", JSON_FIELD_TEXT, offsetof(Metric, fact.metric)},
        {"source", JSON_FIELD_TEXT, offsetof(Metric, fact.source)},
        {"state", JSON_FIELD_TEXT, offsetof(Metric, fact.state)},
        {"error", JSON_FIELD_TEXT, offsetof(Metric, fact.error)},
        {"perPod", JSON_FIELD_BOOL, offsetof(Metric, is_of_pods)},
        {"nodes.covered", JSON_FIELD_COUNT, offsetof(Metric, fact.n_covered)},
        {"nodes.of", JSON_FIELD_COUNT, offsetof(Metric, fact.n_nodes)},
    };
    Sources *sources = target;
    SourceFact *place = sources->list.n < SOURCES_MAX ? VEC_PUSH(&sources->list, arena) : NULL;
    Metric metric = {0};

    JSON_READ_FIELDS(reader, arena, fields, &metric);
    if (!place)
        return;
    *place = metric.fact;
    if (str_is(metric.fact.source, "metrics.k8s.io"))
        *(metric.is_of_pods ? &sources->needs->measures_pods : &sources->needs->measures_nodes) =
            true;
}

bool berth_sources_read(Str body, Arena *arena, BerthFact *ret, BerthNeeds *needs) {
    static const JsonField fields[] = {{"metrics", JSON_FIELD_ARRAY, .read = read_source}};
    Sources sources = {.needs = needs};
    JsonReader reader;

    json_reader_init(&reader, body);
    JSON_READ_FIELDS(&reader, arena, fields, &sources);
    json_end(&reader);
    ret->sources = sources.list.items;
    ret->n_sources = sources.list.n;
    return json_error(&reader) == JSON_OK;
}
