#pragma once

/*
 * PastDecision: the summary of one answer, as the history keeps it.
 *
 * The pod, the time, the numbers of nodes by outcome, the rules that rejected some. It does not
 * change and refers to nothing of the request or the policy. The outcome of each node is kept
 * separately (history/outcomes.h), within the limit of bytes. Its main reason is found out a moment
 * later, and added once.
 *
 * Threads: reference and read from any.
 */

#include <stdatomic.h>

#include "base/digest.h"
#include "base/ref.h"
#include "extender/explain.h"
#include "extender/verbs.h"
#include "history/outcomes.h"
#include "policy/program.h"

/* Longer texts are cut: the API server stores no longer names and UIDs. */
#define PAST_NAME_MAX 253u
#define PAST_UID_MAX 128u
#define PAST_ERROR_MAX 1024u

/*
 * RuleNames: the names of a program's filters, without the program.
 *
 * Decisions are kept for longer than policies are in force. A program is large: keeping old ones
 * for their names would grow memory with every reload.
 */
typedef struct RuleName {
    Str policy, name, reason;
    bool is_unresolvable;
    bool is_permanent; /* nodes that it rejects never take the pod */
} RuleName;

typedef struct RuleNames {
    Ref ref;
    Digest digest; /* of the program */
    size_t bytes;
    size_t n_users; /* for its owner: number of users */
    size_t n_rules;
    RuleName rules[]; /* by number of the filter; their texts follow */
} RuleNames;

RuleNames *rule_names_new(const Program *program); /* NULL when out of memory */

/* Copies of @rules, of a program with @digest that is gone. NULL when out of memory. */
RuleNames *rule_names_load(const RuleName *rules, size_t n, Digest digest);

DEFINE_REF(RuleNames, rule_names)
RuleNames *rule_names_unref(RuleNames *rule_names); /* takes NULL, returns NULL */

/* How often a rule had an effect. */
typedef struct RuleCount {
    uint16_t number; /* of the filter, in the rule_names */
    uint32_t rejected;
    uint32_t observed; /* mode Observe: would have rejected */
    uint32_t failed;   /* nodes on which it could not be evaluated, and onError decided */
    uint32_t missing;  /* the same where a metric that it reads is absent, and onMissing decided */
} RuleCount;

/* The counts of filter @i in @decision. */
static inline RuleCount rule_count_of(const Decision *decision, size_t i) {
    return (RuleCount){
        .number = (uint16_t)i,
        .rejected = decision->rejected ? decision->rejected[i] : 0,
        .observed = decision->observed ? decision->observed[i] : 0,
        .failed = decision->notes.filter_errors ? decision->notes.filter_errors[i] : 0,
        .missing = decision->notes.filter_missing ? decision->notes.filter_missing[i] : 0,
    };
}

static inline bool rule_count_is_zero(RuleCount count) {
    return count.rejected == 0 && count.observed == 0 && count.failed == 0 && count.missing == 0;
}

typedef struct PastDecision {
    Ref ref;
    uint64_t id; /* grows by one with every decision, from 1 */
    Verb verb;
    int64_t at_nsec;       /* since 1970: the time that rules were evaluated at */
    int64_t duration_nsec; /* time to answer; -1: not known */

    Str pod_namespace, pod_name, pod_uid;
    Str node;      /* bind */
    Str nominated; /* decision_nominated() */
    Str error;
    Digest pod_digest; /* of the pod as it was sent; all zero: no pod was sent */
    uint64_t generation;
    size_t n_known; /* nodes of the cluster as it was; 0: none */
    DecisionSummary summary;
    _Atomic(MainReason *) main; /* of a filter in which no node passed; see past_main() */
    bool is_exempt;             /* no policy applied to the pod: --exempt */
    bool had_names;             /* the request named nodes; else they came whole, or none did */

    RuleNames *rule_names;
    const RuleCount *rules; /* rules with an effect, by number */
    size_t n_rules;
    size_t bytes; /* of itself; not the rule_names */
} PastDecision;

typedef struct PastTimes {
    int64_t at_nsec, duration_nsec;
} PastTimes;

/* The summary of @decision by @view; takes a reference to @rule_names, those of the view's program.
 * The places of its rules go to @ret_places. NULL when out of memory. */
PastDecision *past_new(uint64_t id, const View *view, Verb verb, const Decision *decision,
    PastTimes times, RuleNames *rule_names, RulePlaces *ret_places);

/* A copy of @head with @rules, whose numbers are those of @head's rule_names; texts and counts of
 * it are copied, too. For decisions that were stored. NULL when out of memory. */
PastDecision *past_load(const PastDecision *head, const RuleCount *rules, size_t n_rules);

DEFINE_REF(PastDecision, past)
PastDecision *past_unref(PastDecision *past); /* takes NULL, returns NULL */

static inline bool past_is_same_pod(const PastDecision *a, const PastDecision *b) {
    return str_eq(a->pod_uid, b->pod_uid) && str_eq(a->pod_name, b->pod_name) &&
           str_eq(a->pod_namespace, b->pod_namespace);
}

/* The rule at index @place of @rules. */
static inline const RuleName *past_rule(const PastDecision *past, size_t place) {
    return &past->rule_names->rules[past->rules[place].number];
}

/* The main reason, by numbers of the rule_names; NULL: not known, or not yet. */
static inline const MainReason *past_main(const PastDecision *past) {
    return atomic_load(&past->main);
}

/* Sets it; its text is copied, and past->bytes grows. Returns false if it has one, or out of
 * memory. Threads: one at a time. */
bool past_set_main(PastDecision *past, const MainReason *reason);

/* The main reason's rule. Until that is known the rule that rejected most of the nodes that could
 * take the pod; if there are none, the last of the permanent rules. Where a node passed, the rule
 * that rejected most nodes. NULL: none rejected any. */
const RuleName *past_main_rule(const PastDecision *past);

/* Why no node passed, for users: the reason of the nodes closest to eligible, and how many can
 * never take the pod: "17 nodes: no free GPU · 83 nodes: node is not in the gpu pool". Without
 * counts where all nodes have one reason, or some passed. Appends nothing if there is none. */
void past_print_reason(const PastDecision *past, Buf *out);

/* The rule that rejected a node of it; NULL: none did, or it has no place of its own. */
static inline const RuleName *past_rule_of(const PastDecision *past, Outcome outcome) {
    if (outcome.kind != OUTCOME_REJECTED || outcome.rule == OUTCOME_NO_RULE)
        return NULL;
    return past_rule(past, outcome.rule);
}
