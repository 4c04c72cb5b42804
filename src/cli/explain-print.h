#pragma once

/*
 * Explain-print: an explanation as a table, as everything about one node, or as JSON. The files
 * explain-table.c, explain-node.c and explain-json.c; cmd-explain.c calls them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "extender/explain.h"

typedef struct Paint {
    const char *good, *bad, *dim, *bold, *off;
} Paint;

typedef struct Telling {
    const Explanation *explanation;
    const Pod *pod;
    int64_t now_nsec;
    int64_t weight; /* kube-scheduler's for this extender */
    bool all;       /* every node, not only examples */
    bool colour;
    Paint paint;
    Arena *scratch; /* reset again and again */
    Buf *out;
    int error; /* -ENOMEM */
} Telling;

/* The pod, and which policies are for it. */
void telling_head(Telling *telling);

/* Grouped and counted. */
void telling_table(Telling *telling);

/* Everything about one node. */
void telling_node(Telling *telling, const NodeExplanation *node);

/* docs/policy.md has the schema. @only: this node alone; NULL: all. */
void telling_json(Telling *telling, const NodeExplanation *only);

/* --- what table and node share ------------------------------------------------------------ */

/* 4,203 */
void telling_count(Telling *telling, uint64_t n);

/* "node.free.cpu = 500m, pod.requests.cpu = 2" */
void telling_values(Telling *telling, const CelLeaf *values, size_t n);

/* Why, in a few words: the rule's message, or the values that led to it. */
void telling_why(Telling *telling, const FailedRule *failed, const FailureDetails *details);

/* A line "needs 500m more cpu free on the node"; nothing when it is not known. */
void telling_needs(Telling *telling, const FailureDetails *details, const char *indent);

/* The details of a failure, in the scratch arena, which is emptied first. */
const FailureDetails *telling_details(
    Telling *telling, const NodeExplanation *node, const FailedRule *failed);

/* The failure that speaks for a node that is rejected. */
const FailedRule *node_verdict(const NodeExplanation *node);

/* What kube-scheduler adds for @wire. */
int64_t telling_points(const Telling *telling, unsigned wire);

/* What our scores count for beside kube-scheduler's own; one line. */
void telling_share(Telling *telling);
