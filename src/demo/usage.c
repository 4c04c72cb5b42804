/* Simulated use of resources. Values are functions of names and time: the hash of a name gives a
 * share, and the phase and period of a wave. Nothing is stored. */

#include "demo/usage.h"

#include <math.h>

#include "base/nsec.h"
#include "base/rng.h"
#include "policy/promql.h"

/* Use as a share of requests. */
typedef struct ShareRange {
    double least, most;
    double drift; /* relative deviation of one pod over time */
} ShareRange;

static const ShareRange share_ranges[] = {
    [TABLE_CPU] = {.least = 0.35, .most = 1.3, .drift = 0.3},
    [TABLE_MEMORY] = {.least = 0.5, .most = 0.95, .drift = 0.04},
};

/* System processes, as a share of allocatable. */
static const ShareRange system_range = {.least = 0.01, .most = 0.06};

/* Other load on some nodes: backups, builds, another virtual machine. */
static const ShareRange other_load_range = {.least = 0.25, .most = 0.75};
#define OTHER_LOAD_PERCENT 18

#define BUSY_MOST 0.4 /* additional share in the busiest minute */
#define FULL 0.985    /* maximum share */
#define SCRAPE_SEC 15 /* metrics-server's window */

#define DEVIATION_CALM 0.01
#define DEVIATION_BUSY 0.12
#define TEMPERATURE_IDLE 38.0
#define TEMPERATURE_FULL 50.0 /* added to the idle value at full load */

#define POD_PERIOD_MIN_SEC 20
#define POD_PERIOD_MAX_SEC 90
#define NODE_PERIOD_MIN_SEC 90
#define NODE_PERIOD_MAX_SEC 300

/* FNV-1a: the same on every machine, unlike base/hash.h. */
static Rng rng_of(Str name, Str more) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < name.len + more.len; i++) {
        char c = i < name.len ? name.ptr[i] : more.ptr[i - name.len];

        hash = (hash ^ (unsigned char)c) * UINT64_C(0x100000001b3);
    }
    return (Rng){.state = hash};
}

static double rng_share(Rng *rng) {
    return (double)rng_pick(rng, 1000001) / 1e6;
}

static double range_pick(const ShareRange *range, Rng *rng) {
    return range->least + (range->most - range->least) * rng_share(rng);
}

/* A wave over time with a random period and phase, -1 to 1. */
static double wave(Rng *rng, size_t least_sec, size_t most_sec, int64_t now_nsec) {
    double period = (double)rng_between(rng, least_sec, most_sec);
    double turns = (double)now_nsec / NSEC_PER_SEC / period + rng_share(rng);

    return sin(2 * M_PI * (turns - floor(turns)));
}

/* The kind of use, by the first of these words that occurs in @query. */
static Usage read_words(Str query) {
    static const struct {
        Str word;
        UsageKind kind;
        size_t resource;
    } words[] = {
        {STR("temp"), USAGE_TEMPERATURE, TABLE_CPU},
        {STR("stddev"), USAGE_DEVIATION, TABLE_CPU},
        {STR("stdvar"), USAGE_DEVIATION, TABLE_CPU},
        {STR("node_load"), USAGE_QUEUE, TABLE_CPU},
        {STR("MemAvailable"), USAGE_FREE, TABLE_MEMORY},
        {STR("MemFree"), USAGE_FREE, TABLE_MEMORY},
        {STR("mem"), USAGE_USED, TABLE_MEMORY},
        {STR("cpu"), USAGE_USED, TABLE_CPU},
    };
    bool is_fraction = str_contains_nocase(query, STR("/")) ||
                       str_contains_nocase(query, STR("ratio")) ||
                       str_contains_nocase(query, STR("1 -"));
    Usage usage = {
        .kind = USAGE_OTHER,
        .unit = str_contains_nocase(query, STR("100")) ? GAUGE_PERCENT
                : is_fraction                          ? GAUGE_FRACTION
                                                       : GAUGE_AMOUNT,
    };

    for (size_t i = 0; i < ELEMENTS_OF(words); i++) {
        if (!str_contains_nocase(query, words[i].word))
            continue;
        usage.kind = words[i].kind;
        usage.resource = words[i].resource;
        break;
    }
    if (usage.kind == USAGE_DEVIATION && str_contains_nocase(query, STR("mem")))
        usage.resource = TABLE_MEMORY;
    if (usage.kind == USAGE_FREE && str_contains_nocase(query, STR("1 -")))
        usage.kind = USAGE_USED;
    return usage;
}

static size_t resource_of(Str name) {
    return str_is(name, "memory") ? TABLE_MEMORY : TABLE_CPU;
}

Usage usage_of_query(Str query) {
    PromqlLoad guess = promql_infer_load(query);
    Usage usage = read_words(query);

    if (guess.is_load)
        usage = (Usage){.resource = resource_of(guess.resource), .unit = guess.unit};
    usage.range_nsec = promql_longest_range(query);
    return usage;
}

