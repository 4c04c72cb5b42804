#pragma once

/*
 * Gauge: the definition of a metric: a number measured for every node, and its source.
 *
 * An entry of a policy under `metrics:` becomes a gauge; policies with the same entry share one.
 * Where the number comes from:
 *
 *     PROMETHEUS   a PromQL query of a source that the operator has named
 *     RESOURCES    metrics.k8s.io, what `kubectl top` shows
 *     ANNOTATION   the node's own annotation: "0.25,2026-01-02T03:04:05Z"
 *     CUSTOM       custom.metrics.k8s.io, of nodes, by an adapter
 *
 * and whether a number is of a node or of a pod. Numbers of pods are combined by node and by
 * workload.
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

/* Placements: pods that were bound recently, so that the number does not fully include them yet. A
 * pod bound after the measurement counts in full. A pod bound before it counts less the earlier it
 * was bound, and not at all if that was @settle_nsec before: then an average includes all of it. */
typedef struct GaugePlacements {
    bool is_counted;
    Str resource; /* cpu, memory */
    GaugeUnit unit;
    bool is_guessed; /* resource or unit is derived from the metric, not given; for users */
    int64_t settle_nsec;
    Str by; /* the policy's name of a gauge of pods, in cores or bytes, by which the usage of the
               pod's workload counts. If that is unknown, or the name empty, requests count */
    uint32_t by_gauge; /* the number of that gauge in the program; GAUGE_NONE: none */
} GaugePlacements;

#define GAUGE_NONE UINT32_MAX
#define GAUGE_PATTERN_MAX 2000u /* instructions of a compiled node_pattern */

/* The assumed usage of a pod without requests, as in kube-scheduler's scores. */
#define GAUGE_DEFAULT_MILLI_CPU 100
#define GAUGE_DEFAULT_MEMORY (INT64_C(200) * 1024 * 1024)

typedef struct Gauge {
    Str name; /* the policy's name for it; of equal gauges the name of the first */
    GaugeSource source;

    Str from;     /* PROMETHEUS: name of the source; empty: the default one */
    Str query;    /* PROMETHEUS; CUSTOM: the name of the metric */
    Str resource; /* RESOURCES: cpu (in cores) or memory (in bytes) */

    Str annotation; /* ANNOTATION: its key */
    Str zone; /* ANNOTATION: its times are local times of this zone, even if they end in "Z" (crane
                 writes this); empty: they have an offset */

    /* Series to nodes. */
    Str node_label;   /* empty: detected */
    Str node_pattern; /* a regular expression for the label's value: the match of its first group,
                         or of all of it, is used; empty: the value, with or without a port */
    GaugeIdentity identity;
    Labels mapping; /* the label's value to a node's name; other values stay as they are */

    /* Series of pods. */
    bool is_of_pods;
    Str namespace_label, pod_label; /* "namespace", "pod" unless given */
    Selector selector;              /* pods that count; none: all */
    const Str *namespaces;          /* of these only; none: all */
    size_t n_namespaces;
    GaugeAggregate aggregate;          /* over the pods of a node */
    GaugeAggregate workload_aggregate; /* over the pods of a workload */

    int64_t interval_nsec; /* between two polls */
    int64_t max_age_nsec;  /* an older value is absent */
    GaugePlacements placements;
} Gauge;

/* Equal except for the names (its own, and placements.by) and guessed fields: one measurement
 * serves both. */
bool gauge_equal(const Gauge *a, const Gauge *b);

/* The digest of everything but the names, the interval, the maximum age and placements. Gauges with
 * the same digest can share measurements. */
Digest gauge_digest(const Gauge *gauge);

/* A deep copy in @arena. Returns false if out of memory. */
bool gauge_copy(const Gauge *gauge, Arena *arena, Gauge *ret) MUST_CHECK;
