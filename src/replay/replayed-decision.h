#pragma once

/*
 * ReplayedDecision: a full explanation of a past decision.
 *
 * The history has the rule that rejected a node. Replaying the request with its saved view and pod
 * adds everything that led to the answer: values, limits, remedies, the parts of a score
 * (extender/explain.h), all as of then.
 *
 * The result for a node is that of the answer, with two exceptions. Unless the nodes of the request
 * are given, it evaluates all nodes of the cluster, so normalised scores and narrowing may differ.
 * And a request that carried Node objects is replayed as one that named nodes.
 *
 * Pure. Threads: any; each call restores a view of its own.
 */

#include "extender/explain.h"
#include "extender/view.h"
#include "model/pod.h"
#include "policy/program.h"
#include "replay/saved-view.h"

/* A decision to replay. Either of the first two may be missing. */
typedef struct ReplayedDecision {
    const SavedView *saved_view;
    Str pod_text;     /* JSON, as it was sent; must outlive the results */
    int64_t now_nsec; /* since 1970: the time that rules were evaluated at */
    const Str *nodes; /* only these, in this order; the cluster may not know some. NULL: all */
    size_t n_nodes;
} ReplayedDecision;

enum {
    _REPLAY_E_SUCCESS,
    REPLAY_E_NO_SCENE,   /* the cluster as it was is not kept any more */
    REPLAY_E_NO_POD,     /* the pod is not kept any more, or cannot be read */
    REPLAY_E_NO_PROGRAM, /* its policies are not kept any more, and none were given */
};

/* The reason, for users. Static. */
const char *replayed_decision_error(int error);

/* Explains @past with @program; NULL: the saved view's, which was in force. @setting has no clock.
 *
 * 0: @ret_view is a reference, which must outlive everything else: the explanation and @ret_pod lie
 * in @arena and point into it. Or one of the above, or -ENOMEM; then @ret_view is NULL. */
int replayed_decision_explain(const ReplayedDecision *past, Program *program,
    const RestoreOptions *setting, Arena *arena, View **ret_view, Pod *ret_pod, Explanation *ret)
    MUST_CHECK;
