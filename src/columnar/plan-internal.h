#pragma once

/*
 * A plan, inside: for plan*.c and the evaluator. plan.h is the contract.
 *
 * A column is the value of a node for each entry of a space: the rows, the elements of one list
 * over all rows, or the groups of a key. While a plan is made, a failed allocation sets
 * planner->failed, and functions return as if the node could not be a column: plan_new() checks
 * after each stage.
 */

#include "base/set.h"
#include "base/vec.h"
#include "cel/code.h"
#include "columnar/column.h"
#include "columnar/kernel.h"
#include "columnar/plan.h"

#define NO_COLUMN UINT32_MAX
#define NO_SPACE UINT32_MAX
#define ROW_SPACE 0u         /* the number of the space of rows */
#define PLAN_FILTERS_MAX 8   /* chained filters in a reduction */
#define PLAN_WHERE_MAX 16    /* nested WHERE steps */
#define PLAN_FOLD_ARGS_MAX 8 /* elements of a list that one kernel folds */

typedef enum PlanSpaceKind {
    SPACE_ROWS,
    SPACE_ITEMS,  /* the elements of a list that each row has */
    SPACE_GROUPS, /* the groups of a key */
} PlanSpaceKind;

/* An argument of scalar code: its variables are numbered from 0, one for each. */
typedef enum PlanInputKind {
    PLAN_INPUT_COLUMN,
    PLAN_INPUT_ROW,      /* the row variable */
    PLAN_INPUT_VARIABLE, /* another, by its slot */
    PLAN_INPUT_ELEMENT,  /* the loop's variable */
} PlanInputKind;

typedef struct PlanInput {
    uint8_t kind;    /* PlanInputKind */
    uint32_t column; /* or slot */
} PlanInput;

/* Code for a node, from columns that are already computed. */
typedef struct PlanCode {
    const CelCode *code;
    const PlanInput *inputs;
    uint32_t n_inputs;
} PlanCode;

typedef struct PlanSpace {
    uint8_t kind;         /* PlanSpaceKind; the loop's variable is of level 0 */
    bool is_needed;       /* ITEMS: in blocks; GROUPS: in totals */
    bool is_stored;       /* blocks store where each row's elements begin */
    uint32_t of;          /* ITEMS: the node of the list, precomputed; GROUPS: the key */
    uint32_t store;       /* its place in a block */
    const PlanCode *code; /* ITEMS: for the list, from the row alone */
} PlanSpace;

typedef enum PlanMethod {
    METHOD_SCALAR,    /* by the scalar machine, per entry; or once */
    METHOD_BY_STRING, /* the same, once for each distinct string */
    METHOD_LEAF,      /* loaded by the host */
    METHOD_KEYED,     /* the same by a key, the input, which is computed once */
    METHOD_ELEMENT,   /* the loop's variable itself */
    METHOD_KERNEL,
    METHOD_FOLD,        /* a kernel of two, from the left */
    METHOD_SAME_STRING, /* == or != of two strings */
    METHOD_CHOOSE,      /* ?: between strings */
    METHOD_SPREAD,      /* the value of the row, for each of its elements */
    METHOD_REDUCE,      /* the elements of a row, or all groups, to one value */
    METHOD_GROUP,       /* the elements of all rows of a group to one value */
    METHOD_LOOKUP,      /* the value of the row's group */
} PlanMethod;

typedef enum ReduceOp {
    REDUCE_ALL,
    REDUCE_EXISTS,
    REDUCE_ONE,
    REDUCE_COUNT,
    REDUCE_SUM,
    REDUCE_MIN,
    REDUCE_MAX,
} ReduceOp;

/* The kinds of steps in a list of steps. */
typedef enum PlanStepKind {
    STEP_COLUMN, /* computes @column */
    STEP_LOAD,   /* fetches it from the blocks */
    STEP_RANGE,  /* opens space @column (in blocks only) */
    STEP_WHERE, /* skips to @target for entries where @column is not @wanted; if none is left, jumps
                   there */
    STEP_END,   /* ends STEP_WHERE */
} PlanStepKind;

/* The states of the column of a STEP_WHERE for which the next steps run. */
typedef enum PlanCondition {
    WHERE_NOT_FALSE, /* && is undecided */
    WHERE_NOT_TRUE,  /* || is undecided */
    WHERE_TRUE,
    WHERE_FALSE,
} PlanCondition;

typedef struct PlanStep {
    uint8_t kind;      /* PlanStepKind */
    uint8_t condition; /* PlanCondition */
    uint32_t column;
    uint32_t target;
} PlanStep;

