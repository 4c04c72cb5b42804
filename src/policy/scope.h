#pragma once

/*
 * Scope: the names that expressions of one policy can use.
 *
 * The schema's pod, node, cluster and now, and the policy's own:
 *
 *     params      constants; folded into the expressions
 *     variables   expressions; each may use those before it. They are substituted where they are
 *                 named: the plan decides what is computed once
 *     metrics     measured values of the node, which may be absent (schema/metrics.h); and
 *                 workload.metrics, of the pod's workload
 */

#include "model/gauge.h"
#include "policy/expression.h"
#include "schema/metrics.h"

#define SCOPE_VARIABLES_MAX 64u /* a bit each (Expression.variables) */
#define SCOPE_PARAMS_MAX 256u
#define SCOPE_METRICS_MAX SCHEMA_METRICS_MAX
#define SCOPE_GAUGES_MAX 256u /* of all policies together: metrics that differ */

typedef struct Variable {
    Str name;
    Expression expression;
} Variable;

struct Scope {
    CelEnv *env; /* the schema's, and the three */
    Variable variables[SCOPE_VARIABLES_MAX];
    CelField variable_fields[SCOPE_VARIABLES_MAX];
    CelRecordType variables_type;
    uint32_t variables_slot;
    CelRecordType params_type;
    SchemaMetrics metrics;
    uint32_t nodes[SCOPE_VARIABLES_MAX]; /* of variables in the program's graph; scope_lower() */
    SchemaNeeds *needs; /* of all expressions of the program; while it is compiled */
};

/* Shared by the scopes of one program. */
typedef struct ScopeCommon {
    uint32_t next_slot; /* of variables: scopes whose expressions share a graph share none */
    VEC(Gauge) gauges;  /* by number: all that is measured, each once; SCOPE_GAUGES_MAX at most */
    bool has_too_many;  /* more than the limit: an error */
    SchemaNeeds needs;  /* of all expressions but variables, which count where they are used */
} ScopeCommon;

/* Reads the three sections, each of which may be NULL, and adds their metrics to @common. Lies in
 * the reader's arena. NULL when out of memory; problems are reported. */
Scope *scope_new(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *params, const YamlNode *metrics, const YamlNode *variables) MUST_CHECK;

/* Whether an expression can select it: a letter or '_', then letters, digits and '_', at most 63.
 */
bool scope_name_is_valid(Str name);

/* Adds the variables to @graph. 0 or -ENOMEM. */
int scope_lower(Scope *scope, CelGraph *graph) MUST_CHECK;

/* The shapes of the three sections, for the JSON Schema. */
extern const Shape scope_params_shape, scope_metrics_shape, scope_variables_shape;
