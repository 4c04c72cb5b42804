#pragma once

/*
 * Program: all policies in force, compiled together.
 *
 * It has one graph of all expressions, in which equal parts are shared, and a plan that computes
 * each part as rarely as possible. A program does not change; requests take a reference, a reload
 * replaces it. Other files read its fields, but never write them.
 *
 * Filters are numbered over all policies, in order of precedence; unresolvable filters come first.
 * If several reject a node, the one with the lowest number is its verdict, so a node is
 * unresolvable if any unresolvable filter rejects it.
 */

#include "base/ref.h"
#include "cluster/needs.h"
#include "policy/policy.h"

#define PROGRAM_FILTERS_MAX 1000u
#define PROGRAM_SCORES_MAX 1000u

/* A thousand short rules need 10 to 20 MB, or 60 MB with half a KiB of CEL each. */
#define PROGRAM_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct Program {
    Ref ref;
    Arena *arena;
    Digest digest; /* of all source texts, in order */
    Schema *schema;
    const Policy *policies;
    size_t n_policies;
    const Filter **filters; /* by number */
    size_t n_filters;
    const Score **scores; /* by number */
    size_t n_scores;
    const Gauge *gauges; /* by number: the metrics of all policies */
    size_t n_gauges;
    uint8_t groups;   /* SCHEMA_BIT()s that any expression reads */
    unsigned related; /* RELATED_BIT()s of objects that any expression reads */
    uint32_t n_slots; /* variables of a run */
    CelGraph *graph;
    Plan *plan;
    NodeParts filter_parts; /* parts of a node that filters read */
    NodeParts score_parts;  /* parts that scores read */
    bool is_partial; /* policies of the cluster are not listed yet, so nothing can be decided; set
                        by the caller, before use */
    ClusterNeeds needs; /* optional fields of objects that expressions read */
} Program;

typedef struct PolicySource {
    Str file; /* name for messages */
    Str text;
    const YamlStream *tree; /* used instead of @text, for example changed; must outlive the program;
                               NULL: @text is parsed */
} PolicySource;

enum {
    _PROGRAM_E_SUCCESS,
    PROGRAM_E_INVALID, /* at least one error in @diags */
};

/* Compiles @sources, whose texts may be freed afterwards. 0, PROGRAM_E_INVALID (also for an error
 * that was already in @diags) or -ENOMEM; adds warnings in any case, by file and line. *ret is set
 * only on 0, to a reference of the caller. Without sources every node passes. */
int program_compile(const PolicySource *sources, size_t n_sources, DiagList *diags, Program **ret);

/* Calls @visit for every expression: matches, variables, rules, messages and annotations. */
typedef void ProgramVisit(void *context, const Policy *policy, const Expression *expression);
void program_each_expression(const Program *program, ProgramVisit *visit, void *context);

/* The number of published filters of policies in mode Enforce; *ret_n_labels: those with labels. */
size_t program_count_published(const Program *program, size_t *ret_n_labels);

/* The highest score sent by any policy in mode Enforce. */
uint32_t program_wire_max(const Program *program);

Program *program_ref(Program *program);
Program *program_unref(Program *program); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Program *, program_unref)
