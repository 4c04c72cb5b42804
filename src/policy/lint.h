#pragma once

/*
 * Lint: warnings about valid policies that probably do not do what was intended (docs/policy.md,
 * "berth check").
 *
 * Each warning suggests how to write the policy without it.
 */

#include "cel/zone.h"
#include "policy/program.h"

/* Adds warnings about @policy, which was read from @document without errors. Adds none if out of
 * memory. */
void lint_policy(YamlReader *reader, const YamlNode *document, const Policy *policy);

/* Adds errors about time zones that @zones does not have; warnings if it has none at all. */
void lint_zones(const Program *program, const CelZones *zones, DiagList *diags);

/* Adds warnings about names that no object of a cluster has: resources, labels of nodes and pods
 * and their values, namespaces. @pods are all its pods, also pending ones. */
void lint_cluster(const Program *program, const NodeTable *table, const Pod *const *pods,
    size_t n_pods, DiagList *diags);

/* Adds warnings about slow evaluation of @policy. */
void lint_plan(YamlReader *reader, const Policy *policy, const CelGraph *graph, const Plan *plan);
