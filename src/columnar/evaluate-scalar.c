/*
 * By the scalar machine: for each entry, or once for each distinct string.
 *
 * The code's variables are its inputs: what is known once is put there before the first entry,
 * the rest for each. An input that is odd makes the result odd; one that is an error is an
 * error where the code reads it.
 */
#include <assert.h>
#include <errno.h>

#include "cel/machine.h"
#include "columnar/evaluator-internal.h"

#define NOT_KNOWN UINT8_MAX
#define RECENTS 64u     /* strings that are remembered while a session lasts; a power of two */
#define RECENT_BYTES 8u /* the first and the last so many of a string tell most apart */
#define RECENT_TRIES 4u /* places where one may be */

/* --- inputs ------------------------------------------------------------------------------ */

static const PlanColumn *column_of(const Evaluator *work, const PlanInput *input) {
    return plan_column_at(work->plan, input->column);
}

/* What does not change from entry to entry. */
static void set_inputs(Evaluator *work, const PlanCode *code) {
    for (uint32_t i = 0; i < code->n_inputs; i++) {
        const PlanInput *input = &code->inputs[i];

        if (input->kind == PLAN_INPUT_VARIABLE)
            work->inputs[i] = work->variables ? work->variables[input->column] : cel_absent();
        else if (input->kind == PLAN_INPUT_COLUMN && plan_column_is_single(column_of(work, input)))
            work->inputs[i] = evaluator_single(work, column_of(work, input));
    }
}

/* Columns of strings among the inputs, as strings. */
static int make_texts(Evaluator *work, const PlanColumn *column) {
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < column->n_inputs; i++) {
        const PlanColumn *input = plan_column_at(work->plan, column->inputs[i]);

        if (input->lane == LANE_TEXT && !plan_column_is_single(input))
            r = evaluator_texts(work, input, evaluator_register(work, input));
    }
    return r;
}

/* False: it is odd. */
static bool fetch_column(
    const Evaluator *work, const PlanColumn *column, size_t entry, CelValue *ret) {
    const ColumnRegister *reg = evaluator_register(work, column);
    uint8_t state = reg->column.states ? reg->column.states[entry] : COLUMN_OK;

    if (state == COLUMN_FALLBACK)
        return false;
    if (column->lane != LANE_TEXT)
        *ret = column_get(&reg->column, entry, (CelKind)column->kind);
    else
        *ret = state == COLUMN_ERROR ? column_error() : reg->texts[entry];
    return true;
}

/* The inputs of one entry of @frame; false: one is odd. */
static bool fetch_inputs(
    Evaluator *work, const PlanCode *code, const EntryFrame *frame, size_t entry) {
    for (uint32_t i = 0; i < code->n_inputs; i++) {
        const PlanInput *input = &code->inputs[i];

        if (input->kind == PLAN_INPUT_ROW)
            work->inputs[i] = evaluator_row(work, frame->row_of ? frame->row_of[entry] : entry);
        else if (input->kind == PLAN_INPUT_ELEMENT)
            work->inputs[i] = frame->elements[entry];
        else if (input->kind == PLAN_INPUT_COLUMN &&
                 !plan_column_is_single(column_of(work, input)) &&
                 !fetch_column(work, column_of(work, input), entry, &work->inputs[i]))
            return false;
    }
    return true;
}

/* --- for each entry ---------------------------------------------------------------------- */

static void set_entry(const PlanColumn *column, ColumnRegister *reg, size_t entry, CelValue v) {
    if (column->lane != LANE_TEXT) {
        column_set(&reg->column, entry, (CelKind)column->kind, v);
        return;
    }
    reg->states[entry] = column_state_of((CelKind)column->kind, v);
    reg->texts[entry] = v;
}

static void set_odd(const PlanColumn *column, ColumnRegister *reg, size_t entry) {
    reg->states[entry] = COLUMN_FALLBACK;
    if (column->lane != LANE_BOOL && column->lane != LANE_TEXT)
        reg->values[entry] = 0;
}

