#pragma once

/* Join: one join under way, for the files of join.h only. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "cluster/measurement.h"
#include "cluster/table.h"
#include "load/join-memory.h"
#include "load/join-way.h"
#include "load/join.h"
#include "load/vector.h"
#include "model/gauge.h"

/* Of a join, all its series and candidates: a pattern of 10 instructions over the names of 50,000
 * nodes takes half of it, and a core a second or so for all of it. */
#define JOIN_PATTERN_WORK UINT64_C(200000000)

typedef struct Join {
    const Gauge *gauge;
    const Vector *vector;
    const NodeTable *table;
    JoinMemory *memory;
    Arena *scratch;
    JoinReport *report;
    Measurement *measurement;
    int64_t now_msec;   /* the server's; 0: it is not known */
    int64_t slack_msec; /* so much older is as good as now */
    size_t n_unmatched; /* examples in the report */
    uint64_t work;      /* steps that the pattern may still take */
} Join;

/* Whether the value of @series can be used; if not, it has been counted. */
bool join_admit(Join *join, const Series *series, int64_t *ret_lag_nsec);

/* The value of @row; counted. 0 or -ENOMEM. */
int join_set(Join *join, uint32_t row, double value, int64_t lag_nsec) MUST_CHECK;

/* A series that belongs to nobody: counted, and an example if there is room: @before (may be empty)
 * and @text, with a '/' between. */
void join_count_unmatched(Join *join, Str before, Str text);

/* Series to nodes (join-nodes.c), and to pods (join-pods.c). 0, also where nothing was joined; or
 * -ENOMEM. */
int join_nodes(Join *join) MUST_CHECK;
int join_pods(Join *join) MUST_CHECK;

/* The way by which most nodes are found (join-find.c). @way says what the gauge does: an empty
 * label, GAUGE_BY_ANY are found out. 0; JOIN_NOT_FOUND: the report says why; -EINVAL, -E2BIG: the
 * pattern; -ENOMEM. */
#define JOIN_NOT_FOUND 1
int join_find(Join *join, JoinWay *way) MUST_CHECK;

/* Into the report (join-explain.c): why no series belongs to a node. */
void join_explain_unmatched(Join *join, Str label);
/* ... no series has the label. */
void join_explain_no_label(Join *join, Str label);
/* ... or that they do, but none has a value that can be used. */
void join_explain_unused(Join *join, Str by);
/* What there is to say about several series of one node, behind how it was joined. */
void join_explain_duplicates(Join *join, Str by);
