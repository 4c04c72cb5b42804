#pragma once

/*
 * JoinIndex: the nodes of a cluster by what series may call them: name, hostname, address.
 *
 * Names are the table's own. The rest is made when it is asked for, and holds as long as no node
 * has got another hostname or address: records of nodes do not change, so mostly the same record is
 * enough of a proof. For the files of join.h only.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "cluster/table.h"
#include "load/join.h"
#include "model/gauge.h"

#define JOIN_ROW_NONE UINT32_MAX            /* nobody's */
#define JOIN_ROW_NO_LABEL (UINT32_MAX - 1u) /* a series without the label */

/* From texts to rows. */
typedef struct JoinKeys {
    Map map;            /* to a place in ... */
    VEC(uint32_t) rows; /* JOIN_ROW_NONE: of several nodes, and so of none */
} JoinKeys;

struct JoinIndex {
    uint64_t version;       /* grows when anything may be called otherwise */
    const NodeTable *table; /* of the join under way */
    NodeNames *names;       /* a reference; NULL: nothing yet */

    Arena *arena;       /* of all below; NULL: not made */
    const Node **nodes; /* by row: references */
    JoinKeys hostnames;
    JoinKeys addresses; /* 16 bytes in network order */
};

/* Zeroed at first. */
void join_index_done(JoinIndex *index);

/* The nodes of @table, which is borrowed until the next call. */
void join_index_follow(JoinIndex *index, const NodeTable *table);

/* The row of the node that @text is the @identity of (not GAUGE_BY_ANY); JOIN_ROW_NONE: of none, or
 * of several. 0 or -ENOMEM. */
int join_index_find(JoinIndex *index, GaugeIdentity identity, Str text, uint32_t *ret_row)
    MUST_CHECK;
