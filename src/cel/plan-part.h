#pragma once

/*
 * Plan-part: a plan, inside. Of plan*.c and of what works it out (work.h) only; plan.h is the
 * contract.
 *
 * A column is a node of the graph for each entry of a space: of the rows, of the elements of
 * one list over all rows, of the groups of a key. plan-column.c says for each node that could be
 * one how it would be computed; plan-need.c which of them are needed, and where (kept with
 * the rows, or in a session); plan-order.c in which order. What works it out is work.h.
 */

#include "base/vec.h"
#include "cel/code.h"
#include "cel/column.h"
#include "cel/kernel.h"
#include "cel/plan.h"

#define CEL_NO_COLUMN UINT32_MAX
#define CEL_ROWS 0u         /* the number of the space of rows */
#define CEL_CHAIN_MAX 8     /* filters one after the other in a reduction */
#define CEL_WHERE_MAX 16    /* parts of a list inside each other that run for some entries only */
#define CEL_FOLD_ARGS_MAX 8 /* elements of a list that one kernel folds */

typedef enum CelSpaceKind {
    CEL_SPACE_ROWS,
    CEL_SPACE_ITEMS,  /* the elements of a list that each row has */
    CEL_SPACE_GROUPS, /* the groups of a key */
} CelSpaceKind;

/* An argument of scalar code: its variables are numbered from 0, one for each. */
typedef enum CelInputKind {
    CEL_INPUT_COLUMN,
    CEL_INPUT_ROW,      /* the row variable */
    CEL_INPUT_VARIABLE, /* another, by its slot */
    CEL_INPUT_ELEMENT,  /* the loop's variable */
} CelInputKind;

typedef struct CelInput {
    uint8_t kind;    /* CelInputKind */
    uint32_t column; /* or slot */
} CelInput;

/* Code for a node, from what is known already. */
typedef struct CelPlanCode {
    const CelCode *code;
    const CelInput *inputs;
    uint32_t n_inputs;
} CelPlanCode;

typedef struct CelSpace {
    uint8_t kind;            /* CelSpaceKind; the loop's variable is of level 0 */
    bool is_needed;          /* ITEMS: when rows are kept; GROUPS: of the whole table */
    bool is_stored;          /* where each row's elements begin is kept */
    uint32_t of;             /* ITEMS: the list, a node that is kept; GROUPS: the key */
    uint32_t store;          /* its place in a block */
    const CelPlanCode *code; /* ITEMS: for the list, from the row alone */
} CelSpace;

typedef enum CelHow {
    CEL_HOW_SCALAR,  /* by the scalar machine, for each entry; once for all if its time is that */
    CEL_HOW_TEXT,    /* the same, once for each distinct string */
    CEL_HOW_LEAF,    /* the host gives it */
    CEL_HOW_KEYED,   /* the same, by a key that is known once: the input */
    CEL_HOW_ELEMENT, /* the loop's variable itself */
    CEL_HOW_KERNEL,
    CEL_HOW_FOLD,   /* a kernel of two, from the left */
    CEL_HOW_SAME,   /* whether two strings are the same, or not */
    CEL_HOW_CHOOSE, /* ?: between strings */
    CEL_HOW_SPREAD, /* the row's, for each of its elements */
    CEL_HOW_REDUCE, /* the elements of a row, or all groups, to one value */
    CEL_HOW_GROUP,  /* the elements of all rows of a group to one value */
    CEL_HOW_LOOKUP, /* the value of the row's group */
} CelHow;

typedef enum CelReduce {
    CEL_REDUCE_ALL,
    CEL_REDUCE_EXISTS,
    CEL_REDUCE_ONE,
    CEL_REDUCE_COUNT,
    CEL_REDUCE_SUM,
    CEL_REDUCE_MIN,
    CEL_REDUCE_MAX,
} CelReduce;

/* One step of a list, in the order of work. */
typedef enum CelStepKind {
    CEL_STEP_COLUMN, /* works out @column */
    CEL_STEP_LOAD,   /* fetches it from the blocks */
    CEL_STEP_RANGE,  /* opens space @column (kept only) */
    CEL_STEP_WHERE,  /* up to @target only for entries where @column is as @wanted says; none:
                        goes there */
    CEL_STEP_END,    /* of the above */
} CelStepKind;

