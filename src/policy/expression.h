#pragma once

/*
 * Expression: compiled CEL of a policy.
 *
 * A user or a built-in rule (kind.h) has written it. Errors are reported at their place in the
 * policy file. It is compiled twice: alone, for the scalar machine, which computes messages and
 * explanations; and into the graph of the program, for the plan that evaluates nodes (program.h).
 *
 * It borrows from the reader's arena and the document.
 */

#include "cel/check.h"
#include "cel/code.h"
#include "cel/cost.h"
#include "cel/graph.h"
#include "cel/report.h"
#include "policy/reader.h"

typedef struct Scope Scope; /* scope.h */

/* The cost limit for one node, in the unit of cel/cost.h. It is high because lists of unknown size
 * count as 10,000 (10,000 domains have 10,000 nodes each); the deadline of a request and the fuel
 * of an evaluation limit the real time. */
#define EXPRESSION_COST_MAX UINT64_C(1000000000000000)

/* The required type of an expression. dyn gives a warning: then a value of another type is an error
 * at run time. */
typedef enum ExpressionType {
    EXPRESSION_BOOL,
    EXPRESSION_NUMBER, /* int or double */
    EXPRESSION_STRING,
    EXPRESSION_BIND, /* a string in bind.annotations; only this may read `decision` */
    EXPRESSION_ANY,  /* for variables */
} ExpressionType;

typedef struct Expression {
    Str text;    /* CEL; empty: none */
    Place place; /* of the text, or of the built-in rule */
    bool is_built_in;
    ExpressionType type;
    const Scope *scope;
    const CelChecked *checked;
    const CelCode *code;                /* for the scalar machine */
    CelCostRange cost;                  /* with its variables */
    uint64_t variables;                 /* bit i: uses variable i of its scope, also indirectly */
    uint64_t metrics, workload_metrics; /* the same, for metrics.x and workload.metrics.x */
    uint8_t groups;                     /* SCHEMA_BIT()s of what it reads */
    CelValue constant;                  /* the value of a constant bool or number; else absent */
    uint32_t node;                      /* in the program's graph; set by expression_lower() */
} Expression;

static inline bool expression_is_given(const Expression *expression) {
    return expression->text.len > 0;
}

/* Reads the CEL text in @value, a scalar. @what names it in messages. False after reporting an
 * error. */
bool expression_read(YamlReader *reader, Scope *scope, const YamlNode *value, const char *what,
    ExpressionType type, Expression *ret);

/* Like expression_read(), for @text written by the built-in rule at @at. */
bool expression_write(YamlReader *reader, Scope *scope, const YamlNode *at, Str text,
    ExpressionType type, Expression *ret);

/* Adds it to @graph, after the variables of its scope (scope_lower()). 0 or -ENOMEM. */
int expression_lower(Expression *expression, CelGraph *graph);

/* A finding about bytes [@from, @to) of the text. */
typedef struct ExpressionFinding {
    DiagLevel level;
    uint32_t from, to;
    Str text, hint; /* hint may be empty */
    CelFix fix;     /* replaces bytes of the text */
} ExpressionFinding;

/* Reports a finding at its place in the policy file, if that is known; else at the place of the
 * whole expression, without the fix. */
void expression_report(
    YamlReader *reader, const Expression *expression, const ExpressionFinding *finding);

/* Warns about the whole expression. */
void expression_warn(YamlReader *reader, const Expression *expression, Str hint, Str text);

/* For explanations: adds the used variables to @graph, not the program's, and sets @ret to the
 * CelOptions.composite for lowering the expression there. @ret_nodes has room for
 * SCOPE_VARIABLES_MAX. 0 or -ENOMEM. */
int expression_lower_variables(
    const Expression *expression, CelGraph *graph, uint32_t *ret_nodes, CelComposite *ret);
