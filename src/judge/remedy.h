#pragma once

/*
 * Remedy: what would have to be different for a filter to let a node pass.
 *
 *     node.free.milliCPU >= pod.requests.milliCPU + 500.0     500m more cpu free on the node
 *     labels[?'pool'].orValue('') == 'workspace'              label pool=workspace on the node
 *     node.spec.taints.all(t, pod.tolerates(t))               a toleration of gpu:NoSchedule …
 *
 * Found by looking at the comparisons that fail, and said only when it is true: the filter is run
 * again with the change made. Of a number it is the least change, in units of the resource. Where
 * there is a choice, what is the node's goes before what is the pod's. It is the remedy of that
 * one filter, everything else as it is.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "cel/value.h"
#include "judge/judge.h"

#define REMEDIES_MAX 8u /* of one filter and node, together; if it took more, nothing is said */

typedef struct Remedy {
    Str subject;    /* "node.metadata.labels['pool']" */
    Str relation;   /* ==, !=, <, <=, >, >=, in, not in, present, absent, without */
    CelValue value; /* what it must stand in that relation to; absent: nothing */
    CelValue has;   /* what it is now; absent: it is not there */
    Str text;       /* for people: "label pool=workspace on the node" */
} Remedy;

typedef struct Remedies Remedies;

/* For the rows of @judge, which must be there as long. Lies in @arena. 0 or -ENOMEM. */
int remedies_new(Judge *judge, Arena *arena, Remedies **ret) MUST_CHECK;

/* What it takes, all of it together, for @filter to let @row pass, which it does not: into @ret,
 * which has room for REMEDIES_MAX; mode many through @ret_n, 0 when that cannot be said, or not
 * be tried for want of memory. They lie in @arena. 0 or -ENOMEM. */
int remedies_find(Remedies *remedies, const Filter *filter, uint32_t row, Arena *arena, Remedy *ret,
    size_t *ret_n) MUST_CHECK;
