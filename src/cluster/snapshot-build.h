#pragma once

/*
 * SnapshotBuild: the next snapshot, of the last one and the rows that changed since.
 *
 * Chunks without a change, names and dictionary are taken over as they are. A change of columns
 * (cluster/dictionary-builder.h) makes every chunk anew.
 */

#include <stddef.h>

#include "cluster/node-rows.h"
#include "cluster/snapshot.h"

/* Taint sets that no row has any more are kept, for their numbers, until there are more
 * than this beside twice those in use. */
#define BUILD_TAINT_SETS_SPARE 64u

/* Pods that a table lists beside those of its rows; records. */
typedef struct SnapshotPods {
    const Pod *const *nominated; /* at most TABLE_NOMINATED_MAX */
    size_t n_nominated;
    const Pod *const *assumed;
    size_t n_assumed;
} SnapshotPods;

/* @before NULL: the first; then every row that is taken must be marked as changed. Leaves @rows as
 * it is. @ret_copied: how many chunks were made. 0, or -ENOMEM. */
int snapshot_build(const NodeRows *rows, const Snapshot *before, const SnapshotPods *pods,
    Snapshot **ret, size_t *ret_copied);
