#pragma once

/*
 * DemoEnvironment: the real daemon, and instead of a cluster a DemoCluster, a MockMetrics and a
 * DemoScheduler; with the console and the folder of a demo.
 *
 * Two threads: the main one runs the daemon's loop and handles signals, as `berth serve` does; the
 * driving one places pods. When one ends, so does the other. Functions are for the driving thread
 * unless noted.
 */

#include <pthread.h>

#include "demo/console.h"
#include "demo/demo-cluster.h"
#include "demo/demo-scheduler.h"
#include "demo/demo.h"
#include "demo/mock-metrics.h"

/*
 * The folder of the demo's files, ${TMPDIR:-/tmp}/berth-demo-UID.
 *
 * It is private to the user, remains after the demo because suggested commands read it, and is used
 * again by the next demo. While one demo has it locked, another uses berth-demo-UID-2, and so on.
 */
#define DEMO_FOLDER_PATH_MAX 512u
#define DEMO_FOLDER_FILE_MAX (DEMO_FOLDER_PATH_MAX + 32u) /* a path of a file in it */
#define DEMO_BUNDLE "bundle.tar.gz"                       /* the decisions, at the end */

typedef struct DemoFolder {
    char path[DEMO_FOLDER_PATH_MAX];
    int fd; /* locked */
} DemoFolder;

typedef struct DemoEnvironment {
    DemoOptions options;
    Console console;
    DemoFolder folder;
    char policy_path[DEMO_FOLDER_FILE_MAX]; /* unless the options have one */
    DemoCluster *cluster;
    MockMetrics *metrics;
    BindHook bind_hook;
    DaemonOptions daemon_options;
    Daemon *daemon;
    DemoScheduler *scheduler;
    Snapshot *seen; /* of the last placement, which borrows its strings */
    int64_t annotated_at_nsec;
    void (*drive)(void *context); /* the function of the driving thread */
    void *drive_context;

    pthread_mutex_t lock; /* protects is_stopped */
    pthread_cond_t stopped;
    bool is_stopped;
} DemoEnvironment;

/* Makes cluster and mocks with @options, which are copied. Call this and the next two on the main
 * thread. 0, or a negative errno. */
int environment_open(DemoEnvironment *env, const DemoOptions *options);

/* Starts the daemon with the policy of the options, or with @policy, a YAML text that becomes a
 * file of the folder. 0, or a negative errno with a message in @error (DAEMON_ERROR_MAX). */
int environment_start(DemoEnvironment *env, Str policy, char *error);

/* Runs the daemon, and @drive on the driving thread, until @drive returns, or SIGINT or SIGTERM.
 * 0, or a negative errno. */
int environment_run(DemoEnvironment *env, void (*drive)(void *context), void *context);

void environment_done(DemoEnvironment *env); /* @env may be all zero: not opened */

/* Waits. True: the run must end; false after @msec. */
bool environment_wait(DemoEnvironment *env, unsigned msec);

/* Publishes the cluster to daemon and mocks; writes annotations before, every ten seconds, if a
 * policy reads them. @ret: a reference to the snapshot. 0, or -ENOMEM. */
int environment_publish(DemoEnvironment *env, Snapshot **ret);

/* Waits until all metrics have values; at most ten seconds. */
void environment_wait_for_metrics(DemoEnvironment *env);

/* Publishes the cluster and places @pod. 0, or -ENOMEM. */
int environment_place(DemoEnvironment *env, const DemoPod *pod, Placement *ret);

int64_t environment_now_sec(void); /* since 1970 */

/* Replaces the file @name of the folder, atomically. 0, or a negative errno with @error
 * (DEMO_ERROR_MAX). */
int demo_folder_write(const DemoFolder *folder, const char *name, Str text, char *error);
