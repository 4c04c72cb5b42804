#include "policy/measured.h"

#include <errno.h>
#include <float.h>
#include <math.h>

#include "base/error.h"

typedef struct Reading {
    PolicyReader *reader;
    const Program *program;
    const NodeTable *table;
    int64_t now_nsec, uptime_nsec;
    Measurements *measurements;
} Reading;

static void read_metrics(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_mapping(reader, value, "metrics"))
        ((Measured *)into)->metrics = value;
}

static void read_workloads(PolicyReader *reader, const YamlNode *value, void *into) {
    if (reader_mapping(reader, value, "workloads"))
        ((Measured *)into)->workloads = value;
}

static void read_age(PolicyReader *reader, const YamlNode *value, void *into) {
    (void)reader;
    ((Measured *)into)->age = value;
}

static const Field fields[] = {
    {.name = STR("metrics"), .read = read_metrics},
    {.name = STR("workloads"), .read = read_workloads},
    {.name = STR("age"), .read = read_age},
};

void measured_open(PolicyReader *reader, const YamlNode *value, Measured *ret) {
    *ret = (Measured){0};
    reader_fields(reader, value, "a file of measured numbers", fields, ELEMENTS_OF(fields), ret);
}

/* Gauges that are called @name, whatever policy calls them so: the next from @i on. */
static size_t next_gauge(const Reading *reading, Str name, size_t i) {
    for (; i < reading->program->n_gauges; i++)
        for (size_t p = 0; p < reading->program->n_policies; p++) {
            const SchemaMetrics *metrics = &reading->program->policies[p].scope->metrics;
            uint32_t field = cel_record_find(&metrics->type, name);

            if (field != UINT32_MAX && metrics->gauges[field] == i)
                return i;
        }
    return i;
}

/* False, with an error reported, if it is something else. .nan and .inf are numbers here. */
static bool read_number(const Reading *reading, const YamlNode *value, double *ret) {
    if (value->kind == YAML_FLOAT && !isfinite(value->real)) {
        *ret = value->real;
        return true;
    }
    return reader_number(reading->reader, value, "a measured number", -DBL_MAX, DBL_MAX, ret);
}

static Sampling *sampling_of(const Reading *reading, size_t gauge) {
    Sampling **place = &reading->measurements->items[gauge];

    if (!*place)
        *place = sampling_new(
            (NodeNames *)(uintptr_t)reading->table->names, reading->now_nsec, reading->uptime_nsec);
    return *place;
}

static int set_nodes(const Reading *reading, Sampling *sampling, const YamlNode *values) {
    int r = 0;

    for (size_t i = 0; r == 0 && i < values->n; i++) {
        const YamlNode *name = values->pairs[i].key;
        uint32_t row = table_find(reading->table, name->text);
        double number;

        if (row == reading->table->n_rows)
            reader_error(reading->reader, name, "there is no node \"%.*s\"", STR_FMT(name->text));
        else if (read_number(reading, values->pairs[i].value, &number) && isfinite(number))
            r = sampling_set(sampling, row, number, /* lag_nsec= */ 0);
    }
    return error_trace(r);
}

static int set_workloads(const Reading *reading, Sampling *sampling, const YamlNode *values) {
    int r = sampling_reserve_workloads(sampling, values->n);

    for (size_t i = 0; r == 0 && i < values->n; i++) {
        double number;

        if (read_number(reading, values->pairs[i].value, &number) && isfinite(number))
            r = sampling_set_workload(sampling, values->pairs[i].key->text, number);
    }
    return error_trace(r);
}

/* One metric of one of the two lists. */
static int read_metric(const Reading *reading, const YamlPair *pair, bool is_of_workloads) {
    Str name = pair->key->text;
    size_t n = 0;
    int r = 0;

    if (!reader_mapping(reading->reader, pair->value, "what was measured of a metric"))
        return 0;
    for (size_t i = next_gauge(reading, name, 0); r == 0 && i < reading->program->n_gauges;
         i = next_gauge(reading, name, i + 1)) {
        Sampling *sampling = sampling_of(reading, i);

        if (!sampling)
            return error_origin(-ENOMEM);
        r = is_of_workloads ? set_workloads(reading, sampling, pair->value)
                            : set_nodes(reading, sampling, pair->value);
        n++;
    }
    if (n == 0)
        reader_error(reading->reader, pair->key, "no policy has a metric \"%.*s\"", STR_FMT(name));
    return error_trace(r);
}

static int read_list(const Reading *reading, const YamlNode *list, bool is_of_workloads) {
    int r = 0;

    for (size_t i = 0; list && r == 0 && i < list->n; i++)
        r = read_metric(reading, &list->pairs[i], is_of_workloads);
    return error_trace(r);
}

int measured_read(PolicyReader *reader, const Measured *measured, const Program *program,
    const NodeTable *table, int64_t now_nsec, int64_t uptime_nsec, Measurements **ret) {
    _cleanup_(measurements_unrefp) Measurements *measurements =
        measurements_new(/* owner= */ 0, program->n_gauges);
    Reading reading = {.reader = reader,
        .program = program,
        .table = table,
        .now_nsec = now_nsec,
        .uptime_nsec = uptime_nsec,
        .measurements = measurements};
    int64_t age = 0;
    int r;

    if (!measurements)
        return error_origin(-ENOMEM);
    if (measured->age && reader_duration(reader, measured->age, "age", &age)) {
        reading.now_nsec -= age;
        reading.uptime_nsec -= age;
    }
    r = read_list(&reading, measured->metrics, /* is_of_workloads= */ false);
    if (r == 0)
        r = read_list(&reading, measured->workloads, /* is_of_workloads= */ true);
    if (r < 0)
        return error_trace(r);
    *ret = TAKE_PTR(measurements);
    return 0;
}
