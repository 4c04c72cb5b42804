/* Reads gauges and measurements, which have numbers, and which of them each saved view has. */

#include <errno.h>
#include <math.h>

#include "bundle/bundle-internal.h"
#include "cluster/store.h"
#include "json/fields.h"

typedef struct GaugeList {
    const Digest *items;
    size_t n;
} GaugeList;

typedef struct MetricsRead {
    BundleRead *read;
    Arena *scratch; /* for one line */
    VEC(GaugeList) gauges;
    VEC(Measurement *) measurements; /* references */
    NodeNames *names;                /* those of the last measurement; a reference */
} MetricsRead;

static void metrics_done(MetricsRead *metrics) {
    for (size_t i = 0; i < metrics->measurements.n; i++)
        measurement_unref(metrics->measurements.items[i]);
    names_unref(metrics->names);
    arena_free(metrics->scratch);
}

/* A name with a number; NaN: none. */
typedef struct NamedNumber {
    Str name;
    double value;
} NamedNumber;

typedef VEC(NamedNumber) NamedNumbers;

/* A line of any kind: the number that it has (gauges, sampling or scene) shows which. */
typedef struct MetricsLine {
    Arena *kept; /* the bundle's arena, for gauges; the rest is in scratch */
    GaugeList items;
    int64_t gauges, measurement, saved_view, gauges_of;
    int64_t at_nsec, uptime_nsec;
    NamedNumbers nodes, lags, workloads;
    uint32_t *measurements;
    size_t n_measurements;
} MetricsLine;

static void read_numbers(JsonReader *reader, Arena *arena, void *target) {
    NamedNumbers *ret = target;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        NamedNumber number = {.value = NAN};

        number.name = reader->escaped ? json_unescape(key, arena) : key;
        json_double(reader, &number.value);
        if (!number.name.ptr || !VEC_ADD(ret, arena, number))
            json_fail(reader, JSON_E_MEMORY, "too many numbers");
    }
}

/* Form 1 has an object here, which becomes DIGEST_NONE: no gauge has this digest. */
static void read_gauge(JsonReader *reader, Arena *arena, void *target) {
    if (json_peek(reader) == JSON_OBJECT_BEGIN)
        json_skip(reader, NULL);
    else
        bundle_read_digest(reader, arena, target);
}

static void read_gauges(JsonReader *reader, Arena *arena, void *target) {
    MetricsLine *line = target;

    JSON_READ_ITEMS(reader, line->kept, SIZE_MAX, read_gauge, line->items.items, &line->items.n);
}

/* UINT32_MAX for null, or a number out of range. */
static void read_measurement(JsonReader *reader, Arena *arena, void *target) {
    int64_t value = -1;

    json_int64(reader, &value);
    *(uint32_t *)target = value < 0 || value >= UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static const JsonField line_fields[] = {
    JSON_MEMBER("gauges", INT, MetricsLine, gauges),
    JSON_MEMBER("sampling", INT, MetricsLine, measurement),
    JSON_MEMBER("scene", INT, MetricsLine, saved_view),
    JSON_MEMBER("gaugesOf", INT, MetricsLine, gauges_of),
    JSON_MEMBER("atNsec", INT, MetricsLine, at_nsec),
    JSON_MEMBER("uptimeNsec", INT, MetricsLine, uptime_nsec),
    {"items", JSON_FIELD_CUSTOM, 0, read_gauges},
    JSON_CUSTOM("nodes", MetricsLine, nodes, read_numbers),
    JSON_CUSTOM("lagsNsec", MetricsLine, lags, read_numbers),
    JSON_CUSTOM("workloads", MetricsLine, workloads, read_numbers),
    JSON_LIST("samplings", MetricsLine, measurements, n_measurements, SIZE_MAX, read_measurement),
};

static bool has_same_names(const NodeNames *names, const NamedNumbers *nodes) {
    if (!names || names->n_rows != nodes->n)
        return false;
    for (size_t i = 0; i < nodes->n; i++)
        if (!str_eq(names->names[i], nodes->items[i].name))
            return false;
    return true;
}

/* Most measurements are of the same nodes as the one before: these share the names. */
static int find_names(MetricsRead *metrics, const NamedNumbers *nodes) {
    Str *names;

    if (has_same_names(metrics->names, nodes))
        return 0;
    names = ARENA_RAW(metrics->scratch, Str, nodes->n);
    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < nodes->n; i++)
        names[i] = nodes->items[i].name;
    metrics->names = names_unref(metrics->names);
    return names_new(names, nodes->n, /* before= */ NULL, &metrics->names);
}

static int set_values(Measurement *measurement, const MetricsLine *line) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < line->nodes.n; i++)
        r = measurement_set(measurement, (uint32_t)i, line->nodes.items[i].value, 0);
    for (size_t i = 0; r == 0 && i < line->lags.n; i++) {
        uint32_t row = names_find(measurement->names, line->lags.items[i].name);
        double lag = line->lags.items[i].value;

        if (row < measurement->names->n_rows && lag > 0 && lag < 9e18)
            r = measurement_set(measurement, row, measurement->values[row], (int64_t)lag);
    }
    return r;
}

