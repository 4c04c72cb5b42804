#pragma once

/*
 * DumpFile: the cluster as berth sees it, in a file that `--cluster` can read.
 *
 * Written to PATH.new and renamed when it is complete. Only its owner can read it,
 * because it names every pod of the cluster.
 */

#include "cluster/snapshot.h"

#define DUMP_FILE_ERROR_MAX 512u

/* @path "-": standard output. 0; or a negative errno with a message for users in @error
 * (DUMP_FILE_ERROR_MAX). */
int dump_file_write(const char *path, const Snapshot *snapshot, char *error);
