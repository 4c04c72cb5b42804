#pragma once

/*
 * Nominator: nominates nodes for pending pods that kube-scheduler has not tried yet. Its own thread
 * works in rounds:
 *
 *     the next pods ──> a PlacementPlan over the view in force (scheduler/placement-plan.h)
 *       ──> one node after the other; each patch is sent as soon as its node is chosen
 *
 * kube-scheduler places nominated pods faster than berth can patch them. So when it runs out of
 * them, the reply to its next filter waits for the patches that are under way.
 *
 * live/nominations.h decides when to nominate, and for which pods. A pod is left to kube-scheduler
 * if it uses a feature that the model lacks, if no node is feasible, or if a recent nomination of
 * its node was not used.
 *
 * Threads: functions are for any thread.
 */

#include "kube/api-writes.h"
#include "live/nominations.h"
#include "model/pod.h"

#define NOMINATOR_ROUND_MAX 256u /* pods of a round */
#define NOMINATOR_QUEUE_MAX 16u  /* unanswered patches */

typedef struct Current Current;         /* live/current.h */
typedef struct LiveOptions LiveOptions; /* live/live.h */
typedef struct Nominator Nominator;

/* Both arguments are borrowed. NULL when out of memory. */
Nominator *nominator_new(Current *current, const LiveOptions *options);
Nominator *nominator_free(Nominator *nominator); /* after the watcher. Takes NULL, returns NULL */
DEFINE_CLEANUP(Nominator *, nominator_free)

/* Starts the thread. @writes, the queue of nominations, is borrowed. 0, or a negative errno. */
int nominator_start(Nominator *nominator, WriteQueue *writes) MUST_CHECK;

/* Ends the thread, at the latest after a round. Call it before the watcher ends. */
void nominator_stop(Nominator *nominator);

/* Called by the watcher for each event of a pod, and at the begin and end of a list. */
void nominator_note_pod(Nominator *nominator, const Pod *pod, Str text);
void nominator_note_deleted(Nominator *nominator, Str uid);
void nominator_note_list(Nominator *nominator, bool has_ended);

/* A filter request for @pod with @n_nodes candidates. */
void nominator_note_filter(Nominator *nominator, const Pod *pod, size_t n_nodes, int64_t now_nsec);

/* Called before the reply to a filter: blocks while nominations_wait(), and returns how long, in
 * nanoseconds. Only one thread waits at a time; others return at once. */
int64_t nominator_wait(Nominator *nominator);

typedef struct NominatorFigures {
    NominationFigures pods;
    uint64_t n_unmodelled; /* left to kube-scheduler: they use features that the model lacks */
    int64_t round_nsec;    /* CPU time of all rounds */
} NominatorFigures;

NominatorFigures nominator_figures(Nominator *nominator);
