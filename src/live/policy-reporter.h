#pragma once

/*
 * PolicyReporter: writes the status of PlacementPolicies when it has changed.
 *
 * A new version in force, or a mistake, is written at once; counts and notes at most every
 * POLICY_REPORT_SEC for each policy. Among replicas the holder of a Lease writes.
 * Threads: one at a time.
 */

#include "kube/policy-status.h"
#include "live/cluster-policies.h"

#define POLICY_REPORT_SEC 30

typedef struct PolicyReport {
    ClusterPolicies *policies;
    Str replica;
    Str error; /* why the last load failed; empty: it did not */
    void *context;
    /* Fills the counts, and the note in @arena. Called only when a write may be due. */
    void (*fill)(void *context, Arena *arena, PolicyStatus *status);
} PolicyReport;

/* Takes the contents of @path and @body. False: it cannot now; the next run tries again. */
typedef bool WritePolicyStatus(void *context, Buf *path, Buf *body);

/* Called once for each newest version that is rejected. */
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

/* Writes the statuses that changed since the last run. */
void policy_reporter_run(
    PolicyReporter *reporter, const PolicyReport *report, int64_t now_nsec, int64_t wall_nsec);

/* Forgets the last statuses: another replica writes from now on, or the process ends. */
void policy_reporter_reset(PolicyReporter *reporter);