/* Which states of the column of a WHERE count. */
typedef enum CelWanted {
    CEL_WANT_NOT_FALSE, /* && is undecided */
    CEL_WANT_NOT_TRUE,  /* || is */
    CEL_WANT_TRUE,
    CEL_WANT_FALSE,
} CelWanted;

typedef struct CelStep {
    uint8_t kind;   /* CelStepKind */
    uint8_t wanted; /* CelWanted */
    uint32_t column;
    uint32_t target;
} CelStep;

typedef struct CelSteps {
    const CelStep *steps;
    uint32_t n;
    const uint32_t *singles; /* columns whose time is once, needed on the way */
    uint32_t n_singles;
} CelSteps;

typedef struct CelReduction {
    uint8_t op; /* CelReduce */
    uint32_t space;
    uint32_t n_predicates;
    const uint32_t *predicates; /* columns of @space: an element counts if all are true, in order */
    uint32_t value;             /* column; CEL_NO_COLUMN: none is looked at */
    uint32_t partial;        /* GROUP: the column of the same for each row alone, kept; or none */
    CelSteps steps;          /* for elements in a session */
    const uint32_t *of_rows; /* columns of rows that those read */
    uint32_t n_of_rows;
    bool needs_elements; /* in a session: the values of the loop's variable */
    bool needs_rows;     /* in a session: which row an element belongs to */
    uint32_t slow;       /* a node that the scalar machine runs in a session, or CEL_NO_NODE */
} CelReduction;

typedef struct CelPlanColumn {
    uint32_t node;
    uint32_t space;
    uint8_t how;       /* CelHow */
    uint8_t time;      /* CelTime; ONCE in the space of rows is a single value */
    uint8_t lane;      /* CelLane */
    uint8_t kind;      /* CelKind of its values */
    uint8_t op;        /* of the node */
    bool is_constant;  /* @single and @constant are known */
    bool is_needed;    /* in its time */
    bool is_stored;    /* kept in blocks, for sessions */
    bool is_in_batch;  /* a session works with it, or loads it */
    bool is_costly;    /* the scalar machine, or a loop, is somewhere in it */
    bool is_lasting;   /* its register is its own */
    uint32_t list;     /* the last one that has it */
    uint32_t last;     /* the last step there that reads it */
    bool is_negated;   /* SAME: whether not */
    uint32_t store;    /* its place in a block, or among what is known of the whole */
    uint32_t leaf;     /* LEAF, KEYED */
    uint32_t reg;      /* register in a session, or the number of the single value */
    uint32_t kept_reg; /* register while a block is made */
    uint32_t memo;     /* TEXT in a session: the number of what it remembers */
    CelKernel *kernel;
    const CelPlanCode *code;
    CelReduction *reduction;
    const uint32_t *inputs; /* columns: arguments in order, or what the code reads */
    uint32_t n_inputs;
    CelSteps steps;   /* REDUCE over groups: before it */
    CelColumn single; /* is_constant: one entry */
    CelValue constant;
} CelPlanColumn;

typedef struct CelPlanRoot {
    uint32_t node, column;
    CelSteps steps; /* in a session */
    uint32_t slow;  /* a node that the scalar machine runs for each row, or CEL_NO_NODE */
} CelPlanRoot;

typedef VEC(CelPlanColumn) CelPlanColumns;
typedef VEC(CelSpace) CelSpaces;
typedef VEC(uint32_t) CelNodes;

struct CelPlan {
    const CelGraph *graph;
    const CelHost *host;
    CelPlanColumns columns;
    CelSpaces spaces;
    CelPlanRoot *roots;
    size_t n_roots;
    CelSteps kept;          /* what a block is made by */
    uint32_t n_kept_regs;   /* registers of that */
    uint32_t n_regs;        /* of a session */
    uint32_t n_singles;     /* values that are known once */
    uint32_t n_memos;       /* of strings */
    uint32_t n_stored;      /* columns in a block */
    const uint32_t *stored; /* these */
    uint32_t n_offsets;     /* spaces in a block */
    uint32_t n_slots;       /* of variables that are read */
    uint32_t depth;         /* WHEREs inside each other at most */
    uint32_t n_inputs_max;  /* of any code */
    const uint32_t *groups; /* columns of CEL_HOW_GROUP that are needed */
    uint32_t n_groups;
};

/* A place of the map from a space and a node to a column. */
typedef struct CelPlanPlace {
    uint64_t key; /* + 1; 0: free */
    uint32_t column;
} CelPlanPlace;

