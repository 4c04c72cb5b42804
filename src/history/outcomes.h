#pragma once

/*
 * Outcomes: the outcome of each node in one decision, in few bytes.
 *
 * Columns over the numbers of a NodeNumbers: one byte for the outcome (one of the decision's rules,
 * or another result), one for the score, two for the rank if the filter narrowed. Of two forms the
 * smaller is used: an entry for every number of node_numbers, or a list of the candidates' numbers.
 *
 * Threads: any may reference and read it; it does not change.
 */

#include "base/ref.h"
#include "extender/verbs.h"
#include "history/node-numbers.h"
#include "replay/recording.h"

/* "passed", "rejected", "unknown", "narrowed", "late", "scored", "not-asked". */
extern const char *const outcome_names[];

/* Rules that are distinguished in one decision; nodes rejected by further rules have no rule. */
#define OUTCOMES_RULES_MAX 240u
#define OUTCOME_NO_RULE UINT8_MAX

typedef struct Outcome {
    OutcomeKind kind;
    uint8_t rule; /* if rejected: index of the decision's rule, or OUTCOME_NO_RULE */
    bool has_score;
    uint8_t score; /* as sent */
    uint32_t rank; /* among nodes that passed, from 1; 0: none. Approximate: scores are rounded to
                      32,767 steps, equal ones in the order of entries */
} Outcome;

typedef struct Outcomes Outcomes;

/* By number of a filter: its index among the decision's rules, below OUTCOMES_RULES_MAX;
 * OUTCOME_NO_RULE: none. */
typedef struct RulePlaces {
    uint8_t of[PROGRAM_FILTERS_MAX];
} RulePlaces;

/* Makes the outcomes of a decision with args, whose nodes have @numbers in @node_numbers, or
 * NODE_NUMBER_NONE: left out. Takes a reference to @node_numbers. NULL when out of memory. */
Outcomes *outcomes_new(const Decision *decision, const RulePlaces *places,
    NodeNumbers *node_numbers, NumberedNodes numbers);

/* The columns as bytes for the journal (history/journal.h), in the processor's byte order. They may
 * change only with JOURNAL_FORM. */
typedef struct OutcomesColumns {
    size_t n; /* entries */
    bool has_numbers, has_places, has_scores;
    Str bytes;
} OutcomesColumns;

OutcomesColumns outcomes_columns(const Outcomes *outcomes); /* borrowed */

/* Loads stored columns of a decision with @n_rules rules. Takes a reference to @node_numbers. NULL:
 * invalid, or out of memory. */
Outcomes *outcomes_load(const OutcomesColumns *columns, size_t n_rules, NodeNumbers *node_numbers);

Outcomes *outcomes_ref(Outcomes *outcomes);
Outcomes *outcomes_unref(Outcomes *outcomes); /* takes NULL, returns NULL */

NodeNumbers *outcomes_numbers(const Outcomes *outcomes); /* borrowed */
size_t outcomes_bytes(const Outcomes *outcomes);

/* The number of entries; some may be of nodes that were no candidates. */
size_t outcomes_size(const Outcomes *outcomes);

/* Returns entry @i without its rank. *ret_number: the node's number. */
Outcome outcomes_at(const Outcomes *outcomes, size_t i, uint32_t *ret_number);

/* The outcome of the node with @number, which may be NODE_NUMBER_NONE. */
Outcome outcomes_find(const Outcomes *outcomes, uint32_t number);

/* Ranks all entries, in @arena: returned nodes before narrowed ones, better ones first. *ret is
 * NULL if there are no ranks. 0, or -ENOMEM. */
int outcomes_ranks(const Outcomes *outcomes, Arena *arena, const uint32_t **ret) MUST_CHECK;

/* The highest number of an entry; NODE_NUMBER_NONE: no entries. */
uint32_t outcomes_highest(const Outcomes *outcomes);

/* Adds 1 to @counts[number - 1] for each node that a rule rejected, or that was late. @counts has
 * room up to outcomes_highest(). */
void outcomes_add_rejected(const Outcomes *outcomes, uint32_t *counts);
