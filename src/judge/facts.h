#pragma once

/*
 * NodeFacts: results of a program that depend on the node alone, computed before any pod is known.
 *
 * They belong to one program and one table, and are stored in chunks like the table. If a new table
 * shares a chunk with the last one, so do its facts; in a changed chunk only the changed rows are
 * evaluated, and the others copied.
 *
 * Threads: read from any.
 */

#include "base/ref.h"
#include "cel/zone.h"
#include "cluster/table.h"
#include "columnar/plan.h"
#include "policy/program.h"

#define VERDICT_PASS UINT16_MAX

/* A chunk of the table is a block of the plan. */
_Static_assert(CHUNK_ROWS == PLAN_BLOCK_ROWS, "one chunk, one block");

/* Rows of a chunk, one bit each, on which a filter fails: because a metric is absent (onMissing
 * decides), or otherwise (onError decides). */
typedef struct FailedRows {
    uint64_t errors, missing;
} FailedRows;
_Static_assert(CHUNK_ROWS <= 64, "a bit for each row");

/* The facts about one chunk. */
typedef struct FactsChunk {
    Ref ref;
    Arena *arena; /* owned, contains @kept; NULL: the chunk is in the arena of a request */
    const PlanBlock *kept;
    FailedRows *failed; /* by number of the filter; NULL: no filter fails on any row */
    uint16_t failing[]; /* by policy, then row: the first filter that reads only the node and
                           rejects it; or VERDICT_PASS */
} FactsChunk;

typedef struct NodeFacts {
    const FactsChunk **chunks; /* one for each chunk of the table */
    const PlanBlock **blocks;  /* @kept of each chunk */
    size_t n_chunks;
    const PlanTotals *whole; /* sums and groups over all rows; may be NULL */
    CelValue cluster;        /* the variable `cluster`, if the program reads it */
    bool is_counted; /* chunks are on the heap and have references; else they are in the arena */
    bool is_late;    /* the deadline passed, or the budget was exhausted: there are no facts */
} NodeFacts;

/* A table and the facts that go with it. */
typedef struct NodeSet {
    const NodeTable *table;
    const NodeFacts *facts;
} NodeSet;

/* The memory limit of counted facts without a budget. */
#define FACTS_BYTES_MAX ((size_t)512 * 1024 * 1024)

/* A filter or score, and its part of the cost. */
typedef struct RuleCost {
    const Policy *policy;
    const char *type; /* "filter", "score" */
    Str name;
    Place place;
    PlanCost cost; /* with all parts that it shares with other rules */
} RuleCost;

typedef enum FactsLimit {
    FACTS_WITHIN,
    FACTS_OVER_WORK,
    FACTS_OVER_TIME,
    FACTS_OVER_MEMORY,
} FactsLimit;

/* Converts a time limit to work, so that it means the same on every machine: the work that a
 * processor of some years ago does in a second. */
#define FACTS_WORK_PER_SEC UINT64_C(100000000)

#define FACTS_WORST_MAX 5u

/* A budget for counted facts, and their cost. */
typedef struct FactsBudget {
    uint64_t work_max; /* see PlanCost */
    size_t bytes_max;  /* all chunks, also shared ones */
    bool is_ranked;    /* always fill @worst, not only when the budget is exhausted */
    FactsLimit limit;  /* facts_build() sets this and all members below: what is exhausted */
    size_t n_rows;     /* evaluated rows of the table */
    PlanCost cost;     /* work excludes chunks that earlier facts already had */
    RuleCost worst[FACTS_WORST_MAX]; /* the most expensive rules, the worst first */
    size_t n_worst;
} FactsBudget;

typedef struct FactsOptions {
    const CelZones *zones; /* may be NULL */
    const NodeSet *known;  /* earlier facts of the same program, to share with; NULL: none */
    PlanDeadline clock;
    FactsBudget *budget; /* NULL: above FACTS_BYTES_MAX facts_build() returns -ENOMEM */
    bool is_counted;     /* for a view: chunks are on the heap and outlive the arena */
} FactsOptions;

/* Computes the facts of @table, in @arena, or on the heap if they are counted; shares unchanged
 * chunks with options->known. Call facts_release() for counted facts, also after a failure. 0, also
 * when the deadline passes or the budget is exhausted (ret->is_late), or -ENOMEM. */
int facts_build(const Program *program, const NodeTable *table, const FactsOptions *options,
    Arena *arena, NodeFacts *ret);
void facts_release(NodeFacts *facts);

/* The first filter of the policy that reads only the node and rejects the row; or VERDICT_PASS. */
static inline uint16_t facts_failing(const NodeFacts *facts, size_t policy, uint32_t row) {
    return facts->chunks[row / CHUNK_ROWS]->failing[policy * CHUNK_ROWS + table_slot(row)];
}

/* A state besides those of columnar/column.h: an error because a metric that the rule reads is
 * absent. */
#define JUDGE_STATE_MISSING 4

/* The state for a row of a filter that reads only the node (Filter.is_known). */
uint8_t facts_filter_state(
    const Program *program, const NodeFacts *facts, const Filter *filter, uint32_t row);

/* The state (columnar/column.h) for a row of root @root of the plan, which reads only the node. */
uint8_t facts_state(const Program *program, const NodeFacts *facts, uint32_t root, uint32_t row);
