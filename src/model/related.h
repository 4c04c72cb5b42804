#pragma once

/*
 * Related: the objects that the pod to be placed refers to: its namespace, its
 * PersistentVolumeClaims and the volumes that these are bound to; the fields that policies read.
 *
 * berth looks them up if a policy reads them (cluster/related-objects.h). A recorded pod has them
 * in its text, under RELATED_KEY. Strings are slices of the input, or in the arena if they had
 * escapes.
 */

#include "model/node-affinity.h"

typedef struct Namespace {
    Str name;
    Labels labels;
    Labels annotations;
} Namespace;

/* Beyond that the rest of a claim is left out. */
#define CLAIM_ACCESS_MODES_MAX 16u
#define CLAIM_ZONES_MAX 64u

/* A PersistentVolume. */
typedef struct PersistentVolume {
    Str name;
    Str zone_label;   /* topology.kubernetes.io/zone, or the older label; several zones: a__b */
    NodeTerms terms;  /* nodeAffinity.required: the nodes that can reach it */
    bool is_limited;  /* of a CSI driver or a cloud: nodes limit the number of such volumes */
    const Str *zones; /* from zone_label, and from In conditions of terms on keys ending in /zone */
    size_t n_zones;
} PersistentVolume;

typedef struct VolumeClaim {
    Str name, namespace;
    Str storage_class, volume_name;
    Str phase;                   /* Pending, Bound or Lost; empty: the claim is not known */
    int64_t requested, capacity; /* bytes; 0: not given */
    const Str *access_modes;
    size_t n_access_modes;
    PersistentVolume volume; /* empty: it is not bound, or the volume is not known */
} VolumeClaim;

/* Read objects of the API into a Namespace, a VolumeClaim and a PersistentVolume. A recorded claim
 * has its volume in a field "volume". Errors are the reader's. */
JsonRead namespace_decode, volume_claim_decode, persistent_volume_decode;

#define RELATED_KEY "berth.dev/related"

typedef struct Related {
    bool knows_namespaces;      /* namespaces are watched or recorded */
    const Namespace *namespace; /* NULL: not known, or it does not exist */
    bool knows_claims;
    VolumeClaim *claims; /* of the pod's volumes, in their order */
    size_t n_claims;
} Related;

/* Reads what object_write_pod() writes under RELATED_KEY. Errors are the reader's. */
void related_decode(JsonReader *reader, Arena *arena, Related *ret);
