#pragma once

/*
 * Vector: series with one value each: the answer of a source.
 *
 * Read from the answer of Prometheus (or another server with its API) to an instant query, or from
 * the lists of metrics.k8s.io and custom.metrics.k8s.io, which are brought into the same form:
 * label "node", or labels "namespace" and "pod". Strings are slices of the body where they can be,
 * else in the arena.
 *
 * Answers are not trusted: bytes, series, labels and depth have ceilings.
 */

#include "base/arena.h"

#define VECTOR_BYTES_MAX ((size_t)32 * 1024 * 1024) /* of a body: 150,000 pods' series fit */
#define VECTOR_SERIES_MAX 250000u
#define VECTOR_LABELS_MAX 64u /* of a series */
#define VECTOR_ERROR_MAX 512u

typedef struct SeriesLabel {
    Str name, value;
} SeriesLabel;

typedef struct Series {
    const SeriesLabel *labels;
    uint32_t n_labels;
    double value;    /* may be NaN or infinite, as in Prometheus */
    int64_t at_msec; /* since 1970, by the server's clock */
} Series;

typedef struct Vector {
    Series *items;
    size_t n;
    size_t n_histograms; /* series without a number: not among the items */
    Str warning;         /* the first the server gave; empty: none */
} Vector;

/* 0; -EPROTO with a message for users in @error (VECTOR_ERROR_MAX): what the body is instead, or
 * the server's error; -EFBIG over a limit, with a message; -ENOMEM. */
int vector_read_prometheus(Str body, Arena *arena, Vector *ret, char *error) MUST_CHECK;

/* A NodeMetricsList (@is_of_pods: a PodMetricsList, summed over containers), of one resource. */
int vector_read_resources(
    Str body, Str resource, bool is_of_pods, Arena *arena, Vector *ret, char *error) MUST_CHECK;

/* A MetricValueList of custom.metrics.k8s.io, of nodes. */
int vector_read_custom(Str body, Arena *arena, Vector *ret, char *error) MUST_CHECK;

/* The value of a label; empty: the series does not have it. */
Str series_label(const Series *series, Str name);
