#pragma once

/* Shared by the files of what-if only; what-if.h is the interface. */

#include "base/map.h"
#include "base/vec.h"
#include "extender/verbs.h"
#include "replay/recording.h"
#include "replay/what-if.h"

#define TALLY_NONE UINT32_MAX

typedef struct RuleTally {
    Str key; /* POLICY/RULE */
    WhatIfRule rule;
} RuleTally;

typedef struct PodTally {
    bool is_counted;
    bool is_newly_rejected, is_newly_passing, is_moved; /* counted as such */
    /* While decisions are processed from the newest to the oldest: */
    uint32_t chosen; /* the node that it got: an index into Recording.names, or TALLY_NONE */
    bool had_filter, had_prioritize; /* since it got the node: older ones are of other attempts */
} PodTally;

typedef struct Tallies {
    const Recording *recording;
    const Program *program;
    Arena *arena;
    Map rule_keys;
    VEC(RuleTally) rules;
    uint32_t *of_filter; /* by number of the program's filters: an index into rules */
    Map names;           /* of nodes, to indexes into Recording.names */
    WhatIfNode *nodes;   /* by the same index */
    Map pod_keys;
    VEC(PodTally) pods;
    uint32_t *of_decision; /* by decision: index into pods; TALLY_NONE: no filter or prioritize */
    uint32_t *chosen;      /* by decision: the node that its pod got in the end, for the last filter
                              and the last prioritize before that; or TALLY_NONE */
} Tallies;

/* Allocates @tallies in @arena. 0, or -ENOMEM. */
int tallies_init(Tallies *tallies, const Recording *recording, const Program *program, Arena *arena)
    MUST_CHECK;

/* Finds or adds a rule; returns its index, or TALLY_NONE without memory. @scratch: temporary. */
uint32_t tallies_rule(Tallies *tallies, Str policy, Str name, Arena *scratch);

/* Writes the sorted changes to the report. 0, or -ENOMEM. */
int tallies_report(const Tallies *tallies, WhatIfReport *report) MUST_CHECK;

/* One decision then and now. */
typedef struct Comparison {
    WhatIfCase one;
    WhatIfRule *rule;      /* of the case; NULL: none */
    bool is_chosen_beaten; /* the chosen node was among the best then, and is not now */
} Comparison;

/* @answer is the answer to recorded_request(@decision). @chosen: index of a name, or TALLY_NONE.
 * Counts rules and best nodes in @tallies. 0, or -ENOMEM. */
int compare_filter(Tallies *tallies, const RecordedDecision *decision, const Decision *answer,
    uint32_t chosen, Arena *scratch, Comparison *ret) MUST_CHECK;
int compare_prioritize(Tallies *tallies, const RecordedDecision *decision, const Decision *answer,
    uint32_t chosen, Arena *scratch, Comparison *ret) MUST_CHECK;
