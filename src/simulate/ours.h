#pragma once

/*
 * Ours: what berth would answer, while pods come and go.
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

typedef struct OursParts {
    const NodeTable *table; /* the cluster at the start; borrowed */
    /* Its rows that have a node, as they will be asked about; borrowed. Set by run_scenario(). */
    const uint32_t *order;
    size_t n_order;
    Program *program;
    const CelZones *zones;        /* may be NULL; must outlive it */
    const Exemptions *exemptions; /* may be NULL; must outlive it */
    Measurements *measurements;   /* may be NULL: they never grow old here */
    int64_t now_nsec, uptime_nsec;
} OursParts;

typedef struct Ours Ours;

/* With the nodes of the table, and no pod. 0, or -ENOMEM. */
int ours_new(const OursParts *parts, Ours **ret);
Ours *ours_free(Ours *ours); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Ours *, ours_free)

/* @pod has a node now. 0, or -ENOMEM. */
int ours_add(Ours *ours, const Pod *pod);
/* It is gone. */
void ours_remove(Ours *ours, const Pod *pod);

/* The filter verb about @rows, in @arena. 0, or -ENOMEM. */
int ours_filter(Ours *ours, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint16_t **ret_said);

/* The prioritize verb: what goes over the wire; NULL through @ret: no score rule is for the pod. */
int ours_prioritize(Ours *ours, const Pod *pod, int64_t now_nsec, const uint32_t *rows, size_t n,
    Arena *arena, const uint8_t **ret);

const Program *ours_program(const Ours *ours);
