#pragma once

/*
 * PastDecision: the summary of one answer, as the history keeps it.
 *
 * It has the pod, the time, the numbers of nodes by outcome, and the rules that rejected nodes. It
 * does not change, and refers to nothing of the request or the policy. The outcome of each node is
 * kept separately (history/outcomes.h). Its main reason is added a moment later, once.
 *
 * Threads: any may reference and read it.
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
 * Decisions outlive their policies. A program is large: to keep old programs for their names would
 * grow memory with every reload.
 */
typedef struct RuleName {
    Str policy, name, reason;
    bool is_unresolvable;
    bool is_permanent; /* a node that it rejects can never take the pod */
} RuleName;

typedef struct RuleNames {
    Ref ref;
    Digest digest; /* of the program */
    size_t bytes;
    size_t n_users; /* for its owner: decisions that use it */
    size_t n_rules;
    RuleName rules[]; /* by number of the filter; the texts are behind them */
} RuleNames;

RuleNames *rule_names_new(const Program *program); /* NULL when out of memory */

/* Copies @rules, of a stored program with @digest. NULL when out of memory. */
RuleNames *rule_names_load(const RuleName *rules, size_t n, Digest digest);

DEFINE_REF(RuleNames, rule_names)
RuleNames *rule_names_unref(RuleNames *rule_names); /* takes NULL, returns NULL */

/* How many nodes a rule had an effect on. */
typedef struct RuleCount {
    uint16_t number; /* of the filter, as index of rule_names */
    uint32_t rejected;
    uint32_t observed; /* mode Observe: would have rejected */
    uint32_t failed;   /* could not be evaluated: onError decided */
    uint32_t missing;  /* a metric was absent: onMissing decided */
} RuleCount;

/* Returns the counts of filter @i in @decision. */
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
    int64_t at_nsec;       /* since 1970: the time for which rules were evaluated */
    int64_t duration_nsec; /* time to answer; -1: unknown */

    Str pod_namespace, pod_name, pod_uid;
    Str node;      /* of a bind */
    Str nominated; /* decision_nominated() */
    Str error;
    Digest pod_digest; /* of the pod text in the request; all zero: none */
    uint64_t generation;
    size_t n_known; /* nodes in the cluster at that time; 0: none */
    DecisionSummary summary;
    _Atomic(MainReason *) main; /* of a filter that no node passed; see past_main() */
    bool is_exempt;             /* no policy applied to the pod: --exempt */
    bool had_names;             /* the request named nodes; else it had Node objects, or none */

    RuleNames *rule_names;
    const RuleCount *rules; /* rules with an effect, by number */
    size_t n_rules;
    size_t bytes; /* of itself, without rule_names */
} PastDecision;

typedef struct PastTimes {
    int64_t at_nsec, duration_nsec;
} PastTimes;

/* Makes the summary of @decision by @view; takes a reference to @rule_names, of the view's program.
 * *ret_places: the places of its rules. NULL when out of memory. */
PastDecision *past_new(uint64_t id, const View *view, Verb verb, const Decision *decision,
    PastTimes times, RuleNames *rule_names, RulePlaces *ret_places);

/* Copies a stored @head with @rules, whose numbers refer to @head's rule_names. NULL when out of
 * memory. */
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

/* The main reason, with numbers of rule_names; NULL: unknown, or not found yet. */
static inline const MainReason *past_main(const PastDecision *past) {
    return atomic_load(&past->main);
}

/* Copies the main reason, and adds its size to past->bytes. False: it has one, or out of memory.
 * Threads: one at a time. */
bool past_set_main(PastDecision *past, const MainReason *reason);

/* The rule of the main reason. Until that is known: the rule that rejected most of the nodes that
 * could take the pod; if there are none, the last of the permanent rules. If a node passed: the
 * rule that rejected most nodes. NULL: none rejected a node. */
const RuleName *past_main_rule(const PastDecision *past);

/* Appends for users why no node passed: the reason of the nodes closest to eligible, and the number
 * that can never take the pod: "17 nodes: no free GPU · 83 nodes: node is not in the gpu pool".
 * Without counts if all nodes have one reason, or some passed. Appends nothing without a reason. */
void past_print_reason(const PastDecision *past, Buf *out);

/* The rule that rejected a node; NULL: none did, or it has no place (OUTCOMES_RULES_MAX). */
static inline const RuleName *past_rule_of(const PastDecision *past, Outcome outcome) {
    if (outcome.kind != OUTCOME_REJECTED || outcome.rule == OUTCOME_NO_RULE)
        return NULL;
    return past_rule(past, outcome.rule);
}
