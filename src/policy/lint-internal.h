#pragma once

/* Shared by lint*.c. */

#include "policy/lint.h"

/* The purpose of an expression: it decides the consequence of an error. */
typedef enum LintRole {
    LINT_VARIABLE,
    LINT_MATCH,
    LINT_FILTER,
    LINT_UNRESOLVABLE, /* a filter, too */
    LINT_SCORE,
    LINT_MESSAGE,
    LINT_ANNOTATION, /* of bind.annotations */
} LintRole;

/* The errors of an expression that its rule handles. */
typedef enum LintHandling {
    LINT_HANDLES_NOTHING,
    LINT_HANDLES_MISSING, /* onMissing: absent metrics */
    LINT_HANDLES_ERRORS,  /* onError: all errors */
} LintHandling;

/* Unknown: -INFINITY, INFINITY. */
typedef struct NumberRange {
    double min, max;
} NumberRange;

typedef struct Lint {
    YamlReader *reader;
    const YamlNode *spec;
    const Policy *policy;
    Arena *scratch; /* for one expression at a time */
    uint64_t used_variables;
    uint64_t unhandled_errors;    /* variables used in rules without onError */
    uint64_t unhandled_missing;   /* variables used in rules without onMissing */
    uint64_t with_params;         /* variables that use params */
    bool *used_params;            /* by number */
    NumberRange *variable_ranges; /* by number */
} Lint;

typedef struct LintExpression {
    Lint *lint;
    const Expression *expression;
    const CelTree *tree;
    const CelNodeInfo *notes;
    LintRole role;
    LintHandling handling;
    uint32_t *parents;   /* by node; UINT32_MAX: it is the root */
    NumberRange *ranges; /* by node, set by lint_range() */
} LintExpression;

/* Prepares an expression in the scratch arena, which it resets. False if out of memory. */
bool lint_open(Lint *lint, const Expression *expression, LintRole role, LintExpression *ret);

/* The source text of node @i. */
Str lint_text(const LintExpression *x, uint32_t i);

/* The value of node @i if it is a string literal; else STR_NULL. */
Str lint_string(const LintExpression *x, uint32_t i);

/* Child @k of node @i. */
uint32_t lint_child(const CelTree *tree, uint32_t i, uint32_t k);

/* Whether node @i calls the operator or function @name, as spelled in the tree. */
bool lint_is_call(const CelTree *tree, uint32_t i, const char *name);

/* For m.key or m['key'] at node @i: returns the map's node, and the key if it is constant, else
 * STR_NULL. UINT32_MAX: node @i is no look-up. */
uint32_t lint_look_up(const LintExpression *x, uint32_t i, Str *ret_key);

/* The name of the field that node @i selects from a record (@ret_record may be NULL); else
 * STR_NULL. */
Str lint_field(const LintExpression *x, uint32_t i, const CelRecordType **ret_record);

/* A suggestion for a finding: a text, and maybe a replacement. */
typedef struct LintHint {
    Str text;
    CelFix fix;
} LintHint;

#define LINT_HINT(string) ((LintHint){.text = (string)})

/* A hint with a fix: @text instead of node @i. */
LintHint lint_instead(const LintExpression *x, uint32_t i, Str text, Str hint);

/* Reports node @i; docs/policy.md lists the errors. */
void lint_report(const LintExpression *x, DiagLevel level, uint32_t i, LintHint hint,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
#define lint_warn(x, i, hint, ...) lint_report((x), DIAG_WARNING, (i), (hint), __VA_ARGS__)

/* lint-look-up.c: look-ups that fail if an entry or field is missing. */
void lint_look_ups(const LintExpression *x);

/* lint-words.c: words that the API never uses; and reasons of filters that are long, or look like
 * templates. @reason may be NULL. */
void lint_words(const LintExpression *x);
void lint_reason(const Lint *lint, const YamlNode *reason);

/* Whether node @map is a map of amounts by resource: node.free, pod.requests. */
bool lint_is_amounts(const LintExpression *x, uint32_t map);

/* lint-range.c: the range of the value; and checks of a score's range. */
NumberRange lint_range(const LintExpression *x);
void lint_score(const LintExpression *x, const Score *score);
