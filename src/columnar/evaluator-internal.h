#pragma once

/*
 * Work: columns, worked out. What makes a block (kept.c) and a session have in common.
 *
 * A frame says what the entries of a space are at the moment: the rows of a block or of a
 * batch, their elements, all groups. Registers hold the columns; each remembers for which
 * frame it was filled, so a column that two lists need is worked out once. Where a part of a
 * list runs only for some entries (a selection), what the scalar machine did not work out is some
 * number nobody looks at, and the register is partial: it counts for that part only.
 */

#include "cel/run.h"
#include "columnar/plan-internal.h"

/* @n entries from @at on are those of @block from @from on. */
typedef struct BlockRange {
    uint32_t block, from, at, n;
} BlockRange;

typedef struct EntryFrame {
    size_t n;
    uint64_t stamp;       /* another one for every content */
    const uint32_t *rows; /* ROWS: of the table; NULL: those from @first on */
    uint32_t first;
    BlockRange *stretches; /* where they lie in blocks, by rising @at (session only) */
    size_t n_stretches;
    uint32_t *starts;   /* ITEMS: the first element of each row, and the end of all */
    uint32_t *row_of;   /* ITEMS: by element, which of the rows' entries it belongs to */
    uint8_t *broken;    /* ITEMS: by row, the state of its list: 0, error or odd */
    CelValue *elements; /* ITEMS: NULL where nobody needs them */
    size_t room;        /* for elements, in a session */
} EntryFrame;

typedef struct ColumnRegister {
    Column column;   /* as the kernels see it */
    uint8_t *states; /* room for them */
    int64_t *values; /* or doubles, or codes */
    CelValue *texts; /* TEXT: the strings themselves */
    size_t room, room_texts, room_known;
    uint32_t column_of; /* whose it is now */
    uint64_t stamp;     /* of the frame; 0: nothing is in it */
    bool is_partial;
    bool is_mended; /* nothing odd is left in it */
    bool has_texts, has_codes;
    bool is_compared; /* TEXT: with some string, while a block is made */
    bool is_borrowed; /* TEXT: the table or the graph has the strings */
    uint8_t *known;   /* is_partial: which entries the scalar machine worked out */
    CelCode *whole;   /* a root's: for the node as a whole, once something was odd */
} ColumnRegister;

/* What is known once. */
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

/* Strings and what came of them (work-scalar.c). */
typedef struct StringCache StringCache;

/* Entries that count; all when there is none. */
typedef struct EntrySelection {
    const uint32_t *entries;
    size_t n;
} EntrySelection;

typedef struct SelectionBuffer {
    uint32_t *entries;
    size_t room;
} SelectionBuffer;

/* Where the elements of one list of each row lie. */
typedef struct ListOffsets {
    const uint32_t *starts; /* n + 1 */
    const uint8_t *broken;  /* NULL: none */
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
    const Column *columns;   /* by place; without values for what a session must do */
};

typedef struct Evaluator {
    const Plan *plan;
    const PlanTable *table;
    Arena *arena; /* registers and what else lasts */
    CelRun *run;  /* of evaluations */
    int64_t fuel;
    Arena *scratch; /* the run's, if it may be reset; else NULL */
    bool is_held;   /* not now: something lies in it */
    bool is_kept;   /* makes a block */
    ColumnRegister *registers;
    EntryFrame *frames; /* by space */
    uint64_t last_stamp;
    const CelValue *variables; /* by slot; NULL in a block */
    CelValue *inputs;          /* room for those of any code */
    CelValue *mending;         /* the variables for code of a whole root; NULL: not needed yet */
    ColumnRegister spare[2];   /* for folds */
    uint8_t *table_states;     /* by code: room for METHOD_BY_STRING */
    int64_t *table_values;
    size_t table_room;
    uint8_t *include; /* room for the predicates of a reduction */
    size_t include_room;
    const EntrySelection *selection; /* NULL: all entries */
    SelectionBuffer *rooms;          /* by depth of selections */
    uint32_t depth;
    uint32_t row_known; /* the row whose value this is: */
    CelValue row;
    CelValue *rows; /* blocks: by entry; ABSENT: not asked for yet */
    uint32_t n_evaluations;
    int64_t burnt; /* fuel, since somebody looked at the time */
    PlanDeadline clock;

    /* A session's only. */
    SingleValue *singles;
    StringCache **memos; /* by number; NULL: nothing yet */
    const PlanBlock *const *blocks;
    const PlanTotals *whole;
    size_t n_rows;
    CelRun *once_run; /* for singles: its arena lasts */
    uint32_t *stack;  /* singles that are being worked out */
} Evaluator;

static inline uint32_t entry_frame_row(const EntryFrame *frame, size_t entry) {
    return frame->rows ? frame->rows[entry] : frame->first + (uint32_t)entry;
}

/* Sets up what both have; registers are zeroed. @n_registers by who asks. */
int evaluator_begin(Evaluator *work, uint32_t n_registers) MUST_CHECK;

static inline ColumnRegister *evaluator_register(const Evaluator *work, const PlanColumn *column) {
    return &work->registers[work->is_kept ? column->kept_reg : column->reg];
}

/* Makes room for @n entries of a lane and states. */
int register_open(Evaluator *work, ColumnRegister *reg, ColumnLane lane, size_t n) MUST_CHECK;
int register_open_texts(Evaluator *work, ColumnRegister *reg, size_t n) MUST_CHECK;

/* A column as a kernel's operand. */
KernelOperand evaluator_operand(const Evaluator *work, uint32_t column);

