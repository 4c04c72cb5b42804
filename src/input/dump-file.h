#pragma once

/*
 * DumpFile: the cluster as berth sees it, in a file that `--cluster` can read again.
 *
 * Written beside its place and moved there whole, readable by its owner only: it names
 * every pod of the cluster.
 */

#include "cluster/snapshot.h"

#define DUMP_FILE_ERROR_MAX 512u

/* @path "-": standard output. 0; or a negative errno with a message for users in @error
 * (DUMP_FILE_ERROR_MAX). */
int dump_file_write(const char *path, const Snapshot *snapshot, char *error);
