#pragma once

/*
 * Outcomes: the outcome of each node in one decision, in few bytes.
 *
 * Columns over the numbers of a NodeNumbers: one byte for the outcome (one of the decision's rules,
 * or another result), one for the score, two for the rank if the filter narrowed. A request about
 * most nodes has an entry for every number of the node_numbers; one about a few lists their
 * numbers. The smaller form is used.
 *
 * Threads: reference and read from any; it does not change.
 */

#include "base/ref.h"
#include "extender/verbs.h"
#include "history/node-numbers.h"
#include "replay/recording.h"

/* "passed", "rejected", "unknown", "narrowed", "late", "scored", "not-asked". */
extern const char *const outcome_names[];

/* Rules of one decision that are distinguished; nodes that further rules reject have no rule. */
#define OUTCOMES_RULES_MAX 240u
#define OUTCOME_NO_RULE UINT8_MAX

typedef struct Outcome {
    OutcomeKind kind;
    uint8_t rule; /* of rejected ones: which of the decision's rules; or OUTCOME_NO_RULE */
    bool has_score;
    uint8_t score; /* as it went over the wire */
    uint32_t rank; /* among those that passed, from 1; 0: none. Approximate: scores are kept in
                      32,767 steps, equal ones in the order of entries */
} Outcome;

typedef struct Outcomes Outcomes;

/* Numbers of filters to places among the rules of the decision, below OUTCOMES_RULES_MAX;
 * OUTCOME_NO_RULE: none. */
typedef struct RulePlaces {
    uint8_t of[PROGRAM_FILTERS_MAX];
} RulePlaces;

/* For a decision with args, whose nodes have these numbers in @node_numbers; those that have
 * NODE_NUMBER_NONE are left out. Takes a reference to @node_numbers. NULL when out of memory. */
Outcomes *outcomes_new(const Decision *decision, const RulePlaces *places,
    NodeNumbers *node_numbers, NumberedNodes numbers);

/* The columns as bytes, to be stored (history/journal.h); the processor's byte order. Changes with
 * JOURNAL_FORM only. */
typedef struct OutcomesColumns {
    size_t n; /* entries */
    bool has_numbers, has_places, has_scores;
    Str bytes;
} OutcomesColumns;

OutcomesColumns outcomes_columns(const Outcomes *outcomes); /* borrowed */

/* The reverse, for a decision with @n_rules rules. Takes a reference to @node_numbers. NULL: they
 * are not such columns, or out of memory. */
Outcomes *outcomes_load(const OutcomesColumns *columns, size_t n_rules, NodeNumbers *node_numbers);

Outcomes *outcomes_ref(Outcomes *outcomes);
Outcomes *outcomes_unref(Outcomes *outcomes); /* takes NULL, returns NULL */

NodeNumbers *outcomes_numbers(const Outcomes *outcomes); /* borrowed */
size_t outcomes_bytes(const Outcomes *outcomes);

/* Entries are below this; some may be of nodes that were no candidates. */
size_t outcomes_size(const Outcomes *outcomes);

/* Entry @i, without its rank; the node's number through @ret_number. */
Outcome outcomes_at(const Outcomes *outcomes, size_t i, uint32_t *ret_number);

/* The outcome of the node with @number, which may be NODE_NUMBER_NONE. */
Outcome outcomes_find(const Outcomes *outcomes, uint32_t number);

/* The ranks of all entries, in @arena: returned nodes before narrowed ones, better ones first. @ret
 * NULL: there are none. 0, or -ENOMEM. */
int outcomes_ranks(const Outcomes *outcomes, Arena *arena, const uint32_t **ret) MUST_CHECK;

/* The highest number of an entry; NODE_NUMBER_NONE: no entries. */
uint32_t outcomes_highest(const Outcomes *outcomes);

/* Adds one at [number - 1] of @counts, which goes up to outcomes_highest(), for each node that was
 * rejected by a rule or was late. */
void outcomes_add_rejected(const Outcomes *outcomes, uint32_t *counts);
