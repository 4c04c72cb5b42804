#pragma once

/*
 * NodeNames: maps rows to node names and back.
 *
 * Shared by all snapshots between two changes of the set of nodes. A node keeps its row while it
 * exists; the row of a deleted node is empty until a new node takes it.
 *
 * Hints: kube-scheduler sends nodes in much the same order every time, so the name after a node is
 * usually the same as last time. A wrong hint costs time, never correctness. If the hints were
 * right for a long request, its names become a sequence, which is faster still.
 *
 * Threads: reference and read from any; followers and sequences are written by any.
 */

#include <stdatomic.h>

#include "base/map.h"
#include "base/ref.h"

/*
 * NameSequence: the names of long requests in their order, as one text.
 *
 * Requests of a large cluster have mostly the same names in the same order, all or some of them.
 * If a part of a request is byte for byte a part of the sequence, the rows of all its names are
 * known after one comparison. Like a hint it is only a cache: differences cost time, never
 * correctness. Immutable; read from any thread.
 */
#define SEQUENCE_NOWHERE UINT32_MAX

typedef struct NameSequence {
    struct NameSequence *earlier; /* the previous one; may still be read; or NULL */
    size_t n;
    const char *text;       /* each name as a JSON string after a comma: ,"a","b" */
    const uint32_t *at;     /* by place of a name: its comma in text; then the end of text */
    const uint32_t *rows;   /* by place: the row; each row at most once */
    const uint32_t *places; /* by row, the unknown node included; or SEQUENCE_NOWHERE */
} NameSequence;

typedef struct NameHint {
    const char *literal;       /* a comma and the name as a JSON string, quotes included */
    uint32_t len;              /* 0: no hint */
    _Atomic uint32_t follower; /* row of the node that followed this one */
} NameHint;

typedef struct NodeNames {
    Ref ref;
    Arena *arena;     /* of its own; NULL: it lives in the caller's, uncounted */
    size_t n_rows;    /* rows are below this; the unknown node is row n_rows */
    size_t n_nodes;   /* rows that are taken */
    const Str *names; /* by row; empty: a free row */
    uint64_t *since;  /* by row: the version in which this name got it */
    uint64_t version; /* grows with every change of the set */
    NameHint *hints;  /* by row, the unknown node included; NULL in a request's own table */
    Map index;        /* name to row; of equal names the first */

    /* Points to the newest sequence, or to NULL; is itself NULL in a request's own table. */
    NameSequence *_Atomic *sequence;
} NodeNames;

/* Makes NodeNames of @names by row; empty names are free rows. Strings are copied. @before: the
 * previous version, to keep `since` and followers; NULL: none. 0, or -ENOMEM. */
int names_new(const Str *names, size_t n_rows, const NodeNames *before, NodeNames **ret);

/* The same in @arena, but borrows strings and has no hints. 0, or -ENOMEM. */
int names_init_in(Arena *arena, const Str *names, size_t n_rows, NodeNames *ret);

DEFINE_REF(NodeNames, names)
NodeNames *names_unref(NodeNames *names); /* takes NULL, returns NULL */
DEFINE_CLEANUP(NodeNames *, names_unref)

/* The text to compare requests with, or NULL. Lives as long as @names. */
static inline const NameSequence *names_sequence(const NodeNames *names) {
    return names->sequence ? atomic_load_explicit(names->sequence, memory_order_acquire) : NULL;
}

/* Learns from a request that had the @n nodes of @rows (maybe with the unknown node), and for which
 * most hints were right. Makes a new sequence if there are many nodes and it would be more than an
 * eighth longer than the current one: this bounds the number of sequences. */
void names_learn(const NodeNames *names, const uint32_t *rows, size_t n);

/* The row of @name, or n_rows. */
static inline uint32_t names_find(const NodeNames *names, Str name) {
    uint32_t row = map_find(&names->index, name);

    return row == MAP_NONE ? (uint32_t)names->n_rows : row;
}
