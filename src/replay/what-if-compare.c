/* Compares a recorded decision with the answer to the same request now, node by node. Rules are the
 * same if policy, name and reason are. Where nodes differ, the report names the rule that most of
 * them share. */

#include <assert.h>
#include <errno.h>

#include "replay/what-if-internal.h"

typedef struct FilterPair {
    Tallies *tallies;
    const RecordedDecision *decision;
    const Decision *answer;
    const uint32_t *rules; /* by rule of the decision: its index in the tallies */
    /* By index of a rule in the tallies: the nodes that differ because of it. */
    uint32_t *lost;   /* nodes that passed and that it rejects now */
    uint32_t *gained; /* nodes that it rejected and that pass now */
    uint32_t *other;  /* nodes that are rejected before and after, by different rules */
} FilterPair;

static int find_rules(FilterPair *pair, Arena *scratch) {
    const RecordedDecision *decision = pair->decision;
    uint32_t *rules = ARENA_RAW(scratch, uint32_t, decision->n_rules);
    size_t n;

    if (!rules)
        return -ENOMEM;
    for (size_t i = 0; i < decision->n_rules; i++) {
        rules[i] = tallies_rule(
            pair->tallies, decision->rules[i].policy, decision->rules[i].name, scratch);
        if (rules[i] == TALLY_NONE)
            return -ENOMEM;
    }
    n = pair->tallies->rules.n;
    pair->rules = rules;
    pair->lost = ARENA_ARRAY(scratch, uint32_t, n);
    pair->gained = ARENA_ARRAY(scratch, uint32_t, n);
    pair->other = ARENA_ARRAY(scratch, uint32_t, n);
    return pair->lost && pair->gained && pair->other ? 0 : -ENOMEM;
}

static bool has_rule(const RecordedNode *node) {
    return node->kind == OUTCOME_REJECTED && node->rule != RECORDED_NO_RULE;
}

/* Whether filter @verdict is the decision's rule @rule. */
static bool is_same_rule(const FilterPair *pair, uint16_t rule, uint16_t verdict) {
    const Tallies *tallies = pair->tallies;

    return tallies->of_filter[verdict] == pair->rules[rule] &&
           str_eq(pair->decision->rules[rule].reason, tallies->program->filters[verdict]->reason);
}

static bool is_same(const FilterPair *pair, const RecordedNode *node, uint16_t verdict) {
    switch (node->kind) {
    case OUTCOME_PASSED:
        return verdict == VERDICT_PASS;
    case OUTCOME_NARROWED:
        return verdict == VERDICT_NARROWED;
    case OUTCOME_UNKNOWN:
        return verdict == VERDICT_UNKNOWN_NODE;
    case OUTCOME_REJECTED: /* without a known rule any rule is the same */
        return verdict < pair->tallies->program->n_filters &&
               (!has_rule(node) || is_same_rule(pair, node->rule, verdict));
    default:
        return false;
    }
}

static void add(uint32_t *counts, uint32_t rule) {
    assert(counts);
    if (rule != TALLY_NONE)
        counts[rule]++;
}

/* Compares one node. Returns whether its outcome is the same as before. */
static bool compare_node(
    FilterPair *pair, const RecordedNode *node, uint16_t verdict, WhatIfCase *into) {
    Tallies *tallies = pair->tallies;
    uint32_t before = has_rule(node) ? pair->rules[node->rule] : TALLY_NONE;
    uint32_t after =
        verdict < tallies->program->n_filters ? tallies->of_filter[verdict] : TALLY_NONE;
    bool passed = node->kind == OUTCOME_PASSED, passes = verdict == VERDICT_PASS;

    into->n_before += passed;
    into->n_after += passes;
    if (before != TALLY_NONE)
        tallies->rules.items[before].rule.n_rejected_before++;
    if (after != TALLY_NONE)
        tallies->rules.items[after].rule.n_rejected_after++;
    if (is_same(pair, node, verdict))
        return true;
    if (passed && !passes)
        add(pair->lost, after);
    else if (!passed && passes)
        add(pair->gained, before);
    else
        add(pair->other, after != TALLY_NONE ? after : before);
    return false;
}

/* The rule with the highest count; the first of equals. */
static uint32_t most_of(const uint32_t *counts, const uint32_t *more, size_t n) {
    uint32_t best = TALLY_NONE, most = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t count = counts[i] + (more ? more[i] : 0);

        if (count > most) {
            most = count;
            best = (uint32_t)i;
        }
    }
    return best;
}

