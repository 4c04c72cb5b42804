#pragma once

/*
 * VolumeClaim: a PersistentVolumeClaim of the pod to be placed, and the volume that it is bound to.
 *
 * Strings are slices of the input where they can be, else in the arena.
 */

#include "model/node-affinity.h"

/* Beyond that the rest is left out. */
#define CLAIM_ACCESS_MODES_MAX 16u
#define CLAIM_ZONES_MAX 64u

/* A PersistentVolume. */
typedef struct PersistentVolume {
    Str name;
    Str zone_label;   /* of topology.kubernetes.io/zone, or its older name; several are joined by __
                       */
    NodeTerms terms;  /* nodeAffinity.required: the nodes that can reach it */
    bool is_limited;  /* of a CSI driver or a cloud: a node has a limit for such volumes */
    const Str *zones; /* the zones that the two name: In conditions on keys that end in /zone */
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

/* Read objects of the API into a VolumeClaim and a PersistentVolume. A recorded claim has its
 * volume in a field "volume". Errors are the reader's. */
JsonRead volume_claim_decode, persistent_volume_decode;