/* The value of a column that is known once. */
CelValue evaluator_single(const Evaluator *work, const PlanColumn *column);

/* Entries of @frame that @reg lacks; NULL through @ret: all of them. @ret_n: how many. */
int evaluator_missing(Evaluator *work, ColumnRegister *reg, const EntryFrame *frame,
    const uint32_t **ret, size_t *ret_n) MUST_CHECK;

/* Runs a list in @space. 0, PLAN_DEADLINE_PASSED, -ENOMEM. */
int evaluator_run_steps(Evaluator *work, const PlanSteps *steps, uint32_t space) MUST_CHECK;

/* Whether time is up. */
bool evaluator_is_over(Evaluator *work);

/* The value of the row variable for entry @entry of the rows' frame. */
CelValue evaluator_row(Evaluator *work, size_t entry);

/* After each evaluation, when its result is in a lane. 0 or PLAN_DEADLINE_PASSED. */
int evaluator_between(Evaluator *work) MUST_CHECK;

/* One evaluation, with fuel of its own. */
CelValue evaluator_run(Evaluator *work, const CelCode *code, const CelValue *variables);

/* work-scalar.c */
int evaluate_scalar(Evaluator *work, const PlanColumn *column) MUST_CHECK;
int evaluate_by_string(Evaluator *work, const PlanColumn *column) MUST_CHECK;

/* The list of space @space for entry @entry of the rows' frame. */
CelValue evaluator_list(Evaluator *work, const PlanSpace *space, size_t entry);

/* The odd entries of the column of root @node, by the scalar machine. 0, PLAN_DEADLINE_PASSED or
 * -ENOMEM. */
int evaluate_fallbacks(Evaluator *work, uint32_t node, CelKind kind, ColumnRegister *reg)
    MUST_CHECK;

/* work-text.c */
int evaluate_same_string(Evaluator *work, const PlanColumn *column) MUST_CHECK;
int evaluate_choose(Evaluator *work, const PlanColumn *column) MUST_CHECK;

/* The strings of a column, one an entry. */
int evaluator_texts(Evaluator *work, const PlanColumn *column, ColumnRegister *reg) MUST_CHECK;

/* Codes and a dictionary in @keep for the strings of a block's column. */
int evaluator_encode(Evaluator *work, ColumnRegister *reg, size_t n, Arena *keep) MUST_CHECK;

#define DICTIONARY_MAX 65536u /* distinct strings of one column of a block */

/* Gives strings their codes. */
typedef struct DictionaryBuilder {
    uint32_t *places; /* entry of the dictionary + 1 */
    uint32_t n_places;
    CelValue *values;
    uint32_t n;
} DictionaryBuilder;

/* For at most @n of them. */
int dictionary_builder_open(DictionaryBuilder *e, size_t n, Arena *scratch) MUST_CHECK;

/* The code of @v; DICTIONARY_MAX when there are no more. */
uint32_t dictionary_builder_add(DictionaryBuilder *e, CelValue v);

/* No longer than it is; @with_strings: they lie in @keep, too. */
int dictionary_builder_finish(
    const DictionaryBuilder *e, bool with_strings, Arena *keep, const Dictionary **ret) MUST_CHECK;

/* The dictionary of the entries from @at on, and where the next one's begin. */
const Dictionary *evaluator_dictionary(
    const Evaluator *work, const PlanColumn *column, size_t at, size_t *ret_end);

/* work-reduce.c */

/* What a reduction has come to. */
typedef struct ReduceState {
    uint8_t bad;       /* of the list, or what stops the reduction: 0, error or odd */
    uint8_t bad_value; /* all(), exists(): what another element may make good */
    bool is_decided;
    bool is_any;
    int64_t i;
    double d;
} ReduceState;

/* Which elements count, and the values of those that do. */
typedef struct ReduceArgs {
    ReduceOp op;
    ColumnLane lane;
    const uint8_t *include; /* NULL: all */
    KernelOperand value;
    bool has_value;
} ReduceArgs;

/* Works out @ret for the elements of the frame of its space. */
int reduce_begin(Evaluator *work, const PlanReduction *reduction, ReduceArgs *ret) MUST_CHECK;
void reduce_range(const ReduceArgs *args, size_t from, size_t to, ReduceState *account);
void reduce_end(ReduceOp op, const ReduceState *account, Column *out, size_t i);

/* The elements of the @n rows of the frame to the rows' column: to @entries of it (NULL: those
 * from @from on). */
int reduce_rows(Evaluator *work, const PlanColumn *column, const uint32_t *entries, size_t from,
    size_t n, ColumnRegister *reg) MUST_CHECK;

/* kept.c */
int evaluate_leaf(Evaluator *work, const PlanColumn *column) MUST_CHECK;
int evaluate_range(Evaluator *work, uint32_t space) MUST_CHECK;

/* session-load.c */
int evaluate_load(Evaluator *work, const PlanColumn *column) MUST_CHECK;
int evaluate_keyed(Evaluator *work, const PlanColumn *column) MUST_CHECK;

/* session-loop.c */
int evaluate_reduce(Evaluator *work, const PlanColumn *column) MUST_CHECK;
int evaluate_group(Evaluator *work, const PlanColumn *column) MUST_CHECK;
int evaluate_lookup(Evaluator *work, const PlanColumn *column) MUST_CHECK;

/* session-once.c */
int evaluate_singles(Evaluator *work, const uint32_t *singles, uint32_t n) MUST_CHECK;
