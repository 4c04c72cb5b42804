#pragma once

/*
 * Evaluator: computes columns by the steps of a plan, for a block of rows (block.c) or in a session
 * for one pod (session.c).
 *
 * A frame holds the current entries of a space. Registers hold the columns; each remembers for
 * which frame it was filled, so two lists of steps compute a column once. Steps that run for some
 * entries only (a selection) fill registers partially; only those steps may read them. A function
 * that fails sets evaluator->status, which ends the steps.
 */

#include "cel/run.h"
#include "columnar/plan-internal.h"

#define NO_ROW UINT32_MAX

/* The @n entries of a frame from @at on are the entries of block @block from @from on. */
typedef struct BlockRange {
    uint32_t block, from, at, n;
} BlockRange;

typedef struct EntryFrame {
    size_t n;
    uint64_t stamp;       /* differs for every content */
    const uint32_t *rows; /* ROWS: of the table; NULL: those from @first on */
    uint32_t first;
    BlockRange *ranges; /* the ranges of entries in blocks, sorted by @at (session only) */
    size_t n_ranges;
    uint32_t *starts;     /* ITEMS: the first element of each row, and the end of all */
    uint32_t *row_of;     /* ITEMS: by element, the entry of its row */
    uint8_t *list_states; /* ITEMS: by row, the state of its list: OK, ERROR or FALLBACK */
    CelValue *elements;   /* ITEMS: NULL where no step needs them */
    size_t capacity;      /* for elements, in a session */
} EntryFrame;

typedef struct ColumnRegister {
    Column column;   /* for the kernels */
    uint8_t *states; /* memory for them */
    int64_t *values; /* or doubles, or codes */
    CelValue *texts; /* TEXT: the strings themselves */
    size_t capacity, texts_capacity, known_capacity;
    uint32_t column_of; /* the plan's column that is in it now */
    uint64_t stamp;     /* of the frame; 0: empty */
    bool is_partial;    /* only entries of a selection are computed */
    bool is_final;      /* a root without FALLBACK entries */
    bool has_texts, has_codes;
    bool is_compared;       /* TEXT: was compared with a string while a block is made */
    bool is_borrowed;       /* TEXT: the table or the graph owns the strings */
    uint8_t *known;         /* is_partial: which entries the scalar machine computed */
    CelCode *fallback_code; /* a root's: of the whole node; NULL until an entry is FALLBACK */
} ColumnRegister;

/* A value that is computed once a session. */
typedef struct SingleValue {
    bool is_known;
    CelValue value;
    Column column;
    uint8_t state;
    union {
        int64_t i;
        double d;
    } number;
} SingleValue;

/* Strings and their results (evaluate-scalar.c). */
typedef struct StringCache StringCache;

struct PlanStrings {
    Arena *arena;
    StringCache **caches; /* by register of a block; NULL: nothing yet */
};

/* Entries to compute. */
typedef struct EntrySelection {
    const uint32_t *entries;
    size_t n;
} EntrySelection;

typedef struct SelectionBuffer {
    uint32_t *entries;
    size_t capacity;
} SelectionBuffer;

/* The ranges of elements of one list of each row. */
typedef struct ListOffsets {
    const uint32_t *starts;     /* n + 1 */
    const uint8_t *list_states; /* NULL: all OK */
} ListOffsets;

struct PlanBlock {
    size_t n;
    const Column *columns;      /* by place */
    const ListOffsets *offsets; /* by space */
};

/* The groups of a key. */
typedef struct RowGroups {
    uint32_t n;
    const uint32_t *of_row;
} RowGroups;

struct PlanTotals {
    const RowGroups *groups; /* by space */
    const Column *columns;   /* by place; without values for columns that a session computes */
};

struct PlanMeter {
    const Plan *plan;
    uint64_t work_max, work;
    PlanCost *columns, *spaces; /* by number */
    uint32_t *stack;            /* columns to visit */
    bool *is_seen, *has_space;  /* by number, for one walk */
};

