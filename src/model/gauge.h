#pragma once

/*
 * Gauge: the definition of a metric: a number measured of every node, and where it comes from.
 *
 * An entry of a policy under `metrics:` becomes a gauge; policies with the same entry share one.
 * Where the number comes from:
 *
 *     PROMETHEUS   a PromQL query of a source that the operator has named
 *     RESOURCES    metrics.k8s.io, what `kubectl top` shows
 *     ANNOTATION   the node's own annotation: "0.25,2026-01-02T03:04:05Z"
 *     CUSTOM       custom.metrics.k8s.io, of nodes, by an adapter
 *
 * and whether a number is of a node or of a pod. Numbers of pods are combined for each node that
 * they run on, and for each workload.
 *
 * All strings are borrowed from the maker of the gauge; gauge_copy() makes one that owns them.
 */

#include "base/digest.h"
#include "model/labels.h"
#include "model/selector.h"

typedef enum GaugeSource {
    GAUGE_PROMETHEUS,
    GAUGE_RESOURCES,
    GAUGE_ANNOTATION,
    GAUGE_CUSTOM,
} GaugeSource;

/* The identity of a node that a label of a series is compared with. */
typedef enum GaugeIdentity {
    GAUGE_BY_ANY,      /* detected from the values of the label */
    GAUGE_BY_NAME,     /* metadata.name */
    GAUGE_BY_HOSTNAME, /* the address of type Hostname, or the label kubernetes.io/hostname */
    GAUGE_BY_IP,       /* an address of type InternalIP (or ExternalIP) */
} GaugeIdentity;

typedef enum GaugeAggregate {
    GAUGE_SUM,
    GAUGE_MAX,
    GAUGE_AVG,
} GaugeAggregate;

/* How a gauge counts a resource, so that pods which it cannot show yet can be added. */
typedef enum GaugeUnit {
    GAUGE_AMOUNT,   /* cores, bytes */
    GAUGE_FRACTION, /* 0..1 of the node's allocatable amount */
    GAUGE_PERCENT,  /* 0..100 of it */
} GaugeUnit;

/* Placements: pods that were bound to the node a moment ago and that the number cannot show yet.
 * One that was bound after the measurement counts in full; one that was bound before it counts
 * less and less, down to nothing @settle_nsec before: so long does it take until an average shows
 * all of a pod. */
typedef struct GaugePlacements {
    bool is_counted;
    Str resource; /* cpu, memory */
    GaugeUnit unit;
    bool is_guessed; /* resource or unit is derived from the metric, not given; for users */
    int64_t settle_nsec;
    Str by; /* a gauge of pods, in cores or bytes, by the policy's name: the usage of the pod's
               workload counts, if known; else, or if empty, the pod's requests */
    uint32_t by_gauge; /* its number in the program; GAUGE_NONE: none */
} GaugePlacements;

#define GAUGE_NONE UINT32_MAX
#define GAUGE_PATTERN_MAX 2000u /* instructions of a compiled node_pattern */

/* The assumed usage of a pod without requests, as in kube-scheduler's scores. */
#define GAUGE_DEFAULT_MILLI_CPU 100
#define GAUGE_DEFAULT_MEMORY (INT64_C(200) * 1024 * 1024)

typedef struct Gauge {
    Str name; /* the policy's name for it; gauges that are the same have the first one's */
    GaugeSource source;

    Str from;     /* PROMETHEUS: name of the source; empty: the default one */
    Str query;    /* PROMETHEUS; CUSTOM: the name of the metric */
    Str resource; /* RESOURCES: cpu (in cores) or memory (in bytes) */

    Str annotation; /* ANNOTATION: its key */
    Str zone; /* ANNOTATION: its times are local times of this zone, whatever letter follows them
                 (crane writes this); empty: they have an offset */

    /* Series to nodes. */
    Str node_label;   /* empty: found out */
    Str node_pattern; /* a regular expression: its first group, or else all of it, of the label's
                         value is what counts; empty: the value, with or without a port */
    GaugeIdentity identity;
    Labels mapping; /* the label's value to a node's name; a value not in it is as it is */

    /* Series of pods. */
    bool is_of_pods;
    Str namespace_label, pod_label; /* "namespace", "pod" unless given */
    Selector selector;              /* pods that count; none: all */
    const Str *namespaces;          /* of these only; none: all */
    size_t n_namespaces;
    GaugeAggregate aggregate;          /* over the pods of a node */
    GaugeAggregate workload_aggregate; /* over the pods of a workload */

    int64_t interval_nsec; /* the interval of its polls */
    int64_t max_age_nsec;  /* an older value is as good as none */
    GaugePlacements placements;
} Gauge;

/* Equal except for the names (its own, and placements.by) and guessed fields: one measurement
 * serves both. */
bool gauge_equal(const Gauge *a, const Gauge *b);

/* The digest of everything but the names, the interval, the maximum age and placements. The
 * measurements of a gauge serve every gauge with the same digest. */
Digest gauge_digest(const Gauge *gauge);

/* With strings of its own, in @arena. Returns false if out of memory. */
bool gauge_copy(const Gauge *gauge, Arena *arena, Gauge *ret) MUST_CHECK;
