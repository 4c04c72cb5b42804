#pragma once

/*
 * Recorder: the history as a Recording (replay/recording.h), for what-ifs and bundles.
 *
 * Takes references first, a few at a time under the lock of the decisions; then copies everything
 * without the lock, oldest first. Pods are copied without their secrets (decisions.h).
 *
 * Threads: any.
 */

#include "history/decisions.h"
#include "replay/recording.h"

/* Memory for the arena of a recording: 10,000 decisions on 5,000 nodes, with the texts of their
 * pods, take 400 MB. */
#define RECORDER_BUDGET ((size_t)512 * 1024 * 1024)

/* The largest number of decisions per request, and the default. */
#define RECORDER_LAST_MAX 10000
#define RECORDER_LAST_DEFAULT 1000

/* The last @last filters and prioritizes with the preempts and binds between them and after them,
 * oldest first (replay/recording.h); or, unless @id is 0, only that decision, or none (n is 0): it
 * is not kept, or never was. References to saved views are taken; everything else is copied into
 * @arena, 8 bytes a decision and node. The lock is held only while references are taken. 0; or
 * -ENOMEM, and @ret is zeroed. */
int decisions_record(Decisions *decisions, uint64_t id, size_t last, Arena *arena, Recording *ret)
    MUST_CHECK;
