#pragma once

/* The status of a PlacementPolicy, as a merge patch of its subresource. */

#include "kube/policy-objects.h"

typedef struct PolicyCounts {
    uint64_t n_pods, n_rejected, n_pending, n_errors;
} PolicyCounts;

typedef struct PolicyStatus {
    Str name;
    int64_t generation; /* of the newest spec */
    Str error;          /* why the newest generation is not used; empty: it is */
    Str note;           /* about the version in force; may be empty */
    int64_t in_force;   /* the generation in force; 0: none */
    int64_t since_nsec; /* since 1970: since when it is in force */
    bool is_observed;
    const PolicyVersion *versions; /* versions that were in force, the newest first */
    size_t n_versions;             /* 0: do not write versions */
    Str replica;                   /* the replica that writes the status */
    PolicyCounts counts;
} PolicyStatus;

void policy_status_path(Str name, Buf *out);

/* @wall_nsec: now, since 1970. */
void policy_status_body(const PolicyStatus *status, int64_t wall_nsec, Buf *out);
