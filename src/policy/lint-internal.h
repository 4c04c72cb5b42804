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

/* Which failures of an expression its rule handles. */
typedef enum LintHandling {
    LINT_HANDLES_NOTHING,
    LINT_HANDLES_MISSING, /* onMissing: metrics that are absent */
    LINT_HANDLES_ERRORS,  /* onError: all */
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
    uint64_t unhandled_errors;    /* variables used where errors are not handled */
    uint64_t unhandled_missing;   /* the same of absent metrics */
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
    uint32_t *parents;   /* by node; UINT32_MAX: the root's */
    NumberRange *ranges; /* by node, from lint_range() on */
} LintExpression;

/* Prepares an expression, in the scratch arena, which is reset. Returns false if out of memory. */
bool lint_open(Lint *lint, const Expression *expression, LintRole role, LintExpression *ret);

/* The text of node @i as written. */
Str lint_text(const LintExpression *x, uint32_t i);

/* The string that node @i is a literal of; ptr is NULL: it is something else. */
Str lint_string(const LintExpression *x, uint32_t i);

/* Child @k of node @i. */
uint32_t lint_child(const CelTree *tree, uint32_t i, uint32_t k);

/* Whether node @i is a call of the operator or function @name, spelled as in the tree. */
bool lint_is_call(const CelTree *tree, uint32_t i, const char *name);

/* For a look-up m.key or m['key'] at node @i: the map's node, and the key if it is constant, else
 * STR_NULL. UINT32_MAX: it is no look-up. */
uint32_t lint_look_up(const LintExpression *x, uint32_t i, Str *ret_key);

/* The name of the field that node @i selects from a record (@ret_record may be NULL); STR_NULL: it
 * selects none. */
Str lint_field(const LintExpression *x, uint32_t i, const CelRecordType **ret_record);

/* What to do about a finding: a text, and a replacement if that is one. */
typedef struct LintHint {
    Str text;
    CelFix fix;
} LintHint;

#define LINT_HINT(string) ((LintHint){.text = (string)})

/* @text instead of node @i. */
LintHint lint_instead(const LintExpression *x, uint32_t i, Str text, Str hint);

/* Reports node @i; docs/policy.md says what is an error. */
void lint_report(const LintExpression *x, DiagLevel level, uint32_t i, LintHint hint,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
#define lint_warn(x, i, hint, ...) lint_report((x), DIAG_WARNING, (i), (hint), __VA_ARGS__)

/* lint-look-up.c: look-ups that fail where something is missing. */
void lint_look_ups(const LintExpression *x);

/* lint-words.c: words that the API never uses; and a filter's reason that is long, or looks like a
 * template. @reason may be NULL. */
void lint_words(const LintExpression *x);
void lint_reason(const Lint *lint, const YamlNode *reason);

/* Whether node @map is a map of amounts by resource: node.free, pod.requests. */
bool lint_is_amounts(const LintExpression *x, uint32_t map);

/* lint-range.c: the range of the value; and errors in that of a score. */
NumberRange lint_range(const LintExpression *x);
void lint_score(const LintExpression *x, const Score *score);
