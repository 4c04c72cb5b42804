/* Notes which rules the cases of tests exercise. */

#include "suite/coverage.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

const char *coverage_gap(const CoveredRule *rule) {
    if (!rule->is_applied)
        return "its policy is for no pod of a case";
    if (rule->is_score)
        return rule->tells_nodes_apart ? NULL : "gives all nodes of a case the same score";
    if (!rule->rejects)
        return "never rejects a node";
    return rule->passes ? NULL : "never passes a node";
}

static CoveredRule *find(
    Coverage *coverage, Str real, const Policy *policy, Str rule, bool is_score) {
    CoveredRule *added;

    for (size_t i = 0; i < coverage->rules.n; i++) {
        CoveredRule *known = &coverage->rules.items[i];

        if (known->is_score == is_score && str_eq(known->rule, rule) &&
            str_eq(known->policy, policy->name) && str_eq(known->real, real))
            return known;
    }
    added = VEC_PUSH(&coverage->rules, coverage->arena);
    if (added)
        *added = (CoveredRule){
            .file = arena_copy(coverage->arena, policy->place.file),
            .real = real,
            .policy = arena_copy(coverage->arena, policy->name),
            .rule = arena_copy(coverage->arena, rule),
            .is_score = is_score,
        };
    return added;
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
        rule->tells_nodes_apart |= node->parts[at].value != first->parts[at].value;
    }
}

static int note_policy(
    Coverage *coverage, const PolicyExplanation *policy, const Explanation *explanation) {
    Str real = arena_copy(coverage->arena, policy->policy->place.file);
    char path[PATH_MAX];
    bool applies = policy->fit == FIT_APPLIES;
    size_t n_scores = policy->policy->is_observed ? 0 : policy->policy->n_scores;

    /* Tests in several folders name one file by different paths. */
    if (!real.ptr)
        return -ENOMEM;
    if (realpath(real.ptr, path))
        real = arena_copy(coverage->arena, str_from_c(path));
    if (!real.ptr)
        return -ENOMEM;
    for (size_t i = 0; i < policy->policy->n_filters + n_scores; i++) {
        bool is_score = i >= policy->policy->n_filters;
        const Score *score =
            is_score ? &policy->policy->scores[i - policy->policy->n_filters] : NULL;
        const Filter *filter = is_score ? NULL : &policy->policy->filters[i];
        CoveredRule *rule =
            find(coverage, real, policy->policy, is_score ? score->name : filter->name, is_score);

        if (!rule)
            return -ENOMEM;
        rule->is_applied |= applies;
        if (applies && is_score)
            note_score(rule, score, explanation);
        else if (applies)
            note_filter(rule, filter, explanation);
    }
    return 0;
}

int coverage_note(void *context, const SuiteDecision *decision) {
    const Explanation *explanation = decision->explanation;
    Coverage *coverage = context;
    int r = 0;

    for (size_t i = 0; r == 0 && i < explanation->n_policies; i++)
        /* A policy that is written in a case is for this case only. */
        if (!decision->has_own_policies ||
            !str_eq(explanation->policies[i].policy->place.file, decision->test->place.file))
            r = note_policy(coverage, &explanation->policies[i], explanation);
    return arena_has_failed(coverage->arena) ? -ENOMEM : r;
}
