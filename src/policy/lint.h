#pragma once

/*
 * Lint: warnings for policies that can be read and yet hardly do what was meant.
 *
 *     a look-up that is an error where the label is missing, or the metric is absent
 *     words that the API never says: effect == 'NoScheduel', node.free['gpu']
 *     filters and matches that are always true, or never
 *     scores outside of 0..100, shares that nobody multiplied by 100, the same for every node
 *     reasons that look as if they varied
 *     params and variables that nobody uses, rules that say the same, an onMissing without metrics
 *     a rule that goes over all nodes for each node
 *
 * What can be meant is not warned of: each warning names a way to write it that says so.
 */

#include "columnar/plan.h"
#include "policy/policy.h"
#include "policy/reader.h"
#include "yaml/document.h"

/* Adds warnings about @policy, which was read from @document without errors. They are a help:
 * out of memory there are none. */
void lint_policy(YamlReader *reader, const YamlNode *document, const Policy *policy);

/* The same about how @policy, whose rules know their roots, is evaluated. */
void lint_plan(YamlReader *reader, const Policy *policy, const CelGraph *graph, const Plan *plan);
