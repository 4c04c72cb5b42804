/*
 * Writes measurements: one line per program with its gauges, one per measurement of a gauge, and
 * one per saved view with the numbers of its measurements. Lines have the names of nodes, because
 * a measurement may be older than the table of nodes.
 */

#include <errno.h>
#include <stdlib.h>

#include "bundle/bundle-internal.h"

#define NONE UINT32_MAX

typedef struct MetricsWrite {
    BundleWrite *write;
    VEC(Digest) programs; /* programs whose gauges are already written */
    VEC(const Measurement *) measurements;
} MetricsWrite;

static void write_gauges(MetricsWrite *metrics, uint32_t number, const SavedView *saved_view) {
    JsonWriter writer = bundle_line(metrics->write);

    json_member_int(&writer, "gauges", number);
    bundle_write_digest(&writer, STR("policy"), saved_view->policy);
    json_member_array(&writer, "items");
    for (size_t i = 0; i < saved_view->n_gauges; i++) {
        char text[DIGEST_TEXT_MAX];

        json_write_string(&writer, str_from_c(digest_print(saved_view->gauges[i], text)));
    }
    json_write_end_array(&writer);
    bundle_end_line(metrics->write, &writer);
}

/* Returns the number of the saved view's gauges, and writes new ones. NONE: it has no gauges, or an
 * anonymized bundle must not contain them because its policy differs. */
static uint32_t gauges_of(MetricsWrite *metrics, const SavedView *saved_view) {
    if (saved_view->n_gauges == 0 ||
        (metrics->write->anonymous && !digest_equal(saved_view->policy, metrics->write->policy)))
        return NONE;
    for (size_t i = metrics->programs.n; i-- > 0;)
        if (digest_equal(metrics->programs.items[i], saved_view->policy))
            return (uint32_t)i;
    if (!VEC_ADD(&metrics->programs, metrics->write->arena, saved_view->policy))
        return NONE;
    write_gauges(metrics, (uint32_t)(metrics->programs.n - 1), saved_view);
    return (uint32_t)(metrics->programs.n - 1);
}

/* Writes the values of nodes, or their lags; lags of 0 are omitted. */
static void write_nodes(
    MetricsWrite *metrics, JsonWriter *writer, const Measurement *measurement, bool of_lags) {
    const NodeNames *names = measurement->names;

    json_member_object(writer, of_lags ? "lagsNsec" : "nodes");
    for (size_t row = 0; row < names->n_rows; row++) {
        if (names->names[row].len == 0 || (of_lags && measurement->lags_nsec[row] == 0))
            continue;
        json_write_key(writer, bundle_show(metrics->write, anonymous_name, names->names[row]));
        if (of_lags)
            json_write_int(writer, measurement->lags_nsec[row]);
        else
            json_write_double(writer, measurement->values[row]);
    }
    json_write_end_object(writer);
}

static int compare_slots(const void *a, const void *b) {
    return str_cmp(((const MapSlot *)a)->key, ((const MapSlot *)b)->key);
}

/* Sorts by key, because the order of a map differs between processes. */
static void write_workloads(
    MetricsWrite *metrics, JsonWriter *writer, const Measurement *measurement) {
    MapSlot *sorted = calloc(measurement->workloads.n_used + 1, sizeof(*sorted));
    size_t n = 0;

    if (!sorted) {
        metrics->write->error = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < measurement->workloads.n_slots; i++)
        if (measurement->workloads.slots[i].value != MAP_NONE)
            sorted[n++] = measurement->workloads.slots[i];
    qsort(sorted, n, sizeof(*sorted), compare_slots);
    json_member_object(writer, "workloads");
    for (size_t i = 0; i < n; i++) {
        json_write_key(writer, bundle_show(metrics->write, anonymous_workload, sorted[i].key));
        json_write_double(writer, measurement->workload_values[sorted[i].value]);
    }
    json_write_end_object(writer);
    free(sorted);
}

static void write_sampling(MetricsWrite *metrics, uint32_t number, const Measurement *measurement) {
    JsonWriter writer = bundle_line(metrics->write);

    json_write(&writer, "sampling: %u, atNsec: %jd, uptimeNsec: %jd", number, measurement->at_nsec,
        measurement->uptime_nsec);
    write_nodes(metrics, &writer, measurement, /* of_lags= */ false);
    if (measurement->lags_nsec)
        write_nodes(metrics, &writer, measurement, /* of_lags= */ true);
    if (measurement->n_workloads > 0)
        write_workloads(metrics, &writer, measurement);
    bundle_end_line(metrics->write, &writer);
}

/* Returns the number of the measurement, and writes a new one. Searches from the newest. */
static uint32_t number_of(MetricsWrite *metrics, const Measurement *measurement) {
    if (!measurement)
        return NONE;
    for (size_t i = metrics->measurements.n; i-- > 0;)
        if (metrics->measurements.items[i] == measurement)
            return (uint32_t)i;
    if (!VEC_ADD(&metrics->measurements, metrics->write->arena, measurement))
        return NONE;
    write_sampling(metrics, (uint32_t)(metrics->measurements.n - 1), measurement);
    return (uint32_t)(metrics->measurements.n - 1);
}

static void write_scene(MetricsWrite *metrics, size_t number) {
    const SavedView *saved_view = metrics->write->parts->recording->saved_views[number];
    uint32_t gauges = gauges_of(metrics, saved_view);
    uint32_t *measurements = ARENA_RAW(metrics->write->arena, uint32_t, saved_view->n_gauges);
    JsonWriter writer;

    if (gauges == NONE || !measurements)
        return;
    for (size_t i = 0; i < saved_view->n_gauges; i++)
        measurements[i] = number_of(metrics, measurements_at(saved_view->measurements, i));
    writer = bundle_line(metrics->write);
    json_write(&writer, "scene: %zu, gaugesOf: %u, samplings: [", number, gauges);
    for (size_t i = 0; i < saved_view->n_gauges; i++)
        json_write_int_or_null(&writer, measurements[i], NONE);
    json_write_end_array(&writer);
    bundle_end_line(metrics->write, &writer);
}

void bundle_write_metrics(BundleWrite *write) {
    MetricsWrite metrics = {.write = write};

    bundle_begin(write, STR("metrics.jsonl"));
    for (size_t i = 0; i < write->parts->recording->n_saved_views; i++)
        write_scene(&metrics, i);
    pack_end(write->pack);
}
