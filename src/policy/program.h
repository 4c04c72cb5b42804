#pragma once

/*
 * Program: all policies in force, compiled together.
 *
 * One graph of all their expressions, in which equal parts are shared, and a plan that computes
 * each part as rarely as possible. A program does not change; requests take a reference, a reload
 * replaces it. Its fields are the interface: read them, never write.
 *
 * Filters are numbered over all policies, in order of precedence; unresolvable filters come first.
 * When a node fails several, the one with the lowest number is its verdict, so a node is
 * unresolvable if any unresolvable filter rejects it.
 */

#include "base/ref.h"
#include "cluster/needs.h"
#include "policy/policy.h"

#define PROGRAM_FILTERS_MAX 1000u
#define PROGRAM_SCORES_MAX 1000u

/* A thousand short rules take 10 to 20 MB, 60 MB at half a KiB of CEL each. */
#define PROGRAM_BUDGET ((size_t)256 * 1024 * 1024)

typedef struct Program {
    Ref ref;
    Arena *arena;
    Digest digest; /* of the texts it was compiled from, in their order */
    Schema *schema;
    const Policy *policies;
    size_t n_policies;
    const Filter **filters; /* by number */
    size_t n_filters;
    const Score **scores; /* by number */
    size_t n_scores;
    const Gauge *gauges; /* by number: the metrics of all policies */
    size_t n_gauges;
    uint8_t groups;   /* SCHEMA_BIT()s that some expression reads */
    unsigned related; /* RELATED_BIT()s of the objects that some expression reads */
    uint32_t n_slots; /* of variables of a run */
    CelGraph *graph;
    Plan *plan;
    NodeParts filter_parts; /* the parts of a node that filters read; */
    NodeParts score_parts;  /* and the scores */
    bool is_partial;    /* policies of the cluster are missing: nothing can be decided yet. Set by
                           the maker, at once */
    ClusterNeeds needs; /* fields of objects that expressions read and that are not always kept */
} Program;

typedef struct PolicySource {
    Str file; /* name for messages */
    Str text;
    const YamlStream *tree; /* the text, parsed and changed before; it must outlive the program.
                               NULL: the text counts */
} PolicySource;

enum {
    _PROGRAM_E_SUCCESS,
    PROGRAM_E_INVALID, /* at least one error is in the list */
};

/* Reads and checks all of @sources. Texts may be freed afterwards. Returns 0, PROGRAM_E_INVALID or
 * -ENOMEM; @diags may hold warnings in any case, file by file from top to bottom. An error that is
 * already in it counts. @ret is set on 0 only, and the caller's (program_unref()). Without sources
 * the program lets every node pass. */
int program_compile(const PolicySource *sources, size_t n_sources, DiagList *diags, Program **ret);

/* Calls @visit for every expression: matches, variables, rules, messages and annotations. */
typedef void ProgramVisit(void *context, const Policy *policy, const Expression *expression);
void program_each_expression(const Program *program, ProgramVisit *visit, void *context);

/* How many filters are published, by policies that are enforced; and of these as labels. */
size_t program_count_published(const Program *program, size_t *ret_n_labels);

/* The highest score on the wire, over all policies that are enforced. */
uint32_t program_wire_max(const Program *program);

Program *program_ref(Program *program);
Program *program_unref(Program *program); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Program *, program_unref)
