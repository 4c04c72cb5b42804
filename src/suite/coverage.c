/* Notes which rules the cases of tests exercise. */

#include "suite/coverage.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

const char *coverage_gap(const CoveredRule *rule) {
    if (!rule->is_applied)
        return "its policy is for no pod of a case";
    if (rule->is_score)
        return rule->differs ? NULL : "gives all nodes of a case the same score";
    if (!rule->rejects)
        return "never rejects a node";
    return rule->passes ? NULL : "never passes a node";
}

static CoveredRule *find(
    Coverage *coverage, Str real, const Policy *policy, Str rule, bool is_score) {
    CoveredRule *items = coverage->rules.items;

    for (size_t i = 0; items && i < coverage->rules.n; i++) {
        CoveredRule *known = &items[i];

        if (known->is_score == is_score && str_eq(known->rule, rule) &&
            str_eq(known->policy, policy->name) && str_eq(known->real, real))
            return known;
    }
    if (!VEC_ADD(&coverage->rules, coverage->arena,
            (CoveredRule){.real = real,
                .policy = arena_copy(coverage->arena, policy->name),
                .rule = arena_copy(coverage->arena, rule),
                .is_score = is_score}))
        return NULL;
    return &coverage->rules.items[coverage->rules.n - 1];
}

static void note_filter(CoveredRule *rule, const Filter *filter, const Explanation *explanation) {
    for (size_t i = 0; i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];
        bool rejects = false;

        for (size_t j = 0; j < node->n_failed; j++)
            rejects |= node->failed[j].filter == filter;
        rule->rejects |= rejects;
        rule->passes |= !rejects;
    }
}

static void note_score(CoveredRule *rule, const Score *score, const Explanation *explanation) {
    const NodeExplanation *first = NULL;
    size_t at = 0;

    while (at < explanation->n_scores && explanation->scores[at] != score)
        at++;
    for (size_t i = 0; at < explanation->n_scores && i < explanation->n_nodes; i++) {
        const NodeExplanation *node = &explanation->nodes[i];

        if (!node->is_scored)
            continue;
        first = first ? first : node;
        rule->differs |= node->parts[at].value != first->parts[at].value;
    }
}

static void note_policy(
    Coverage *coverage, const PolicyExplanation *explained, const Explanation *explanation) {
    const Policy *policy = explained->policy;
    char path[PATH_MAX];
    /* Tests in several folders name one file by different paths. */
    bool has_path = realpath(policy->place.file.ptr, path) != NULL;
    Str real = arena_copy(coverage->arena, has_path ? str_from_c(path) : policy->place.file);
    bool applies = explained->fit == FIT_APPLIES;

    for (size_t i = 0; i < policy->n_filters; i++) {
        CoveredRule *rule = find(coverage, real, policy, policy->filters[i].name, false);

        if (rule && applies) {
            rule->is_applied = true;
            note_filter(rule, &policy->filters[i], explanation);
        }
    }
    for (size_t i = 0; i < policy->n_scores && !policy->is_observed; i++) {
        CoveredRule *rule = find(coverage, real, policy, policy->scores[i].name, true);

        if (rule && applies) {
            rule->is_applied = true;
            note_score(rule, &policy->scores[i], explanation);
        }
    }
}

int coverage_note(void *context, const SuiteDecision *decision) {
    const Explanation *explanation = decision->explanation;
    Coverage *coverage = context;

    for (size_t i = 0; i < explanation->n_policies; i++)
        /* A policy that is written in a case is only for this case. */
        if (!decision->has_own_policies ||
            !str_eq(explanation->policies[i].policy->place.file, decision->test->place.file))
            note_policy(coverage, &explanation->policies[i], explanation);
    return arena_has_failed(coverage->arena) ? -ENOMEM : 0;
}
