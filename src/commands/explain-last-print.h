#pragma once

/*
 * PodDecisions: the last decisions about one pod, from filter to bind. With a replay of the filter
 * they are printed as by `berth explain`: values, limits, parts of scores.
 */

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "commands/explain-last-decision.h"
#include "commands/explain-print.h"

typedef struct PodDecisions {
    const char *pod;  /* NAMESPACE/NAME */
    const char *node; /* only this one; NULL: all */
    bool all;         /* every node, not only the best */
    ApiDecision filter;
    ApiDecision prioritize, preempt, bind; /* what followed it; id 0: nothing did */
    Map scores;                            /* name of a node to its place in prioritize.nodes */
    ExplainPrinter *printer;               /* the filter in full; NULL: it cannot be had, ... */
    const char *obstacle;                  /* ... for this reason; NULL: there is no more to tell */
    Arena *arena;
} PodDecisions;

/* 0 or -ENOMEM. */
int pod_decisions_print(const PodDecisions *decisions, Buf *out) MUST_CHECK;
