#pragma once

/*
 * ClusterPolicies: which version of each PlacementPolicy of the cluster is in force.
 *
 *     choose ──> texts for a program ──> it is in force ──> commit
 *                                    └─> it cannot be loaded ──> reject, choose again
 *
 * Each object is checked by itself. One with a mistake, or that would exceed a limit of all
 * policies together, keeps the version that is in force, and does not affect others. After a start
 * that is the first version of its status that passes the checks. An object whose name a file uses
 * has no effect. If the policies cannot be loaded together, versions that
 * are not in force yet are rejected, and tried again when something changes.
 *
 * The same rules answer whether an object would be accepted (cluster_policies_review()), for the
 * validating webhook.
 *
 * Threads: cluster_policies_choose(), _commit() and _reject() one at a time; the others any.
 */

#include "kube/policy-objects.h"
#include "policy/program.h"

typedef struct ClusterPolicies ClusterPolicies;

/* One object. All texts are the owner's. */
typedef struct ClusterPolicy {
    PolicyObject newest;
    Str error;          /* why the newest version is not used; empty: it is */
    int64_t in_force;   /* the generation that is in force; 0: none */
    int64_t since_nsec; /* since 1970: when that came in force */
    bool is_observed;   /* it has mode Observe */
} ClusterPolicy;

/* @objects is borrowed. NULL: out of memory. */
ClusterPolicies *cluster_policies_new(PolicyObjects *objects);
ClusterPolicies *cluster_policies_free(ClusterPolicies *policies); /* takes NULL */

/* The texts of a program: those of @files, whose program is @of_files (a reference is kept), then
 * one for each object that has a usable version, by name. In @arena. *ret_is_new: there are
 * versions that were not in force before. 0, or -ENOMEM. */
int cluster_policies_choose(ClusterPolicies *policies, Program *of_files, const PolicySource *files,
    size_t n_files, Arena *arena, const PolicySource **ret, size_t *ret_n, bool *ret_is_new)
    MUST_CHECK;

/* The texts last chosen are in force. */
void cluster_policies_commit(ClusterPolicies *policies, int64_t wall_nsec);

/* They cannot be loaded: @error. The next choice has the versions in force
 * again. */
void cluster_policies_reject(ClusterPolicies *policies, Str error);

/* Whether @object, a new version or a new object, would be accepted, beside the others last chosen.
 * Nothing is kept. What only a load can show (--load-time, --load-memory) is not known here. 0;
 * POLICIES_E_INVALID with the error in @mistakes, of POLICY_MISTAKES_MAX; or -ENOMEM. Warnings, a
 * line each, are appended to @warnings, of POLICY_WARNINGS_MAX. */
int cluster_policies_review(
    ClusterPolicies *policies, const PolicyObject *object, Buf *mistakes, Buf *warnings) MUST_CHECK;

/* All objects, by name, in @arena. 0, or -ENOMEM. */
int cluster_policies_copy(
    ClusterPolicies *policies, Arena *arena, ClusterPolicy **ret, size_t *ret_n) MUST_CHECK;

/* The versions of an object that were in force, the newest first, for its status; in @arena.
 * Returns how many; 0 also: out of memory. */
size_t cluster_policies_versions(
    ClusterPolicies *policies, Str name, Arena *arena, PolicyVersion ret[POLICY_VERSIONS_MAX]);

/* "NAME: ERROR", of the first object whose newest version is not used, and how many more there are;
 * empty: all are. */
void cluster_policies_describe(ClusterPolicies *policies, char *ret, size_t size);
