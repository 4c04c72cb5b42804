/*
 * Joins series to pods, and pods to their nodes and workloads.
 *
 * Series of the same pod are grouped before any value is read; pods that the gauge does not count
 * are skipped, and their series are no error.
 */

#include <assert.h>
#include <errno.h>
#include <math.h>

#include "base/hash.h"
#include "load/join-internal.h"
#include "model/workload.h"

/* --- the pods of the table, by namespace and name ---------------------------------------- */

/* Made for one join, and made to be made quickly: a slot has eight bytes, and memory is prefetched.
 */
typedef struct PodPlace {
    const Pod *pod;      /* borrowed from the table */
    Str namespace, name; /* the pod's: comparing them is to cost one look less */
    uint32_t row;
    uint32_t n_series, last_series; /* how many are the pod's, and which */
} PodPlace;

typedef struct PodSlot {
    uint32_t hash;  /* upper half */
    uint32_t place; /* POD_PLACE_NONE: free */
} PodSlot;

#define POD_PLACE_NONE UINT32_MAX

typedef struct PodIndex {
    PodPlace *places;
    size_t n;
    PodSlot *slots;
    size_t mask; /* slots less one; a power of two less one */
} PodIndex;

/* Namespaces repeat: the last one's hash is kept. Zeroed at first. */
typedef struct PodHasher {
    Str namespace;
    uint64_t hash;
} PodHasher;

#define SLOTS_MIN 16u
#define AHEAD 16u /* pods and series that are prefetched before they are read */

static uint64_t pod_hash(PodHasher *hasher, Str namespace, Str name) {
    if (!str_eq(namespace, hasher->namespace)) {
        hasher->namespace = namespace;
        hasher->hash = hash_str(namespace) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash_str(name) + hasher->hash;
}

static size_t count_pods(const NodeTable *table) {
    size_t n = 0;

    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        n += pods ? pods->n : 0;
    }
    return n;
}

static void collect(const NodeTable *table, PodIndex *index) {
    for (uint32_t row = 0; row < table->n_rows; row++) {
        const PodList *pods = table_chunk(table, row)->pods[table_slot(row)];

        for (size_t i = 0; pods && i < pods->n; i++)
            index->places[index->n++] = (PodPlace){.pod = pods->items[i], .row = row};
    }
}

/* Two pods may share a name for a moment (recreated on another node): the first stays. */
static void insert(PodIndex *index, uint64_t hash, uint32_t place) {
    size_t i = hash & index->mask;

    while (index->slots[i].place != POD_PLACE_NONE)
        i = (i + 1) & index->mask;
    index->slots[i] = (PodSlot){(uint32_t)(hash >> 32), place};
}

static void fill(PodIndex *index) {
    PodHasher hasher = {0};

    for (size_t i = 0; i < index->n; i++) {
        PodPlace *place = &index->places[i];

        if (i + 2 * AHEAD < index->n)
            __builtin_prefetch(index->places[i + 2 * AHEAD].pod);
        if (i + AHEAD < index->n)
            __builtin_prefetch(index->places[i + AHEAD].pod->name.ptr);
        place->namespace = place->pod->namespace;
        place->name = place->pod->name;
        insert(index, pod_hash(&hasher, place->namespace, place->name), (uint32_t)i);
    }
}

/* In @arena. 0 or -ENOMEM. */
static int pod_index_build(const NodeTable *table, Arena *arena, PodIndex *ret) {
    size_t n = count_pods(table), n_slots = SLOTS_MIN;

    assert(n < POD_PLACE_NONE / 2);
    while (n_slots < n * 2)
        n_slots *= 2;
    *ret = (PodIndex){
        .places = ARENA_RAW(arena, PodPlace, n),
        .slots = ARENA_RAW(arena, PodSlot, n_slots),
        .mask = n_slots - 1,
    };
    if (!ret->places || !ret->slots)
        return -ENOMEM;
    memset(ret->slots, 0xff, n_slots * sizeof(PodSlot)); /* POD_PLACE_NONE */
    collect(table, ret);
    fill(ret);
    return 0;
}

/* POD_PLACE_NONE: there is no such pod. @hash is pod_hash() of the two. */
static uint32_t pod_index_find(const PodIndex *index, uint64_t hash, Str namespace, Str name) {
    for (size_t i = hash & index->mask;; i = (i + 1) & index->mask) {
        const PodSlot *slot = &index->slots[i];
        const PodPlace *place;

        if (slot->place == POD_PLACE_NONE)
            return POD_PLACE_NONE;
        if (slot->hash != (uint32_t)(hash >> 32))
            continue;
        place = &index->places[slot->place];
        if (str_eq(place->name, name) && str_eq(place->namespace, namespace))
            return slot->place;
    }
}

#define KEY_MAX 512u /* an API server lets names be 253 bytes long, kinds and namespaces 63 */

/* The values of several pods as one, for a node or for a workload. */
typedef struct Total {
    double sum, max;
    uint32_t n;       /* 0: nothing was added */
    int64_t lag_nsec; /* of the oldest */
} Total;

typedef struct WorkloadTotal {
    Str key; /* as a measurement has it */
    Total total;
} WorkloadTotal;

typedef struct PodJoin {
    Join *join;
    Str namespace_label, pod_label;
    PodIndex index;
    Total *rows; /* by row */
    VEC(WorkloadTotal) workloads;
    Map places; /* of their keys */
    size_t n_labelled, n_matched;
} PodJoin;

/* --- totals ---------------------------------------------------------------- */

static void total_add(Total *total, double value, int64_t lag_nsec) {
    total->sum += value;
    if (total->n == 0 || value > total->max)
        total->max = value;
    if (lag_nsec > total->lag_nsec)
        total->lag_nsec = lag_nsec;
    total->n++;
}

