#pragma once

/*
 * NominationLog: the last nominations of this berth (`berth serve --nominate`) and their outcomes.
 * It explains why a pod has a nominated node.
 *
 * Memory: NOMINATION_LOG_MAX entries of three names and a UID; the oldest is replaced.
 *
 * Threads: any.
 */

#include "base/arena.h"

#define NOMINATION_LOG_MAX 8192u

typedef enum NominationOutcome {
    NOMINATION_OUTSTANDING,
    NOMINATION_USED,     /* the pod got that node */
    NOMINATION_UNUSED,   /* it got another node */
    NOMINATION_EXPIRED,  /* berth withdrew it */
    NOMINATION_REJECTED, /* not in force: rejected by the API server, or too late */
    NOMINATION_DROPPED,  /* the pod was deleted, or another component replaced the nomination */
    _NOMINATION_OUTCOMES,
} NominationOutcome;

typedef struct NominationOutcomeInfo {
    const char *name; /* "outstanding" */
    const char *text; /* for users: a clause */
} NominationOutcomeInfo;

extern const NominationOutcomeInfo nomination_outcomes[];

typedef struct NominationRecord {
    Str namespace, name, uid; /* of the pod */
    Str node;
    int64_t at_nsec;   /* since 1970 */
    size_t n_feasible; /* nodes that could take the pod */
    size_t n_best;     /* of these: nodes with the highest score */
    NominationOutcome outcome;
} NominationRecord;

typedef struct NominationLog NominationLog;

NominationLog *nomination_log_new(void);                /* NULL when out of memory */
NominationLog *nomination_log_free(NominationLog *log); /* takes NULL, returns NULL */
DEFINE_CLEANUP(NominationLog *, nomination_log_free)

/* Copies a new nomination. @log NULL: none are kept. */
void nomination_log_add(NominationLog *log, const NominationRecord *record);

/* Sets the outcome of the pod's newest nomination, if it is outstanding. */
void nomination_log_end(NominationLog *log, Str uid, NominationOutcome outcome);

/* Copies the newest nomination of the pod to @arena. An empty @namespace or @uid matches any.
 * False: none is kept, or out of memory. @log may be NULL. */
bool nomination_log_find(
    NominationLog *log, Str namespace, Str name, Str uid, Arena *arena, NominationRecord *ret);
