#pragma once

/*
 * NodeWait: kube-scheduler may know a new node before berth's watch shows it. If a pod passes no
 * node because of that, kube-scheduler would not try it again for up to five minutes: so its filter
 * waits a moment for the node, and is decided again.
 *
 * One filter waits at a time, as kube-scheduler sends them; after a wait that failed none does for
 * NODE_WAIT_PAUSE_NSEC, so that a watch that has stopped does not slow every filter down.
 */

#include <stdatomic.h>

#include "extender/verbs.h"
#include "live/current.h"

#define NODE_WAIT_NSEC (100 * NSEC_PER_MSEC)
#define NODE_WAIT_PAUSE_NSEC NSEC_PER_SEC

typedef struct NodeWait {
    _Atomic int64_t not_before_nsec; /* monotonic; 0: a filter may wait at any time */
} NodeWait;

/* A filter was decided over @view, one that was in force. If it passed no node and named some that
 * @view does not have: waits until a view in force has them all, at most @limit_nsec. A reference
 * to the newer view to decide over, or NULL: there is none. Not on a thread that publishes views.
 */
View *node_wait(NodeWait *wait, Current *current, const View *view, const Decision *decision,
    int64_t limit_nsec);
