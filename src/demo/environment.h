#pragma once

/*
 * DemoEnvironment: the real daemon, and everything around it that a cluster would have.
 *
 * A DemoCluster instead of an API server, or with one of its own in front (demo/api-server.h); a
 * MockMetrics instead of a Prometheus, asked more often, for a demo is short; a Driver instead of
 * kube-scheduler.
 *
 * Two threads: the main one runs the daemon's loop, signals included, as `berth serve` does; the
 * second one drives. The one that ends first ends the other. Functions are for the second unless
 * they say otherwise.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "cluster/snapshot.h"
#include "demo/demo-cluster.h"
#include "demo/demo-folder.h"
#include "demo/demo-scheduler.h"
#include "demo/mock-api-server.h"
#include "demo/mock-metrics.h"
#include "extender/view.h"
#include "serve/daemon.h"

/* How long the first pod waits for the first numbers, or for the first cluster. */
#define ENVIRONMENT_READY_MSEC 10000u

typedef struct EnvironmentOptions {
    size_t n_nodes; /* 1 to DEMO_NODES_MAX */
    uint64_t seed;
    const char *address; /* numeric */
    uint16_t port;       /* 0: the system picks one */
    bool is_watched;     /* berth watches an API server, and kube-scheduler binds by itself */
} EnvironmentOptions;

typedef struct DemoEnvironment {
    EnvironmentOptions options;
    DemoCluster *cluster;
    MockMetrics *metrics;
    MockApiServer *api; /* NULL: berth is told of the cluster directly */
    BindHook bind_hook;
    const char *policy_paths[1];
    char kubeconfig[DEMO_FOLDER_PATH_MAX + 32];
    DaemonOptions daemon_options;
    Daemon *daemon;
    DemoScheduler *scheduler;
    Snapshot *seen; /* by the driver at the last placement, whose node's name is of it */

    pthread_mutex_t lock; /* of is_stopped */
    pthread_cond_t stopped;
    bool is_stopped;
} DemoEnvironment;

/* DemoCluster and meter; the daemon is not there yet, so that files can be written before. On the
 * main thread, like the next two. 0, or a negative errno. */
int environment_open(DemoEnvironment *environment, const EnvironmentOptions *options);

/* The daemon with the policy of @policy_path, which is borrowed; @folder is for what it is to read.
 * 0, or a negative errno with a sentence for a person in @error (DAEMON_ERROR_MAX). */
int environment_start(
    DemoEnvironment *environment, const char *policy_path, const DemoFolder *folder, char *error);

/* Runs the daemon, and @drive on a thread of its own, until both have ended: when @drive returns,
 * or after SIGINT or SIGTERM. 0, or a negative errno. */
int environment_run(DemoEnvironment *environment, void (*drive)(void *context), void *context);

void environment_done(DemoEnvironment *environment); /* takes one that was not opened, all zero */

/* True as soon as it is to end, false after @msec. */
bool environment_wait(DemoEnvironment *environment, unsigned msec);

/* The world as it is, for all who look at it. 0, or -ENOMEM. */
int environment_publish(DemoEnvironment *environment, Snapshot **ret);

/* True when @is_so has become true of the view in force, false when that takes longer than @msec,
 * or it is to end. */
typedef bool ViewCondition(const View *view, const void *context);
bool environment_wait_for(
    DemoEnvironment *environment, unsigned msec, ViewCondition *is_so, const void *context);

/* Whether everything that can be measured has been, at least once. */
bool environment_is_measured(const View *view, const void *context);

/* Places @pod as things are now. An attempt that met the end of the daemon: rig_wait() says so.
 * 0, or -ENOMEM. */
int environment_place(DemoEnvironment *environment, const DemoPod *pod, Placement *ret);

/* What the daemon answers to GET @path, in @arena; ptr NULL: nothing. */
Str environment_fetch(const DemoEnvironment *environment, const char *path, Arena *arena);

int64_t environment_now_sec(void); /* since 1970 */