Usage usage_of_gauge(const Gauge *gauge) {
    const GaugePlacements *placements = &gauge->placements;
    Usage usage;

    if (gauge->source == GAUGE_RESOURCES)
        return (Usage){
            .resource = resource_of(gauge->resource), .range_nsec = SCRAPE_SEC * NSEC_PER_SEC};
    if (gauge->source == GAUGE_ANNOTATION) { /* cpu_usage_avg_5m: ends in its range */
        Str end = str_skip(gauge->annotation, str_find_last(gauge->annotation, '_') + 1);

        usage = read_words(gauge->annotation);
        usage.unit = GAUGE_FRACTION;
        usage.range_nsec = promql_cut_duration(&end);
        return usage;
    }
    usage = usage_of_query(gauge->query);
    if (placements->is_counted) {
        usage.kind = USAGE_USED;
        usage.resource = resource_of(placements->resource);
        usage.unit = placements->unit;
    }
    return usage;
}

double usage_measure_pod(const Usage *usage, const Pod *pod, int64_t now_nsec) {
    const ShareRange *range = &share_ranges[usage->resource];
    Rng of_workload = rng_of(str_is_empty(pod->owner_name) ? pod->name : pod->owner_name,
        usage->resource == TABLE_CPU ? STR("/cpu") : STR("/memory"));
    Rng of_pod = rng_of(pod->name, pod->namespace);
    double drift = wave(&of_pod, POD_PERIOD_MIN_SEC, POD_PERIOD_MAX_SEC, now_nsec);
    int64_t there_nsec = now_nsec - pod_placed_at(pod) * NSEC_PER_SEC;
    double shown = 1; /* the part of its usage that the average includes */
    double requested = usage->resource == TABLE_CPU
                           ? (double)resources_get(&pod->requests, STR("cpu")) / 1000
                           : (double)resources_get(&pod->requests, STR("memory"));

    if (there_nsec < usage->range_nsec)
        shown = there_nsec > 0 ? (double)there_nsec / (double)usage->range_nsec : 0;
    return requested * range_pick(range, &of_workload) * (1 + range->drift * drift) * shown;
}

static double allocatable(const NodeTable *cluster, uint32_t row, size_t resource) {
    double amount = (double)table_amount(cluster, row, resource, AMOUNT_ALLOCATABLE);

    return resource == TABLE_CPU ? amount / 1000 : amount;
}

/* The share of the resource in use, 0 to FULL. @ret_busy: how busy this minute is, -1 to 1. */
static double share_used(const Usage *usage, const NodeTable *cluster, uint32_t row,
    int64_t now_nsec, double *ret_busy) {
    Rng rng = rng_of(cluster->names->names[row], STR_NULL);
    double all = allocatable(cluster, row, usage->resource);
    double busy = wave(&rng, NODE_PERIOD_MIN_SEC, NODE_PERIOD_MAX_SEC, now_nsec);
    double share = range_pick(&system_range, &rng), sum = 0;
    const PodList *pods = table_chunk(cluster, row)->pods[table_slot(row)];

    if (rng_percent(&rng, OTHER_LOAD_PERCENT) && usage->resource == TABLE_CPU)
        share += range_pick(&other_load_range, &rng);
    *ret_busy = busy;
    if (all <= 0)
        return 0;
    for (uint32_t i = 0; pods && i < pods->n; i++)
        sum += usage_measure_pod(usage, pods->items[i], now_nsec);
    share += sum / all;
    if (usage->resource == TABLE_CPU) /* memory use does not fall */
        share *= 1 + BUSY_MOST * busy;
    return share < FULL ? share : FULL;
}

double usage_in_unit(const Usage *usage, const NodeTable *cluster, uint32_t row, double share) {
    return usage->unit == GAUGE_FRACTION  ? share
           : usage->unit == GAUGE_PERCENT ? share * 100
                                          : share * allocatable(cluster, row, usage->resource);
}

double usage_measure(const Usage *usage, const NodeTable *cluster, uint32_t row, int64_t now_nsec) {
    const Node *node = table_node(cluster, row);
    double busy, share;

    if (!node || !node->is_ready)
        return NAN;
    share = share_used(usage, cluster, row, now_nsec, &busy);
    return usage->kind == USAGE_USED   ? usage_in_unit(usage, cluster, row, share)
           : usage->kind == USAGE_FREE ? usage_in_unit(usage, cluster, row, 1 - share)
           : usage->kind == USAGE_DEVIATION
               ? DEVIATION_CALM + (DEVIATION_BUSY - DEVIATION_CALM) * share * (1 + busy) / 2
           : usage->kind == USAGE_QUEUE       ? share * (share + 1.4)
           : usage->kind == USAGE_TEMPERATURE ? TEMPERATURE_IDLE + TEMPERATURE_FULL * share
                                              : share;
}
