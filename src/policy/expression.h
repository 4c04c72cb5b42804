#pragma once

/*
 * Expression: CEL of a policy, compiled.
 *
 * Written by a user, or by a built-in rule (kind.h). Errors are reported at their place in the
 * policy file. It is compiled twice: alone, for the scalar machine, which computes messages and
 * explanations; and into the graph of the whole program, for the plan that evaluates nodes
 * (program.h).
 *
 * It points into the reader's arena and the document.
 */

#include "cel/check.h"
#include "cel/code.h"
#include "cel/cost.h"
#include "cel/graph.h"
#include "cel/report.h"
#include "policy/reader.h"

typedef struct Scope Scope; /* scope.h */

/* The cost limit for one node, in the unit of cel/cost.h. High, since lists of unknown size count
 * as 10,000 (so 10,000 domains have 10,000 nodes each): real time is limited by the deadline of a
 * request and the fuel of an evaluation. */
#define EXPRESSION_COST_MAX UINT64_C(1000000000000000)

/* The required type of an expression. dyn is accepted with a warning: then a value of another type
 * is an error of the run. */
typedef enum ExpressionType {
    EXPRESSION_BOOL,
    EXPRESSION_NUMBER, /* int or double */
    EXPRESSION_STRING,
    EXPRESSION_BIND, /* a string, of bind.annotations: the only one that may read `decision` */
    EXPRESSION_ANY,  /* a variable's */
} ExpressionType;

typedef struct Expression {
    Str text;    /* CEL; empty: none */
    Place place; /* of the text, or of the built-in rule that wrote it */
    bool is_built_in;
    ExpressionType type;
    const Scope *scope;
    const CelChecked *checked;
    const CelCode *code; /* for the scalar machine */
    CelCostRange cost;   /* including that of the variables it uses */
    uint64_t variables;  /* bit i: uses variable i of its scope, also through others */
    uint64_t metrics, workload_metrics; /* the same for metrics.x and workload.metrics.x */
    uint8_t groups;                     /* SCHEMA_BIT()s it reads */
    CelValue constant; /* its value, if that is constant and a bool or a number; else ABSENT */
    uint32_t node;     /* in the program's graph; set by expression_lower() */
} Expression;

static inline bool expression_is_given(const Expression *expression) {
    return expression->text.len > 0;
}

/* Reads the CEL text in @value, a scalar. @what names it in messages. False after an error, which
 * has been reported. */
bool expression_read(YamlReader *reader, Scope *scope, const YamlNode *value, const char *what,
    ExpressionType type, Expression *ret);

/* The same for @text, which a built-in rule at @at has written. */
bool expression_write(YamlReader *reader, Scope *scope, const YamlNode *at, Str text,
    ExpressionType type, Expression *ret);

/* Adds it to @graph; those of its scope's variables must be there (scope_lower()). 0 or -ENOMEM. */
int expression_lower(Expression *expression, CelGraph *graph);

/* Something about bytes [@from, @to) of its text. */
typedef struct ExpressionFinding {
    DiagLevel level;
    uint32_t from, to;
    Str text, hint; /* the hint may be empty */
    CelFix fix;     /* of the expression's text */
} ExpressionFinding;

/* Reports it at its position in the policy file, if the bytes are there verbatim; else at the
 * position of the whole, without the fix. */
void expression_report(
    YamlReader *reader, const Expression *expression, const ExpressionFinding *finding);

/* Warns about the whole expression. */
void expression_warn(YamlReader *reader, const Expression *expression, Str hint, Str text);

/* For explanations: adds the variables it uses to @graph, another than the program's, and fills
 * what CelOptions.composite needs to lower the expression itself there. @ret_nodes has room for
 * SCOPE_VARIABLES_MAX. 0 or -ENOMEM. */
int expression_lower_variables(
    const Expression *expression, CelGraph *graph, uint32_t *ret_nodes, CelComposite *ret);
