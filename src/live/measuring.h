#pragma once

/*
 * Measuring: connects the poller of node metrics with the daemon.
 *
 * The Poller (src/load) queries sources for the gauges of the program in force. Measuring reads the
 * list of sources (--prometheus, --sources), starts the poller when it is first needed, reports its
 * results, and passes its Measurements to Current. A decision never waits for any of it.
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

/* Gauges shown in /metrics and pages; further ones are measured too. */
#define MEASURING_SHOWN_MAX 256u

typedef struct MeasuringOptions {
    const char *prometheus_url;       /* the default source; NULL: none */
    const char *sources_path;         /* a file of sources; NULL: none */
    const LiveOptions *live;          /* for metrics.k8s.io: how to reach the API server */
    const char *resource_metrics_url; /* serves metrics.k8s.io instead; NULL: none */
    int64_t poll_nsec_max;            /* the longest interval of a gauge; 0: no limit */
    bool has_cluster;                 /* there will be nodes to match series with */
} MeasuringOptions;

/* Reads the sources; sends nothing yet. New measurements go to @current, on the poller's thread.
 * @current and pointers in @options are borrowed. 0; or a negative errno with a message for users
 * in @error (of @size bytes). */
int measuring_new(const MeasuringOptions *options, Current *current, Measuring **ret, char *error,
    size_t size) MUST_CHECK;
Measuring *measuring_free(Measuring *measuring); /* @current is not used after it. Takes NULL */
DEFINE_CLEANUP(Measuring *, measuring_free)

/* Ends unfinished work, at most within @timeout_nsec. False: it has not ended, and measuring_free()
 * would wait for it. */
bool measuring_stop(Measuring *measuring, int64_t timeout_nsec);

/* Polls the gauges of @program from now on; their Measurements carry @owner. *ret: the known
 * measurements (the caller's reference; NULL: there is nothing to measure). Not at the same time as
 * measuring_reload(). 0; or a negative errno with a message: unchanged. */
int measuring_follow(Measuring *measuring, const Program *program, uint64_t owner,
    Measurements **ret, char *error, size_t size) MUST_CHECK;

/* Reads the sources again. 0; or a negative errno with a message: the old sources stay. */
int measuring_reload(Measuring *measuring, char *error, size_t size) MUST_CHECK;
size_t measuring_n_sources(Measuring *measuring);

/* A source as users may see it. */
typedef struct SourceNote {
    Str name;
    Str url; /* without credentials */
} SourceNote;

typedef struct MeasuringStatus {
    const SourceNote *sources;
    size_t n_sources;
    Str api_server;          /* for metrics.k8s.io; empty: none */
    const PollStatus *items; /* by number of the gauge in @view's program; @n of them */
    size_t n;                /* at most MEASURING_SHOWN_MAX; 0 while @view is being replaced */
} MeasuringStatus;

/* Fills @ret, in @arena. False: out of memory, and @ret is empty. */
bool measuring_status(Measuring *measuring, const View *view, Arena *arena, MeasuringStatus *ret);