static int open_result(
    Evaluator *work, const PlanColumn *column, ColumnRegister *reg, const EntryFrame *frame) {
    int r = 0;

    if (reg->stamp != frame->stamp || !reg->is_partial)
        r = register_open(work, reg, (ColumnLane)column->lane, frame->n);
    if (r == 0 && column->lane == LANE_TEXT) {
        r = register_open_texts(work, reg, frame->n);
        reg->has_texts = true;
        reg->is_borrowed = false;
    }
    return r;
}

int evaluate_scalar(Evaluator *work, const PlanColumn *column) {
    const EntryFrame *frame = &work->frames[column->space];
    ColumnRegister *reg = evaluator_register(work, column);
    const uint32_t *entries = NULL;
    size_t n = 0;
    int r;

    r = open_result(work, column, reg, frame);
    if (r == 0)
        r = evaluator_missing(work, reg, frame, &entries, &n);
    if (r == 0)
        r = make_texts(work, column);
    set_inputs(work, column->code);
    for (size_t i = 0; r == 0 && i < n; i++) {
        size_t entry = entries ? entries[i] : i;

        if (fetch_inputs(work, column->code, frame, entry)) {
            set_entry(column, reg, entry, evaluator_run(work, column->code->code, work->inputs));
            r = evaluator_between(work);
        } else {
            set_odd(column, reg, entry);
        }
    }
    return r;
}

/* --- once for each distinct string ------------------------------------------------------- */

static int open_table(Evaluator *work, size_t n) {
    if (n > work->table_room) {
        work->table_states = ARENA_RAW(work->arena, uint8_t, 2 * n);
        work->table_values = ARENA_ARRAY(work->arena, int64_t, 2 * n);
        work->table_room = work->table_states && work->table_values ? 2 * n : 0;
        if (work->table_room == 0)
            return -ENOMEM;
    }
    memset(work->table_states, NOT_KNOWN, n);
    return 0;
}

/* A string that was there before, and what came of it. */
typedef struct Recent {
    CelValue text; /* ABSENT: none yet */
    uint8_t state;
    int64_t value;
} Recent;

struct StringCache {
    Recent recents[RECENTS];
};

typedef struct ByText {
    const PlanColumn *column, *text;
    ColumnRegister *reg, *of_text;
    uint32_t input;    /* the code's input that is the string */
    StringCache *memo; /* NULL in a block, which has each string once */
} ByText;

static ByText by_text_of(const Evaluator *work, const PlanColumn *column) {
    ByText by = {.column = column, .reg = evaluator_register(work, column)};

    for (uint32_t i = 0; i < column->code->n_inputs; i++) {
        const PlanColumn *input = column_of(work, &column->code->inputs[i]);

        if (plan_column_is_single(input))
            continue;
        by.input = i;
        by.text = input;
        by.of_text = evaluator_register(work, input);
    }
    return by;
}

static int open_memo(Evaluator *work, ByText *by) {
    if (work->is_kept)
        return 0;
    if (!work->memos[by->column->memo])
        work->memos[by->column->memo] = ARENA_NEW(work->arena, StringCache);
    by->memo = work->memos[by->column->memo];
    return by->memo ? 0 : -ENOMEM;
}

static bool is_recent(const Recent *recent, CelValue v) {
    return recent->text.kind == CEL_STRING && str_eq(cel_str(recent->text), cel_str(v));
}

