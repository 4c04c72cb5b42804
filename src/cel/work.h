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

#include "cel/plan-part.h"
#include "cel/run.h"

/* @n entries from @at on are those of @block from @from on. */
typedef struct CelStretch {
    uint32_t block, from, at, n;
} CelStretch;

typedef struct CelFrame {
    size_t n;
    uint64_t stamp;       /* another one for every content */
    const uint32_t *rows; /* ROWS: of the table; NULL: those from @first on */
    uint32_t first;
    CelStretch *stretches; /* where they lie in blocks, by rising @at (session only) */
    size_t n_stretches;
    uint32_t *starts;   /* ITEMS: the first element of each row, and the end of all */
    uint32_t *row_of;   /* ITEMS: by element, which of the rows' entries it belongs to */
    uint8_t *broken;    /* ITEMS: by row, the state of its list: 0, error or odd */
    CelValue *elements; /* ITEMS: NULL where nobody needs them */
    size_t room;        /* for elements, in a session */
} CelFrame;

typedef struct CelRegister {
    CelColumn column; /* as the kernels see it */
    uint8_t *states;  /* room for them */
    int64_t *values;  /* or doubles, or codes */
    CelValue *texts;  /* TEXT: the strings themselves */
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
} CelRegister;

/* What is known once. */
typedef struct CelSingle {
    bool is_known;
    CelValue value;
    CelColumn column;
    uint8_t state;
    union {
        int64_t i;
        double d;
    } number;
} CelSingle;

/* Strings and what came of them (work-scalar.c). */
typedef struct CelMemo CelMemo;

/* Entries that count; all when there is none. */
typedef struct CelSelection {
    const uint32_t *entries;
    size_t n;
} CelSelection;

typedef struct CelRoom {
    uint32_t *entries;
    size_t room;
} CelRoom;

/* Where the elements of one list of each row lie. */
typedef struct CelOffsets {
    const uint32_t *starts; /* n + 1 */
    const uint8_t *broken;  /* NULL: none */
} CelOffsets;

struct CelKept {
    size_t n;
    const CelColumn *columns;  /* by place */
    const CelOffsets *offsets; /* by space */
};

/* The groups of a key. */
typedef struct CelGroups {
    uint32_t n;
    const uint32_t *of_row;
} CelGroups;

struct CelWhole {
    const CelGroups *groups;  /* by space */
    const CelColumn *columns; /* by place; without values for what a session must do */
};

typedef struct CelWork {
    const CelPlan *plan;
    const CelTable *table;
    Arena *arena; /* registers and what else lasts */
    CelRun *run;  /* of evaluations */
    int64_t fuel;
    Arena *scratch; /* the run's, if it may be reset; else NULL */
    bool is_held;   /* not now: something lies in it */
    bool is_kept;   /* makes a block */
    CelRegister *registers;
    CelFrame *frames; /* by space */
    uint64_t last_stamp;
    const CelValue *variables; /* by slot; NULL in a block */
    CelValue *inputs;          /* room for those of any code */
    CelValue *mending;         /* the variables for code of a whole root; NULL: not needed yet */
    CelRegister spare[2];      /* for folds */
    uint8_t *table_states;     /* by code: room for CEL_HOW_TEXT */
    int64_t *table_values;
    size_t table_room;
    uint8_t *include; /* room for the predicates of a reduction */
    size_t include_room;
    const CelSelection *selection; /* NULL: all entries */
    CelRoom *rooms;                /* by depth of selections */
    uint32_t depth;
    uint32_t row_known; /* the row whose value this is: */
    CelValue row;
    CelValue *rows; /* blocks: by entry; ABSENT: not asked for yet */
    uint32_t n_evaluations;
    int64_t burnt; /* fuel, since somebody looked at the time */
    CelClock clock;

    /* A session's only. */
    CelSingle *singles;
    CelMemo **memos; /* by number; NULL: nothing yet */
    const CelKept *const *blocks;
    const CelWhole *whole;
    size_t n_rows;
    CelRun *once_run; /* for singles: its arena lasts */
    uint32_t *stack;  /* singles that are being worked out */
} CelWork;

static inline uint32_t cel_frame_row(const CelFrame *frame, size_t entry) {
    return frame->rows ? frame->rows[entry] : frame->first + (uint32_t)entry;
}

/* Sets up what both have; registers are zeroed. @n_registers by who asks. */
int cel_work_begin(CelWork *work, uint32_t n_registers) MUST_CHECK;

static inline CelRegister *cel_work_register(const CelWork *work, const CelPlanColumn *column) {
    return &work->registers[work->is_kept ? column->kept_reg : column->reg];
}

/* Makes room for @n entries of a lane and states. */
int cel_register_open(CelWork *work, CelRegister *reg, CelLane lane, size_t n) MUST_CHECK;
int cel_register_open_texts(CelWork *work, CelRegister *reg, size_t n) MUST_CHECK;

/* A column as a kernel's operand. */
CelOperand cel_work_operand(const CelWork *work, uint32_t column);

/* The value of a column that is known once. */
CelValue cel_work_single(const CelWork *work, const CelPlanColumn *column);

