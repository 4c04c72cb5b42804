#pragma once

/*
 * AssumedPods: pods that count on a node before any watch shows them there.
 *
 * Entries by UID; each holds a record of the pod with that node as its node, and an expiry time.
 * Where several nodes are left, the node is the one that kube-scheduler is guessed to choose
 * (scheduler/guess.h): then the record's is_guessed is set.
 * Independent of rows. Not thread safe.
 */

#include "base/set.h"
#include "model/pod.h"

typedef struct AssumedPod {
    const Pod *pod; /* a reference */
    int64_t until_nsec;
} AssumedPod;

typedef struct AssumedPods {
    Set entries;
} AssumedPods;

void assumed_pods_done(AssumedPods *assumed);

static inline size_t assumed_pods_count(const AssumedPods *assumed) {
    return assumed->entries.n_used;
}

/* NULL when there is none; valid until the next change. */
AssumedPod *assumed_pods_find(const AssumedPods *assumed, Str uid);

/* Adds an entry; there must be none of this UID. Takes the reference to @pod unless it
 * fails. 0, or -ENOMEM. */
int assumed_pods_add(AssumedPods *assumed, const Pod *pod, int64_t until_nsec) MUST_CHECK;

/* Removes the entry of @uid. Returns its pod, with the reference; NULL when there was none. */
const Pod *assumed_pods_take(AssumedPods *assumed, Str uid);

/* Removes an entry that has expired at @now_nsec, as assumed_pods_take(). @i starts at 0 and is not
 * changed by the caller; NULL when there are no more. */
const Pod *assumed_pods_take_expired(AssumedPods *assumed, int64_t now_nsec, size_t *i);

/* When the first entry expires; INT64_MAX when there is none. */
int64_t assumed_pods_next(const AssumedPods *assumed);
