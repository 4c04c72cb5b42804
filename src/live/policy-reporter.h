#pragma once

/*
 * PolicyReporter: writes the status of PlacementPolicies, when it has changed.
 *
 * Another version in force, or a mistake, is written at once; counts and notes at most
 * every POLICY_REPORT_SEC for each policy. Among several replicas the holder of a Lease writes.
 *
 * Threads: one at a time.
 */

#include "kube/policy-status.h"
#include "live/cluster-policies.h"

#define POLICY_REPORT_SEC 30

typedef struct PolicyReport {
    ClusterPolicies *policies;
    Str replica;
    Str error; /* why policies are not loaded as they are; empty: they are */
    void *context;
    /* Fills counts and, in @arena, the note; called when they may be written. */
    void (*fill)(void *context, Arena *arena, PolicyStatus *status);
} PolicyReport;

/* Returns false if it is not taken; it is tried again at the next run. */
typedef bool WritePolicyStatus(void *context, Buf *path, Buf *body);

/* The newest version of @policy is rejected. Once for each version. */
typedef void NoteRejectedPolicy(void *context, const ClusterPolicy *policy);

typedef struct WrittenStatus WrittenStatus;

typedef struct PolicyReporter {
    void *context; /* of the next two */
    WritePolicyStatus *write;
    NoteRejectedPolicy *rejected;
    Arena *arena;         /* of the items; NULL: there are none */
    WrittenStatus *items; /* by name */
    size_t n;
} PolicyReporter;

/* Writes changes since the last run. */
void policy_reporter_run(
    PolicyReporter *reporter, const PolicyReport *report, int64_t now_nsec, int64_t wall_nsec);

/* Another replica writes, or the end: frees what this one wrote, which does not count any more. */
void policy_reporter_reset(PolicyReporter *reporter);
