#pragma once

/*
 * Dump: a snapshot as the text that `--cluster` reads.
 *
 * A v1 List of Node and Pod objects as kubectl writes them, one object a line, nodes by name, then
 * pods by namespace and name: equal snapshots give equal text. It has the kept fields, and three
 * substitutes for fields that are not kept:
 *
 *   requests            one container "sum" with the requests of the whole pod
 *   deletionTimestamp   of a pod that is being deleted: 1970
 *   phase               of a finished pod: Failed; other pods have none
 *
 * Pods that are only assumed to be on a node look like pods that are bound to it. Read
 * back, a dump gives an equal snapshot.
 */

#include "cluster/object-text.h"
#include "cluster/snapshot.h"

/* Bytes passed to a sink at once; the last object may add to it. */
#define DUMP_CHUNK ((size_t)64 * 1024)

/* The longest text of one object; a node with everything at its ceiling has less than 2 MiB. */
#define DUMP_OBJECT_MAX ((size_t)64 * 1024 * 1024)

typedef struct DumpSink {
    int (*write)(void *context, Str bytes); /* 0, or a negative errno, which ends the dump */
    void *context;
} DumpSink;

/* Every object as @mask (NULL: none) shows it, in the order of the real names. Needs memory for a
 * list of the pods and for the longest object, not for the text. 0; -ENOMEM; -EFBIG over
 * DUMP_OBJECT_MAX; or the error of the sink. */
int dump_write(const Snapshot *snapshot, const ObjectMask *mask, DumpSink sink);