static uint64_t hash_recent(CelValue v) {
    size_t n = v.len < RECENT_BYTES ? v.len : RECENT_BYTES;
    uint64_t begin = 0, end = v.len;

    if (n > 0) {
        memcpy(&begin, v.text, n);
        memcpy(&end, v.text + v.len - n, n);
    }
    begin = (begin + v.len) * UINT64_C(0x9e3779b97f4a7c15) ^ end;
    return begin * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* The dictionaries of blocks are much the same: what was worked out for others. Where @v is, or
 * where it goes: a free place, or that of one that has to leave. */
static Recent *recent_of(Recent *recents, CelValue v) {
    uint64_t hash = hash_recent(v);

    for (uint64_t i = 0; i < RECENT_TRIES; i++) {
        Recent *recent = &recents[(hash + i) & (RECENTS - 1)];

        if (recent->text.kind == CEL_ABSENT || is_recent(recent, v))
            return recent;
    }
    return &recents[hash & (RECENTS - 1)];
}

static void run_place(Evaluator *work, const ByText *by, uint32_t code, CelValue text) {
    Column table = {
        .lane = (ColumnLane)by->column->lane,
        .states = work->table_states,
        .ints = work->table_values,
    };

    work->inputs[by->input] = text;
    column_set(&table,
        code,
        (CelKind)by->column->kind,
        evaluator_run(work, by->column->code->code, work->inputs));
}

/* Place @code of the table: the entry of the dictionary, or behind the last for an error. */
static void fill_place(Evaluator *work, ByText *by, const Dictionary *dictionary, uint32_t code) {
    CelValue text = code < dictionary->n ? dictionary->values[code] : column_error();
    Recent *recent;

    if (text.kind != CEL_STRING || !by->memo) {
        run_place(work, by, code, text);
        return;
    }
    recent = recent_of(by->memo->recents, text);
    if (!is_recent(recent, text)) {
        run_place(work, by, code, text);
        *recent = (Recent){text, work->table_states[code], work->table_values[code]};
    }
    work->table_states[code] = recent->state;
    work->table_values[code] = recent->value;
}

static int look_up(Evaluator *work, ByText *by, const Dictionary *dictionary, size_t entry) {
    const uint8_t *states = by->of_text->column.states;
    uint8_t state = states ? states[entry] : COLUMN_OK;
    uint32_t code = state == COLUMN_OK ? by->of_text->column.codes[entry] : dictionary->n;
    int r = 0;

    if (state == COLUMN_FALLBACK) {
        set_odd(by->column, by->reg, entry);
        return 0;
    }
    if (work->table_states[code] == NOT_KNOWN) {
        fill_place(work, by, dictionary, code);
        r = evaluator_between(work);
    }
    by->reg->states[entry] = work->table_states[code];
    if (by->column->lane != LANE_BOOL)
        by->reg->values[entry] = work->table_values[code];
    return r;
}

/* Without codes (they are 0) each string is a dictionary of its own: what is remembered is all
 * that they share. */
static int by_each_text(Evaluator *work, ByText *by, const uint32_t *entries, size_t n) {
    int r = open_table(work, 2);

    for (size_t i = 0; r == 0 && i < n; i++) {
        size_t entry = entries ? entries[i] : i;
        const Dictionary own = {1, &by->of_text->texts[entry]};

        work->table_states[0] = NOT_KNOWN;
        r = look_up(work, by, &own, entry);
    }
    return r;
}

/* Entries @from to @to, which share a dictionary that is no longer than they are many: all its
 * strings are worked out before, and nobody asks any more. */
static int by_whole_dictionary(
    Evaluator *work, ByText *by, const Dictionary *dictionary, size_t from, size_t to) {
    const uint16_t *codes = by->of_text->column.codes;
    const uint8_t *known = work->table_states;
    uint8_t *states = by->reg->states;
    int r = 0;

    for (uint32_t code = 0; r == 0 && code < dictionary->n; code++) {
        fill_place(work, by, dictionary, code);
        r = evaluator_between(work);
    }
    if (r != 0)
        return r;
    for (size_t i = from; i < to; i++)
        states[i] = known[codes[i]];
    for (size_t i = from; by->column->lane != LANE_BOOL && i < to; i++)
        by->reg->values[i] = work->table_values[codes[i]];
    return 0;
}

/* The same for @entries[@from] to @entries[@to] (NULL: entries @from to @to), whatever they are. */
static int by_dictionary(Evaluator *work, ByText *by, const Dictionary *dictionary,
    const uint32_t *entries, size_t from, size_t to) {
    int r = open_table(work, dictionary->n + 1u);

    if (r == 0 && !entries && !by->of_text->column.states && dictionary->n <= to - from)
        return by_whole_dictionary(work, by, dictionary, from, to);
    for (size_t i = from; r == 0 && i < to; i++)
        r = look_up(work, by, dictionary, entries ? entries[i] : i);
    return r;
}

static int by_text(Evaluator *work, ByText *by, const uint32_t *entries, size_t n) {
    int r = 0;

    if (!by->of_text->has_codes)
        return by_each_text(work, by, entries, n);
    for (size_t i = 0, to; r == 0 && i < n; i = to) {
        size_t end;
        const Dictionary *dictionary =
            evaluator_dictionary(work, by->text, entries ? entries[i] : i, &end);

        for (to = i + 1; to < n && (entries ? entries[to] : to) < end; to++)
            ;
        r = by_dictionary(work, by, dictionary, entries, i, to);
    }
    return r;
}

int evaluate_by_string(Evaluator *work, const PlanColumn *column) {
    const EntryFrame *frame = &work->frames[column->space];
    ByText by = by_text_of(work, column);
    const uint32_t *entries = NULL;
    size_t n = 0;
    int r;

    assert(by.of_text); /* by its plan */
    r = open_result(work, column, by.reg, frame);
    if (r == 0)
        r = evaluator_missing(work, by.reg, frame, &entries, &n);
    if (r == 0 && work->is_kept && !by.of_text->has_codes)
        r = evaluator_encode(work, by.of_text, frame->n, work->arena);
    if (r == 0)
        r = open_memo(work, &by);
    set_inputs(work, column->code);
    return r < 0 ? r : by_text(work, &by, entries, n);
}

/* --- lists and odd entries --------------------------------------------------------------- */

CelValue evaluator_list(Evaluator *work, const PlanSpace *space, size_t entry) {
    for (uint32_t i = 0; i < space->code->n_inputs; i++)
        work->inputs[i] = space->code->inputs[i].kind == PLAN_INPUT_ROW ? evaluator_row(work, entry)
                                                                        : cel_absent();
    return evaluator_run(work, space->code->code, work->inputs);
}

/* Code of the whole root is made only now: it is hardly ever needed. Then it is kept for the next
 * batch. */
static int open_mending(Evaluator *work, uint32_t node, ColumnRegister *reg) {
    size_t n = work->plan->n_slots;

    if (!work->mending) {
        work->mending = ARENA_ARRAY(work->arena, CelValue, n);
        if (!work->mending)
            return -ENOMEM;
        if (work->variables)
            memcpy(work->mending, work->variables, n * sizeof(CelValue));
    }
    if (reg->whole)
        return 0;
    return cel_emit(work->plan->graph, node, NULL, work->arena, &reg->whole);
}

int evaluate_fallbacks(Evaluator *work, uint32_t node, CelKind kind, ColumnRegister *reg) {
    size_t n = work->frames[ROW_SPACE].n;
    int r;

    if (!reg->column.states || n == 0 || !memchr(reg->column.states, COLUMN_FALLBACK, n))
        return 0;
    r = open_mending(work, node, reg);
    if (r == 0)
        r = evaluator_between(work); /* scratch may be full of what made them odd */
    for (size_t i = 0; r == 0 && i < n; i++) {
        CelValue v;

        if (reg->column.states[i] != COLUMN_FALLBACK)
            continue;
        work->mending[work->plan->host->row_slot] = evaluator_row(work, i);
        v = evaluator_run(work, reg->whole, work->mending);
        column_set(&reg->column, i, kind, v);
        if (reg->column.states[i] == COLUMN_FALLBACK)
            reg->column.states[i] = COLUMN_ERROR;
        r = evaluator_between(work);
    }
    return r;
}
