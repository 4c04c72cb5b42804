#pragma once

/*
 * PodRequest: the fields of a pending pod that kube-scheduler's plugins read: a Pod (model/pod.h),
 * and node affinity, host ports, nonzero requests and images; and which features it uses that are
 * not modelled.
 */

#include "base/vec.h"
#include "model/pod.h"
#include "scheduler/term-index.h"
#include "json/read.h"

#define POD_REQUEST_PORTS_MAX 512u   /* of one pod */
#define POD_REQUEST_IMAGES_MAX 1024u /* of one pod: containers and volumes */

typedef struct HostPort {
    Str ip, protocol; /* "0.0.0.0" is all addresses; "TCP" */
    int64_t port;
} HostPort;

typedef VEC(HostPort) HostPorts;

/* Features of pods that are not modelled. */
typedef enum UnmodelledFeature {
    UNMODELLED_NAMESPACES,    /* namespaceSelector, and the namespaces are not known */
    UNMODELLED_TERMS,         /* more pod affinity terms, or kinds of pods, than are counted */
    UNMODELLED_VOLUMES,       /* claims that are not bound, or not known, and disks of clouds */
    UNMODELLED_VOLUME_LIMITS, /* volumes of CSI drivers or clouds: nodes have limits for them */
    UNMODELLED_CLAIMS,        /* resourceClaims */
    UNMODELLED_NODE_FEATURES, /* NodeDeclaredFeatures */
    UNMODELLED_MAX,
} UnmodelledFeature;

/* What plugins that score assume for a container without a request: 100m and 200Mi. */
#define NONZERO_CPU 100
#define NONZERO_MEMORY (INT64_C(200) * 1024 * 1024)

/* Requests with these where a container has none: kube-scheduler's NonZeroRequested. */
typedef struct NonzeroRequests {
    int64_t cpu, memory;
} NonzeroRequests;

typedef struct PodRequest {
    Pod pod;             /* with details */
    NodeTerms preferred; /* node affinity */
    HostPorts ports;
    Str *images; /* of init containers, containers and image volumes, with a tag */
    size_t n_images;
    size_t n_containers;       /* init containers included */
    NonzeroRequests nonzero;   /* added to the sums of its node */
    NonzeroRequests scored;    /* what NodeResourcesFit adds to a node to score it */
    const VolumeClaim *claims; /* of its volumes, bound to volumes that are known */
    size_t n_claims;
    PodTerms terms;      /* of a TermIndex; all zero: none */
    uint32_t unmodelled; /* bits by UnmodelledFeature */

    /* Plugins that ignore running pods give the same results for pods with the same place_key; all
     * plugins do for pods with the same whole_key. */
    Str place_key, whole_key;
} PodRequest;

/* Reads a Pod object. Strings are slices of the input where possible, else in @arena. Errors are
 * set in the reader. */
void pod_request_decode(JsonReader *reader, Arena *arena, PodRequest *ret);

/* Texts for users, by UnmodelledFeature: "resourceClaims". */
extern const char *const unmodelled_names[];

/* Finds host ports of containers and sidecars, in @arena. False: too many, or out of memory. */
bool host_ports_find(const PodDetails *details, Arena *arena, HostPorts *ret) MUST_CHECK;

/* Whether a pod with @ports cannot run on a node where @used are in use. */
bool ports_conflict(const HostPorts *ports, const HostPorts *used);
