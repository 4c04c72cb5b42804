/*
 * Joins series to pods, and pods to their nodes and workloads.
 *
 * Series of the same pod are grouped before any value is read; pods that the gauge does not count
 * are skipped, and their series are no error.
 */

#include <errno.h>
#include <math.h>

#include "base/hash.h"
#include "base/set.h"
#include "base/vec.h"
#include "load/join-internal.h"
#include "model/workload.h"

/* A pod of the table. */
typedef struct PodPlace {
    const Pod *pod; /* borrowed from the table */
    uint32_t row;
    uint32_t n_series, last_series; /* number of series of the pod, and the last of them */
} PodPlace;

/* The pods of the table, by namespace and name. */
typedef struct PodIndex {
    PodPlace *places;
    size_t n;
    Set set; /* of places */
} PodIndex;

static uint64_t pod_hash(Str namespace, Str name) {
    return hash_str(name) + hash_str(namespace) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool is_called(const void *item, const void *key) {
    const Pod *pod = ((const PodPlace *)item)->pod;
    const Str *names = key; /* namespace and name */

    return str_eq(pod->name, names[1]) && str_eq(pod->namespace, names[0]);
}

static const PodList *pods_of(const NodeTable *table, uint32_t row) {
    return table_chunk(table, row)->pods[table_slot(row)];
}

/* Places in @arena, the set on the heap. Two pods may share a name for a moment (recreated on
 * another node): lookups find the first. 0 or -ENOMEM. */
static int pod_index_build(const NodeTable *table, Arena *arena, PodIndex *ret) {
    size_t n = 0;
    int r;

    for (uint32_t row = 0; row < table->n_rows; row++)
        n += pods_of(table, row) ? pods_of(table, row)->n : 0;
    ret->places = ARENA_RAW(arena, PodPlace, n);
    r = ret->places ? set_reserve(&ret->set, n) : -ENOMEM;
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = pods_of(table, row);

        for (size_t i = 0; pods && i < pods->n && r == 0; i++) {
            PodPlace *place = &ret->places[ret->n++];

            *place = (PodPlace){.pod = pods->items[i], .row = row};
            r = set_add(&ret->set, pod_hash(place->pod->namespace, place->pod->name), place);
        }
    }
    return r;
}

/* Returns NULL for an unknown pod. */
static PodPlace *pod_index_find(const PodIndex *index, Str namespace, Str name) {
    const Str names[] = {namespace, name};

    return set_find(&index->set, pod_hash(namespace, name), is_called, names);
}

#define KEY_MAX 512u /* in the API, names have at most 253 bytes, kinds and namespaces 63 */

/* The aggregate of several pods' values, for a node or a workload. */
typedef struct Total {
    double sum, max;
    uint32_t n;       /* 0: nothing was added */
    int64_t lag_nsec; /* lag of the oldest value */
} Total;

typedef struct WorkloadTotal {
    Str key; /* the key of a workload in a Measurement */
    Total total;
} WorkloadTotal;

typedef struct PodJoin {
    Join *join;
    Str namespace_label, pod_label;
    PodIndex index;
    Total *rows; /* by row */
    VEC(WorkloadTotal) workloads;
    Map places; /* positions in workloads by key */
    size_t n_labelled, n_matched;
} PodJoin;

static void total_add(Total *total, double value, int64_t lag_nsec) {
    total->sum += value;
    if (total->n == 0 || value > total->max)
        total->max = value;
    if (lag_nsec > total->lag_nsec)
        total->lag_nsec = lag_nsec;
    total->n++;
}

/* The aggregated value. @total must have at least one value. The result may be infinite. */
static double total_value(const Total *total, GaugeAggregate aggregate) {
    switch (aggregate) {
    case GAUGE_SUM:
        return total->sum;
    case GAUGE_MAX:
        return total->max;
    case GAUGE_AVG:
        return total->sum / total->n;
    }
    return total->sum;
}

/* Adds the value to the workload of @pod, if it has one. */
static int add_to_workload(PodJoin *pods, const Pod *pod, double value, int64_t lag_nsec) {
    char text[KEY_MAX];
    WorkloadTotal *item;
    WorkloadName workload;
    uint32_t place;
    size_t len;

    if (!workload_find(pod, &workload))
        return 0;
    len = workload_print(&workload, text, sizeof(text));
    if (len > sizeof(text))
        return 0;
    place = map_find(&pods->places, str_of(text, len));
    if (place == MAP_NONE) {
        place = (uint32_t)pods->workloads.n;
        item = VEC_PUSH(&pods->workloads, pods->join->scratch);
        if (!item)
            return -ENOMEM;
        item->key = arena_copy(pods->join->scratch, str_of(text, len));
        if (!item->key.ptr || map_add(&pods->places, item->key, place) < 0)
            return -ENOMEM;
    }
    total_add(&pods->workloads.items[place].total, value, lag_nsec);
    return 0;
}

