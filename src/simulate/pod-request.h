#pragma once

/*
 * PodRequest: all that kube-scheduler reads of a pod that is to be placed, as far as it is modelled
 * here.
 *
 * A Pod (model/pod.h) keeps what policies read; what the plugins of kube-scheduler read besides is
 * read here: node affinity, host ports, requests as the least-allocated score counts them, images.
 * And what the pod asks for that is not modelled: a report must be able to say so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "model/pod.h"
#include "simulate/terms.h"
#include "json/read.h"

#define POD_REQUEST_PORTS_MAX 512u   /* of one pod */
#define POD_REQUEST_IMAGES_MAX 1024u /* of one pod: containers and volumes */

typedef struct HostPort {
    Str ip, protocol; /* "0.0.0.0" is all addresses; "TCP" */
    int64_t port;
} HostPort;

typedef struct HostPorts {
    HostPort *items;
    size_t n;
} HostPorts;

/* What is asked for and not modelled. */
typedef enum UnmodelledFeature {
    UNMODELLED_SPREAD,     /* topologySpreadConstraints */
    UNMODELLED_NEIGHBOURS, /* podAffinity, podAntiAffinity */
    UNMODELLED_VOLUMES,    /* persistentVolumeClaim, ephemeral, and disks of clouds */
    UNMODELLED_CLAIMS,     /* resourceClaims */
    UNMODELLED_GATES,      /* schedulingGates: it is placed as if there were none */
    UNMODELLED_MAX,
} UnmodelledFeature;

typedef struct PodRequest {
    Pod pod; /* with details */
    NodeTerms required, preferred;
    HostPorts ports;
    Str *images; /* of init containers, containers and image volumes, with a tag */
    size_t n_images;
    size_t n_containers; /* init containers included */
    int64_t nonzero_cpu,
        nonzero_memory;  /* requests, with 100m and 200Mi where a container has none */
    uint32_t unmodelled; /* bits by UnmodelledFeature */

    /* Two pods that are equal in this get the same from every plugin that looks at the pod and
     * the node, but not at what runs there; and in this at all, as far as that can be told without
     * their names. */
    Str place_key, whole_key;
} PodRequest;

/* Reads a Pod object. Strings are slices of the input where they can be, else in @arena. Errors are
 * the reader's. */
void pod_request_decode(JsonReader *reader, Arena *arena, PodRequest *ret);

/* "topologySpreadConstraints": what people call it. */
const char *unmodelled_name(UnmodelledFeature unmodelled);

/* Whether one of @ports cannot be had where @used are taken. */
bool ports_conflict(const HostPorts *ports, const HostPorts *used);
