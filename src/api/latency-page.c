/* /api/v1/latency: percentiles by verb and part, and the last hour in slots. */

#include "api/api-pages.h"

#include "api/context.h"
#include "api/page-field.h"
#include "api/query.h"
#include "base/clock.h"
#include "monitor/latency.h"
#include "json/write.h"

#define WINDOW_MAX_SEC (LATENCY_SLOTS * LATENCY_SLOT_SEC)

static void write_summary(JsonWriter *writer, const char *key, const LatencySummary *summary) {
    bool is_known = summary->n > 0;

    json_member_object(writer, key);
    json_member_int(writer, "count", summary->n);
    field_seconds(writer, "p50Seconds", summary->p50_nsec, is_known);
    field_seconds(writer, "p90Seconds", summary->p90_nsec, is_known);
    field_seconds(writer, "p99Seconds", summary->p99_nsec, is_known);
    field_seconds(writer, "maxSeconds", summary->max_nsec, is_known);
    field_seconds(writer, "sumSeconds", summary->sum_nsec, /* is_known= */ true);
    json_write_end_object(writer);
}

static void write_verb(JsonWriter *writer, Verb verb, const LatencyVerb *about) {
    json_member_object(writer, verb_name(verb));
    for (size_t part = 0; part < _LATENCY_PARTS; part++)
        write_summary(writer, latency_part_name((LatencyPart)part), &about->parts[part]);
    json_member_object(writer, "nodes");
    json_member_int(writer, "p50", about->n_nodes_p50);
    json_member_int(writer, "max", about->n_nodes_max);
    json_write_end_object(writer);
    json_member_int(writer, "decided", about->n_decided);
    json_member_int(writer, "late", about->n_late);
    json_member_int(writer, "errors", about->n_errors);
    json_write_end_object(writer);
}

static bool is_empty(const LatencySlot *slot) {
    uint64_t n = slot->n_nodes + slot->n_late + slot->n_errors;

    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        n += slot->n[verb];
    return n == 0;
}

static void write_slot(JsonWriter *writer, const LatencySlot *slot) {
    json_write_object(writer);
    json_member_int(writer, "agoSeconds", (uint64_t)slot->ago_sec);
    json_member_object(writer, "requests");
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        json_member_int(writer, verb_name((Verb)verb), slot->n[verb]);
    json_write_end_object(writer);
    json_member_object(writer, "p99Seconds");
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        field_seconds(writer, verb_name((Verb)verb), slot->p99_nsec[verb],
            /* is_known= */ slot->n[verb] > 0);
    json_write_end_object(writer);
    json_member_int(writer, "nodes", slot->n_nodes);
    json_member_int(writer, "rejected", slot->n_rejected);
    json_member_int(writer, "late", slot->n_late);
    json_member_int(writer, "errors", slot->n_errors);
    if (slot->n_pending >= 0)
        json_member_int(writer, "pending", (uint64_t)slot->n_pending);
    json_write_end_object(writer);
}

/* The oldest first; those in which nothing happened are left out. */
static bool write_slots(JsonWriter *writer, Latency *latency, int64_t now_nsec, Arena *arena) {
    LatencySlot *slots = ARENA_RAW(arena, LatencySlot, LATENCY_SLOTS);

    if (!slots)
        return false;
    latency_slots(latency, now_nsec, slots);
    json_member_array(writer, "slots");
    for (size_t i = 0; i < LATENCY_SLOTS; i++)
        if (!is_empty(&slots[i]))
            write_slot(writer, &slots[i]);
    json_write_end_array(writer);
    return true;
}

unsigned latency_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    static const Str names[] = {STR("window")};
    JsonWriter writer = JSON_WRITER(out);
    int64_t window_sec, now_nsec = clock_monotonic_nsec();
    LatencyVerb verbs[_VERB_MAX];
    char error[QUERY_ERROR_MAX];
    Query query;

    if (!query_parse(request->query, names, ELEMENTS_OF(names), request->arena, &query, error) ||
        !query_number(&query, names[0], 0, WINDOW_MAX_SEC, 300, &window_sec, error))
        return page_write_error(out, 400, error);
    latency_read(api->latency, (unsigned)window_sec, now_nsec, verbs);
    json_write_object(&writer);
    json_member_int(&writer, "windowSeconds", (uint64_t)window_sec);
    field_seconds(&writer, "deadlineSeconds", api->fixed.deadline_nsec, /* is_known= */ true);
    json_member_object(&writer, "verbs");
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        write_verb(&writer, (Verb)verb, &verbs[verb]);
    json_write_end_object(&writer);
    json_member_int(&writer, "slotSeconds", LATENCY_SLOT_SEC);
    if (!write_slots(&writer, api->latency, now_nsec, request->arena))
        return page_write_no_memory(out, "the latencies", request->arena);
    return page_write_end(&writer);
}