typedef struct PlanSteps {
    const PlanStep *steps;
    uint32_t n;
    const uint32_t *singles; /* columns that are computed once, needed by the steps */
    uint32_t n_singles;
} PlanSteps;

typedef struct PlanReduction {
    uint8_t op;     /* ReduceOp */
    bool is_total;  /* GROUP of rows: reads stored columns only, so PlanTotals has it */
    uint32_t space; /* ROW_SPACE: of a group's rows */
    uint32_t n_predicates;
    const uint32_t *predicates; /* columns of @space: an element counts if all are true, in order;
                                 * after them the value, if there is one */
    uint32_t value;             /* column; NO_COLUMN: none */
    uint32_t partial;        /* GROUP: the stored column of each row's own result; or NO_COLUMN */
    PlanSteps steps;         /* for elements in a session */
    const uint32_t *of_rows; /* columns of rows that these steps read */
    uint32_t n_of_rows;
    bool needs_elements; /* in a session: the values of the loop's variable */
    bool needs_rows;     /* in a session: which row an element belongs to */
    uint32_t slow;       /* a node that the scalar machine runs in a session, or CEL_NO_NODE */
} PlanReduction;

typedef struct PlanColumn {
    uint32_t node;
    uint32_t space;
    uint8_t method;     /* PlanMethod */
    uint8_t frequency;  /* PlanFrequency; ONCE in the space of rows is a single value */
    uint8_t lane;       /* ColumnLane */
    uint8_t kind;       /* CelKind of its values */
    uint8_t op;         /* of the node */
    bool is_constant;   /* @single and @constant are set */
    bool is_needed;     /* it is computed at its frequency */
    bool is_stored;     /* kept in blocks, for sessions */
    bool is_in_batch;   /* a session works with it, or loads it */
    bool is_costly;     /* it, or an input of it, runs the scalar machine or a loop */
    bool is_lasting;    /* no other column uses its register */
    uint32_t list;      /* the last list of steps that contains it */
    uint32_t last;      /* the last step of that list that reads it */
    bool is_negated;    /* SAME_STRING: != */
    uint32_t store;     /* its index in a block, or among the values of the whole table */
    uint32_t leaf;      /* LEAF, KEYED */
    uint32_t reg;       /* register in a session, or the number of the single value */
    uint32_t block_reg; /* register while a block is made */
    uint32_t cache;     /* METHOD_BY_STRING, METHOD_KEYED in a session: number of its cache */
    Kernel *kernel;
    const PlanCode *code;
    PlanReduction *reduction;
    const uint32_t *inputs; /* columns: arguments in order, or the inputs of the code */
    uint32_t n_inputs;
    PlanSteps steps; /* REDUCE over groups: run before it */
    Column single;   /* is_constant: one entry */
    CelValue constant;
} PlanColumn;

typedef struct PlanRoot {
    uint32_t node, column;
    PlanSteps steps; /* in a session */
    uint32_t slow;   /* a node that the scalar machine runs for each row, or CEL_NO_NODE */
} PlanRoot;

typedef VEC(PlanColumn) PlanColumns;
typedef VEC(PlanSpace) PlanSpaces;
typedef VEC(uint32_t) PlanNodes;

struct Plan {
    const CelGraph *graph;
    const PlanHost *host;
    PlanColumns columns;
    PlanSpaces spaces;
    PlanRoot *roots;
    size_t n_roots;
    PlanSteps block_steps;  /* the steps that make a block */
    uint32_t n_block_regs;  /* registers while a block is made */
    uint32_t n_regs;        /* registers of a session */
    uint32_t n_singles;     /* values that are known once */
    uint32_t n_caches;      /* of strings, and of keyed columns */
    uint32_t n_stored;      /* columns in a block */
    const uint32_t *stored; /* their numbers */
    uint32_t n_offsets;     /* spaces in a block */
    uint32_t n_slots;       /* of variables that are read */
    uint32_t depth;         /* WHEREs inside each other at most */
    uint32_t n_inputs_max;  /* of any code */
    const uint32_t *groups; /* columns of METHOD_GROUP that are needed */
    uint32_t n_groups;
};

/* An entry of the map from a space and a node to a column. */
typedef struct PlanSlot {
    uint64_t key; /* the number of the space, then that of the node */
    uint32_t column;
} PlanSlot;

/* A plan that is being made. */
typedef struct Planner {
    Plan *plan;
    CelGraph *graph;
    const PlanHost *host;
    Arena *arena;           /* the plan's */
    Arena *scratch;         /* freed when the plan is made */
    Arena *mini;            /* reset for each code */
    Set slots;              /* PlanSlot, in @scratch */
    bool *reads_other_rows; /* by node: reads other rows */
    uint32_t n_seen;        /* nodes that planner_scan_nodes() has read */
    uint32_t capacity;      /* of the arrays by node */
    uint32_t *marks;        /* by node: equal to @mark if the current walk has visited it */
    uint32_t mark;
    PlanNodes groups; /* columns of METHOD_GROUP */
    bool failed;      /* no memory */
} Planner;

