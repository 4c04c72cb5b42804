#pragma once

/*
 * Facts: what a program can say of each node before any pod is known.
 *
 * They hold for one pair of program and table, and are kept chunk by chunk as the
 * table is: where a new table shares a chunk with the one before, the facts about it
 * are shared too. So they cost what changed, like publishing does.
 *
 * Threads: read from any.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/ref.h"
#include "cluster/table.h"
#include "policy/program.h"

/* The facts about one chunk; FactsLayout says what is where. */
typedef struct FactsChunk {
    Ref ref;
    _Alignas(double) unsigned char columns[];
} FactsChunk;

/* Where a rule has its column in a chunk, in bytes; FACTS_NONE: nowhere. */
#define FACTS_NONE SIZE_MAX

typedef struct FactsLayout {
    size_t size;     /* of a chunk's columns */
    size_t *failing; /* by policy: uint16_t a row, the first filter of class RULE_NODE, for all
                        pods, that the node fails; VERDICT_PASS when none */
    size_t *passing; /* by filter: uint8_t a row, for filters of class RULE_NODE that are for some
                        pods only: whether the node passes */
    size_t *scores;  /* by score of class RULE_NODE: double a row, its value */
} FactsLayout;

typedef struct Facts {
    FactsLayout layout;
    const FactsChunk **chunks; /* as many as the table has */
    size_t n_chunks;
    bool is_counted; /* chunks are on the heap, shared and counted; else the arena's */
} Facts;

#define VERDICT_PASS UINT16_MAX

/* Of which rules facts are wanted. */
typedef enum FactsOf {
    FACTS_OF_FILTERS = 1,
    FACTS_OF_SCORES = 2,
    FACTS_OF_ALL = FACTS_OF_FILTERS | FACTS_OF_SCORES,
} FactsOf;

/* Facts that may be shared: of the same program and kinds of rules. */
typedef struct KnownFacts {
    const NodeTable *table;
    const Facts *facts;
} KnownFacts;

/* All in @arena; what is shared with @known (NULL: nothing) is borrowed. 0, or -ENOMEM. Rules
 * that no facts are wanted of must not be evaluated with them. */
int facts_build(const Program *program, const NodeTable *table, FactsOf of, const KnownFacts *known,
    Arena *arena, Facts *ret);

/* The same of all rules, with chunks that outlive the arena by references: for a view.
 * facts_release() ends it, also after a failure. */
int facts_build_counted(const Program *program, const NodeTable *table, const KnownFacts *known,
    Arena *arena, Facts *ret);
void facts_release(Facts *facts);

/* One column's entries for the chunk of @row; the row's own is at table_slot(row). */
#define FACTS_COLUMN(facts, row, at, type)                                                         \
    ((const type *)(const void *)((facts)->chunks[(row) / CHUNK_ROWS]->columns + (at)))
