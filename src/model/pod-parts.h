#pragma once

/*
 * PodParts: the fields of running pods that only some policies read. A watched cluster keeps only
 * those that the compiled policies read (cluster/needs.h).
 */

#include "base/str.h"

typedef enum PodPart {
    POD_TOLERATIONS,
    POD_CONTAINERS,        /* how many there are, and which are sidecars */
    POD_CONTAINER_NAMES,   /* names and images */
    POD_CONTAINER_AMOUNTS, /* requests and limits */
    POD_CONTAINER_PORTS,
    POD_CONTAINER_ENV,
    POD_AMOUNTS, /* limits, overhead, QoS class: all amounts of the pod and its containers */
    POD_NODE_SELECTOR,
    POD_PRIORITY_CLASS,
    POD_RUNTIME_CLASS,
    POD_PREEMPTION_POLICY,
    POD_SERVICE_ACCOUNT,
    POD_HOST_NETWORK,
    POD_SCHEDULING_GATES,
    POD_VOLUMES,
    POD_RESOURCE_CLAIMS,
    POD_AFFINITY,
    POD_SPREAD,      /* topologySpreadConstraints */
    POD_OWNERS,      /* all; the controlling one is always kept */
    POD_ANNOTATIONS, /* all of them; without it only PodParts.annotations */
    _POD_PARTS,
} PodPart;
#define POD_BIT(part) (1u << (part))

typedef struct PodParts {
    uint32_t fields; /* POD_BIT()s */
    const Str *annotations;
    size_t n_annotations; /* keys */
} PodParts;

extern const PodParts pod_parts_all;

/* Whether @parts names no field and no annotation. */
bool pod_parts_is_empty(const PodParts *parts);

/* Whether @parts has the annotation @key. */
bool pod_parts_has_annotation(const PodParts *parts, Str key);

/* Whether @kept has all of @wanted. */
bool pod_parts_cover(const PodParts *kept, const PodParts *wanted);
