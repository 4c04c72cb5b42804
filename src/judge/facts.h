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

/* Rows of a chunk, a bit each, on which the evaluation of a filter fails: onError decides, or,
 * where a metric that it reads is absent, onMissing. */
typedef struct FailedRows {
    uint64_t errors, missing;
} FailedRows;
_Static_assert(CHUNK_ROWS <= 64, "a bit for each row");

/* The facts about one chunk. */
typedef struct FactsChunk {
    Ref ref;
    Arena *arena; /* its own arena, which has @kept; NULL: a request's */
    const PlanBlock *kept;
    FailedRows *failed; /* by number of the filter; NULL: none of them fails on any row */
    uint16_t failing[]; /* by policy, then row: the first of its filters that reads the node alone
                           and rejects it; VERDICT_PASS: none */
} FactsChunk;

typedef struct NodeFacts {
    const FactsChunk **chunks; /* as many as the table has */
    const PlanBlock **blocks;  /* theirs */
    size_t n_chunks;
    const PlanTotals *whole; /* results over all rows together; may be NULL */
    CelValue cluster;        /* its totals, if the program reads them */
    bool is_counted;         /* chunks are on the heap, shared and counted; else the arena's */
    bool is_late;            /* the deadline passed, or the budget: there are no facts */
} NodeFacts;

/* A table and the facts that go with it. */
typedef struct NodeSet {
    const NodeTable *table;
    const NodeFacts *facts;
} NodeSet;

/* What the counted facts of a view may take when there is no budget. */
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

/* Work that a processor of some years ago does in a second, so that a time is also an amount of
 * work: the same on every machine. */
#define FACTS_WORK_PER_SEC UINT64_C(100000000)

#define FACTS_WORST_MAX 5u

/* A budget for counted facts, and their cost. */
typedef struct FactsBudget {
    uint64_t work_max; /* see PlanCost */
    size_t bytes_max;  /* of all chunks, the shared ones included */
    bool is_ranked;    /* the most expensive rules are always wanted, not only above the budget */
    FactsLimit limit;  /* set by facts_build(), like all that follows: what is exhausted */
    size_t n_rows;     /* for so many rows of the table */
    PlanCost cost;     /* work: that was not known from earlier facts */
    RuleCost worst[FACTS_WORST_MAX]; /* the most expensive rules, the worst first */
    size_t n_worst;
} FactsBudget;

typedef struct FactsOptions {
    const CelZones *zones; /* may be NULL */
    const NodeSet *known;  /* earlier facts of the same program, to share with; NULL: none */
    PlanDeadline clock;
    FactsBudget *budget; /* NULL: FACTS_BYTES_MAX, above which facts_build() has no memory */
    bool is_counted;     /* chunks outlive the arena by references: for a view */
} FactsOptions;

/* All in @arena, unless counted; earlier facts are shared and borrowed. facts_release() ends
 * counted ones, also after a failure. 0, also when the deadline passes or the budget is exhausted
 * (ret->is_late), or -ENOMEM. */
int facts_build(const Program *program, const NodeTable *table, const FactsOptions *options,
    Arena *arena, NodeFacts *ret);
void facts_release(NodeFacts *facts);

/* The first filter of policy @policy that is known to reject row @row, or VERDICT_PASS. */
static inline uint16_t facts_failing(const NodeFacts *facts, size_t policy, uint32_t row) {
    return facts->chunks[row / CHUNK_ROWS]->failing[policy * CHUNK_ROWS + table_slot(row)];
}

/* A state in addition to those of columnar/column.h: an error because a metric that the rule reads
 * is absent. */
#define JUDGE_STATE_MISSING 4

/* The state of a filter that is known beforehand (Filter.is_known) for a row. */
uint8_t facts_filter_state(
    const Program *program, const NodeFacts *facts, const Filter *filter, uint32_t row);

/* The state (columnar/column.h) of root @root of the plan, which reads the node alone, for a row.
 */
uint8_t facts_state(const Program *program, const NodeFacts *facts, uint32_t root, uint32_t row);
