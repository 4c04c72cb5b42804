#pragma once

/*
 * Rig: the real daemon, and everything around it that a cluster would have.
 *
 * A World instead of an API server, or with one of its own in front (demo/api-server.h); a Meter
 * instead of a Prometheus, asked more often, for a demo is short; a Driver instead of
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
#include "demo/api-server.h"
#include "demo/driver.h"
#include "demo/folder.h"
#include "demo/meter.h"
#include "demo/world.h"
#include "extender/view.h"
#include "serve/daemon.h"

/* How long the first pod waits for the first numbers, or for the first cluster. */
#define RIG_READY_MSEC 10000u

typedef struct RigOptions {
    size_t n_nodes; /* 1 to WORLD_NODES_MAX */
    uint64_t seed;
    const char *address; /* numeric */
    uint16_t port;       /* 0: the system picks one */
    bool is_watched;     /* berth watches an API server, and kube-scheduler binds by itself */
} RigOptions;

typedef struct Rig {
    RigOptions options;
    World *world;
    Meter *meter;
    ApiServer *api; /* NULL: berth is told of the cluster directly */
    BindHook bind_hook;
    const char *policy_paths[1];
    char kubeconfig[FOLDER_PATH_MAX + 32];
    DaemonOptions daemon_options;
    Daemon *daemon;
    Driver *driver;
    Snapshot *seen; /* by the driver at the last placement, whose node's name is of it */

    pthread_mutex_t lock; /* of is_stopped */
    pthread_cond_t stopped;
    bool is_stopped;
} Rig;

/* World and meter; the daemon is not there yet, so that files can be written before. On the main
 * thread, like the next two. 0, or a negative errno. */
int rig_open(Rig *rig, const RigOptions *options);

/* The daemon with the policy of @policy_path, which is borrowed; @folder is for what it is to read.
 * 0, or a negative errno with a sentence for a person in @error (DAEMON_ERROR_MAX). */
int rig_start(Rig *rig, const char *policy_path, const Folder *folder, char *error);

/* Runs the daemon, and @drive on a thread of its own, until both have ended: when @drive returns,
 * or after SIGINT or SIGTERM. 0, or a negative errno. */
int rig_run(Rig *rig, void (*drive)(void *context), void *context);

void rig_done(Rig *rig); /* takes one that was not opened, all zero */

/* True as soon as it is to end, false after @msec. */
bool rig_wait(Rig *rig, unsigned msec);

/* The world as it is, for all who look at it. 0, or -ENOMEM. */
int rig_publish(Rig *rig, Snapshot **ret);

/* True when @is_so has become true of the view in force, false when that takes longer than @msec,
 * or it is to end. */
typedef bool RigCondition(const View *view, const void *context);
bool rig_wait_for(Rig *rig, unsigned msec, RigCondition *is_so, const void *context);

/* Whether everything that can be measured has been, at least once. */
bool rig_is_measured(const View *view, const void *context);

/* Places @pod as things are now. An attempt that met the end of the daemon: rig_wait() says so.
 * 0, or -ENOMEM. */
int rig_place(Rig *rig, const WorldPod *pod, Placement *ret);

/* What the daemon answers to GET @path, in @arena; ptr NULL: nothing. */
Str rig_fetch(const Rig *rig, const char *path, Arena *arena);

int64_t rig_now_sec(void); /* since 1970 */
