#pragma once

/*
 * ClusterPolicies: which version of each PlacementPolicy of the cluster is in force.
 *
 *     choose ──> texts for a program ──> it is in force ──> commit
 *                                    └─> it cannot be loaded ──> reject, choose again
 *
 * Each object is checked by itself. One with a mistake, or that would exceed a limit of all
 * policies together, keeps its version in force, and does not affect others. After a start that is
 * the first version in its status that passes the checks. An object with the name of a policy in a
 * file has no effect. If the policies cannot be loaded together, versions that are not in force yet
 * are rejected, and tried again when something changes.
 *
 * cluster_policies_review() applies the same rules for the validating webhook.
 *
 * Threads: cluster_policies_choose(), _commit() and _reject() one at a time; the others any.
 */

#include "kube/policy-objects.h"
#include "policy/program.h"

typedef struct ClusterPolicies ClusterPolicies;

/* One object. All texts are in the arena of cluster_policies_copy(). */
typedef struct ClusterPolicy {
    PolicyObject newest;
    Str error;          /* why the newest version is not in force; empty: it is */
    int64_t in_force;   /* the generation that is in force; 0: none */
    int64_t since_nsec; /* since 1970: since when */
    bool is_observed;   /* the version in force has mode Observe */
} ClusterPolicy;

/* @objects is borrowed. NULL: out of memory. */
ClusterPolicies *cluster_policies_new(PolicyObjects *objects);
ClusterPolicies *cluster_policies_free(ClusterPolicies *policies); /* takes NULL */

/* Returns the texts of a program, in @arena: @files, whose program is @of_files (a reference is
 * kept), then one text for each object that has a usable version, by name. *ret_is_new: some
 * versions were not in force before. 0, or -ENOMEM. */
int cluster_policies_choose(ClusterPolicies *policies, Program *of_files, const PolicySource *files,
    size_t n_files, Arena *arena, const PolicySource **ret, size_t *ret_n, bool *ret_is_new)
    MUST_CHECK;

/* The texts last chosen are in force. */
void cluster_policies_commit(ClusterPolicies *policies, int64_t wall_nsec);

/* The texts last chosen cannot be loaded, because of @error. The next choice returns to the
 * versions in force. */
void cluster_policies_reject(ClusterPolicies *policies, Str error);

/* Whether @object, a new version or a new object, would be accepted beside the others last chosen.
 * Keeps nothing. Cannot check what needs a load (--load-time, --load-memory). 0; POLICIES_E_INVALID
 * with the error in @mistakes, of POLICY_MISTAKES_MAX; or -ENOMEM. Appends warnings, a line each,
 * to @warnings, of POLICY_WARNINGS_MAX. */
int cluster_policies_review(
    ClusterPolicies *policies, const PolicyObject *object, Buf *mistakes, Buf *warnings) MUST_CHECK;

/* Copies all objects, by name, into @arena. 0, or -ENOMEM. */
int cluster_policies_copy(
    ClusterPolicies *policies, Arena *arena, ClusterPolicy **ret, size_t *ret_n) MUST_CHECK;

/* Copies the versions of an object that were in force, newest first, for its status; in @arena.
 * Returns their number; 0 also when out of memory. */
size_t cluster_policies_versions(
    ClusterPolicies *policies, Str name, Arena *arena, PolicyVersion ret[POLICY_VERSIONS_MAX]);

/* Writes "NAME: ERROR" for the first object whose newest version is not used, and the number of
 * others; empty: all are used. */
void cluster_policies_describe(ClusterPolicies *policies, char *ret, size_t size);