/* Shared by blocks and sessions. */
typedef struct Evaluator {
    const Plan *plan;
    const PlanTable *table;
    PlanSession *session; /* NULL: a block is made */
    CelValue *block_rows; /* in a block: the row variable by entry; ABSENT: not set yet */
    Arena *arena;         /* for registers and other buffers */
    CelRun *run;          /* of evaluations */
    Arena *scratch;       /* in a block: of one evaluation; may be NULL */
    int64_t fuel;
    PlanDeadline deadline;
    PlanMeter *meter;          /* in a block; NULL: nothing is counted */
    PlanStrings *strings;      /* in a block; NULL: none */
    uint64_t work;             /* see PlanCost */
    int status;                /* 0, PLAN_DEADLINE_PASSED or -ENOMEM; the first one stays */
    const CelValue *variables; /* by slot; NULL in a block */
    ColumnRegister *registers;
    EntryFrame *frames; /* by space */
    uint64_t last_stamp;
    CelValue *inputs;             /* the inputs of the code that runs */
    CelValue *fallback_variables; /* for code of a whole root; NULL: not needed yet */
    ColumnRegister spare[2];      /* for folds */
    uint8_t *table_states;        /* by code: for METHOD_BY_STRING */
    int64_t *table_values;
    size_t table_capacity;
    uint8_t *include; /* for the predicates of a reduction */
    size_t include_capacity;
    uint32_t *special;               /* for a reduction of short lists; NULL: none yet */
    const EntrySelection *selection; /* NULL: all entries */
    SelectionBuffer *buffers;        /* by depth of selections */
    uint32_t depth;
    uint32_t n_evaluations;
    int64_t fuel_used; /* since the deadline was checked */
} Evaluator;

/* A session for one pod: values that are computed once, and batches of rows. */
struct PlanSession {
    Evaluator evaluator;
    Evaluator *of_table;  /* for all rows, with registers of its own; NULL: not needed yet */
    CelRun run, once_run; /* for rows; for single values, whose arena lasts */
    const PlanBlock *const *blocks;
    const PlanTotals *totals;
    size_t n_rows;
    Arena *scratch;      /* the run's arena, if it may be reset; else NULL */
    bool keeps_scratch;  /* @scratch is in use: do not reset it now */
    uint32_t cached_row; /* the row whose value is @row; NO_ROW: none */
    CelValue row;
    SingleValue *singles;
    uint32_t *stack;              /* singles that are being computed */
    StringCache **caches;         /* by number; NULL: nothing yet */
    uint8_t **row_states;         /* by number and row: states of keyed bools; NULL: nothing yet */
    ColumnRegister *single_roots; /* by root: the single value, repeated for all rows */
};

static inline uint32_t entry_frame_row(const EntryFrame *frame, size_t entry) {
    return frame->rows ? frame->rows[entry] : frame->first + (uint32_t)entry;
}

/* Counts the work done since @work_before for column @number. */
static inline void evaluator_note_column(Evaluator *e, uint32_t number, uint64_t work_before) {
    if (e->meter)
        e->meter->columns[number].work += e->work - work_before;
}

/* Allocates the shared parts. Check the status afterwards. */
void evaluator_begin(Evaluator *e, uint32_t n_registers);

/* Sets the status if @is_ok is false; returns @is_ok. */
static inline bool evaluator_check(Evaluator *e, bool is_ok, int status) {
    if (!is_ok && e->status == 0)
        e->status = status;
    return is_ok;
}

static inline ColumnRegister *evaluator_register(const Evaluator *e, const PlanColumn *column) {
    return &e->registers[e->session ? column->reg : column->block_reg];
}

/* @buffer, whose @capacity is at least @n elements of @size bytes, or a larger one, whose
 * content is undefined. NULL: no memory. */
void *evaluator_grow(Evaluator *e, void *buffer, size_t *capacity, size_t n, size_t size)
    MUST_CHECK;

/* Makes room for @n entries of a lane and states. Returns false if there is no memory. */
bool register_open(Evaluator *e, ColumnRegister *reg, ColumnLane lane, size_t n) MUST_CHECK;

/* The same for entries that will be written one by one: a TEXT column as strings. */
bool register_open_values(
    Evaluator *e, ColumnRegister *reg, ColumnLane lane, size_t n, bool is_borrowed) MUST_CHECK;

/* Memory for @n strings next to the codes of a TEXT register. */
bool register_open_texts(Evaluator *e, ColumnRegister *reg, size_t n, bool is_borrowed) MUST_CHECK;

/* A column as a kernel's operand. */
KernelOperand evaluator_operand(const Evaluator *e, uint32_t column);

/* The value of a column that is computed once. */
CelValue evaluator_single(const Evaluator *e, const PlanColumn *column);

/* Makes room for @column in @reg, its register, and finds the entries that it lacks: @ret_n of
 * them, in @ret; NULL: the first @ret_n. */
bool evaluator_open_missing(Evaluator *e, const PlanColumn *column, ColumnRegister *reg,
    const uint32_t **ret, size_t *ret_n) MUST_CHECK;

/* Runs steps in @space, unless the status is set. */
void evaluator_run_steps(Evaluator *e, const PlanSteps *steps, uint32_t space);