/* A plan that is being made. */
typedef struct CelPlanner {
    CelPlan *plan;
    CelGraph *graph;
    const CelHost *host;
    Arena *arena;   /* the plan's */
    Arena *scratch; /* gone when the plan is made */
    Arena *mini;    /* reset for each code */
    CelPlanPlace *places;
    size_t n_places, n_used;
    bool *is_whole;  /* by node: reads other rows */
    uint32_t n_seen; /* nodes that are known */
    uint32_t room;   /* for how many */
    uint32_t *marks; /* by node: equal to @mark if a walk came by */
    uint32_t mark;
    CelNodes groups; /* columns of CEL_HOW_GROUP */
} CelPlanner;

static inline CelPlanColumn *cel_plan_at(const CelPlan *plan, uint32_t column) {
    return &plan->columns.items[column];
}

static inline bool cel_column_is_single(const CelPlanColumn *column) {
    return column->time == CEL_TIME_ONCE && column->space == CEL_ROWS;
}

/* plan-column.c */

/* Learns about nodes that are new in the graph. */
int cel_planner_see(CelPlanner *p) MUST_CHECK;

/* The time of @node in @space; false: it reads what does not belong there. */
bool cel_planner_time(const CelPlanner *p, uint32_t space, uint32_t node, CelTime *ret);

/* Adds the column that @node could be in @space, if it could. Its arguments were seen before. */
int cel_planner_classify(CelPlanner *p, uint32_t space, uint32_t node) MUST_CHECK;

/* The same for everything below @node that reads the variable of @space. */
int cel_planner_classify_below(CelPlanner *p, uint32_t space, uint32_t node) MUST_CHECK;

/* Whether @node is x.orValue(y), for some optional x: has it a value? that : y. */
bool cel_planner_is_or_value(const CelPlanner *p, uint32_t node);

/* The column of @node for who computes in @space at @time, or CEL_NO_COLUMN through @ret. */
int cel_planner_find(CelPlanner *p, uint32_t space, uint32_t node, CelTime time, uint32_t *ret)
    MUST_CHECK;

/* A new column; a copy of @column. @is_found: under its space and node. */
int cel_planner_add(CelPlanner *p, const CelPlanColumn *column, bool is_found, uint32_t *ret)
    MUST_CHECK;

/* Puts @column under @space and @node. */
int cel_planner_remember(CelPlanner *p, uint32_t space, uint32_t node, uint32_t column) MUST_CHECK;

/* plan-shape.c */

/* A reduction, in nodes. */
typedef struct CelShape {
    CelReduce op;
    uint32_t list;                      /* what is left when all filters are gone */
    uint32_t predicates[CEL_CHAIN_MAX]; /* the innermost first */
    uint32_t n_predicates;
    uint32_t value; /* CEL_NO_NODE: none */
    uint32_t level;
    bool has_level;
} CelShape;

/* Whether @node is a reduction, and of what. */
bool cel_shape_find(const CelPlanner *p, uint32_t node, CelShape *ret);

/* Its body as one of level 0; false through @ret: it reads the variables of other loops. */
int cel_shape_relevel(CelPlanner *p, CelShape *shape, bool *ret) MUST_CHECK;

/* plan-level.c: the node that is @node with level 0 for @level; it reads no other. */
int cel_planner_relevel(CelPlanner *p, uint32_t level, uint32_t *node) MUST_CHECK;

/* plan-loop.c: whether @node is a reduction that can be done column-wise; then its column is
 * added, and *ret_done is true. */
int cel_planner_reduce(CelPlanner *p, uint32_t space, uint32_t node, bool *ret_done) MUST_CHECK;

/* plan-code.c: code for @node in @space at @time, from columns as far as there are some.
 * @from_row: from the row variable alone. */
int cel_planner_code(CelPlanner *p, uint32_t space, uint32_t node, CelTime time, bool from_row,
    const CelPlanCode **ret) MUST_CHECK;

/* plan-need.c: what the roots need, places in blocks and registers. */
int cel_planner_need(CelPlanner *p) MUST_CHECK;

/* plan-order.c: all lists of steps. */
int cel_planner_order(CelPlanner *p) MUST_CHECK;

/* plan-register.c: where columns lie in a session. */
int cel_plan_give_registers(CelPlan *plan, Arena *scratch) MUST_CHECK;
