#pragma once

/*
 * View: everything a decision depends on, frozen.
 *
 * A cluster, a program, and what follows from the two before any pod is known.
 * The daemon makes a new view when either changes; a request takes a reference
 * to the current one and keeps it to its end. The same view and the same request
 * give the same bytes.
 *
 * Threads: reference and read from any.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/ref.h"
#include "base/str.h"
#include "cluster/snapshot.h"
#include "policy/evaluate.h"
#include "policy/program.h"

/* Facts and reply texts of 15,000 nodes and 2,000 rules fit in it. */
#define VIEW_BUDGET ((size_t)1024 * 1024 * 1024)

/* What to expect behind a node's name in a request: kube-scheduler asks for nodes
 * in much the same order every time, so the name that followed last time mostly
 * follows again. A guess, not state: a wrong one costs time, never correctness. */
typedef struct Guess {
    const char *literal;       /* a comma and this node's name as JSON; borrowed from the table */
    uint32_t len;              /* 0: no guess */
    _Atomic uint32_t follower; /* row of the node that followed this one */
} Guess;

typedef struct View {
    Ref ref;
    Snapshot *snapshot; /* NULL: berth has no cluster of its own */
    Program *program;
    Arena *arena;
    NodeTable nothing; /* the table when there is no snapshot */
    const NodeTable *table;
    Facts facts;

    Str *reasons;   /* by number of the filter: its reason as JSON */
    Guess *guesses; /* by row */
} View;

/* Takes references to @snapshot (which may be NULL) and @program. 0, or -ENOMEM. */
int view_new(Snapshot *snapshot, Program *program, View **ret);
View *view_ref(View *view);
View *view_unref(View *view); /* takes NULL, returns NULL */
DEFINE_CLEANUP(View *, view_unref)

/* A pod that runs on a node already (an in-place resize asks so) must not be counted
 * against itself. Replaces @table and @facts, which go together, by ones in which
 * it is not; leaves them alone when it runs nowhere. 0, or -ENOMEM. */
int view_leave_out(
    const View *view, const Pod *pod, Arena *arena, const NodeTable **table, const Facts **facts);
