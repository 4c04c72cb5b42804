#pragma once

/*
 * Nominator: nominates nodes for pending pods that kube-scheduler has not tried yet, on a thread of
 * its own, in rounds:
 *
 *     pods that are next ──> a PlacementPlan over the view in force (scheduler/placement-plan.h)
 *       ──> node after node, each patched as soon as it is chosen
 *
 * Pods that kube-scheduler reaches before a patch could are only planned: when it asks about one,
 * the chosen node is returned alone, so that it does not score the others.
 *
 * Which pods, and when at all, is live/nominations.h. A pod is left to kube-scheduler if the model
 * lacks a feature that it uses, if no node is feasible, or if the node's last nomination was not
 * used.
 *
 * Threads: functions are for any thread.
 */

#include "extender/verbs.h"
#include "kube/cluster-watcher.h"
#include "live/nominations.h"
#include "model/pod.h"

#define NOMINATOR_ROUND_MAX 256u  /* pods of a round */
#define NOMINATOR_QUEUE_MAX 16u   /* patches that may wait for an answer */
#define NOMINATOR_MARGIN_MSEC 100 /* for a patch to get from the API server to kube-scheduler */

typedef struct Current Current; /* live/current.h */
typedef struct Nominator Nominator;

typedef struct NominatorOptions {
    Current *current;   /* borrowed, like the next two */
    const Str *managed; /* only pods that request one of these; none: all */
    size_t n_managed;
    int64_t weight;     /* of berth in kube-scheduler's configuration */
    NominationLog *log; /* borrowed; may be NULL */
} NominatorOptions;

Nominator *nominator_new(const NominatorOptions *options); /* NULL when out of memory */
Nominator *nominator_free(Nominator *nominator); /* after the watcher. Takes NULL, returns NULL */
DEFINE_CLEANUP(Nominator *, nominator_free)

/* Starts its thread. @watcher is borrowed. 0, or a negative errno. */
int nominator_start(Nominator *nominator, ClusterWatcher *watcher) MUST_CHECK;

/* Ends its thread, within the time of a round; before the watcher ends. */
void nominator_stop(Nominator *nominator);

/* As the watcher reports them. */
void nominator_note_pod(Nominator *nominator, const Pod *pod, Str text);
void nominator_note_deleted(Nominator *nominator, Str uid);
void nominator_note_list(Nominator *nominator, bool has_ended);

/* A filter request about @pod with @n_nodes. */
void nominator_note_filter(Nominator *nominator, const Pod *pod, size_t n_nodes, int64_t now_nsec);

/* As nominations_find_plan(). */
bool nominator_find_plan(Nominator *nominator, Str uid, Arena *arena, PlannedNode *ret);
/* The filter of @decision was answered with it alone. */
void nominator_note_returned(
    Nominator *nominator, const Decision *decision, const PlannedNode *planned);

typedef struct NominatorFigures {
    NominationFigures pods;
    uint64_t n_rounds, n_unmodelled; /* pods that were left alone for what the model lacks */
    int64_t round_nsec;              /* processor time of all rounds */
} NominatorFigures;

NominatorFigures nominator_figures(Nominator *nominator);
