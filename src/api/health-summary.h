#pragma once

/*
 * HealthSummary: one line that answers "is berth the cause?".
 *
 * "healthy"; or "degraded because …", "bypassed because …", "not ready because …". Computed from
 * the state of /readyz?verbose and /api/v1/status and from the last five minutes. Every page, every
 * update and `berth top` show it.
 *
 * Threads: any.
 */

#include "base/nsec.h"
#include "monitor/reload.h"
#include "monitor/watch-changes.h"

typedef struct ApiContext ApiContext;

typedef enum Health {
    HEALTH_HEALTHY,
    HEALTH_DEGRADED, /* it answers, but with a problem */
    HEALTH_BYPASSED, /* pods are bound without requests to berth */
    HEALTH_NOT_READY,
    _HEALTH_MAX,
} Health;

/* "healthy", "degraded", "bypassed", "not ready". */
extern const char *const health_names[];

#define HEALTH_SUMMARY_WINDOW_SEC 300 /* of figures */
#define HEALTH_SUMMARY_BYPASS_SEC 600 /* a bypass is reported for this time */
#define HEALTH_SUMMARY_FEW 100u       /* with fewer requests one error is not a rate */

/* Limits above which berth is degraded (flags --health-...). */
typedef struct HealthLimits {
    size_t pending;            /* pods kept pending by policies, from this number on; 0: never */
    unsigned errors_percent;   /* answers with an error; also requests over the deadline */
    unsigned latency_percent;  /* p99 latency of filter, in percent of the deadline */
    int64_t silence_nsec;      /* without a connection to the API server */
    unsigned certificate_days; /* degraded if the certificate expires within this time */
} HealthLimits;

#define HEALTH_LIMITS_DEFAULT                                                                      \
    ((HealthLimits){.pending = 1,                                                                  \
        .errors_percent = 1,                                                                       \
        .latency_percent = 50,                                                                     \
        .silence_nsec = WATCH_LOST_SEC * NSEC_PER_SEC,                                             \
        .certificate_days = 7})

/* The facts, without texts. */
typedef struct HealthFacts {
    HealthLimits limits;
    bool is_draining;
    bool is_unsynced; /* the cluster is watched, and has not been listed yet */
    bool is_bypassed; /* in the last HEALTH_SUMMARY_BYPASS_SEC */
    bool is_watch_lost;
    int64_t silence_nsec;         /* since the last update from the API server; -1: not watched */
    bool is_refused[_RELOAD_MAX]; /* the newest version was rejected; the last good one is in
                                     force */
    bool has_certificate;
    int64_t certificate_nsec; /* until it expires; negative: it has expired */
    size_t n_stale;           /* metrics without a value in force */
    Str stale_metric;         /* the first of them; in the arena, like the next */
    Str stale_why;            /* a clause; may be empty */
    int64_t metrics_age_nsec; /* of the oldest; -1: nothing is measured */
    uint64_t n_requests, n_errors, n_decided, n_late; /* of the window, all verbs */
    int64_t p99_nsec;                                 /* of filters; 0: none */
    int64_t deadline_nsec;
    Str policy_digest;         /* the first digits */
    size_t n_nodes, n_waiting; /* pods whose last filter no node passed, and that are not bound */
    size_t n_blocked;          /* of these: because of policies */
    uint64_t n_bypassed;       /* since the start */
} HealthFacts;

#define HEALTH_SUMMARY_REASONS_MAX 8u

typedef struct HealthSummary {
    HealthFacts facts;
    Health health;
    Str text; /* "degraded because there was no update from the API server for 42 s" */
    Str reasons[HEALTH_SUMMARY_REASONS_MAX];       /* by weight; @text has the first */
    const char *links[HEALTH_SUMMARY_REASONS_MAX]; /* the page with details; NULL: none */
    size_t n_reasons;
    double error_rate; /* of verbs, last five minutes: 0..1 */
} HealthSummary;

/* Collects the facts and describes them. Strings are in @arena. False: out of memory. */
bool health_summary_make(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, Arena *arena, HealthSummary *ret);

/* Describes the facts; tests try every reason with it. False: out of memory. */
bool health_summary_say(const HealthFacts *facts, Arena *arena, HealthSummary *ret);
