#pragma once

/*
 * Telling: an explanation as a table, as everything about one node, or as JSON.
 *
 *     explain-table.c     the best nodes, and the others by what they fail
 *     explain-node.c      one node, rule by rule
 *     explain-json.c      all of it for programs
 *     explain-telling.c   what these share
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "cli/terminal.h"
#include "extender/explain.h"
#include "json/write.h"

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

/* Of it "  asks cpu 2, memory 1Gi", nothing if it asks for nothing; and the lines about policies.
 */
void telling_asks(Telling *telling);
void telling_policies(Telling *telling);

/* Grouped and counted. */
void telling_table(Telling *telling);

/* Of it the nodes: the best of those that pass, and the others by what they fail. */
void telling_nodes(Telling *telling);

/* Everything about one node. */
void telling_node(Telling *telling, const NodeExplanation *node);

/* Of it all but the head. */
void telling_one(Telling *telling, const NodeExplanation *node);

/* The node of this name; NULL: there is none. */
const NodeExplanation *telling_find(const Telling *telling, Str name);

/* docs/policy.md has the schema. @only: this node alone; NULL: all. */
void telling_json(Telling *telling, const NodeExplanation *only);

/* The same as a value of something larger. */
void telling_json_value(Telling *telling, const NodeExplanation *only, JsonWriter *writer);

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

/* What kube-scheduler adds for @wire. */
int64_t telling_points(const Telling *telling, unsigned wire);

/* What our scores count for beside kube-scheduler's own; one line. */
void telling_share(Telling *telling);
