#pragma once

/* The last decisions on a pod: as berth's API returns them, and how they are printed. */

#include "base/map.h"
#include "base/vec.h"
#include "commands/explain-print.h"
#include "json/read.h"

/*
 * ApiDecision: a decision as /api/v1/decisions shows it, read back.
 *
 * docs/api.md has the fields. Those that are not known here are passed over, and are
 * among @fields all the same.
 */

/* A rule that spoke, and against how many nodes. */
typedef struct ApiRule {
    Str policy, name, reason;
    bool is_unresolvable;
    int64_t rejected, observed, failed, missing;
} ApiRule;

typedef struct ApiNode {
    Str name, outcome;
    ApiRule rule;
    int64_t score; /* -1: none */
    int64_t rank;  /* 0: none */
    Str raw;       /* as JSON */
} ApiNode;

typedef struct ApiField {
    Str key, raw;
} ApiField;

/* berth's own nomination of the pod. */
typedef struct ApiNomination {
    Str uid, node, time, outcome, text;
    int64_t feasible, best;
    Str raw; /* as JSON; empty: there is none */
} ApiNomination;

/* One decision; id 0: none. */
typedef struct ApiDecision {
    int64_t id;
    size_t replica; /* that made it: a place in Replicas */
    Str time, error, target, policy_digest, uid;
    Str nominated; /* the only candidate, because of status.nominatedNodeName; empty: not so */
    int64_t generation;
    double duration; /* seconds; below 0: not known */
    int64_t known, asked, passed, scored, rejected, unknown, narrowed, late, unjudged;
    bool is_exempt;  /* no policy was for the pod */
    Str main_reason; /* why no node passed, with counts; empty: not known, or one did */
    bool has_nodes;
    VEC(ApiRule) rules;
    VEC(ApiNode) nodes;
    VEC(ApiField) fields; /* all but nodes and next, as they came */
    int64_t next;         /* where the next page of nodes begins; 0: nowhere */
} ApiDecision;

/* The next value of @reader. Called again for the next page of the same decision, it adds its
 * nodes to those that are there, and takes nothing else of it but whether there still are any.
 * Errors are the reader's. */
void api_decision_decode(JsonReader *reader, Arena *arena, ApiDecision *decision);

/* The last decision of a page of /api/v1/decisions, which is the whole of @reader, and the pod's
 * nomination. */
void api_decision_decode_page(
    JsonReader *reader, Arena *arena, ApiDecision *decision, ApiNomination *nomination);

/* When it was made, in nanoseconds since 1970; 0: none. */
int64_t api_decision_time(const ApiDecision *decision);

/* Whether the berth binds whose /api/v1/status is @page. */
BindWiring api_status_wiring(Str page, Arena *arena);

/*
 * PodDecisions: the last decisions about one pod, from filter to bind. With a replay of the filter
 * they are printed as by `berth explain`: values, limits, parts of scores.
 */

typedef struct PodDecisions {
    const char *pod;                       /* NAMESPACE/NAME */
    const char *node;                      /* only this one; NULL: all */
    bool all;                              /* every node, not only the best */
    ApiDecision filter;                    /* id 0: there is only a nomination */
    ApiNomination nomination;              /* the newest */
    ApiDecision prioritize, preempt, bind; /* what followed it; id 0: nothing did */
    Map scores;                            /* name of a node to its place in prioritize.nodes */
    ExplainPrinter *printer;               /* the filter in full; NULL: not available, ... */
    const char *obstacle;                  /* ... for this reason; NULL: there is no more to tell */
    const char *const *replicas;           /* by ApiDecision.replica; NULL: there is only one */
    Arena *arena;
} PodDecisions;

/* 0 or -ENOMEM. */
int pod_decisions_print(const PodDecisions *decisions, Buf *out) MUST_CHECK;
