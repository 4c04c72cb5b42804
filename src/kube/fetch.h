#pragma once

/*
 * Fetch: reads the cluster or a pod once, for commands.
 *
 * These block up to FETCH_SEC; the daemon uses the ClusterWatcher instead.
 */

#include "cluster/snapshot.h"
#include "kube/access.h"
#include "model/pod.h"

#define FETCH_SEC 60
#define FETCH_FAILURES_MAX 4 /* in a row: about two seconds, since a user waits */
#define FETCH_ERROR_MAX 1024u

/* Reads all nodes and pods, and objects of @related (RELATED_BIT()s) unless the API server refuses
 * to list them, by a ClusterWatcher. Takes @access; *ret is a reference. 0; or a negative errno
 * with a message for users in @error (FETCH_ERROR_MAX). */
int fetch_cluster(Access *access, unsigned related, Snapshot **ret, char *error);

/* Reads one pod, into @arena; borrows @access. 0; -ENOENT if it does not exist; or another negative
 * errno; with a message in both cases. */
int fetch_pod(Access *access, Str namespace, Str name, Arena *arena, Pod *ret, char *error);