/* Of a total to which something was added. May be infinite. */
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

/* To the workload of @pod, if it has one. */
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

/* --- which pod ------------------------------------------------------------- */

/* Where the labels of a series were in the one before. */
typedef struct PodHints {
    size_t namespace, pod;
} PodHints;

/* False: it has not got both. */
static bool read_labels(
    const PodJoin *pods, size_t i, PodHints *hints, Str *ret_namespace, Str *ret_pod) {
    const Series *series = &pods->join->vector->items[i];

    *ret_namespace = join_label(series, pods->namespace_label, &hints->namespace);
    *ret_pod = join_label(series, pods->pod_label, &hints->pod);
    return ret_namespace->ptr && ret_pod->ptr;
}

static uint64_t *hash_series(const PodJoin *pods) {
    size_t n = pods->join->vector->n;
    uint64_t *hashes = ARENA_RAW(pods->join->scratch, uint64_t, n);
    PodHasher hasher = {0};
    PodHints hints = {0};

    for (size_t i = 0; hashes && i < n; i++) {
        Str namespace, pod;
        bool has = read_labels(pods, i, &hints, &namespace, &pod);

        hashes[i] = has ? pod_hash(&hasher, namespace, pod) : 0;
    }
    return hashes;
}

/* Prefetches for pod_index_find() of the series from @i on, in three steps: each reads memory that
 * the previous one prefetched. */
static void expect_series(const PodIndex *index, const uint64_t *hashes, size_t i, size_t n) {
    uint32_t place, text;

    if (i + 3 * AHEAD >= n)
        return;
    __builtin_prefetch(&index->slots[hashes[i + 3 * AHEAD] & index->mask]);
    place = index->slots[hashes[i + 2 * AHEAD] & index->mask].place;
    if (place != POD_PLACE_NONE)
        __builtin_prefetch(&index->places[place]);
    text = index->slots[hashes[i + AHEAD] & index->mask].place;
    if (text == POD_PLACE_NONE)
        return;
    __builtin_prefetch(index->places[text].name.ptr);
    __builtin_prefetch(index->places[text].namespace.ptr);
}

static int find_pods(PodJoin *pods) {
    const uint64_t *hashes = hash_series(pods);
    size_t n = pods->join->vector->n;
    PodHints hints = {0};

    if (!hashes)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        Str namespace, pod;
        uint32_t place;

        expect_series(&pods->index, hashes, i, n);
        if (!read_labels(pods, i, &hints, &namespace, &pod)) {
            pods->join->report->n_dropped[JOIN_NO_LABEL]++;
            continue;
        }
        pods->n_labelled++;
        place = pod_index_find(&pods->index, hashes[i], namespace, pod);
        if (place == POD_PLACE_NONE) {
            join_count_unmatched(pods->join, namespace, pod);
            continue;
        }
        pods->n_matched++;
        pods->index.places[place].n_series++;
        pods->index.places[place].last_series = (uint32_t)i;
    }
    return 0;
}

/* --- totals ---------------------------------------------------------------- */

static bool is_counted(const Gauge *gauge, const Pod *pod) {
    bool is_in = gauge->n_namespaces == 0;

    for (size_t i = 0; i < gauge->n_namespaces && !is_in; i++)
        is_in = str_eq(gauge->namespaces[i], pod->namespace);
    return is_in && selector_matches(&gauge->selector, &pod->labels);
}

/* The same for what pods from @i on have that is read of them. */
static void expect_pods(const PodJoin *pods, size_t i) {
    const PodPlace *places = pods->index.places;
    const Pod *pod;

    if (i + 2 * AHEAD >= pods->index.n)
        return;
    pod = places[i + 2 * AHEAD].pod;
    __builtin_prefetch(pod);
    __builtin_prefetch(&pod->labels);
    __builtin_prefetch(&pod->owner_name);
    pod = places[i + AHEAD].pod;
    __builtin_prefetch(pod->namespace.ptr);
    __builtin_prefetch(pod->owner_name.ptr);
    __builtin_prefetch(pod->labels.items);
    __builtin_prefetch(&pods->join->vector->items[places[i + AHEAD].last_series]);
}

/* In the order of nodes, however series come. */
static int add_values(PodJoin *pods) {
    Join *join = pods->join;
    int r = 0;

    for (size_t i = 0; i < pods->index.n && r == 0; i++) {
        const PodPlace *place = &pods->index.places[i];
        const Series *series = &join->vector->items[place->last_series];
        int64_t lag;

        expect_pods(pods, i);
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

/* --- results --------------------------------------------------------------- */

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

static void tell_how(PodJoin *pods) {
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
    bool is_given = gauge->source != GAUGE_RESOURCES; /* load/vector.h has made those labels */
    PodJoin pods = {
        .join = join,
        .namespace_label = is_given && !str_is_empty(gauge->namespace_label)
                               ? gauge->namespace_label
                               : STR("namespace"),
        .pod_label = is_given && !str_is_empty(gauge->pod_label) ? gauge->pod_label : STR("pod"),
        .rows = ARENA_ARRAY(join->scratch, Total, join->table->n_rows),
        .places = MAP_INIT_IN(join->scratch),
    };
    int r = pods.rows ? pod_index_build(join->table, join->scratch, &pods.index) : -ENOMEM;

    if (r == 0)
        r = find_pods(&pods);
    if (r == 0)
        r = add_values(&pods);
    if (r == 0)
        r = store(&pods);
    if (r < 0)
        return r;
    tell_how(&pods);
    return 0;
}