static void judge_filter(const FilterPair *pair, size_t n_differ, bool moves, Comparison *ret) {
    const uint32_t *counts = pair->lost, *more = NULL;
    WhatIfCase *one = &ret->one;
    uint32_t rule;

    if (n_differ == 0) {
        one->change = WHAT_IF_EQUAL;
        return;
    }
    if (moves && !str_is_empty(decision_nominated(pair->answer))) {
        one->change = WHAT_IF_NOMINATED;
        more = pair->gained;
    } else if (one->n_before > 0 && one->n_after == 0) {
        one->change = WHAT_IF_NEWLY_REJECTED;
    } else if (one->n_before == 0 && one->n_after > 0) {
        one->change = WHAT_IF_NEWLY_PASSING;
        counts = pair->gained;
    } else if (moves) {
        one->change = WHAT_IF_NODES;
        more = pair->gained;
    } else {
        one->change = WHAT_IF_REASONS;
        counts = pair->other;
    }
    rule = most_of(counts, more, pair->tallies->rules.n);
    if (rule == TALLY_NONE)
        return;
    one->rule = pair->tallies->rules.items[rule].key;
    ret->rule = &pair->tallies->rules.items[rule].rule;
}

static void note_chosen(const Tallies *tallies, uint32_t chosen, WhatIfCase *one) {
    one->was_chosen = true;
    one->chosen = tallies->recording->names[chosen];
}

int compare_filter(Tallies *tallies, const RecordedDecision *decision, const Decision *answer,
    uint32_t chosen, Arena *scratch, Comparison *ret) {
    FilterPair pair = {.tallies = tallies, .decision = decision, .answer = answer};
    const RecordedNode **order = recorded_order(decision, scratch);
    size_t n_differ = 0;
    bool moves = false;

    *ret = (Comparison){.one.decision = decision};
    if (!order || find_rules(&pair, scratch) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < decision->n_nodes; i++) {
        const RecordedNode *node = order[i];
        bool passed = node->kind == OUTCOME_PASSED, passes = answer->verdicts[i] == VERDICT_PASS;

        n_differ += !compare_node(&pair, node, answer->verdicts[i], &ret->one);
        moves |= passed != passes;
        if (node->name == chosen && passed) {
            note_chosen(tallies, chosen, &ret->one);
            ret->one.chosen_lost = !passes;
        }
    }
    judge_filter(&pair, n_differ, moves, ret);
    return 0;
}

/* The best so far. */
typedef struct Best {
    unsigned score;
    uint32_t name;
} Best;

/* A node with score 0 is never the best: it is not in the reply. */
static void update_best(const Tallies *tallies, Best *best, unsigned score, uint32_t name) {
    if (score > best->score ||
        (score == best->score && score > 0 &&
            str_cmp(tallies->recording->names[name], tallies->recording->names[best->name]) < 0))
        *best = (Best){.score = score, .name = name};
}

static unsigned points(uint8_t score) {
    return score == RECORDED_NO_SCORE ? 0 : score;
}

static Str name_of(const Tallies *tallies, const Best *best) {
    return best->name == TALLY_NONE ? STR_NULL : tallies->recording->names[best->name];
}

int compare_prioritize(Tallies *tallies, const RecordedDecision *decision, const Decision *answer,
    uint32_t chosen, Arena *scratch, Comparison *ret) {
    const RecordedNode **order = recorded_order(decision, scratch);
    Best before = {.name = TALLY_NONE}, after = {.name = TALLY_NONE};
    unsigned chosen_before = 0, chosen_after = 0;
    size_t n_differ = 0;

    *ret = (Comparison){.one.decision = decision};
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < decision->n_nodes; i++) {
        const RecordedNode *node = order[i];
        bool is_known = node->kind == OUTCOME_SCORED;
        uint8_t score = answer->scores && is_known ? answer->scores[i] : RECORDED_NO_SCORE;

        n_differ += score != node->score;
        update_best(tallies, &before, points(node->score), node->name);
        update_best(tallies, &after, points(score), node->name);
        if (node->name == chosen && is_known) {
            note_chosen(tallies, chosen, &ret->one);
            chosen_before = points(node->score);
            chosen_after = points(score);
        }
    }
    if (before.name != TALLY_NONE)
        tallies->nodes[before.name].n_best_before++;
    if (after.name != TALLY_NONE)
        tallies->nodes[after.name].n_best_after++;
    ret->one.best_before = name_of(tallies, &before);
    ret->one.best_after = name_of(tallies, &after);
    ret->is_chosen_beaten =
        ret->one.was_chosen && chosen_before == before.score && chosen_after < after.score;
    ret->one.change = n_differ == 0               ? WHAT_IF_EQUAL
                      : before.name == after.name ? WHAT_IF_SCORES
                                                  : WHAT_IF_BEST;
    return 0;
}
