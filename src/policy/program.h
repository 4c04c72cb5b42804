#pragma once

/*
 * Program: checked policies, ready to be run.
 *
 * A policy is what a person writes, a program what all the policies in force
 * become together. A program does not change; requests take a reference, a reload
 * replaces it whole. Its fields are the interface: read them, never write.
 *
 * Filters are numbered over all policies. The number is also their order of
 * precedence, and the filters that say "preemption cannot help" come first: when
 * a node fails several, the one with the lowest number speaks for it, so a node
 * is called unresolvable whenever any rule says so.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/diag.h"
#include "base/ref.h"
#include "base/str.h"
#include "model/pod.h"
#include "model/selector.h"
#include "policy/rule.h"

#define PROGRAM_FILTERS_MAX 1000u
#define PROGRAM_SCORES_MAX 1000u
#define PROGRAM_BUDGET ((size_t)64 * 1024 * 1024)

typedef struct Policy Policy;

typedef struct Filter {
    const Policy *policy;
    Str name;
    Str reason; /* what kube-scheduler is told; fixed text */
    bool is_unresolvable;
    const FilterKind *kind;
    const void *config;
    uint16_t number;
} Filter;

/* It looks at nodes only, but is for some pods only. */
static inline bool filter_is_selective(const Filter *filter) {
    return filter->kind->is_selective && filter->kind->is_selective(filter->config);
}

typedef struct Score {
    const Policy *policy;
    Str name;
    double weight; /* over 0 */
    const ScoreKind *kind;
    const void *config;
    uint16_t number;
} Score;

typedef struct Match {
    const Str *namespaces; /* none given: all */
    size_t n_namespaces;
    Selector pod_selector;
} Match;

struct Policy {
    Str name;
    Place place;
    bool is_observed; /* mode Observe: judged and counted, never acted upon */
    Match match;
    Filter *filters; /* as written */
    size_t n_filters;
    Score *scores;
    size_t n_scores;
    Labels bind_annotations; /* set on a pod together with its node, when berth binds it */
};

typedef struct Program {
    Ref ref;
    Arena *arena;
    const Policy *policies;
    size_t n_policies;
    const Filter **filters; /* by number */
    size_t n_filters;
    const Score **scores; /* by number */
    size_t n_scores;
    NodeParts filter_parts; /* what the filters read of a node; */
    NodeParts score_parts;  /* and the scores */
} Program;

typedef struct PolicySource {
    Str file; /* name for messages */
    Str text;
} PolicySource;

enum {
    _PROGRAM_E_SUCCESS,
    PROGRAM_E_INVALID, /* at least one error is in the list */
};

/* Reads and checks all of @sources. Texts may be gone afterwards. Returns 0, PROGRAM_E_INVALID or
 * -ENOMEM; @diags may hold warnings in any case. No source at all gives a program that lets
 * everything pass. */
int program_compile(const PolicySource *sources, size_t n_sources, DiagList *diags, Program **ret);

Program *program_ref(Program *program);
Program *program_unref(Program *program); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Program *, program_unref)

bool policy_matches(const Policy *policy, const Pod *pod);

/* The annotations that policies want on @pod when it is bound: of all that apply and are not
 * in mode Observe, in order; of equal keys the last. 0, or -ENOMEM. */
int program_bind_annotations(const Program *program, const Pod *pod, Arena *arena, Labels *ret);
