/*
 * Read by a table: where in the JSON, what it is, and where it goes.
 */

#include "collect/berth-pages.h"

#include <math.h>
#include <stdio.h>

#include "base/calendar.h"
#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/vec.h"
#include "json/read.h"

#define TEXTS_MAX 256u /* of one list */
#define SOURCES_MAX 256u
#define SCHEDULERS_MAX 64u
#define PATH_DEPTH_MAX 3u /* "bind.lease.holder" */
#define PATH_MAX_LEN 96u

/* What is read of /api/v1/status besides what the Facts have. */
typedef struct Status {
    BerthFact *fact;
    Arena *arena;
    int64_t now_nsec;
    BerthNeeds *needs;
    bool has_version;
} Status;

/* --- values ---------------------------------------------------------------------------------- */

/* Seconds since 1970; NAN: none. */
static double read_time(JsonReader *reader, Arena *arena) {
    Str text = STR_NULL;
    uint32_t nanos;
    int64_t sec;

    json_string(reader, arena, &text);
    return calendar_parse(text, &sec, &nanos) ? (double)sec + nanos / 1e9 : NAN;
}

static double now_sec(const Status *status) {
    return (double)status->now_nsec / (double)NSEC_PER_SEC;
}

static void read_text(JsonReader *reader, Status *status, void *ret) {
    json_string(reader, status->arena, ret);
}

static void read_flag(JsonReader *reader, Status *status, void *ret) {
    (void)status;
    json_bool(reader, ret);
}

static void read_seconds(JsonReader *reader, Status *status, void *ret) {
    (void)status;
    json_double(reader, ret);
}

static uint64_t read_number(JsonReader *reader) {
    int64_t n = 0;

    json_int64(reader, &n);
    return n > 0 ? (uint64_t)n : 0;
}

static void read_count(JsonReader *reader, Status *status, void *ret) {
    (void)status;
    *(size_t *)ret = read_number(reader);
}

static void read_count64(JsonReader *reader, Status *status, void *ret) {
    (void)status;
    *(uint64_t *)ret = read_number(reader);
}

static void read_score(JsonReader *reader, Status *status, void *ret) {
    uint64_t n = read_number(reader);

    (void)status;
    *(int *)ret = n < 1000000 ? (int)n : 1000000;
}

static void read_any(JsonReader *reader, Status *status, void *ret) {
    (void)status;
    *(bool *)ret = read_number(reader) > 0;
}

static void read_version(JsonReader *reader, Status *status, void *ret) {
    Str *version = ret;

    json_string(reader, status->arena, version);
    status->has_version = !str_is_empty(*version);
}

/* Its clock less ours. */
static void read_clock(JsonReader *reader, Status *status, void *ret) {
    double sec = read_time(reader, status->arena);

    *(double *)ret = isnan(sec) ? 0 : sec - now_sec(status);
}

static void read_end(JsonReader *reader, Status *status, void *ret) {
    double sec = read_time(reader, status->arena);

    *(double *)ret = isnan(sec) ? 0 : sec - now_sec(status);
}

/* --- lists ----------------------------------------------------------------------------------- */

/* Strings; those over the ceiling are read and dropped. */
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

static void read_verbs(JsonReader *reader, Status *status, void *ret) {
    size_t n;
    Str *verbs = read_texts(reader, status->arena, &n);

    for (size_t i = 0; i < n; i++)
        if (str_is(verbs[i], "bind"))
            *(bool *)ret = true;
}

static void read_managed(JsonReader *reader, Status *status, void *ret) {
    (void)ret;
    status->fact->managed = read_texts(reader, status->arena, &status->fact->n_managed);
}

static void read_exempt(JsonReader *reader, Status *status, void *ret) {
    (void)ret;
    status->fact->exempt = read_texts(reader, status->arena, &status->fact->n_exempt);
}

static void read_names(JsonReader *reader, Status *status, void *ret) {
    (void)ret;
    status->fact->client_names = read_texts(reader, status->arena, &status->fact->n_client_names);
}

static void read_policy(JsonReader *reader, Arena *arena, PolicyFact *ret) {
    Str key, mode = STR_NULL;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->name);
        else if (json_key_is(reader, key, STR("mode")))
            json_string(reader, arena, &mode);
        else if (json_key_is(reader, key, STR("matched")))
            ret->n_matched = read_number(reader);
        else if (json_key_is(reader, key, STR("rejectedAll")))
            ret->n_rejected_all = read_number(reader);
        else
            json_skip(reader, NULL);
    }
    ret->is_observing = str_is(mode, "Observe");
}

