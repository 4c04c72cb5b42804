#pragma once

/*
 * Lint: warnings about valid policies that probably do not do what was intended.
 *
 *     a look-up that is an error where the label is missing, or the metric is absent
 *     words that the API never uses: effect == 'NoScheduel', node.free['gpu']
 *     filters and matches that are always true, or never
 *     scores outside of 0..100, shares not multiplied by 100, the same for every node
 *     reasons that look like templates
 *     unused params and variables, duplicate rules, an onMissing without metrics
 *     a rule that reads all nodes for each node
 *
 * Each warning names a way to write the same without a warning.
 */

#include "columnar/plan.h"
#include "policy/policy.h"
#include "policy/reader.h"
#include "yaml/document.h"

/* Adds warnings about @policy, which was read from @document without errors. Without memory there
 * are none. */
void lint_policy(YamlReader *reader, const YamlNode *document, const Policy *policy);

/* The same about how @policy is evaluated. */
void lint_plan(YamlReader *reader, const Policy *policy, const CelGraph *graph, const Plan *plan);