static void find_pods(PodJoin *pods) {
    const Vector *vector = pods->join->vector;
    size_t namespace_hint = 0, pod_hint = 0;

    for (size_t i = 0; i < vector->n; i++) {
        Str namespace = join_label(&vector->items[i], pods->namespace_label, &namespace_hint);
        Str pod = join_label(&vector->items[i], pods->pod_label, &pod_hint);
        PodPlace *place;

        if (!namespace.ptr || !pod.ptr) {
            pods->join->report->n_dropped[JOIN_NO_LABEL]++;
            continue;
        }
        pods->n_labelled++;
        place = pod_index_find(&pods->index, namespace, pod);
        if (!place) {
            join_count_unmatched(pods->join, namespace, pod);
            continue;
        }
        pods->n_matched++;
        place->n_series++;
        place->last_series = (uint32_t)i;
    }
}

static bool is_counted(const Gauge *gauge, const Pod *pod) {
    return (gauge->n_namespaces == 0 ||
               str_is_one_of(pod->namespace, gauge->namespaces, gauge->n_namespaces)) &&
           selector_matches(&gauge->selector, &pod->labels);
}

/* Iterates in the order of nodes, so that the result does not depend on the order of series. */
static int add_values(PodJoin *pods) {
    Join *join = pods->join;
    int r = 0;

    for (size_t i = 0; i < pods->index.n && r == 0; i++) {
        const PodPlace *place = &pods->index.places[i];
        const Series *series = &join->vector->items[place->last_series];
        int64_t lag;

        if (place->n_series == 0 || !is_counted(join->gauge, place->pod))
            continue;
        if (place->n_series > 1) {
            join->report->n_dropped[JOIN_DUPLICATE] += place->n_series;
        } else if (join_admit(join, series, &lag)) {
            join->report->n_pods++;
            total_add(&pods->rows[place->row], series->value, lag);
            r = add_to_workload(pods, place->pod, series->value, lag);
        }
    }
    return r;
}

static int store(PodJoin *pods) {
    Join *join = pods->join;
    int r = 0;

    for (uint32_t row = 0; row < join->table->n_rows && r == 0; row++) {
        const Total *total = &pods->rows[row];
        double value = total->n > 0 ? total_value(total, join->gauge->aggregate) : NAN;

        if (isfinite(value))
            r = join_set(join, row, value, total->lag_nsec);
    }
    if (r == 0)
        r = measurement_reserve_workloads(join->measurement, pods->workloads.n);
    for (size_t i = 0; i < pods->workloads.n && r == 0; i++) {
        const WorkloadTotal *item = &pods->workloads.items[i];

        r = measurement_set_workload(join->measurement, item->key,
            total_value(&item->total, join->gauge->workload_aggregate));
    }
    join->report->n_workloads = pods->workloads.n;
    return r;
}

static void report_labels(PodJoin *pods) {
    Join *join = pods->join;
    Message message = message_begin(join->report->how, JOIN_TEXT_MAX);
    char by[JOIN_TEXT_MAX];
    Message labels = message_begin(by, sizeof(by));

    message_show(&labels, pods->namespace_label, MESSAGE_QUOTE_MAX);
    message_add(&labels, ", ");
    message_show(&labels, pods->pod_label, MESSAGE_QUOTE_MAX);
    if (pods->n_matched > 0)
        message_add(&message, "labels %s are a pod's namespace and name", by);
    join_explain_end(
        join, pods->n_labelled, pods->n_matched, pods->pod_label, str_of(by, labels.len));
}

int join_pods(Join *join) {
    const Gauge *gauge = join->gauge;
    bool is_given = gauge->source != GAUGE_RESOURCES; /* load/vector.h creates these labels */
    PodJoin pods = {
        .join = join,
        .namespace_label = is_given && !str_is_empty(gauge->namespace_label)
                               ? gauge->namespace_label
                               : STR("namespace"),
        .pod_label = is_given && !str_is_empty(gauge->pod_label) ? gauge->pod_label : STR("pod"),
        .rows = ARENA_ARRAY(join->scratch, Total, join->table->n_rows),
        .places = MAP_INIT_IN(join->scratch),
    };
    int r;

    if (!pods.rows)
        return -ENOMEM;
    r = pod_index_build(join->table, join->scratch, &pods.index);
    if (r == 0) {
        find_pods(&pods);
        r = add_values(&pods) ?: store(&pods);
    }
    set_done(&pods.index.set);
    if (r == 0)
        report_labels(&pods);
    return r;
}
