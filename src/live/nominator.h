#pragma once

/*
 * Nominator: nominates nodes for pending pods that kube-scheduler has not tried yet, on a thread of
 * its own, in rounds:
 *
 *     pods that are next ──> a PlacementPlan over the view in force (scheduler/placement-plan.h)
 *       ──> node after node, each patched as soon as it is chosen
 *
 * kube-scheduler places nominated pods faster than they are patched. So when it runs out of them,
 * the reply to its next filter waits for those that are under way.
 *
 * live/nominations.h decides which pods are nominated, and when. A pod is left to kube-scheduler if
 * the model lacks a feature that it uses, if no node is feasible, or if the node's last nomination
 * was not used.
 *
 * Threads: functions are for any thread.
 */

#include "kube/api-writes.h"
#include "live/nominations.h"
#include "model/pod.h"

#define NOMINATOR_ROUND_MAX 256u /* pods of a round */
#define NOMINATOR_QUEUE_MAX 16u  /* patches that may wait for an answer */

typedef struct Current Current;         /* live/current.h */
typedef struct LiveOptions LiveOptions; /* live/live.h */
typedef struct Nominator Nominator;

/* Both are borrowed. NULL when out of memory. */
Nominator *nominator_new(Current *current, const LiveOptions *options);
Nominator *nominator_free(Nominator *nominator); /* after the watcher. Takes NULL, returns NULL */
DEFINE_CLEANUP(Nominator *, nominator_free)

/* Starts its thread. @writes, of nominations, is borrowed. 0, or a negative errno. */
int nominator_start(Nominator *nominator, WriteQueue *writes) MUST_CHECK;

/* Ends its thread, within the time of a round; before the watcher ends. */
void nominator_stop(Nominator *nominator);

/* As the watcher reports them. */
void nominator_note_pod(Nominator *nominator, const Pod *pod, Str text);
void nominator_note_deleted(Nominator *nominator, Str uid);
void nominator_note_list(Nominator *nominator, bool has_ended);

/* A filter request about @pod with @n_nodes. */
void nominator_note_filter(Nominator *nominator, const Pod *pod, size_t n_nodes, int64_t now_nsec);

/* Before the reply to a filter: waits on this thread while nominations_wait(), and returns how
 * long, in nanoseconds. One waits at a time, so that other threads answer the rest. */
int64_t nominator_wait(Nominator *nominator);

typedef struct NominatorFigures {
    NominationFigures pods;
    uint64_t n_unmodelled; /* pods that were left alone for what the model lacks */
    int64_t round_nsec;    /* processor time of all rounds */
} NominatorFigures;

NominatorFigures nominator_figures(Nominator *nominator);
