#pragma once

/*
 * Plan: evaluates expressions over many rows at once.
 *
 * The host has a table; one variable of its expressions, the row variable, is a row of it. A plan
 * is built from a graph and some of its roots. It decides for every needed node how often it is
 * computed, and by which method:
 *
 *   once          reads nothing of a row: by the scalar machine, once per session
 *   precomputed   reads nothing but its row: when the row changes, stored in a block (PlanBlock)
 *   per batch     all others: column-wise, a batch of rows at a time, from the columns above
 *
 * Column-wise: numbers, bools, times and strings are stored in lanes (column.h), with one kernel
 * per operation. A loop over a precomputed list (the pods of a node) runs over the elements of all
 * rows at once and is reduced row by row: all, exists, exists_one, filter(…).size(), map(…).sum()
 * and others. Operations without a kernel run in the scalar machine: once per distinct string if
 * one string is all they read of the row, else once per row. So every expression has a plan, and
 * its result is bit for bit that of the scalar machine (value, error, NaN), unless fuel runs out:
 * each part has its own fuel.
 *
 * Groups: the host can declare that a list is the union of the lists of all rows that share a key
 * (the pods of a node's zone), or these rows themselves (the nodes of its zone). Then elements are
 * reduced by row, and rows by group, once for the whole table.
 *
 * Threads: a plan, its blocks and totals are immutable; a session belongs to one thread.
 */

#include "cel/graph.h"
#include "cel/run.h"
#include "columnar/column.h"

#define PLAN_BLOCK_ROWS 64u   /* rows of a PlanBlock */
#define PLAN_BATCH_ROWS 1024u /* rows of a batch at most: a dozen columns fit the L1 cache */

/* Temporary memory to make a plan. */
#define PLAN_SCRATCH_MAX ((size_t)256 * 1024 * 1024)

typedef struct Plan Plan;
typedef struct PlanTotals PlanTotals;
typedef struct PlanSession PlanSession;
typedef struct PlanHost PlanHost;

#define PLAN_NO_LEAF UINT32_MAX

/* A list that is the union over the rows of a group: their lists concatenated, in the order of
 * rows. A row without a group has an empty one. */
typedef struct PlanUnion {
    uint32_t key;  /* the host's number for the grouping */
    bool is_rows;  /* its elements are the rows themselves */
    uint32_t list; /* graph node: the list of one row, as an expression of the row variable; with
                      is_rows the row variable */
} PlanUnion;

/* PlanUnion.key of a list that is read from the variable of a loop over groups: the key is that of
 * the loop's range (find_groups). */
#define PLAN_KEY_OF_LOOP UINT32_MAX

/* Describes the table to the planner. Functions are pure. */
struct PlanHost {
    uint32_t row_slot;  /* the row variable's */
    uint8_t row_groups; /* bits of CelVariable.group: variables that depend on the row only */

    /* A number for load(), if the host can load node @node of the graph, which reads only the row,
     * as a column without the scalar machine; PLAN_NO_LEAF: it cannot. Its lane is that of the
     * node's type. Called for outer nodes first: `labels['a']` before `labels`. */
    uint32_t (*leaf)(const PlanHost *host, const CelGraph *graph, uint32_t node);

    /* The same for a node that reads nothing but the variable of a loop (OP_LOCAL, level 0) over a
     * list of a row: a number for load_elements(). NULL: there are none. */
    uint32_t (*element_leaf)(const PlanHost *host, const CelGraph *graph, uint32_t node);

    /* The same for a node that reads the row and one value that is known once: a key, whose node is
     * returned through @ret_key (`labels[pod.key]`). A number for load_keyed(). NULL: there are
     * none. */
    uint32_t (*keyed_leaf)(
        const PlanHost *host, const CelGraph *graph, uint32_t node, uint32_t *ret_key);

    /* Whether @node itself reads other rows of the table (a call `node.domain(k)`): then neither it
     * nor its users can be stored with a row. NULL: no node does. */
    bool (*reads_other_rows)(const PlanHost *host, const CelGraph *graph, uint32_t node);

    /* Whether @node (of a list type) is a union as above. It may add nodes to the graph. Also
     * called for lists that are read from the variable of a loop over groups: then the key is that
     * of the groups, and @ret's is not read. NULL: there are none. */
    bool (*find_union)(const PlanHost *host, CelGraph *graph, uint32_t node, PlanUnion *ret);

