/* Adds pods that were just bound to a measured value. */

#include "cluster/placements.h"

#include <math.h>

#include "base/nsec.h"
#include "base/num.h"
#include "model/workload.h"

#define MILLI 1000.0

/* Enough for the longest namespace, kind and name in Kubernetes. For longer ones requests count. */
#define WORKLOAD_TEXT_MAX 512u

static int64_t to_nsec(int64_t sec) {
    int64_t nsec;

    if (__builtin_mul_overflow(sec, NSEC_PER_SEC, &nsec))
        return sec > 0 ? INT64_MAX : INT64_MIN;
    return nsec;
}

/* The share of a pod that the value does not show yet: 1 if it was bound after the measurement, 0
 * if it was bound at least the settling time before it. */
static double weight_of(int64_t placed_nsec, int64_t measured_nsec, int64_t settle_nsec) {
    int64_t before = num_sub_sat(measured_nsec, placed_nsec);

    if (before <= 0)
        return 1;
    return before < settle_nsec ? 1 - (double)before / (double)settle_nsec : 0;
}

bool placements_are_there(
    const Placements *placements, const NodeChunk *chunk, size_t slot, int64_t measured_nsec) {
    const GaugePlacements *rule = &placements->gauge->placements;

    return chunk->pods[slot] &&
           weight_of(to_nsec(chunk->placed_at[slot]), measured_nsec, rule->settle_nsec) > 0;
}

/* Whether the gauge would show @pod at all. */
static bool is_shown(const Gauge *gauge, const Pod *pod) {
    if (!gauge->is_of_pods)
        return true;
    if (!selector_matches(&gauge->selector, &pod->labels))
        return false;
    return gauge->n_namespaces == 0 ||
           str_is_one_of(pod->namespace, gauge->namespaces, gauge->n_namespaces);
}

/* The amount of @resource that @pod requests, or a default, in cores, bytes or units. */
static double request_of(const Pod *pod, Str resource) {
    const Resource *request = resources_find(&pod->requests, resource);
    bool is_cpu = str_is(resource, "cpu");
    int64_t amount = 0;

    if (request)
        amount = request->amount > 0 ? request->amount : 0;
    else if (is_cpu)
        amount = GAUGE_DEFAULT_MILLI_CPU;
    else if (str_is(resource, "memory"))
        amount = GAUGE_DEFAULT_MEMORY;
    return is_cpu ? (double)amount / MILLI : (double)amount;
}

static double use_of(const Placements *placements, const Pod *pod) {
    char text[WORKLOAD_TEXT_MAX];
    WorkloadName workload;
    double use = NAN;

    if (placements->by && workload_find(pod, &workload)) {
        size_t len = workload_print(&workload, text, sizeof(text));

        if (len <= sizeof(text))
            use = measurement_workload(placements->by, str_of(text, len));
    }
    if (isnan(use))
        return request_of(pod, placements->gauge->placements.resource);
    return use > 0 ? use : 0;
}

/* One unit of the gauge in cores, bytes or units of the resource; 0: the node has none. */
static double unit_of(const Placements *placements, const NodeChunk *chunk, size_t slot) {
    const GaugePlacements *rule = &placements->gauge->placements;
    double allocatable = 0;

    if (rule->unit == GAUGE_AMOUNT)
        return 1;
    if (placements->column < chunk->n_resources)
        allocatable =
            (double)chunk->amounts[CHUNK_AMOUNT(placements->column, AMOUNT_ALLOCATABLE) + slot];
    if (str_is(rule->resource, "cpu"))
        allocatable /= MILLI;
    return rule->unit == GAUGE_PERCENT ? allocatable / 100 : allocatable;
}

double placements_sum(
    const Placements *placements, const NodeChunk *chunk, size_t slot, int64_t measured_nsec) {
    double sum = 0, unit = unit_of(placements, chunk, slot);
    const PodList *pods = chunk->pods[slot];

    if (unit <= 0)
        return 0;
    for (uint32_t i = 0; pods && i < pods->n; i++) {
        const Pod *pod = pods->items[i];
        double weight = weight_of(to_nsec(pod_placement_time(pod)), measured_nsec,
            placements->gauge->placements.settle_nsec);

        if (weight > 0 && is_shown(placements->gauge, pod))
            sum += weight * use_of(placements, pod);
    }
    return sum / unit;
}
