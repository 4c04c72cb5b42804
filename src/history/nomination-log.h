#pragma once

/*
 * NominationLog: the last nominations of this berth (`berth serve --nominate`) and their outcomes,
 * to explain why a pod has a nominated node.
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
    NOMINATION_UNUSED,   /* it got another one */
    NOMINATION_EXPIRED,  /* withdrawn */
    NOMINATION_REJECTED, /* it never came into force: the API server rejected it, or it was late */
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
    size_t n_feasible; /* nodes that could take the pod: it is the best of them, ... */
    size_t n_best;     /* ... nodes with the same highest score */
    NominationOutcome outcome;
} NominationRecord;

typedef struct NominationLog NominationLog;

NominationLog *nomination_log_new(void);                /* NULL when out of memory */
NominationLog *nomination_log_free(NominationLog *log); /* takes NULL, returns NULL */
DEFINE_CLEANUP(NominationLog *, nomination_log_free)

/* A nomination was made; texts are copied. @log NULL: none are kept. */
void nomination_log_add(NominationLog *log, const NominationRecord *record);

/* Sets the outcome of the pod's newest nomination, if that is outstanding. */
void nomination_log_end(NominationLog *log, Str uid, NominationOutcome outcome);

/* The newest nomination of the pod, copied to @arena; with an empty @namespace or @uid of any.
 * Returns false if none is kept, or out of memory. @log may be NULL. */
bool nomination_log_find(
    NominationLog *log, Str namespace, Str name, Str uid, Arena *arena, NominationRecord *ret);
