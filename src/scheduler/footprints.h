#pragma once

/*
 * Footprints: what the pods of a watched cluster use on their nodes, for a ClusterState.
 *
 * A record (cluster/record.h) has requests and, with FOOTPRINT_PARTS, everything else; the pods of
 * one workload share all of it, so it is found once for all of them.
 */

#include "base/map.h"
#include "base/vec.h"
#include "model/pod-parts.h"
#include "scheduler/cluster-state.h"

/* Fields of running pods that are needed. */
#define FOOTPRINT_PARTS                                                                            \
    (POD_BIT(POD_CONTAINERS) | POD_BIT(POD_CONTAINER_AMOUNTS) | POD_BIT(POD_CONTAINER_PORTS) |     \
        POD_BIT(POD_AMOUNTS) | POD_BIT(POD_AFFINITY))

typedef struct SharedFootprint {
    const Pod *pod; /* one of those that have it; borrowed */
    Footprint footprint;
} SharedFootprint;

typedef struct Footprints {
    Arena *arena;
    TermIndex *index; /* gets their terms */
    Map numbers;      /* by what records share */
    VEC(SharedFootprint) items;
    bool has_lost; /* there were too many terms */
} Footprints;

#define FOOTPRINTS_IN(where, its_index)                                                            \
    ((Footprints){.arena = (where), .index = (its_index), .numbers = MAP_INIT_IN(where)})

/* The number of the footprint of @pod, a record that is borrowed. 0, or -ENOMEM. */
int footprints_find(Footprints *footprints, const Pod *pod, uint32_t *ret) MUST_CHECK;

/* After term_index_settle(): finds which terms select them. 0, or -ENOMEM. */
int footprints_classify(Footprints *footprints) MUST_CHECK;

/* Then they can be used. */
static inline const Footprint *footprints_at(const Footprints *footprints, uint32_t number) {
    return &footprints->items.items[number].footprint;
}
