#pragma once

/*
 * JoinWay: how a series leads to a node: which label, what of its value counts, and what that is
 * compared with. For the files of join.h only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "load/join-index.h"
#include "load/phrase.h"
#include "load/vector.h"
#include "model/gauge.h"
#include "regex/regex.h"

typedef struct JoinWay {
    Str label;
    GaugeIdentity identity; /* not GAUGE_BY_ANY */
    const Gauge *gauge;     /* its pattern and mapping */
    JoinIndex *index;
    const Regex *pattern; /* made when it is needed; NULL: not yet, or none */
    Arena *arena;         /* of the pattern */
    uint64_t *work;       /* steps that the pattern may still take, of all ways of a join */
    bool has_cut_port;    /* a value that led to a node had one */
} JoinWay;

/* What @value leads to; JOIN_ROW_NONE: no node. 0; -EINVAL: the pattern is none; -E2BIG: it took
 * all the work that it may; -ENOMEM. */
int join_way_find(JoinWay *way, Str value, uint32_t *ret_row) MUST_CHECK;

/* What of @value is compared: for people. Borrowed from it. */
Str join_way_compared(JoinWay *way, Str value);

/* The value of the way's label; @hint is where it was in the series before. A NULL pointer: the
 * series has not got it, or it is empty, which is the same in Prometheus. */
Str join_label(const Series *series, Str name, size_t *hint);

/* "label instance, without the port, is the node's IP address" */
void join_way_describe(const JoinWay *way, Phrase *phrase);

/* "IP address" */
const char *join_identity_name(GaugeIdentity identity);