static inline PlanColumn *plan_column_at(const Plan *plan, uint32_t column) {
    return &plan->columns.items[column];
}

static inline bool plan_column_is_single(const PlanColumn *column) {
    return column->frequency == PLAN_ONCE && column->space == ROW_SPACE;
}

/* For qsort() and bsearch(): by the number of a node, which elements begin with. */
static inline int plan_compare_nodes(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Appends a value to a vector of @arena. */
#define PLAN_PUSH(p, vec, arena, ...) ((p)->failed |= !VEC_ADD((vec), (arena), (__VA_ARGS__)))

static inline bool planner_is_list(const Planner *p, uint32_t node) {
    return cel_graph_node(p->graph, node)->type->kind == CEL_T_LIST;
}

/* Sets planner->failed for NULL. */
static inline void *planner_check(Planner *p, void *memory) {
    p->failed |= !memory;
    return memory;
}

/* plan-column.c */

/* Reads the nodes that are new in the graph. */
void planner_scan_nodes(Planner *p);

/* How often @node in @space is computed; false: it reads values outside of @space. */
bool planner_frequency(const Planner *p, uint32_t space, uint32_t node, PlanFrequency *ret);

/* Adds a column for @node in @space, if it can be one. Its arguments must be classified before. */
void planner_classify(Planner *p, uint32_t space, uint32_t node);

/* A node, and its number in a copy of a part of the graph. */
typedef struct PlanCopy {
    uint32_t node, copy;
} PlanCopy;
typedef VEC(PlanCopy) PlanCopies;

/* @root and all nodes below it that read a loop variable of the levels @bits (@is_exact: of no
 * others), by rising numbers. */
PlanCopies planner_collect(Planner *p, uint32_t root, uint8_t bits, bool is_exact);

/* The same as planner_classify() for everything below @node that reads the variable of @space. */
void planner_classify_below(Planner *p, uint32_t space, uint32_t node);

/* Whether @node is x.orValue(y), for some optional x. */
bool planner_is_or_value(const Planner *p, uint32_t node);

/* The column of @node for a computation in @space at @frequency, or NO_COLUMN. */
uint32_t planner_find(Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency);

/* Makes column @input the only input of @column. Returns false if there is no memory. */
bool planner_set_input(Planner *p, PlanColumn *column, uint32_t input);

/* Adds a copy of @column; returns its number. @is_found: planner_find() finds it by its node. */
uint32_t planner_add(Planner *p, const PlanColumn *column, bool is_found);

/* Makes planner_find() find @column (NO_COLUMN: none) for @node in @space. */
void planner_index(Planner *p, uint32_t space, uint32_t node, uint32_t column);

/* plan-shape.c */

/* A reduction, in nodes. */
typedef struct ReductionShape {
    ReduceOp op;
    uint32_t list;                        /* without all filters */
    uint32_t parts[PLAN_FILTERS_MAX + 1]; /* predicates, the innermost first, then the value */
    uint32_t n_predicates;
    bool has_value;
    uint32_t level;
    bool has_level;
} ReductionShape;

/* Whether @node is a reduction, and of what. */
bool reduction_shape_find(const Planner *p, uint32_t node, ReductionShape *ret);

/* Whether its body reads the variables of no other loops. */
bool reduction_shape_is_own(const Planner *p, const ReductionShape *shape);

/* Rewrites its body to level 0, or to read the row variable, node @row, instead of its own. Returns
 * false if there is no memory. */
bool reduction_shape_relevel(Planner *p, ReductionShape *shape);
bool reduction_shape_use_row(Planner *p, ReductionShape *shape, uint32_t row);

/* plan-loop.c: whether @node is a reduction that can be computed with columns; its column is added
 * then. */
bool planner_reduce(Planner *p, uint32_t space, uint32_t node);

/* plan-code.c: code for @node in @space at @frequency, which reads existing columns where possible.
 * @from_row: from the row variable alone. NULL: no memory. */
const PlanCode *planner_code(
    Planner *p, uint32_t space, uint32_t node, PlanFrequency frequency, bool from_row);

/* plan-need.c: the columns that the roots need, places in blocks and registers. */
void planner_mark_needed(Planner *p);

/* plan-order.c: all lists of steps. */
void planner_order(Planner *p);

/* plan-register.c: registers of a session's columns. */
void planner_assign_registers(Planner *p);
