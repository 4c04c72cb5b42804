#pragma once

/*
 * For the files lint-*.c: an expression while it is looked through, and what is known of its
 * policy.
 */

#include <stdbool.h>
#include <stdint.h>

#include "policy/lint.h"
#include "policy/scope.h"

/* What an expression is for: it decides what a mistake leads to. */
typedef enum LintRole {
    LINT_VARIABLE,
    LINT_MATCH,
    LINT_FILTER,
    LINT_UNRESOLVABLE, /* a filter, too */
    LINT_SCORE,
    LINT_MESSAGE,
} LintRole;

/* What is said about failing: by onError, which is for all of it, or by onMissing. */
typedef enum LintCare {
    LINT_CARELESS,
    LINT_OF_MISSING, /* metrics that are absent */
    LINT_OF_ERRORS,  /* those, too */
} LintCare;

/* From @min to @max, both possible or not; nothing known: -INFINITY, INFINITY. */
typedef struct Range {
    double min, max;
} Range;

typedef struct Lint {
    YamlReader *reader;
    const YamlNode *spec;
    const Policy *policy;
    Arena *scratch; /* for one expression at a time */
    uint64_t used_variables;
    uint64_t careless;      /* variables that are used where nothing is said about errors; */
    uint64_t trusting;      /* nor about metrics that are absent */
    uint64_t with_params;   /* variables that use params */
    bool *used_params;      /* by number */
    Range *variable_ranges; /* by number */
} Lint;

typedef struct LintExpression {
    Lint *lint;
    const Expression *expression;
    const CelTree *tree;
    const CelNote *notes;
    LintRole role;
    LintCare care;
    uint32_t *parents; /* by node; UINT32_MAX: the root's */
} LintExpression;

/* The text of node @i as written. */
Str lint_text(const LintExpression *x, uint32_t i);

/* Child @k of node @i. */
uint32_t lint_child(const CelTree *tree, uint32_t i, uint32_t k);

/* Whether node @i is a call of the operator or function @name, spelled as in the tree. */
bool lint_is_call(const CelTree *tree, uint32_t i, const char *name);

/* What node @i looks up, if it is m.key or m['key']: the map's node, and the key if it is
 * written there, else STR_NULL. UINT32_MAX: it is no look-up. */
uint32_t lint_look_up(const LintExpression *x, uint32_t i, Str *ret_key);

/* The name of the record's field that node @i selects; STR_NULL: none. */
Str lint_field(const LintExpression *x, uint32_t i, const CelRecordType **ret_record);

/* Warns of node @i. */
void lint_warn(const LintExpression *x, uint32_t i, Str hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* lint-look-up.c: what is an error where something is missing. */
void lint_look_ups(const LintExpression *x);

/* lint-words.c: words that never come. */
void lint_words(const LintExpression *x);

/* lint-reason.c: a filter's reason that is long, or looks as if it varied; @reason may be NULL. */
void lint_reason(const Lint *lint, const YamlNode *reason);

/* lint-range.c: the range of the value; and what is wrong with that of a score. */
Range lint_range(const LintExpression *x);
void lint_score(const LintExpression *x, const Score *score);
