#pragma once

/*
 * Remedy: the smallest change that would make a filter accept a node.
 *
 *     node.free.milliCPU >= pod.requests.milliCPU + 500.0     500m more cpu free on the node
 *     labels[?'pool'].orValue('') == 'workspace'              label pool=workspace on the node
 *     node.spec.taints.all(t, pod.tolerates(t))               a toleration of gpu:NoSchedule …
 *
 * It is derived from the comparisons that fail, and verified: the filter is evaluated again with
 * the change. Numbers change by the least amount, in units of the resource. Changes of the node are
 * preferred to changes of the pod. A remedy is for one filter; other filters may still reject the
 * node.
 */

#include "cel/value.h"
#include "judge/judge.h"

#define REMEDIES_MAX 8u /* changes for a filter and node; none are given if it needs more */

typedef struct Remedy {
    Str subject;    /* "node.metadata.labels['pool']" */
    Str relation;   /* ==, !=, <, <=, >, >=, in, not in, present, absent, without */
    CelValue value; /* the right side of the relation; absent: none */
    CelValue has;   /* the current value; absent: none */
    Str text;       /* for users: "label pool=workspace on the node" */
} Remedy;

typedef struct Remedies Remedies;

/* For the rows of @judge, which is borrowed. Lies in @arena. 0 or -ENOMEM. */
int remedies_new(Judge *judge, Arena *arena, Remedies **ret) MUST_CHECK;

/* Finds the changes that together let @row pass @filter, which rejects it now. Stores them, in
 * @arena, in @ret, which has room for REMEDIES_MAX, and their number in @ret_n: 0 if none are
 * found. 0 or -ENOMEM. */
int remedies_find(Remedies *remedies, const Filter *filter, uint32_t row, Arena *arena, Remedy *ret,
    size_t *ret_n) MUST_CHECK;
