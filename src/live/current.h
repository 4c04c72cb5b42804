#pragma once

/*
 * Current: the view in force, and how the next one takes its place.
 *
 * A view has three parts: the cluster, the program, and measurements for the program's gauges. Each
 * comes from a thread of its own; one new view is made at a time, of the new part and the rest as
 * it was.
 *
 * Its fields are the daemon's; others use the functions. Threads: any; current_set_program() only
 * the one that calls measuring_reload().
 */

#include <pthread.h>
#include <stdint.h>

#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "extender/view.h"
#include "live/measuring.h"
#include "policy/program.h"

typedef struct Current {
    pthread_mutex_t lock; /* guards view: held for a pointer and a reference only */
    View *view;

    pthread_mutex_t publish_lock; /* one new view at a time; guards what follows */
    uint64_t owner;               /* of the measurements of the program in force */
    Measuring *measuring;         /* borrowed; NULL: nothing is measured yet */
    const Exemptions *exemptions; /* borrowed; set before the first view. May be NULL */
    bool may_await_cluster;       /* a cluster is to come: it is watched */
    void *context;
    /* Another view is in force; called with publish_lock. May be NULL. */
    void (*changed)(void *context, const View *before, const View *after);
} Current;

#define CURRENT_INIT                                                                               \
    ((Current){.lock = PTHREAD_MUTEX_INITIALIZER, .publish_lock = PTHREAD_MUTEX_INITIALIZER})

/* Makes the first view; @snapshot may be NULL, @zones must live longer. 0 or -ENOMEM. */
int current_begin(Current *current, Snapshot *snapshot, Program *program, const CelZones *zones)
    MUST_CHECK;
void current_done(Current *current);

/* A reference to it. */
View *current_view(Current *current);

/* Another cluster. 0, or -ENOMEM: as it was. */
int current_set_snapshot(Current *current, Snapshot *snapshot) MUST_CHECK;

/* Another program, or the same now that metrics are polled: its gauges are followed
 * from now on. 0; or a negative errno with a message for a person in @error (of @size bytes): as it
 * was. */
int current_set_program(Current *current, Program *program, char *error, size_t size) MUST_CHECK;

/* New numbers. Those of another program than the one in force are dropped: a reload came between.
 * 0, or -ENOMEM: as it was. */
int current_set_measured(Current *current, Measurements *measurements) MUST_CHECK;

/* Makes a new view if a value has expired by @now_nsec (monotonic), or depends on a wall clock that
 * was set since. 0, or -ENOMEM: unchanged. */
int current_refresh(Current *current, int64_t now_nsec) MUST_CHECK;
