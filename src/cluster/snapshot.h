#pragma once

/*
 * Snapshot: the cluster as one request sees it.
 *
 * A Snapshot does not change once it has been built. A reader takes a reference,
 * keeps it for one request and drops it. It owns everything its table points to;
 * strings are kept once however many nodes share them.
 *
 * Threads: reference and read from any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cluster/table.h"
#include "model/node.h"
#include "model/pod.h"

/* 15,000 nodes and 450,000 pods fit well within it. */
#define SNAPSHOT_BUDGET ((size_t)2 * 1024 * 1024 * 1024)

typedef struct Snapshot Snapshot;
typedef struct SnapshotBuilder SnapshotBuilder;

Snapshot *snapshot_ref(Snapshot *snapshot);
Snapshot *snapshot_unref(Snapshot *snapshot); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Snapshot *, snapshot_unref)

/* Borrowed; lives as long as the snapshot. */
const NodeTable *snapshot_table(const Snapshot *snapshot);

/* A builder collects copies of nodes and pods. NULL when out of memory. */
SnapshotBuilder *snapshot_builder_new(void);
SnapshotBuilder *snapshot_builder_free(SnapshotBuilder *builder); /* takes NULL */
DEFINE_CLEANUP(SnapshotBuilder *, snapshot_builder_free)

/* Copies what is kept of the object; it may be gone afterwards. 0, or -ENOMEM;
 * nodes also SNAPSHOT_E_DUPLICATE when one of that name is there already. */
enum {
    _SNAPSHOT_E_SUCCESS,
    SNAPSHOT_E_DUPLICATE,
};
int snapshot_builder_add_node(SnapshotBuilder *builder, const Node *node);
int snapshot_builder_add_pod(SnapshotBuilder *builder, const Pod *pod);

/* Ends the building; the builder is empty afterwards and only to be freed. 0, or
 * -ENOMEM. */
int snapshot_builder_finish(SnapshotBuilder *builder, Snapshot **ret);
