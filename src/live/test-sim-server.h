#pragma once

/*
 * SimServer: an API server with nodes, pods and one Lease.
 *
 * Lists and watches read its log of committed changes, each with a resourceVersion. Like a real one
 * it binds a pod once, checks UIDs, refuses to write a Lease with an old resourceVersion, and
 * forgets old changes (410).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/api-objects.h"

#define SIM_NODES_MAX 4u
#define SIM_PODS_MAX 10u /* number of names */
#define SIM_UIDS_MAX 1024u
#define SIM_NO_NODE SIM_NODES_MAX
#define SIM_PODS_PER_NODE 3u    /* limit of the policy, ... */
#define SIM_UNBOUND_PER_NODE 2u /* ... and of the one for a kube-scheduler that binds */

typedef enum SimKind {
    SIM_NODE,
    SIM_POD,
    SIM_LEASE,
} SimKind;

/* A node n0, n1, …, or a pod p0, p1, …, by number. */
typedef struct SimObject {
    bool exists;
    unsigned name, uid;
    unsigned cpu;     /* millicores: offered, or requested */
    unsigned node;    /* of a pod; SIM_NO_NODE: none */
    bool has_ended;   /* of a pod: phase Succeeded */
    unsigned n_edits; /* changes that berth ignores, such as heartbeats */
} SimObject;

typedef struct SimChange {
    SimKind kind;
    WatchEventType type;
    SimObject object;
} SimChange;

typedef struct SimServer {
    bool is_down;    /* no connection is accepted */
    bool can_stream; /* whether it streams lists as watches */
    SimObject nodes[SIM_NODES_MAX], pods[SIM_PODS_MAX];
    unsigned n_uids;
    SimChange *log; /* number i has the resourceVersion sim_version(i) */
    size_t n_log, n_room;
    size_t n_forgotten; /* changes too old for a new watch */
} SimServer;

extern SimServer sim_server;

void sim_server_begin(void);

/* A request that has arrived; answer it with sim_net_answer() or the functions beside it. */
typedef struct SimRequest {
    uint64_t call;
    unsigned berth;
    const char *method, *path, *body;
} SimRequest;

void sim_server_handle(const SimRequest *request);

/* --- the world ------------------------------------------------------------------------------ */

/* The JSON of @pod for kube-scheduler's requests. @index: its last change, for resourceVersion. */
Str sim_pod_json(const SimObject *pod, size_t index);

void sim_add_node(unsigned name, unsigned cpu);
void sim_add_pod(unsigned name, unsigned cpu, unsigned node);
void sim_bind(SimObject *pod, unsigned node); /* by kube-scheduler */
void sim_remove(SimKind kind, unsigned name);
void sim_edit(SimKind kind, unsigned name);
void sim_end_pod(unsigned name);
void sim_forget_changes(void); /* watches that have ended cannot continue: 410 */

/* Ends watches: at a whole event, in the middle of one, or silently. */
void sim_cut_watches(size_t percent);

/* Usage of a node, without pods that have ended. */
unsigned sim_cpu_used(unsigned node);
unsigned sim_pods_on(unsigned node);