static int set_workloads(Measurement *measurement, const NamedNumbers *workloads) {
    int r = workloads->n > 0 ? measurement_reserve_workloads(measurement, workloads->n) : 0;

    for (size_t i = 0; r == 0 && i < workloads->n; i++)
        if (map_find(&measurement->workloads, workloads->items[i].name) == MAP_NONE)
            r = measurement_set_workload(
                measurement, workloads->items[i].name, workloads->items[i].value);
    return r;
}

static int add_measurement(MetricsRead *metrics, const MetricsLine *line) {
    _cleanup_(measurement_unrefp) Measurement *measurement = NULL;
    int r;

    if (line->measurement != (int64_t)metrics->measurements.n)
        return bundle_wrong_line(
            metrics->read, "sampling %zu was expected", metrics->measurements.n);
    if (line->nodes.n > STORE_NODES_MAX)
        return bundle_wrong_line(metrics->read, "more than %u nodes", STORE_NODES_MAX);
    r = find_names(metrics, &line->nodes);
    if (r < 0)
        return r;
    measurement = measurement_new(metrics->names, line->at_nsec, line->uptime_nsec);
    if (!measurement)
        return -ENOMEM;
    r = set_values(measurement, line);
    if (r == 0)
        r = set_workloads(measurement, &line->workloads);
    if (r < 0 || !VEC_ADD(&metrics->measurements, metrics->read->arena, measurement))
        return -ENOMEM;
    measurement = NULL; /* the list owns it */
    return 0;
}

static int add_gauges(MetricsRead *metrics, const MetricsLine *line) {
    if (line->gauges != (int64_t)metrics->gauges.n)
        return bundle_wrong_line(metrics->read, "gauges %zu were expected", metrics->gauges.n);
    return VEC_ADD(&metrics->gauges, metrics->read->arena, line->items) ? 0 : -ENOMEM;
}

static int set_measurements(MetricsRead *metrics, SavedView *saved_view, const MetricsLine *line) {
    saved_view->measurements = measurements_new(/* owner= */ 0, line->n_measurements);
    if (!saved_view->measurements)
        return -ENOMEM;
    for (size_t i = 0; i < line->n_measurements; i++) {
        uint32_t number = line->measurements[i];

        if (number < metrics->measurements.n)
            saved_view->measurements->items[i] =
                measurement_ref(metrics->measurements.items[number]);
        else if (number != UINT32_MAX)
            return bundle_wrong_line(metrics->read, "there is no sampling %u", number);
    }
    return 0;
}

static int add_saved_view(MetricsRead *metrics, const MetricsLine *line) {
    const Recording *recording = &metrics->read->bundle->recording;
    const GaugeList *gauges;
    SavedView *saved_view;
    int r;

    if (line->saved_view < 0 || line->saved_view >= (int64_t)recording->n_saved_views ||
        line->gauges_of < 0 || line->gauges_of >= (int64_t)metrics->gauges.n)
        return bundle_wrong_line(metrics->read, "there is no such scene, or no such gauges");
    saved_view = recording->saved_views[line->saved_view];
    gauges = &metrics->gauges.items[line->gauges_of];
    if (saved_view->gauges || saved_view->measurements || gauges->n != line->n_measurements)
        return bundle_wrong_line(
            metrics->read, "a scene twice, or not a measurement for each gauge");
    r = saved_view_set_gauges(saved_view, gauges->items, gauges->n);
    return r == 0 ? set_measurements(metrics, saved_view, line) : r;
}

static int read_one(MetricsRead *metrics, Str text) {
    MetricsLine line = {.kept = metrics->read->arena,
        .gauges = -1,
        .measurement = -1,
        .saved_view = -1,
        .gauges_of = -1};
    JsonReader reader;

    json_reader_init(&reader, text);
    JSON_READ_FIELDS(&reader, metrics->scratch, line_fields, &line);
    json_end(&reader);
    if (json_error(&reader))
        return bundle_bad_json(metrics->read, NULL, &reader);
    if (line.gauges >= 0)
        return add_gauges(metrics, &line);
    return line.measurement >= 0 ? add_measurement(metrics, &line) : add_saved_view(metrics, &line);
}

int bundle_read_metrics(BundleRead *read) {
    _cleanup_(metrics_done)
        MetricsRead metrics = {.read = read, .scratch = arena_new(read->line_budget)};
    Str line;
    int r = 0;

    if (!metrics.scratch)
        return -ENOMEM;
    bundle_open_lines(read, "metrics.jsonl");
    while (r == 0 && bundle_next_line(read, &line)) {
        arena_reset(metrics.scratch);
        r = read_one(&metrics, line);
    }
    return bundle_check_limit(read, r, metrics.scratch);
}