/* Sets the status if the deadline has passed, or too much work was done. */
void evaluator_check_deadline(Evaluator *e);

/* The value of the row variable for entry @entry of the rows' frame. */
CelValue evaluator_row(Evaluator *e, size_t entry);

/* Runs @code with fuel of its own. @is_kept: the result outlives the next evaluation. */
CelValue evaluator_run(Evaluator *e, const CelCode *code, const CelValue *variables, bool is_kept);

/* Call it after each evaluation, when the result is in a lane. False: the status is set. */
bool evaluator_continue(Evaluator *e) MUST_CHECK;

/* A method: computes @column for the current entries of its space. */
typedef void Evaluate(Evaluator *e, const PlanColumn *column);
Evaluate evaluate_scalar, evaluate_by_string, evaluate_same_string, evaluate_choose, evaluate_leaf,
    evaluate_load, evaluate_keyed, evaluate_reduce, evaluate_group, evaluate_lookup;

/* evaluate-scalar.c */

/* Sets the inputs of @code that are the same for all entries; others are absent. */
void evaluator_set_inputs(Evaluator *e, const PlanCode *code);

/* The list of space @space for entry @entry of the rows' frame. */
CelValue evaluator_list(Evaluator *e, const PlanSpace *space, size_t entry);

/* The FALLBACK entries of the column of root @node, by the scalar machine. */
void evaluate_fallbacks(Evaluator *e, uint32_t node, CelKind kind, ColumnRegister *reg);

/* evaluate-string.c */

/* The strings of a column, one an entry. */
bool evaluator_texts(Evaluator *e, const PlanColumn *column, ColumnRegister *reg) MUST_CHECK;

/* Codes and a dictionary in @keep for the strings of a block's column. */
bool evaluator_encode(Evaluator *e, ColumnRegister *reg, size_t n, Arena *keep) MUST_CHECK;

#define DICTIONARY_MAX 65536u /* distinct strings of one column of a block */

/* Gives strings their codes. */
typedef struct DictionaryBuilder {
    uint32_t *places; /* entry of the dictionary + 1 */
    uint32_t n_places;
    CelValue *values;
    uint32_t n;
} DictionaryBuilder;

/* For at most @n strings. Returns false if there is no memory. */
bool dictionary_builder_open(DictionaryBuilder *b, size_t n, Arena *scratch) MUST_CHECK;

/* The code of @v; DICTIONARY_MAX when there are no more. */
uint32_t dictionary_builder_add(DictionaryBuilder *b, CelValue v);

/* @with_strings: they are copied to @keep too. NULL: no memory. */
const Dictionary *dictionary_builder_finish(
    const DictionaryBuilder *b, bool with_strings, Arena *keep) MUST_CHECK;

/* The dictionary of entry @at; @ret_end: the first entry after it that has another one. */
const Dictionary *evaluator_dictionary(
    const Evaluator *e, const PlanColumn *column, size_t at, size_t *ret_end);

/* evaluate-reduce.c */

/* The result of a reduction so far. */
typedef struct ReduceState {
    uint8_t bad;       /* 0, or the state that stops the reduction: ERROR or FALLBACK */
    uint8_t bad_value; /* all(), exists(): an error that a later element may override */
    bool is_decided;
    bool is_any;
    int64_t i;
    double d;
} ReduceState;

/* Which elements count, and their values. */
typedef struct ReduceArgs {
    ReduceOp op;
    ColumnLane lane;
    const uint8_t *include; /* NULL: all */
    KernelOperand value;
    bool has_value;
} ReduceArgs;

/* Applies one more predicate to @include, by element: TRUE if all predicates were, else the state
 * of the first that was not. */
void reduce_apply_predicate(uint8_t *include, size_t n, KernelOperand predicate);

/* Computes @ret for the elements of the frame of its space. */
bool reduce_begin(Evaluator *e, const PlanReduction *reduction, ReduceArgs *ret) MUST_CHECK;
void reduce_range(const ReduceArgs *args, size_t from, size_t to, ReduceState *result);
void reduce_end(ReduceOp op, const ReduceState *result, Column *out, size_t i);

/* Reduces the elements of @n rows of the frame into the rows' column: into @entries of it (NULL:
 * those from @from on). */
void reduce_rows(Evaluator *e, const PlanColumn *column, const uint32_t *entries, size_t from,
    size_t n, ColumnRegister *reg);

/* block.c */
void evaluate_range(Evaluator *e, uint32_t space);

/* session.c */

/* Sets the rows' frame to @n rows from @first on. */
void evaluator_set_range(Evaluator *e, uint32_t first, size_t n);
