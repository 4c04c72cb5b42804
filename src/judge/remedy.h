#pragma once

/*
 * Remedy: the smallest change that would make a filter accept a node.
 *
 *     node.free.milliCPU >= pod.requests.milliCPU + 500.0     500m more cpu free on the node
 *     labels[?'pool'].orValue('') == 'workspace'              label pool=workspace on the node
 *     node.spec.taints.all(t, pod.tolerates(t))               a toleration of gpu:NoSchedule …
 *
 * Derived from the comparisons that fail, and verified: the filter is evaluated again with the
 * change. Numbers change by the least amount, in units of the resource. Changes of the node are
 * preferred to changes of the pod. A remedy is for that one filter, everything else unchanged.
 */

#include "cel/value.h"
#include "judge/judge.h"

#define REMEDIES_MAX                                                                               \
    8u /* changes for one filter and node; if more are needed, there is no remedy */

typedef struct Remedy {
    Str subject;    /* "node.metadata.labels['pool']" */
    Str relation;   /* ==, !=, <, <=, >, >=, in, not in, present, absent, without */
    CelValue value; /* the right side of the relation; absent: none */
    CelValue has;   /* the present value; absent: none */
    Str text;       /* for users: "label pool=workspace on the node" */
} Remedy;

typedef struct Remedies Remedies;

/* For the rows of @judge, which must live as long. Lies in @arena. 0 or -ENOMEM. */
int remedies_new(Judge *judge, Arena *arena, Remedies **ret) MUST_CHECK;

/* All changes needed together for @filter to let @row pass, which it rejects now: into @ret, which
 * has room for REMEDIES_MAX; their number through @ret_n, 0 when unknown or out of memory. In
 * @arena. 0 or -ENOMEM. */
int remedies_find(Remedies *remedies, const Filter *filter, uint32_t row, Arena *arena, Remedy *ret,
    size_t *ret_n) MUST_CHECK;
