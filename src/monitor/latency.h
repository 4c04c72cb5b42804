#pragma once

/*
 * Latency: where the time of requests goes, by verb.
 *
 * "Is the extender slowing my scheduler?" needs more than a sum: how long it took to read a
 * request, to evaluate it and to have the reply written, as distributions, and over time. Counting
 * is a few atomic adds into histograms of fixed size (four steps to each doubling: a percentile is
 * off by at most a fifth), one set for each LATENCY_SLOT_SEC of the last hour, and one for all that
 * was before. The number of pending pods is sampled beside them.
 *
 * Threads: any, without a lock. Reading while others count may miss some of the last ones. Nothing
 * is lost; what is counted at the moment when a slot begins may count for the slot after.
 */

#include "extender/verbs.h"

#define LATENCY_SLOT_SEC 10
#define LATENCY_SLOTS 360u /* an hour */

typedef enum LatencyPart {
    LATENCY_READ,     /* headers complete to body complete */
    LATENCY_EVALUATE, /* body complete to reply made; of a bind that waits: all the waiting */
    LATENCY_WRITE,    /* reply made to reply sent */
    LATENCY_TOTAL,
    _LATENCY_PARTS,
} LatencyPart;

/* "read", "evaluate", "write", "total". */
extern const char *const latency_part_names[];

typedef struct Latency Latency;

Latency *latency_new(void); /* NULL when out of memory */
Latency *latency_free(Latency *latency);
DEFINE_CLEANUP(Latency *, latency_free)

/* A verb was answered and its reply is out. @now_nsec is monotonic. */
void latency_note_request(
    Latency *latency, Verb verb, const int64_t parts_nsec[_LATENCY_PARTS], int64_t now_nsec);

/* Counts the nodes of a decision. */
void latency_note_decision(
    Latency *latency, Verb verb, const DecisionSummary *summary, int64_t now_nsec);

/* A verb was answered with an error. */
void latency_note_error(Latency *latency, Verb verb, int64_t now_nsec);

/* Samples how many pods are pending now. One thread at a time. */
void latency_note_pending(Latency *latency, size_t n_pending, int64_t now_nsec);

typedef struct LatencySummary {
    uint64_t n;
    int64_t p50_nsec, p90_nsec, p99_nsec, max_nsec; /* 0 when n is */
    int64_t sum_nsec;
} LatencySummary;

typedef struct LatencyVerb {
    LatencySummary parts[_LATENCY_PARTS];
    uint64_t n_nodes_p50, n_nodes_max; /* of a request */
    uint64_t n_decided;                /* decisions: the number of samples of the others */
    uint64_t n_late;                   /* of these: ran out of time */
    uint64_t n_errors;                 /* and: were answered with an error */
} LatencyVerb;

/* Latencies of the last @window_sec, to within a slot (at most an hour; 0: since the start). */
void latency_read(
    Latency *latency, unsigned window_sec, int64_t now_nsec, LatencyVerb ret[_VERB_MAX]);

/* A slot, for charts. */
typedef struct LatencySlot {
    int64_t ago_sec; /* its end; 0: now */
    uint32_t n[_VERB_MAX];
    int64_t p99_nsec[_VERB_MAX];  /* of the total; 0: none */
    uint64_t n_nodes, n_rejected; /* of filters */
    uint32_t n_late, n_errors;    /* of all verbs */
    int64_t n_pending;            /* pods, the most of its samples; -1: there was none */
} LatencySlot;

/* All LATENCY_SLOTS, the oldest first. */
void latency_slots(Latency *latency, int64_t now_nsec, LatencySlot ret[LATENCY_SLOTS]);
