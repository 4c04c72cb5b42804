#pragma once

/*
 * BerthExtender: what berth would answer, while pods come and go.
 *
 * The cluster is a Store, its answers come from a View, as in the daemon: the same code decides.
 * After a change the view is made anew when it is asked next, which costs what changed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cluster/sampling.h"
#include "extender/view.h"

typedef struct BerthExtenderOptions {
    const NodeTable *table; /* the cluster at the start; borrowed */
    /* Its rows that have a node, as they will be asked about; borrowed. Set by run_simulation(). */
    const uint32_t *order;
    size_t n_order;
    Program *program;
    const CelZones *zones;        /* may be NULL; must outlive it */
    const Exemptions *exemptions; /* may be NULL; must outlive it */
    Measurements *measurements;   /* may be NULL: they never grow old here */
    int64_t now_nsec, uptime_nsec;
} BerthExtenderOptions;

typedef struct BerthExtender BerthExtender;

/* With the nodes of the table, and no pod. 0, or -ENOMEM. */
int berth_extender_new(const BerthExtenderOptions *parts, BerthExtender **ret);
BerthExtender *berth_extender_free(BerthExtender *berth); /* takes NULL, returns NULL */
DEFINE_CLEANUP(BerthExtender *, berth_extender_free)

/* @pod has a node now. 0, or -ENOMEM. */
int berth_extender_add(BerthExtender *berth, const Pod *pod);
/* It is gone. */
void berth_extender_remove(BerthExtender *berth, const Pod *pod);

/* The filter verb about @rows, in @arena. 0, or -ENOMEM. */
int berth_extender_filter(BerthExtender *berth, const Pod *pod, int64_t now_nsec,
    const uint32_t *rows, size_t n, Arena *arena, const uint16_t **ret_said);

/* The prioritize verb: what goes over the wire; NULL through @ret: no score rule is for the pod. */
int berth_extender_prioritize(BerthExtender *berth, const Pod *pod, int64_t now_nsec,
    const uint32_t *rows, size_t n, Arena *arena, const uint8_t **ret);

const Program *berth_extender_program(const BerthExtender *berth);
