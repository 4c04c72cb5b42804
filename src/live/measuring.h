#pragma once

/*
 * Measuring: connects the poller of node metrics with the daemon.
 *
 * The Poller (src/load) queries sources for the gauges of the program in force; this reads the list
 * of sources (--prometheus, --sources), starts it when it is first needed, reports its results, and
 * hands its Measurements to the code that builds views. A decision never waits for any of it.
 *
 * Threads: functions are for any thread unless they say otherwise.
 */

#include "cluster/measurement.h"
#include "extender/view.h"
#include "live/live.h"
#include "load/poller.h"
#include "load/source.h"
#include "policy/program.h"

typedef struct Current Current; /* live/current.h */
typedef struct Measuring Measuring;

/* Gauges whose figures are shown in /metrics and pages; further ones are measured too. */
#define MEASURING_SHOWN_MAX 256u

typedef struct MeasuringOptions {
    const char *prometheus_url; /* the default source; NULL: none */
    const char *sources_path;   /* a file of sources; NULL: none */
    const LiveOptions *live;    /* for metrics.k8s.io: how the API server is reached, if it is */
    const char *resource_metrics_url; /* serves metrics.k8s.io instead; NULL: none */
    int64_t poll_nsec_max;            /* the longest interval of a gauge; 0: no limit */
    bool has_cluster;                 /* there will be nodes to join series to */
} MeasuringOptions;

/* Reads the sources; sends nothing yet. New numbers go to @current, on the poller's thread. It and
 * pointers in @options are borrowed. 0; or a negative errno with a message for users in @error (of
 * @size bytes). */
int measuring_new(const MeasuringOptions *options, Current *current, Measuring **ret, char *error,
    size_t size) MUST_CHECK;
Measuring *measuring_free(Measuring *measuring); /* @current is not used after it. Takes NULL */
DEFINE_CLEANUP(Measuring *, measuring_free)

/* Ends unfinished work within the time; false: it has not ended, and measuring_free() would wait
 * for it. */
bool measuring_stop(Measuring *measuring, int64_t timeout_nsec);

/* Polls the gauges of @program from now on; their Measurements carry @owner. Known measurements are
 * returned through @ret (the caller's reference; NULL: there is nothing to measure). Not at the
 * same time as the next function. 0, or a negative errno with a message: unchanged. */
int measuring_follow(Measuring *measuring, const Program *program, uint64_t owner,
    Measurements **ret, char *error, size_t size) MUST_CHECK;

/* Reads the sources again. 0; or a negative errno with a message: the old ones stay. */
int measuring_reload(Measuring *measuring, char *error, size_t size) MUST_CHECK;
size_t measuring_n_sources(Measuring *measuring);

/* A source as it may be shown. */
typedef struct SourceNote {
    Str name;
    Str url; /* without credentials */
} SourceNote;

typedef struct MeasuringStatus {
    const SourceNote *sources;
    size_t n_sources;
    Str api_server;          /* for metrics.k8s.io; empty: none */
    const PollStatus *items; /* by number of the gauge, of @view's program; see n */
    size_t n;                /* at most MEASURING_SHOWN_MAX; 0 while @view is being replaced */
} MeasuringStatus;

/* All in @arena. Returns false if out of memory, and @ret is not set. */
bool measuring_status(Measuring *measuring, const View *view, Arena *arena, MeasuringStatus *ret);
