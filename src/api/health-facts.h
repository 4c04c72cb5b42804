#pragma once

/*
 * HealthFacts: what the sentence (api/health-summary.h) is made of: figures and states, no words.
 *
 * Gathered from the daemon's parts here, put into words there; so every reason can be tried in a
 * unit test without a daemon. Threads: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/health-summary.h"
#include "base/arena.h"
#include "base/str.h"
#include "monitor/reload.h"

#define HEALTH_SUMMARY_WINDOW_SEC 300     /* of figures */
#define HEALTH_SUMMARY_BYPASS_SEC 600     /* so long after the last it is still told */
#define HEALTH_SUMMARY_CERTIFICATE_DAYS 7 /* fewer are worth a word */
#define HEALTH_SUMMARY_RATE_MAX 0.01      /* of late answers, and of errors */
#define HEALTH_SUMMARY_FEW 100u /* with fewer requests one would be over the rate: it takes two */

typedef struct HealthFacts {
    bool is_draining;
    bool is_unsynced; /* the cluster is watched, and has not been listed yet */
    bool is_bypassed; /* lately */
    bool is_watch_lost;
    int64_t silence_nsec;         /* since the API server was heard; -1: it is not watched */
    bool is_refused[_RELOAD_MAX]; /* the newest of its kind; the last good one is in force */
    bool has_certificate;
    int64_t certificate_nsec; /* until it ends; less than 0: it has ended */
    size_t n_stale;           /* metrics without a single value that counts */
    Str stale_metric;         /* the first of them; in the arena, like the next */
    Str stale_why;            /* in a few words; may be empty */
    int64_t metrics_age_nsec; /* the oldest; -1: nothing is measured */
    uint64_t n_requests, n_errors, n_decided, n_late; /* of the window, all verbs */
    int64_t p99_nsec;                                 /* of filters */
    int64_t deadline_nsec;
    Str policy_digest; /* its first digits */
    size_t n_nodes, n_waiting;
    uint64_t n_bypassed; /* since the start */
} HealthFacts;

/* False: out of memory. */
bool health_summary_facts(
    ApiContext *api, int64_t wall_nsec, int64_t now_nsec, Arena *arena, HealthFacts *ret);

/* In words. False: out of memory. */
bool health_summary_say(const HealthFacts *facts, Arena *arena, HealthSummary *ret);
