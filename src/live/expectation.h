#pragma once

/*
 * Expectation: without bind, berth counts a filtered pod on a node before it sends the reply, so
 * that the next filter does not give that place away.
 *
 *     one node is left      it counts there: kube-scheduler has no choice
 *     several are left      it counts on the node that kube-scheduler is guessed to choose
 *                           (scheduler/guess.h), if a policy of the pod counts pods and would not
 *                           be exact otherwise (policy/exactness.h)
 *
 * It counts until the watch shows the pod on a node, kube-scheduler sends another filter for it, or
 * it is deleted; at most WATCHER_EXPECT_SEC.
 */

#include "extender/verbs.h"
#include "extender/view.h"
#include "http/server.h"
#include "kube/cluster-watcher.h"

typedef struct Current Current; /* live/current.h */

/* Answers a filter over @view; the reply is in @arena. */
typedef void AnswerFilter(void *context, const View *view, Str body, Arena *arena, Answer *ret);

/* Where expected pods are counted. Everything is borrowed and must live longer. */
typedef struct Expectations {
    Current *current;
    ClusterWatcher *watcher;
    AnswerFilter *filter; /* on the watcher's thread */
    void *context;
} Expectations;

/* Called for a filter @decision over @view, with @reply. If the pod is expected on a node, defers
 * @reply (server_defer()) until the view in force counts it there. If the node rejects the pod by
 * then, the filter is evaluated again. */
void expect_pod(const Expectations *expectations, const HttpRequest *request, const View *view,
    const Decision *decision, const HttpReply *reply);
