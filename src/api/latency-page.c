/* /api/v1/latency: percentiles by verb and part, and the last hour in slots. */

#include "api/api-pages.h"

#include "api/page-field.h"
#include "api/query.h"
#include "base/clock.h"

static void write_summary(JsonWriter *writer, const char *key, const LatencySummary *summary) {
    bool is_known = summary->n > 0;

    json_write(writer,
        "%s: {count: %zu, p50Seconds: %g, p90Seconds: %g, p99Seconds: %g, maxSeconds: %g, "
        "sumSeconds: %g}",
        key, summary->n, page_seconds(summary->p50_nsec, is_known),
        page_seconds(summary->p90_nsec, is_known), page_seconds(summary->p99_nsec, is_known),
        page_seconds(summary->max_nsec, is_known), page_seconds(summary->sum_nsec, true));
}

static void write_verb(JsonWriter *writer, Verb verb, const LatencyVerb *about) {
    json_member_object(writer, verb_name(verb));
    for (size_t part = 0; part < _LATENCY_PARTS; part++)
        write_summary(writer, latency_part_names[part], &about->parts[part]);
    json_write(writer, "nodes: {p50: %zu, max: %zu}, decided: %zu, late: %zu, errors: %zu}",
        about->n_nodes_p50, about->n_nodes_max, about->n_decided, about->n_late, about->n_errors);
}

static bool is_empty(const LatencySlot *slot) {
    uint64_t n = slot->n_nodes + slot->n_late + slot->n_errors;

    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        n += slot->n[verb];
    return n == 0;
}

static void write_slot(JsonWriter *writer, const LatencySlot *slot) {
    json_write(writer, "{agoSeconds: %jd, requests: {", slot->ago_sec);
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        json_member_int(writer, verb_name((Verb)verb), slot->n[verb]);
    json_write(writer, "}, p99Seconds: {");
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        json_write(writer, "%s: %g", verb_name((Verb)verb),
            page_seconds(slot->p99_nsec[verb], slot->n[verb] > 0));
    json_write(writer, "}, nodes: %zu, rejected: %zu, late: %u, errors: %u", slot->n_nodes,
        slot->n_rejected, slot->n_late, slot->n_errors);
    if (slot->n_pending >= 0)
        json_member_int(writer, "pending", (uint64_t)slot->n_pending);
    json_write_end_object(writer);
}

/* Writes slots, oldest first; empty slots are omitted. */
static void write_slots(JsonWriter *writer, Latency *latency, int64_t now_nsec) {
    LatencySlot slots[LATENCY_SLOTS];

    latency_slots(latency, now_nsec, slots);
    json_member_array(writer, "slots");
    for (size_t i = 0; i < LATENCY_SLOTS; i++)
        if (!is_empty(&slots[i]))
            write_slot(writer, &slots[i]);
    json_write_end_array(writer);
}

unsigned latency_page(ApiContext *api, const HttpRequest *request, Buf *out) {
    static const Str names[] = {STR("window")};
    JsonWriter writer = JSON_WRITER(out);
    int64_t window_sec, now_nsec = clock_monotonic_nsec();
    LatencyVerb verbs[_VERB_MAX];
    char error[QUERY_ERROR_MAX];
    Query query;

    if (!query_parse(request->query, names, ELEMENTS_OF(names), request->arena, &query, error) ||
        !query_number(
            &query, names[0], 0, LATENCY_WINDOW_MAX_SEC, LATENCY_WINDOW_SEC, &window_sec, error))
        return page_write_error(out, 400, error);
    latency_read(api->latency, (unsigned)window_sec, now_nsec, verbs);
    json_write(&writer, "{windowSeconds: %jd, deadlineSeconds: %g, verbs: {", window_sec,
        page_seconds(api->fixed.deadline_nsec, true));
    for (size_t verb = 0; verb < _VERB_MAX; verb++)
        write_verb(&writer, (Verb)verb, &verbs[verb]);
    json_write(&writer, "}, slotSeconds: %u", LATENCY_SLOT_SEC);
    write_slots(&writer, api->latency, now_nsec);
    json_write(&writer, "}\n");
    return 200;
}
