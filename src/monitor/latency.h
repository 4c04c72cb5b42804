#pragma once

/*
 * Latency: the durations of requests, by verb and part.
 *
 * "Is the extender slowing my scheduler?" A sum does not answer that. So there are distributions of
 * the times to read a request, to evaluate it and to write the reply, also over time. Counting is a
 * few atomic adds into histograms of fixed size (four steps per doubling: a percentile is off by at
 * most a fifth), one set for each LATENCY_SLOT_SEC of the last hour, and one for everything before.
 * The number of pending pods is sampled beside them.
 *
 * Threads: any, without a lock. A reader may miss the newest counts. No count is lost; one made
 * just when a slot begins may go to the next slot.
 */

#include "extender/verbs.h"

#define LATENCY_SLOT_SEC 10
#define LATENCY_SLOTS 360u /* one hour */
#define LATENCY_WINDOW_MAX_SEC (LATENCY_SLOTS * LATENCY_SLOT_SEC)
#define LATENCY_WINDOW_SEC 300 /* that pages show if none is given */

typedef enum LatencyPart {
    LATENCY_READ,     /* headers complete to body complete */
    LATENCY_EVALUATE, /* body complete to reply made, including the wait of a bind */
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

/* A verb was answered and its reply sent. @now_nsec is monotonic. */
void latency_note_request(
    Latency *latency, Verb verb, const int64_t parts_nsec[_LATENCY_PARTS], int64_t now_nsec);

/* Counts the nodes of a decision. */
void latency_note_decision(
    Latency *latency, Verb verb, const DecisionSummary *summary, int64_t now_nsec);

/* A verb was answered with an error. */
void latency_note_error(Latency *latency, Verb verb, int64_t now_nsec);

/* Samples the number of pending pods. One thread at a time. */
void latency_note_pending(Latency *latency, size_t n_pending, int64_t now_nsec);

typedef struct LatencySummary {
    uint64_t n;
    int64_t p50_nsec, p90_nsec, p99_nsec, max_nsec; /* 0 if n is */
    int64_t sum_nsec;
} LatencySummary;

typedef struct LatencyVerb {
    LatencySummary parts[_LATENCY_PARTS];
    uint64_t n_nodes_p50, n_nodes_max; /* of a request */
    uint64_t n_decided;                /* decisions: samples of the other counts */
    uint64_t n_late;                   /* of these: exceeded the deadline */
    uint64_t n_errors;                 /* of these: answered with an error */
} LatencyVerb;

/* Reads the last @window_sec, rounded to slots (at most an hour; 0: since the start). */
void latency_read(
    Latency *latency, unsigned window_sec, int64_t now_nsec, LatencyVerb ret[_VERB_MAX]);

/* One slot, for charts. */
typedef struct LatencySlot {
    int64_t ago_sec; /* end of the slot; 0: now */
    uint32_t n[_VERB_MAX];
    int64_t p99_nsec[_VERB_MAX];  /* of the total; 0: none */
    uint64_t n_nodes, n_rejected; /* of filters */
    uint32_t n_late, n_errors;    /* of all verbs */
    int64_t n_pending;            /* maximum of its samples of pods; -1: none */
} LatencySlot;

/* Reads all LATENCY_SLOTS, oldest first. */
void latency_slots(Latency *latency, int64_t now_nsec, LatencySlot ret[LATENCY_SLOTS]);
