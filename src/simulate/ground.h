#pragma once

/*
 * Ground: the nodes as kube-scheduler's own plugins see them, while pods come and go.
 *
 * Columns by row of a NodeTable: what a node offers, what its pods ask for, ports in use. What does
 * not change (labels, taints, images) is read from the table.
 *
 * A node is in use while a pod runs on it that is neither a DaemonSet's nor static: that is what
 * keeps an autoscaler from removing it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cluster/table.h"
#include "simulate/want.h"

#define NO_ROW UINT32_MAX

#define GROUND_BUDGET ((size_t)4 * 1024 * 1024 * 1024)

/* Sums over the nodes that are in use. */
typedef struct GroundUse {
    size_t n_nodes;
    int64_t cpu_offered, cpu_asked; /* thousandths */
} GroundUse;

typedef struct Ground {
    Arena *arena;
    const NodeTable *table; /* borrowed: as it was at the start */
    size_t n_rows;
    size_t n_resources; /* the table's columns */
    size_t pods;        /* one of them; SIZE_MAX: nobody offers it */

    uint32_t *order; /* rows with a node, as kube-scheduler goes through them */
    size_t n_order;

    int64_t **offered, **asked; /* by resource, then row; of pods their number */
    int64_t *soft_cpu, *soft_memory;
    HostPorts *ports;  /* by row; items are on the heap, with room for a power of two */
    uint32_t *n_own;   /* by row: pods that make it used */
    uint8_t *was_used; /* by row: at any time so far */
    GroundUse use;
} Ground;

/* What a pod that is on a node counts for. */
typedef struct Footprint {
    const Resources *requests; /* borrowed */
    int64_t soft_cpu, soft_memory;
    HostPorts ports; /* borrowed, as long as the ground is there */
    bool is_own;     /* it makes its node used */
} Footprint;

/* With nothing on the nodes of @table, which must outlive it. 0, or -ENOMEM. */
int ground_new(const NodeTable *table, Ground **ret);
Ground *ground_free(Ground *ground); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Ground *, ground_free)

Footprint footprint_of(const Want *want);

/* 0, or -ENOMEM (only where there are ports). */
int ground_add(Ground *ground, uint32_t row, const Footprint *footprint);
/* @footprint must have been added there. */
void ground_remove(Ground *ground, uint32_t row, const Footprint *footprint);

/* Whether pods without tolerations may come to the node of @row, as far as the node says. */
bool ground_is_open(const Ground *ground, uint32_t row);

/* What is left of a resource there; below 0 when overcommitted. */
static inline int64_t ground_free_amount(const Ground *ground, size_t resource, uint32_t row) {
    return ground->offered[resource][row] - ground->asked[resource][row];
}
