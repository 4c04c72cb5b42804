#pragma once

/*
 * Lint: warnings about valid policies that probably do not do what was intended (docs/policy.md,
 * "berth check").
 *
 * Each warning names a way to write the same without a warning.
 */

#include "cel/zone.h"
#include "policy/program.h"

/* Adds warnings about @policy, which was read from @document without errors. Without memory there
 * are none. */
void lint_policy(YamlReader *reader, const YamlNode *document, const Policy *policy);

/* Errors about time zones that @zones does not have; warnings if it has none at all. */
void lint_zones(const Program *program, const CelZones *zones, DiagList *diags);

/* Warnings about names that nothing in a cluster has: resources, labels of nodes and pods and their
 * values, namespaces. @pods are all its pods, those that are pending, too. */
void lint_cluster(const Program *program, const NodeTable *table, const Pod *const *pods,
    size_t n_pods, DiagList *diags);

/* The same about how @policy is evaluated. */
void lint_plan(YamlReader *reader, const Policy *policy, const CelGraph *graph, const Plan *plan);