    /* Whether @node is the list of all groups of a key, so that a loop over it is over groups (each
     * a union); the key through @ret_key. NULL: there are none. */
    bool (*find_groups)(
        const PlanHost *host, const CelGraph *graph, uint32_t node, uint32_t *ret_key);
};

/* The table while something is computed from it. */
typedef struct PlanTable {
    const PlanHost *host;
    const void *rows; /* the host's */
    void *block; /* the host's data for one block: load() gets the same rows each time; or NULL */

    /* The value of the row variable; lives as long as the run's arena. */
    CelValue (*row)(const struct PlanTable *table, uint32_t row, CelRun *run);

    /* Fills @ret, which has memory for values and states (lane TEXT: values into @ret_texts, valid
     * as long as the table), for @n rows. May set ret->states to NULL: all OK. */
    void (*load)(const struct PlanTable *table, uint32_t leaf, const uint32_t *rows, size_t n,
        Column *ret, CelValue *ret_texts);

    /* The same for @n elements of lists: elements that the host did not make are FALLBACK. */
    void (*load_elements)(const struct PlanTable *table, uint32_t leaf, const CelValue *elements,
        size_t n, Column *ret, CelValue *ret_texts);

    /* The same as load() for a number of keyed_leaf(), once a batch. @key is of the type of the
     * key's node and lives as long as the session. */
    void (*load_keyed)(const struct PlanTable *table, uint32_t leaf, CelValue key,
        const uint32_t *rows, size_t n, Column *ret, CelValue *ret_texts);

    /* Number of groups of @key, and through @ret the group of each row, UINT32_MAX for none;
     * over all @n_rows rows. NULL: no groups. */
    uint32_t (*groups)(
        const struct PlanTable *table, uint32_t key, size_t n_rows, uint32_t *ret_group_of_row);
} PlanTable;

/* The precomputed columns of up to PLAN_BLOCK_ROWS rows. Opaque, immutable. */
typedef struct PlanBlock PlanBlock;

/* Everything is in @arena; the graph must outlive the plan (it may get new nodes). @roots are of
 * type bool, int or double (-EINVAL: one is not). 0, -ENOMEM, or -E2BIG over PLAN_SCRATCH_MAX. */
int plan_new(CelGraph *graph, const uint32_t *roots, size_t n_roots, const PlanHost *host,
    Arena *arena, Plan **ret) MUST_CHECK;

/* How often @root is computed. */
typedef enum PlanFrequency {
    PLAN_ONCE, /* constants included */
    PLAN_PRECOMPUTED,
    PLAN_PER_BATCH,
} PlanFrequency;
PlanFrequency plan_frequency(const Plan *plan, size_t root);

/* Whether the scalar machine runs a part of @root for each row, which is slow; returns the graph
 * node of that part through @ret. */
bool plan_falls_back(const Plan *plan, size_t root, uint32_t *ret);

/* The deadline, checked at least every PLAN_BLOCK_ROWS evaluations of the scalar machine. */
typedef struct PlanDeadline {
    bool (*is_over)(void *context); /* NULL: never */
    void *context;
} PlanDeadline;

#define PLAN_DEADLINE_PASSED 1 /* time is up */

/* The cost of blocks. Work is counted in units of fuel (cel/run.h) of the scalar machine, plus one
 * for each entry of a column: the same blocks take the same work on every machine. */
typedef struct PlanCost {
    uint64_t work;
    size_t bytes; /* of the finished blocks */
} PlanCost;

/* PlanMeter: counts the cost of blocks, by column, and ends one that would take too much work. */
typedef struct PlanMeter PlanMeter;

/* Lies in @arena. @work_max: of all blocks together. NULL: no memory. */
PlanMeter *plan_meter_new(const Plan *plan, uint64_t work_max, Arena *arena);
bool plan_meter_is_over(const PlanMeter *meter);
uint64_t plan_meter_work(const PlanMeter *meter);

/* The cost of @root. A column that several roots read counts for each of them. */
PlanCost plan_meter_root(PlanMeter *meter, size_t root);

/* PlanStrings: results of functions of one string, shared by blocks of one plan and table. Lies in
 * @arena, which outlives it and grows, by at most a few KiB for each column. NULL: no memory. */
