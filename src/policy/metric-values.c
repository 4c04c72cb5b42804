/* Reads metric values from a file as measurements of a program's gauges. */

#include "policy/metric-values.h"

#include <errno.h>
#include <float.h>
#include <math.h>

typedef struct ValuesReading {
    YamlReader *reader;
    const Program *program;
    const NodeTable *table;
    int64_t now_nsec, uptime_nsec;
    Measurements *measurements;
} ValuesReading;

static const Field fields[] = {
    {OPTIONAL("metrics"), INTO(MetricValues, metrics, shape_any)},
    {OPTIONAL("workloads"), INTO(MetricValues, workloads, shape_any)},
    {OPTIONAL("age"), INTO(MetricValues, age, shape_any)},
};
static const Shape shape = {SHAPE_OF(fields)};

void metric_values_open(YamlReader *reader, const YamlNode *value, MetricValues *ret) {
    *ret = (MetricValues){0};
    reader_fields(reader, value, "a file of metric values", &shape, ret);
    if (ret->metrics && !reader_mapping(reader, ret->metrics, "metrics"))
        ret->metrics = NULL;
    if (ret->workloads && !reader_mapping(reader, ret->workloads, "workloads"))
        ret->workloads = NULL;
}

/* The gauges that policies call by the same name. */
typedef struct Gauges {
    uint32_t items[SCOPE_GAUGES_MAX];
    size_t n;
} Gauges;

static bool is_called(const Program *program, uint32_t gauge, Str name) {
    for (size_t i = 0; i < program->n_policies; i++) {
        const SchemaMetrics *metrics = &program->policies[i].scope->metrics;
        uint32_t field = cel_record_find(&metrics->type, name);

        if (field != UINT32_MAX && metrics->gauges[field] == gauge)
            return true;
    }
    return false;
}

/* Finds the gauges called @name that can have values here; for workloads only those of pods. False
 * after reporting an error if there is none. */
static bool find_gauges(
    const ValuesReading *reading, const YamlNode *name, bool is_of_workloads, Gauges *ret) {
    const Program *program = reading->program;
    const Gauge *other = NULL;

    ret->n = 0;
    for (uint32_t i = 0; i < program->n_gauges; i++) {
        const Gauge *gauge = &program->gauges[i];

        if (!is_called(program, i, name->text))
            continue;
        if (gauge->source == GAUGE_ANNOTATION || (is_of_workloads && !gauge->is_of_pods))
            other = gauge;
        else
            ret->items[ret->n++] = i;
    }
    if (ret->n > 0)
        return true;
    if (!other)
        reader_error(reading->reader, name, "no policy has a metric \"%.*s\"", STR_FMT(name->text));
    else if (other->source == GAUGE_ANNOTATION)
        reader_error(reading->reader, name,
            "metric \"%.*s\" comes from an annotation; set it on the nodes", STR_FMT(name->text));
    else
        reader_error(
            reading->reader, name, "\"%.*s\" is not a metric of pods", STR_FMT(name->text));
    return false;
}

/* Reads a number; also .nan and .inf. False after reporting an error. */
static bool read_number(const ValuesReading *reading, const YamlNode *value, double *ret) {
    if (value->kind == YAML_FLOAT && !isfinite(value->real)) {
        *ret = value->real;
        return true;
    }
    return reader_number(reading->reader, value, "a metric value", -DBL_MAX, DBL_MAX, ret);
}

/* Whether @key has three parts that are not empty. */
static bool is_workload(Str key) {
    Str rest = key, part;
    size_t n = 0;

    for (; str_split(&rest, '/', &part); n++)
        if (str_is_empty(part))
            return false;
    return n == 3;
}

static int set_value(
    const ValuesReading *reading, const Gauges *gauges, const YamlPair *pair, bool is_of_workload) {
    Str name = pair->key->text;
    uint32_t row = is_of_workload ? 0 : table_find(reading->table, name);
    double number;
    int r = 0;

    if (is_of_workload && !is_workload(name))
        reader_error(reading->reader, pair->key, "a workload is NAMESPACE/KIND/NAME, not \"%.*s\"",
            STR_FMT(name));
    else if (!is_of_workload && row == reading->table->n_rows)
        reader_error(reading->reader, pair->key, "there is no node \"%.*s\"", STR_FMT(name));
    else if (read_number(reading, pair->value, &number))
        for (size_t i = 0; r == 0 && i < gauges->n; i++) {
            Measurement *measurement = reading->measurements->items[gauges->items[i]];

            r = is_of_workload ? measurement_set_workload(measurement, name, number)
                               : measurement_set(measurement, row, number, 0);
        }
    return r;
}

/* Reads the values of one metric. */
static int read_metric(const ValuesReading *reading, const YamlPair *pair, bool is_of_workloads) {
    const YamlNode *values = pair->value;
    Gauges gauges;
    int r = 0;

    if (!reader_mapping(reading->reader, values, "the values of a metric") ||
        !find_gauges(reading, pair->key, is_of_workloads, &gauges))
        return 0;
    for (size_t i = 0; r == 0 && i < gauges.n; i++) {
        Measurement **place = &reading->measurements->items[gauges.items[i]];

        if (!*place)
            *place = measurement_new((NodeNames *)(uintptr_t)reading->table->names,
                reading->now_nsec, reading->uptime_nsec);
        if (!*place)
            return -ENOMEM;
        if (is_of_workloads)
            r = measurement_reserve_workloads(*place, values->n);
    }
    for (size_t i = 0; r == 0 && i < values->n; i++)
        r = set_value(reading, &gauges, &values->pairs[i], is_of_workloads);
    return r;
}

int metric_values_read(YamlReader *reader, const MetricValues *values, const Program *program,
    const NodeTable *table, int64_t now_nsec, int64_t uptime_nsec, Measurements **ret) {
    _cleanup_(measurements_unrefp) Measurements *measurements =
        measurements_new(/* owner= */ 0, program->n_gauges);
    ValuesReading reading = {.reader = reader,
        .program = program,
        .table = table,
        .now_nsec = now_nsec,
        .uptime_nsec = uptime_nsec,
        .measurements = measurements};
    int64_t age = 0;
    int r = 0;

    if (!measurements)
        return -ENOMEM;
    if (values->age && reader_duration(reader, values->age, "age", &age)) {
        reading.now_nsec -= age;
        reading.uptime_nsec -= age;
    }
    for (size_t i = 0; values->metrics && r == 0 && i < values->metrics->n; i++)
        r = read_metric(&reading, &values->metrics->pairs[i], /* is_of_workloads= */ false);
    for (size_t i = 0; values->workloads && r == 0 && i < values->workloads->n; i++)
        r = read_metric(&reading, &values->workloads->pairs[i], /* is_of_workloads= */ true);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(measurements);
    return 0;
}
