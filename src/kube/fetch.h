#pragma once

/*
 * Fetch: reads from the API server once, for commands.
 *
 * These block, up to FETCH_SEC or the given time; the daemon uses the ClusterWatcher instead.
 */

#include "cluster/snapshot.h"
#include "kube/access.h"
#include "model/pod.h"

#define FETCH_SEC 60
#define FETCH_FAILURES_MAX 4 /* in a row: some two seconds; a person waits for the answer */
#define FETCH_ERROR_MAX 1024u

/* All nodes and pods, and objects of @related (RELATED_BIT()s) that the API server does not refuse
 * to list, through a ClusterWatcher. Takes @access. 0; or a negative errno with a
 * message for users in @error (FETCH_ERROR_MAX). */
int fetch_cluster(Access *access, unsigned related, Snapshot **ret, char *error);

/* One pod, as it is now; its strings live in @arena. @access is borrowed. 0; -ENOENT when there
 * is no such pod; or another negative errno; with a message in either case. */
int fetch_pod(Access *access, Str namespace, Str name, Arena *arena, Pod *ret, char *error);
