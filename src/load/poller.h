#pragma once

/*
 * Poller: queries sources for metrics periodically, on its own thread.
 *
 *     gauges of the program ──> distinct jobs (source and query) ──> queried on their interval
 *     answer ──> vector.h ──> join.h, with the cluster as it is ──> Measurement of each gauge
 *     measurements ──> Measurements ──> publish(), at most once in POLLER_TURN_MSEC
 *
 * Gauges with the same query and source share one job, at the shortest of their intervals; gauges
 * of metrics.k8s.io share one for nodes, one for pods. A job has at most one request under way.
 * After a failure it is retried after a delay that grows up to POLLER_BACKOFF_MAX_SEC or the
 * interval, whichever is longer; or, once, when its server answers another job. A source that hangs
 * has only a share of the requests (load/source.h).
 *
 * A decision never waits for a query. A failure leaves the last measurement in place, which expires
 * (cluster/loads.h). Every answer is limited in bytes, series and time.
 *
 * Threads: any, unless noted.
 */

#include "cluster/measurement.h"
#include "cluster/snapshot.h"
#include "kube/access.h"
#include "load/join.h"
#include "load/source.h"
#include "model/gauge.h"

typedef struct Poller Poller;

#define POLLER_TURN_MSEC 250  /* answers are collected for this long before they are published */
#define POLLER_TIMEOUT_SEC 10 /* of a request; less if the interval is shorter */
#define POLLER_BACKOFF_MAX_SEC 60
#define POLLER_REDIRECTS_MAX 3 /* to the same scheme, host and port only */
#define POLLER_ERROR_MAX 512u

typedef enum PollState {
    POLL_WAITING, /* no answer yet */
    POLL_OK,
    POLL_FAILING,   /* the last request failed: error has the reason */
    POLL_UNJOINED,  /* answers come, but no series belongs to a node */
    POLL_NO_SOURCE, /* there is no source of that name */
} PollState;

const char *poll_state_name(PollState state); /* "ok": a stable word */

/* A change of state, for the log: not one for each poll. */
typedef struct PollerNotice {
    PollState is;
    Str gauge, source, query;
    const char *error;        /* "" for none */
    const JoinReport *report; /* of the last answer */
    int64_t down_nsec;        /* how long it was failing, when it is OK again */
} PollerNotice;

typedef struct PollerCallbacks {
    void *context;
    /* A reference to the current cluster; NULL: not known yet, and nothing is polled. On the
     * poller's thread. */
    Snapshot *(*snapshot)(void *context);
    /* New measurements, for the gauges of the last poller_follow(); borrowed. On the poller's
     * thread. After another poller_follow(), their owner field shows for which list they are. The
     * next call waits nine times as long as this one takes, so that publishing takes at most a
     * tenth of a core. */
    void (*publish)(void *context, Measurements *measurements);
    /* On the poller's thread; may be NULL. At most one per gauge in ten seconds: its current state,
     * if that differs from the reported one. */
    void (*notice)(void *context, const PollerNotice *notice);
} PollerCallbacks;

typedef struct PollerOptions {
    const MetricSources *sources; /* copied */
    /* For metrics.k8s.io: access to the API server, taken over; NULL: none. */
    Access *access;
    uint64_t seed; /* of the jitter */
} PollerOptions;

/* Starts the thread. Nothing is polled before poller_follow(). 0; or a negative errno with a
 * message for users in @error (ACCESS_ERROR_MAX). @options->access is freed in every case. */
int poller_new(const PollerOptions *options, const PollerCallbacks *callbacks, Poller **ret,
    char *error) MUST_CHECK;
bool poller_stop(Poller *poller, int64_t timeout_nsec); /* as watcher_stop() */
Poller *poller_free(Poller *poller);                    /* takes NULL */

/* Sets the gauges, which are copied; @owner is stored in their Measurements. Measurements of equal
 * gauges stay, and are returned through @ret (the caller's reference). 0 or -ENOMEM: the old ones
 * stay. */
int poller_follow(Poller *poller, const Gauge *gauges, size_t n, uint64_t owner, Measurements **ret)
    MUST_CHECK;

/* Sets the sources, which are copied. Everything is polled again; measurements are kept. 0 or a
 * negative errno with a message: the old ones stay. */
int poller_configure(Poller *poller, const MetricSources *sources, char *error) MUST_CHECK;

/* The state of one gauge, in the order of poller_follow(). */
typedef struct PollStatus {
    PollState state;
    bool is_polled;                  /* false: annotations are not polled */
    int64_t answered_at_nsec;        /* since 1970: the last good answer; 0: never */
    int64_t answered_uptime;         /* the same, monotonic */
    int64_t failing_since_nsec;      /* since 1970; 0: it is not failing */
    int64_t duration_nsec;           /* of the last request */
    uint64_t n_bytes;                /* of the last answer */
    uint64_t n_ok, n_failed;         /* requests of its job so far */
    uint64_t n_dropped[_JOIN_DROPS]; /* series so far */
    JoinReport report;               /* of the last answer */
    char error[POLLER_ERROR_MAX];    /* current error; empty: none */
    char warning[POLLER_ERROR_MAX];  /* of the source, in the last answer */
} PollStatus;

/* Sets at most @n statuses; returns the number of gauges. @ret_owner: as in poller_follow(). */
size_t poller_status(Poller *poller, PollStatus *ret, size_t n, uint64_t *ret_owner);

/* Polls each job once, for commands: on the calling thread, for up to @timeout_nsec. @ret_statuses
 * has room for @n. @access is borrowed, may be NULL. 0 (also if sources fail: see the statuses),
 * -ENOMEM, or -EINVAL: source_access() rejected a source. */
int poller_once(const MetricSources *sources, Access *access, const Gauge *gauges, size_t n,
    Snapshot *snapshot, int64_t timeout_nsec, Measurements **ret, PollStatus *ret_statuses)
    MUST_CHECK;
