#pragma once

/*
 * Reading: a followed gauge, its last measurement, and the status of its polls.
 *
 * A gauge that is also in the next list keeps its reading, with everything learned. So a late
 * answer reaches the right reading, even if its number in the list has changed.
 *
 * Readings: the gauges of one poller_follow(), in its order. SharedReadings: the current list.
 *
 * Threads: any thread reads lists and gauges; for the rest see the fields.
 */

#include <pthread.h>

#include "base/ref.h"
#include "cluster/measurement.h"
#include "load/join.h"
#include "load/poller.h"
#include "model/gauge.h"

#define READING_NOTICE_SEC 10 /* between two notices about a gauge */

typedef struct PollJob PollJob;

typedef struct Reading {
    Ref ref;
    Arena *arena; /* memory of the gauge */
    Gauge gauge;

    /* The queue's thread only. */
    JoinMemory *memory;
    PollJob *job;          /* NULL: not polled */
    PollState reported;    /* the state that was reported last */
    int64_t reported_nsec; /* monotonic; INT64_MIN: never */
    int64_t down_nsec;     /* monotonic: failing since; 0: it is not */
    int64_t outage_nsec;   /* duration of the last outage */

    /* Written by the queue's thread, under the lock of SharedReadings. */
    Measurement *measurement; /* a reference; NULL: none yet */
    PollStatus status;
} Reading;

typedef struct Readings {
    Ref ref;
    Arena *arena; /* memory of the names */
    uint64_t owner;
    size_t n;
    Str *names; /* a gauge may have another name in another list */
    Reading *items[];
} Readings;

typedef struct SharedReadings {
    pthread_mutex_t lock;
    Readings *readings; /* a reference; NULL: none yet */
} SharedReadings;

/* Takes over the readings of the same gauges from @before (NULL: none). 0 or -ENOMEM. */
int readings_new(const Gauge *gauges, size_t n, uint64_t owner, Readings *before, Readings **ret)
    MUST_CHECK;
DEFINE_REF(Readings, readings)
Readings *readings_unref(Readings *readings); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Readings *, readings_unref)

DEFINE_REF(Reading, reading)
Reading *reading_unref(Reading *reading); /* takes NULL, returns NULL */

/* The last measurements, in order; the caller's reference. Call it with the lock of SharedReadings
 * held. NULL when out of memory. */
Measurements *readings_measurements(const Readings *readings) MUST_CHECK;