typedef struct PlanStrings PlanStrings;
PlanStrings *plan_strings_new(const Plan *plan, Arena *arena);

typedef struct PlanBlockOptions {
    CelRun *run;    /* for temporary data: its arena may be reset afterwards. Each evaluation starts
                       with its fuel */
    Arena *scratch; /* for temporary data of one evaluation; it is reset repeatedly, so nothing else
                       may be in it. NULL: the run's arena is used, and grows with every row */
    PlanDeadline deadline;
    PlanMeter *meter;     /* NULL: nothing is counted */
    PlanStrings *strings; /* NULL: each block computes them again */
    Arena *keep;          /* for stored values */
} PlanBlockOptions;

/* Computes the block of @n (at most PLAN_BLOCK_ROWS) rows. Strings of the table are borrowed. 0,
 * PLAN_DEADLINE_PASSED (also: too much work) or -ENOMEM. */
int plan_block_new(const Plan *plan, const PlanTable *table, const uint32_t *rows, size_t n,
    const PlanBlockOptions *options, const PlanBlock **ret) MUST_CHECK;

#define PLAN_BLOCK_FULL 1 /* too many distinct strings */

/* The block @old with some of its rows replaced: entry i of @fresh, a block of @n_rows rows, is row
 * @rows[i] of it (ascending). Everything is in @keep, including strings; @scratch is for temporary
 * data. The result equals a newly computed block. 0, PLAN_BLOCK_FULL (compute it from scratch) or
 * -ENOMEM. */
int plan_block_replace_rows(const Plan *plan, const PlanBlock *old, const PlanBlock *fresh,
    const uint32_t *rows, size_t n_rows, Arena *scratch, Arena *keep, const PlanBlock **ret)
    MUST_CHECK;

/* The column of @root, whose frequency is PLAN_PRECOMPUTED: one entry a row, none FALLBACK. */
Column plan_block_root(const Plan *plan, const PlanBlock *block, size_t root);

/* Computes the groups of the whole table, and stored columns reduced by group. @blocks are those of
 * rows 0 up to @n_rows, in order. @known (may be NULL): totals of the same plan, whose rows are as
 * many and in the same groups, which are copied. NULL through @ret: none needed. 0 or -ENOMEM. */
int plan_totals_new(const Plan *plan, const PlanTable *table, const PlanTotals *known,
    const PlanBlock *const *blocks, size_t n_rows, Arena *arena, const PlanTotals **ret) MUST_CHECK;

typedef struct PlanSessionOptions {
    const PlanTable *table;
    const PlanBlock *const *blocks; /* by row / PLAN_BLOCK_ROWS */
    const PlanTotals *totals;
    size_t n_rows;
    const CelValue *variables; /* by slot; the row variable's is not read */
    CelRun *run;               /* each evaluation starts with its fuel */
    int64_t fuel;              /* of one evaluation by the scalar machine */

    /* For temporary data of an evaluation of one row; it is reset repeatedly, so nothing else may
     * be in it. NULL: the run's arena is used, and grows with every row. */
    Arena *scratch;

    PlanDeadline deadline;
} PlanSessionOptions;

/* Lies in @arena. 0 or -ENOMEM. */
int plan_session_new(const Plan *plan, const PlanSessionOptions *options, Arena *arena,
    PlanSession **ret) MUST_CHECK;

/* Sets the rows, at most PLAN_BATCH_ROWS, each below n_rows, in any order; the array is borrowed
 * until the next call. */
void plan_session_set_rows(PlanSession *session, const uint32_t *rows, size_t n);

/* The same for @n rows from @first on. */
void plan_session_set_range(PlanSession *session, uint32_t first, size_t n);

/* @root for each of these rows: a column of lane BOOL, INT or DOUBLE (that of the root's type)
 * without FALLBACK. Borrowed until the next plan_session_set_rows(). 0, PLAN_DEADLINE_PASSED, or
 * -ENOMEM. */
int plan_session_root(PlanSession *session, size_t root, const Column **ret) MUST_CHECK;

/* @root, whose frequency is PLAN_ONCE; may be an error. 0, PLAN_DEADLINE_PASSED, or -ENOMEM. */
int plan_session_once(PlanSession *session, size_t root, CelValue *ret) MUST_CHECK;
