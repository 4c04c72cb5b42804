#pragma once

/*
 * Snapshot: the cluster as one request sees it.
 *
 * A Snapshot does not change once a Store has published it. A reader takes a reference, keeps it
 * for one request and drops it. Snapshots that share data own it together.
 *
 * Threads: reference and read from any.
 */

#include "cluster/node-rows.h"
#include "cluster/related-objects.h"
#include "cluster/table-dictionary.h"
#include "cluster/table.h"

typedef struct Snapshot Snapshot;

Snapshot *snapshot_ref(Snapshot *snapshot);
Snapshot *snapshot_unref(Snapshot *snapshot); /* takes NULL, returns NULL */
DEFINE_CLEANUP(Snapshot *, snapshot_unref)

/* Borrowed; lives as long as the snapshot. */
const NodeTable *snapshot_table(const Snapshot *snapshot);

/* Objects that pods refer to; borrowed in the same way. */
const RelatedObjects *snapshot_related(const Snapshot *snapshot);

/* --- for the store -------------------------------------------------------------- */

/* Takes over the references of @table's names and chunks, and of @dictionary, also on failure.
 * Resources and taint sets are those of @dictionary, not of @table; the other arrays are copied,
 * nominated and assumed pods (records) referenced; there are no loads. 0, or -ENOMEM. */
int snapshot_new(const NodeTable *table, const TableDictionary *dictionary, Snapshot **ret);

/* Call it only before the snapshot is published. Takes references of its own. */
void snapshot_set_related(Snapshot *snapshot, const RelatedObjects *related);

/* Borrowed. */
const TableDictionary *snapshot_dictionary(const Snapshot *snapshot);

/* --- snapshot-build.c --------------------------------------------------------------------- */

/* Unused taint sets are kept, so that numbers stay valid, until there are more than this plus twice
 * those in use. */
#define BUILD_TAINT_SETS_SPARE 64u

/* Builds the next snapshot from @before and the changed rows. Shares unchanged chunks, names and
 * the dictionary; a change of columns rebuilds every chunk. @before NULL: the first snapshot; then
 * every row in use must be marked as changed. Reads only nominated (at most TABLE_NOMINATED_MAX)
 * and assumed pods of @pods, which must be records. @ret_copied: new chunks. 0, or -ENOMEM. */
int snapshot_build(const NodeRows *rows, const Snapshot *before, const NodeTable *pods,
    Snapshot **ret, size_t *ret_copied);
