#pragma once

/*
 * Recorder: makes a Recording (replay/recording.h) of the history, for what-ifs and bundles.
 *
 * It takes references first, a few at a time under the lock of the decisions; then it copies
 * everything without the lock, oldest first. Pods have no secrets by then (decisions.h).
 *
 * Threads: any.
 */

#include "history/decisions.h"
#include "replay/recording.h"

/* For the arena of a recording: 10,000 decisions on 5,000 nodes, with the texts of their pods, take
 * 400 MB. */
#define RECORDER_BUDGET ((size_t)512 * 1024 * 1024)

/* Limit and default of the number of decisions in a request. */
#define RECORDER_LAST_MAX 10000
#define RECORDER_LAST_DEFAULT 1000

/* Records the last @last filters and prioritizes, with the preempts and binds between and after
 * them, oldest first (replay/recording.h). If @id is not 0: only that decision, or none (n is 0) if
 * it is not kept. Takes references to saved views, and copies everything else into @arena, 8 bytes
 * for each decision and node. 0; or -ENOMEM, and @ret is zeroed. */
int decisions_record(Decisions *decisions, uint64_t id, size_t last, Arena *arena, Recording *ret)
    MUST_CHECK;