/* Entries of @frame that @reg lacks; NULL through @ret: all of them. @ret_n: how many. */
int cel_work_missing(CelWork *work, CelRegister *reg, const CelFrame *frame, const uint32_t **ret,
    size_t *ret_n) MUST_CHECK;

/* Runs a list in @space. 0, CEL_SESSION_OVER, -ENOMEM. */
int cel_work_steps(CelWork *work, const CelSteps *steps, uint32_t space) MUST_CHECK;

/* Whether time is up. */
bool cel_work_is_over(CelWork *work);

/* The value of the row variable for entry @entry of the rows' frame. */
CelValue cel_work_row(CelWork *work, size_t entry);

/* After each evaluation, when its result is in a lane. 0 or CEL_SESSION_OVER. */
int cel_work_between(CelWork *work) MUST_CHECK;

/* One evaluation, with fuel of its own. */
CelValue cel_work_run(CelWork *work, const CelCode *code, const CelValue *variables);

/* work-scalar.c */
int cel_work_scalar(CelWork *work, const CelPlanColumn *column) MUST_CHECK;
int cel_work_by_text(CelWork *work, const CelPlanColumn *column) MUST_CHECK;

/* The list of space @space for entry @entry of the rows' frame. */
CelValue cel_work_list(CelWork *work, const CelSpace *space, size_t entry);

/* The odd entries of the column of root @node, by the scalar machine. 0, CEL_SESSION_OVER or
 * -ENOMEM. */
int cel_work_mend(CelWork *work, uint32_t node, CelKind kind, CelRegister *reg) MUST_CHECK;

/* work-text.c */
int cel_work_same(CelWork *work, const CelPlanColumn *column) MUST_CHECK;
int cel_work_choose(CelWork *work, const CelPlanColumn *column) MUST_CHECK;

/* The strings of a column, one an entry. */
int cel_work_texts(CelWork *work, const CelPlanColumn *column, CelRegister *reg) MUST_CHECK;

/* Codes and a dictionary in @keep for the strings of a block's column. */
int cel_work_encode(CelWork *work, CelRegister *reg, size_t n, Arena *keep) MUST_CHECK;

#define CEL_CODES_MAX 65536u /* distinct strings of one column of a block */

/* Gives strings their codes. */
typedef struct CelEncoder {
    uint32_t *places; /* entry of the dictionary + 1 */
    uint32_t n_places;
    CelValue *values;
    uint32_t n;
} CelEncoder;

/* For at most @n of them. */
int cel_encoder_open(CelEncoder *e, size_t n, Arena *scratch) MUST_CHECK;

/* The code of @v; CEL_CODES_MAX when there are no more. */
uint32_t cel_encoder_add(CelEncoder *e, CelValue v);

/* No longer than it is; @with_strings: they lie in @keep, too. */
int cel_encoder_keep(const CelEncoder *e, bool with_strings, Arena *keep, const CelDictionary **ret)
    MUST_CHECK;

/* The dictionary of the entries from @at on, and where the next one's begin. */
const CelDictionary *cel_work_dictionary(
    const CelWork *work, const CelPlanColumn *column, size_t at, size_t *ret_end);

/* work-reduce.c */

/* What a reduction has come to. */
typedef struct CelAccount {
    uint8_t bad;       /* of the list, or what stops the reduction: 0, error or odd */
    uint8_t bad_value; /* all(), exists(): what another element may make good */
    bool is_decided;
    bool is_any;
    int64_t i;
    double d;
} CelAccount;

/* Which elements count, and the values of those that do. */
typedef struct CelReduceArgs {
    CelReduce op;
    CelLane lane;
    const uint8_t *include; /* NULL: all */
    CelOperand value;
    bool has_value;
} CelReduceArgs;

/* Works out @ret for the elements of the frame of its space. */
int cel_reduce_begin(CelWork *work, const CelReduction *reduction, CelReduceArgs *ret) MUST_CHECK;
void cel_reduce_range(const CelReduceArgs *args, size_t from, size_t to, CelAccount *account);
void cel_reduce_end(CelReduce op, const CelAccount *account, CelColumn *out, size_t i);

/* The elements of the @n rows of the frame to the rows' column: to @entries of it (NULL: those
 * from @from on). */
int cel_reduce_rows(CelWork *work, const CelPlanColumn *column, const uint32_t *entries,
    size_t from, size_t n, CelRegister *reg) MUST_CHECK;

/* kept.c */
int cel_work_leaf(CelWork *work, const CelPlanColumn *column) MUST_CHECK;
int cel_work_range(CelWork *work, uint32_t space) MUST_CHECK;

/* session-load.c */
int cel_work_load(CelWork *work, const CelPlanColumn *column) MUST_CHECK;
int cel_work_keyed(CelWork *work, const CelPlanColumn *column) MUST_CHECK;

/* session-loop.c */
int cel_work_reduce(CelWork *work, const CelPlanColumn *column) MUST_CHECK;
int cel_work_group(CelWork *work, const CelPlanColumn *column) MUST_CHECK;
int cel_work_lookup(CelWork *work, const CelPlanColumn *column) MUST_CHECK;

/* session-once.c */
int cel_work_singles(CelWork *work, const uint32_t *singles, uint32_t n) MUST_CHECK;
