#pragma once

/*
 * HealthSummary: "Is it us?" in one.
 *
 * healthy; or degraded, bypassed, not ready because …: from the same state as /readyz?verbose,
 * /api/v1/status and the figures of the last five minutes. Shown on every page, in every update, by
 * `berth top`.
 *
 * Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "monitor/reload.h"

typedef struct ApiContext ApiContext;

typedef enum Health {
    HEALTH_HEALTHY,
    HEALTH_DEGRADED, /* it answers, but something is not as it should be */
    HEALTH_BYPASSED, /* pods are placed without requests to berth */
    HEALTH_NOT_READY,
    _HEALTH_MAX,
} Health;

/* "healthy", "degraded", "bypassed", "not ready". */
const char *health_name(Health health);

#define HEALTH_SUMMARY_WINDOW_SEC 300     /* of figures */
#define HEALTH_SUMMARY_BYPASS_SEC 600     /* how long a bypass is reported */
#define HEALTH_SUMMARY_CERTIFICATE_DAYS 7 /* fewer are worth a word */
#define HEALTH_SUMMARY_RATE_MAX 0.01      /* of late answers, and of errors */
#define HEALTH_SUMMARY_FEW 100u /* with fewer requests one would be over the rate: it takes two */

/* Figures and states without words. */
typedef struct HealthFacts {
    bool is_draining;
    bool is_unsynced; /* the cluster is watched, and has not been listed yet */
    bool is_bypassed; /* lately */
    bool is_watch_lost;
    int64_t silence_nsec; /* since the last update from the API server; -1: it is not watched */
    bool is_refused[_RELOAD_MAX]; /* the newest of its kind; the last good one is in force */
    bool has_certificate;
    int64_t certificate_nsec; /* until it ends; less than 0: it has ended */
    size_t n_stale;           /* metrics without a single value that counts */
    Str stale_metric;         /* the first of them; in the arena, like the next */
    Str stale_why;            /* in a few words; may be empty */
    int64_t metrics_age_nsec; /* the oldest; -1: nothing is measured */
    uint64_t n_requests, n_errors, n_decided, n_late; /* of the window, all verbs */
    int64_t p99_nsec;                                 /* of filters; 0: none */
    int64_t deadline_nsec;
    Str policy_digest;         /* its first digits */
    size_t n_nodes, n_waiting; /* pods whose last filter found no node, and that are not bound */
    uint64_t n_bypassed;       /* since the start */
} HealthFacts;

#define HEALTH_SUMMARY_REASONS_MAX 8u

typedef struct HealthSummary {
    HealthFacts facts;
    Health health;
    Str text; /* "degraded because there was no update from the API server for 42 s" */
    Str reasons[HEALTH_SUMMARY_REASONS_MAX]; /* by weight; the first is in @text */
    size_t n_reasons;
    double error_rate; /* of verbs, last five minutes: 0..1 */
} HealthSummary;

/* Strings are in @arena. False: out of memory. */
bool health_summary_make(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, Arena *arena, HealthSummary *ret);

/* The facts in words, so that tests can try every reason. False: out of memory. */
bool health_summary_say(const HealthFacts *facts, Arena *arena, HealthSummary *ret);