static void read_policies(JsonReader *reader, Status *status, void *ret) {
    VEC(PolicyFact) policies = {0};

    (void)ret;
    json_array(reader);
    while (json_element(reader)) {
        PolicyFact *policy =
            policies.n < FACTS_POLICIES_MAX ? VEC_PUSH(&policies, status->arena) : NULL;

        if (policy)
            read_policy(reader, status->arena, policy);
        else
            json_skip(reader, NULL);
    }
    status->fact->policies = policies.items;
    status->fact->n_policies = policies.n;
}

static void read_scheduler(JsonReader *reader, Status *status, SchedulerFact *ret) {
    double sec = NAN;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, status->arena, &ret->name);
        else if (json_key_is(reader, key, STR("asked")))
            ret->n_asked = read_number(reader);
        else if (json_key_is(reader, key, STR("lastAskedTime")))
            sec = read_time(reader, status->arena);
        else
            json_skip(reader, NULL);
    }
    ret->last_asked_sec = isnan(sec) ? 0 : fmax(0, now_sec(status) - sec);
}

static void read_schedulers(JsonReader *reader, Status *status, void *ret) {
    VEC(SchedulerFact) schedulers = {0};

    (void)ret;
    json_array(reader);
    while (json_element(reader)) {
        SchedulerFact *scheduler =
            schedulers.n < SCHEDULERS_MAX ? VEC_PUSH(&schedulers, status->arena) : NULL;

        if (scheduler)
            read_scheduler(reader, status, scheduler);
        else
            json_skip(reader, NULL);
    }
    status->fact->schedulers = schedulers.items;
    status->fact->n_schedulers = schedulers.n;
}

/* --- /api/v1/status -------------------------------------------------------------------------- */

static void read_lease_namespace(JsonReader *reader, Status *status, void *ret) {
    (void)ret;
    json_string(reader, status->arena, &status->needs->lease_namespace);
}

static void read_lease_name(JsonReader *reader, Status *status, void *ret) {
    (void)ret;
    json_string(reader, status->arena, &status->needs->lease_name);
}

#define AT(field) offsetof(BerthFact, field)

static const struct {
    Str path;
    void (*read)(JsonReader *reader, Status *status, void *ret);
    size_t offset; /* in a BerthFact; 0: it knows itself */
} fields[] = {
    {STR("version"), read_version, AT(version)},
    {STR("identity"), read_text, AT(identity)},
    {STR("time"), read_clock, AT(clock_skew_sec)},
    {STR("uptimeSeconds"), read_seconds, AT(uptime_sec)},
    {STR("verbs"), read_verbs, AT(answers_bind)},
    {STR("nodeCacheCapable"), read_flag, AT(knows_cluster)},
    {STR("deadlineSeconds"), read_seconds, AT(deadline_sec)},
    {STR("maxScore"), read_score, AT(max_score)},
    {STR("policy.digest"), read_text, AT(policy_digest)},
    {STR("policy.filters"), read_any, AT(has_filters)},
    {STR("policy.scores"), read_any, AT(has_scores)},
    {STR("policy.refused"), read_text, AT(policy_refused)},
    {STR("policy.list"), read_policies, 0},
    {STR("cluster.synced"), read_flag, AT(is_synced)},
    {STR("cluster.connected"), read_flag, AT(is_connected)},
    {STR("cluster.stalenessSeconds"), read_seconds, AT(staleness_sec)},
    {STR("cluster.error"), read_text, AT(cluster_error)},
    {STR("cluster.nodes"), read_count, AT(n_nodes)},
    {STR("cluster.pods"), read_count, AT(n_pods)},
    {STR("cluster.digest"), read_text, AT(cluster_digest)},
    {STR("bind.lease.namespace"), read_lease_namespace, 0},
    {STR("bind.lease.name"), read_lease_name, 0},
    {STR("bind.lease.holder"), read_text, AT(lease_holder)},
    {STR("bind.lease.held"), read_flag, AT(holds_lease)},
    {STR("bind.lease.error"), read_text, AT(lease_error)},
    {STR("wakeUp"), read_flag, AT(has_wake_up)},
    {STR("events"), read_flag, AT(has_events)},
    {STR("managedResources"), read_managed, 0},
    {STR("exempt"), read_exempt, 0},
    {STR("tls.enabled"), read_flag, AT(has_tls)},
    {STR("tls.notAfter"), read_end, AT(certificate_sec)},
    {STR("tls.clientNames"), read_names, 0},
    {STR("bypassed"), read_count64, AT(n_bypassed)},
    {STR("schedulers"), read_schedulers, 0},
};

