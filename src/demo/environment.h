#pragma once

/*
 * DemoEnvironment: the real daemon, and instead of a cluster a DemoCluster, a MockMetrics and a
 * DemoScheduler.
 *
 * Two threads: the main one runs the daemon's loop and handles signals, as `berth serve` does; the
 * driving one places pods. When one ends, so does the other. Functions are for the driving thread
 * unless noted.
 */

#include <pthread.h>

#include "cluster/snapshot.h"
#include "demo/demo-cluster.h"
#include "demo/demo-scheduler.h"
#include "demo/demo.h"
#include "demo/mock-metrics.h"
#include "extender/view.h"

/* Maximum wait for the first values. */
#define ENVIRONMENT_READY_MSEC 10000u

typedef struct DemoEnvironment {
    DemoOptions options;
    DemoCluster *cluster;
    MockMetrics *metrics;
    BindHook bind_hook;
    const char *policy_paths[1];
    DaemonOptions daemon_options;
    Daemon *daemon;
    DemoScheduler *scheduler;
    Snapshot *seen; /* of the last placement, which borrows its strings */

    pthread_mutex_t lock; /* of is_stopped */
    pthread_cond_t stopped;
    bool is_stopped;
} DemoEnvironment;

/* Starts cluster and mocks, not the daemon, so that its files can be written first. Of @options it
 * reads nodes, seed, address and port. On the main thread, as the next two. 0, or a negative
 * errno. */
int environment_open(DemoEnvironment *env, const DemoOptions *options);

/* Starts the daemon with the policy of @policy_path, which is borrowed. 0, or a negative errno with
 * a message in @error (DAEMON_ERROR_MAX). */
int environment_start(DemoEnvironment *env, const char *policy_path, char *error);

/* Runs the daemon, and @drive on the driving thread, until @drive returns, or SIGINT or SIGTERM.
 * 0, or a negative errno. */
int environment_run(DemoEnvironment *env, void (*drive)(void *context), void *context);

void environment_done(DemoEnvironment *env); /* takes one that is all zero */

/* Waits. True: the run must end; false after @msec. */
bool environment_wait(DemoEnvironment *env, unsigned msec);

/* Publishes the cluster to daemon and mocks. 0, or -ENOMEM. */
int environment_publish(DemoEnvironment *env, Snapshot **ret);

/* Waits until @is_so holds for the view in force; false after @msec, or when the run must end. */
typedef bool ViewCondition(const View *view, const void *context);
bool environment_wait_for(
    DemoEnvironment *env, unsigned msec, ViewCondition *is_so, const void *context);

/* Whether all metrics have values. */
bool environment_is_measured(const View *view, const void *context);

/* Publishes the cluster and places @pod. 0, or -ENOMEM. */
int environment_place(DemoEnvironment *env, const DemoPod *pod, Placement *ret);

/* The daemon's answer to GET @path, in @arena; ptr NULL: none. */
Str environment_fetch(const DemoEnvironment *env, const char *path, Arena *arena);

int64_t environment_now_sec(void); /* since 1970 */
