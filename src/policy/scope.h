#pragma once

/*
 * Scope: the names that expressions of one policy can use.
 *
 * The pod, node, cluster and now of the schema, and these records of the policy:
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

#define SCOPE_VARIABLES_MAX 64u /* one bit each in Expression.variables */
#define SCOPE_PARAMS_MAX 256u
#define SCOPE_METRICS_MAX SCHEMA_METRICS_MAX
#define SCOPE_GAUGES_MAX 256u /* different metrics of all policies together */

typedef struct Variable {
    Str name;
    Expression expression;
} Variable;

struct Scope {
    CelEnv *env; /* the schema's names and the three records */
    Variable variables[SCOPE_VARIABLES_MAX];
    CelField variable_fields[SCOPE_VARIABLES_MAX];
    CelRecordType variables_type;
    uint32_t variables_slot;
    CelRecordType params_type;
    SchemaMetrics metrics;
    uint32_t nodes[SCOPE_VARIABLES_MAX]; /* of the variables, in the program's graph; set by
                                            scope_lower() */
    SchemaNeeds *needs; /* of all expressions; only while the program is compiled */
};

/* Shared by the scopes of one program. */
typedef struct ScopeCommon {
    uint32_t next_slot; /* the next free one for variables; scopes share none */
    VEC(Gauge) gauges;  /* each different measurement once; at most SCOPE_GAUGES_MAX */
    bool has_too_many;  /* more gauges than the limit: an error */
    SchemaNeeds needs;  /* of all expressions; a variable counts where it is used */
} ScopeCommon;

/* Reads the three sections, each of which may be NULL, and adds their metrics to @common. The scope
 * lives in the reader's arena. Reports mistakes; returns NULL only when out of memory. */
Scope *scope_new(YamlReader *reader, const Schema *schema, ScopeCommon *common,
    const YamlNode *params, const YamlNode *metrics, const YamlNode *variables) MUST_CHECK;

/* Whether @name is valid as a field in CEL: a letter or '_', then letters, digits and '_', at most
 * 63. */
bool scope_name_is_valid(Str name);

/* Adds the variables to @graph. 0 or -ENOMEM. */
int scope_lower(Scope *scope, CelGraph *graph) MUST_CHECK;

/* The shapes of the three sections, for the JSON Schema. */
extern const Shape scope_params_shape, scope_metrics_shape, scope_variables_shape;