#undef AT

static bool read_field(JsonReader *reader, Status *status, const char *path) {
    for (size_t i = 0; i < ELEMENTS_OF(fields); i++)
        if (str_is(fields[i].path, path)) {
            fields[i].read(reader, status, (char *)status->fact + fields[i].offset);
            return true;
        }
    return false;
}

/* Every value by its path; what has none of ours is entered as far as ours go, or skipped. The
 * levels are those of PATH_DEPTH_MAX, on a stack of prefix lengths. */
static void read_fields(JsonReader *reader, Status *status) {
    size_t prefixes[PATH_DEPTH_MAX] = {0};
    char path[PATH_MAX_LEN];
    size_t depth = 1;
    Str key;

    json_object(reader);
    while (depth > 0) {
        size_t prefix = prefixes[depth - 1];

        if (!json_key(reader, &key)) {
            depth--;
            continue;
        }
        (void)snprintf(path + prefix, sizeof(path) - prefix, "%.*s", STR_FMT(key));
        if (read_field(reader, status, path))
            continue;
        if (json_peek(reader) != JSON_OBJECT_BEGIN || depth == PATH_DEPTH_MAX ||
            prefix + key.len + 2 > sizeof(path)) {
            json_skip(reader, NULL);
            continue;
        }
        path[prefix + key.len] = '.';
        prefixes[depth++] = prefix + key.len + 1;
        json_object(reader);
    }
    json_end(reader);
}

bool berth_status_read(
    Str body, int64_t now_nsec, Arena *arena, BerthFact *ret, BerthNeeds *needs) {
    Status status = {.fact = ret, .arena = arena, .now_nsec = now_nsec, .needs = needs};
    JsonReader reader;

    json_reader_init(&reader, body);
    if (json_peek(&reader) != JSON_OBJECT_BEGIN)
        return false;
    read_fields(&reader, &status);
    ret->has_lease = !str_is_empty(needs->lease_name);
    return json_error(&reader) == JSON_OK && status.has_version;
}

/* --- /api/v1/sources ------------------------------------------------------------------------- */

static void read_covered(JsonReader *reader, SourceFact *ret) {
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("covered")))
            ret->n_covered = read_number(reader);
        else if (json_key_is(reader, key, STR("of")))
            ret->n_nodes = read_number(reader);
        else
            json_skip(reader, NULL);
    }
}

static void read_metric(JsonReader *reader, Arena *arena, SourceFact *ret, BerthNeeds *needs) {
    bool is_of_pods = false;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        if (json_key_is(reader, key, STR("name")))
            json_string(reader, arena, &ret->metric);
        else if (json_key_is(reader, key, STR("source")))
            json_string(reader, arena, &ret->source);
        else if (json_key_is(reader, key, STR("state")))
            json_string(reader, arena, &ret->state);
        else if (json_key_is(reader, key, STR("error")))
            json_string(reader, arena, &ret->error);
        else if (json_key_is(reader, key, STR("perPod")))
            json_bool(reader, &is_of_pods);
        else if (json_key_is(reader, key, STR("nodes")))
            read_covered(reader, ret);
        else
            json_skip(reader, NULL);
    }
    if (str_is(ret->source, "metrics.k8s.io"))
        *(is_of_pods ? &needs->measures_pods : &needs->measures_nodes) = true;
}

bool berth_sources_read(Str body, Arena *arena, BerthFact *ret, BerthNeeds *needs) {
    VEC(SourceFact) sources = {0};
    JsonReader reader;
    Str key;

    json_reader_init(&reader, body);
    json_object(&reader);
    while (json_key(&reader, &key)) {
        if (!json_key_is(&reader, key, STR("metrics"))) {
            json_skip(&reader, NULL);
            continue;
        }
        json_array(&reader);
        while (json_element(&reader)) {
            SourceFact *source = sources.n < SOURCES_MAX ? VEC_PUSH(&sources, arena) : NULL;

            if (source)
                read_metric(&reader, arena, source, needs);
            else
                json_skip(&reader, NULL);
        }
    }
    json_end(&reader);
    ret->sources = sources.items;
    ret->n_sources = sources.n;
    return json_error(&reader) == JSON_OK;
}
