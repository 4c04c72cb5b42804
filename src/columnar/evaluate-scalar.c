/* Columns by the scalar machine: for each entry, or once for each distinct string. Single values
 * are set before the first entry. A FALLBACK input makes the result FALLBACK; an ERROR is an error
 * where the code reads it. */

#include <assert.h>
#include <errno.h>

#include "cel/code.h"
#include "columnar/evaluator-internal.h"

#define NOT_KNOWN UINT8_MAX
#define RECENTS 64u     /* strings that are remembered while a session lasts; a power of two */
#define RECENT_BYTES 8u /* the first and the last bytes of strings; mostly these differ */
#define RECENT_TRIES 4u /* places where one may be */

static const PlanColumn *column_of(const Evaluator *e, const PlanInput *input) {
    return plan_column_at(e->plan, input->column);
}

void evaluator_set_inputs(Evaluator *e, const PlanCode *code) {
    for (uint32_t i = 0; i < code->n_inputs; i++) {
        const PlanInput *input = &code->inputs[i];

        e->inputs[i] = cel_absent();
        if (input->kind == PLAN_INPUT_VARIABLE && e->variables)
            e->inputs[i] = e->variables[input->column];
        else if (input->kind == PLAN_INPUT_COLUMN && plan_column_is_single(column_of(e, input)))
            e->inputs[i] = evaluator_single(e, column_of(e, input));
    }
}

/* Columns of strings among the inputs, as strings. */
static void make_texts(Evaluator *e, const PlanColumn *column) {
    for (uint32_t i = 0; i < column->n_inputs; i++) {
        const PlanColumn *input = plan_column_at(e->plan, column->inputs[i]);

        if (input->lane == LANE_TEXT && !plan_column_is_single(input) &&
            !evaluator_texts(e, input, evaluator_register(e, input)))
            return;
    }
}

/* Returns false if it is FALLBACK. */
static bool fetch_column(
    const Evaluator *e, const PlanColumn *column, size_t entry, CelValue *ret) {
    const ColumnRegister *reg = evaluator_register(e, column);
    uint8_t state = reg->column.states ? reg->column.states[entry] : COLUMN_OK;

    if (state == COLUMN_FALLBACK)
        return false;
    if (column->lane != LANE_TEXT)
        *ret = column_get(&reg->column, entry, (CelKind)column->kind);
    else
        *ret = state == COLUMN_ERROR ? column_error() : reg->texts[entry];
    return true;
}

/* The inputs of one entry of @frame; false: one is FALLBACK. */
static bool fetch_inputs(
    Evaluator *e, const PlanCode *code, const EntryFrame *frame, size_t entry) {
    for (uint32_t i = 0; i < code->n_inputs; i++) {
        const PlanInput *input = &code->inputs[i];

        if (input->kind == PLAN_INPUT_ROW)
            e->inputs[i] = evaluator_row(e, frame->row_of ? frame->row_of[entry] : entry);
        else if (input->kind == PLAN_INPUT_ELEMENT)
            e->inputs[i] = frame->elements[entry];
        else if (input->kind == PLAN_INPUT_COLUMN && !plan_column_is_single(column_of(e, input)) &&
                 !fetch_column(e, column_of(e, input), entry, &e->inputs[i]))
            return false;
    }
    return true;
}

static void set_fallback(const PlanColumn *column, ColumnRegister *reg, size_t entry) {
    reg->states[entry] = COLUMN_FALLBACK;
    if (column->lane != LANE_BOOL && column->lane != LANE_TEXT)
        reg->values[entry] = 0;
}

/* In a block, copies a string out of the scratch memory, which may be reset. */
static CelValue keep_text(Evaluator *e, CelValue v) {
    Str copy;

    if (!e->scratch || v.kind != CEL_STRING)
        return v;
    copy = arena_copy(e->arena, cel_str(v));
    return evaluator_check(e, copy.ptr, -ENOMEM) ? cel_string(copy) : v;
}

void evaluate_scalar(Evaluator *e, const PlanColumn *column) {
    const EntryFrame *frame = &e->frames[column->space];
    ColumnRegister *reg = evaluator_register(e, column);
    const uint32_t *entries = NULL;
    size_t n = 0;

    if (!evaluator_open_missing(e, column, reg, &entries, &n))
        return;
    make_texts(e, column);
    evaluator_set_inputs(e, column->code);
    for (size_t i = 0; e->status == 0 && i < n; i++) {
        size_t entry = entries ? entries[i] : i;
        CelValue v;

        if (!fetch_inputs(e, column->code, frame, entry)) {
            set_fallback(column, reg, entry);
            continue;
        }
        v = evaluator_run(e, column->code->code, e->inputs, /* is_kept= */ false);
        if (column->lane == LANE_TEXT)
            v = reg->texts[entry] = keep_text(e, v);
        column_set(&reg->column, entry, (CelKind)column->kind, v);
        if (!evaluator_continue(e))
            return;
    }
}

static bool open_table(Evaluator *e, size_t n) {
    if (n > e->table_capacity) {
        e->table_states = ARENA_RAW(e->arena, uint8_t, 2 * n);
        e->table_values = ARENA_ARRAY(e->arena, int64_t, 2 * n);
        e->table_capacity = e->table_states && e->table_values ? 2 * n : 0;
        if (!evaluator_check(e, e->table_capacity > 0, -ENOMEM))
            return false;
    }
    memset(e->table_states, NOT_KNOWN, n);
    return true;
}

/* A string that was evaluated before, and its result. */
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
    uint32_t input;     /* the code's input that is the string */
    StringCache *cache; /* NULL: each dictionary is evaluated by itself */
} ByText;

static ByText by_text_of(const Evaluator *e, const PlanColumn *column) {
    ByText by = {.column = column, .reg = evaluator_register(e, column)};

    for (uint32_t i = 0; i < column->code->n_inputs; i++) {
        const PlanColumn *input = column_of(e, &column->code->inputs[i]);

        if (plan_column_is_single(input))
            continue;
        by.input = i;
        by.text = input;
        by.of_text = evaluator_register(e, input);
    }
    return by;
}

/* Strings that a block made itself are freed with it, so they get no cache. */
static bool open_cache(Evaluator *e, ByText *by) {
    StringCache **cache = NULL;

    if (e->session)
        cache = &e->session->caches[by->column->cache];
    else if (e->strings && by->of_text->is_borrowed)
        cache = &e->strings->caches[by->column->block_reg];
    if (!cache)
        return true;
    if (!*cache)
        *cache = ARENA_NEW(e->session ? e->arena : e->strings->arena, StringCache);
    by->cache = *cache;
    return evaluator_check(e, by->cache, -ENOMEM);
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

/* The dictionaries of blocks are similar, so results are shared among them. The slot of @v, or a
 * slot for it: a free one, or that of a string to drop. */
static Recent *recent_of(Recent *recents, CelValue v) {
    uint64_t hash = hash_recent(v);

    for (uint64_t i = 0; i < RECENT_TRIES; i++) {
        Recent *recent = &recents[(hash + i) & (RECENTS - 1)];

        if (recent->text.kind == CEL_ABSENT || is_recent(recent, v))
            return recent;
    }
    return &recents[hash & (RECENTS - 1)];
}

static void run_place(Evaluator *e, const ByText *by, uint32_t code, CelValue text) {
    Column table = {
        .lane = (ColumnLane)by->column->lane,
        .states = e->table_states,
        .ints = e->table_values,
    };

    e->inputs[by->input] = text;
    column_set(&table, code, (CelKind)by->column->kind,
        evaluator_run(e, by->column->code->code, e->inputs, /* is_kept= */ false));
}

/* Entry @code of the table: that of the dictionary, or the one after the last for an error. */
static void fill_place(Evaluator *e, ByText *by, const Dictionary *dictionary, uint32_t code) {
    CelValue text = code < dictionary->n ? dictionary->values[code] : column_error();
    Recent *recent;

    if (text.kind != CEL_STRING || !by->cache) {
        run_place(e, by, code, text);
        return;
    }
    recent = recent_of(by->cache->recents, text);
    if (!is_recent(recent, text)) {
        run_place(e, by, code, text);
        *recent = (Recent){text, e->table_states[code], e->table_values[code]};
    }
    e->table_states[code] = recent->state;
    e->table_values[code] = recent->value;
}

static bool look_up(Evaluator *e, ByText *by, const Dictionary *dictionary, size_t entry) {
    const uint8_t *states = by->of_text->column.states;
    uint8_t state = states ? states[entry] : COLUMN_OK;
    uint32_t code = state == COLUMN_OK ? by->of_text->column.codes[entry] : dictionary->n;
    bool is_new;

    if (state == COLUMN_FALLBACK) {
        set_fallback(by->column, by->reg, entry);
        return true;
    }
    is_new = e->table_states[code] == NOT_KNOWN;
    if (is_new)
        fill_place(e, by, dictionary, code);
    by->reg->states[entry] = e->table_states[code];
    if (by->column->lane != LANE_BOOL)
        by->reg->values[entry] = e->table_values[code];
    return !is_new || evaluator_continue(e);
}

/* For strings without codes: each is a dictionary of its own, and only the cache is shared. */
static void by_each_text(Evaluator *e, ByText *by, const uint32_t *entries, size_t n) {
    bool is_ok = open_table(e, 2);

    for (size_t i = 0; is_ok && i < n; i++) {
        size_t entry = entries ? entries[i] : i;
        const Dictionary own = {1, &by->of_text->texts[entry]};

        e->table_states[0] = NOT_KNOWN;
        is_ok = look_up(e, by, &own, entry);
    }
}

/* Entries @from to @to share a dictionary that is not longer than that: all its strings are
 * evaluated first, so that the loop needs no check. */
static void by_whole_dictionary(
    Evaluator *e, ByText *by, const Dictionary *dictionary, size_t from, size_t to) {
    const uint16_t *codes = by->of_text->column.codes;
    const uint8_t *known = e->table_states;
    uint8_t *states = by->reg->states;

    for (uint32_t code = 0; code < dictionary->n; code++) {
        fill_place(e, by, dictionary, code);
        if (!evaluator_continue(e))
            return;
    }
    for (size_t i = from; i < to; i++)
        states[i] = known[codes[i]];
    for (size_t i = from; by->column->lane != LANE_BOOL && i < to; i++)
        by->reg->values[i] = e->table_values[codes[i]];
}

/* The same for @entries[@from] to @entries[@to] (NULL: entries @from to @to). */
static void by_dictionary(Evaluator *e, ByText *by, const Dictionary *dictionary,
    const uint32_t *entries, size_t from, size_t to) {
    bool is_ok = open_table(e, dictionary->n + 1u);

    if (is_ok && !entries && !by->of_text->column.states && dictionary->n <= to - from) {
        by_whole_dictionary(e, by, dictionary, from, to);
        return;
    }
    for (size_t i = from; is_ok && i < to; i++)
        is_ok = look_up(e, by, dictionary, entries ? entries[i] : i);
}

static void by_text(Evaluator *e, ByText *by, const uint32_t *entries, size_t n) {
    if (!by->of_text->has_codes) {
        by_each_text(e, by, entries, n);
        return;
    }
    for (size_t i = 0, to; e->status == 0 && i < n; i = to) {
        size_t end;
        const Dictionary *dictionary =
            evaluator_dictionary(e, by->text, entries ? entries[i] : i, &end);

        for (to = entries ? i + 1 : end; entries && to < n && entries[to] < end; to++)
            ;
        by_dictionary(e, by, dictionary, entries, i, to);
    }
}

void evaluate_by_string(Evaluator *e, const PlanColumn *column) {
    ByText by = by_text_of(e, column);
    const uint32_t *entries = NULL;
    size_t n = 0;

    assert(by.of_text); /* reads_one_text() */
    if (!evaluator_open_missing(e, column, by.reg, &entries, &n))
        return;
    if (!e->session && !by.of_text->has_codes &&
        !evaluator_encode(e, by.of_text, e->frames[column->space].n, e->arena))
        return;
    if (!open_cache(e, &by))
        return;
    evaluator_set_inputs(e, column->code);
    by_text(e, &by, entries, n);
}

CelValue evaluator_list(Evaluator *e, const PlanSpace *space, size_t entry) {
    for (uint32_t i = 0; i < space->code->n_inputs; i++)
        e->inputs[i] =
            space->code->inputs[i].kind == PLAN_INPUT_ROW ? evaluator_row(e, entry) : cel_absent();
    return evaluator_run(e, space->code->code, e->inputs, /* is_kept= */ true);
}

/* Code of the whole root is rarely needed. Once made, it stays for the next batch. */
static bool open_fallback(Evaluator *e, uint32_t node, ColumnRegister *reg) {
    size_t n = e->plan->n_slots;

    if (!e->fallback_variables) {
        e->fallback_variables = ARENA_ARRAY(e->arena, CelValue, n);
        if (e->fallback_variables && e->variables)
            memcpy(e->fallback_variables, e->variables, n * sizeof(CelValue));
    }
    if (!reg->fallback_code &&
        cel_emit(e->plan->graph, node, NULL, e->arena, &reg->fallback_code) != 0)
        reg->fallback_code = NULL;
    return evaluator_check(e, e->fallback_variables && reg->fallback_code, -ENOMEM);
}

void evaluate_fallbacks(Evaluator *e, uint32_t node, CelKind kind, ColumnRegister *reg) {
    size_t n = e->frames[ROW_SPACE].n;
    uint8_t *states = reg->column.states;
    bool is_ok;

    if (e->status != 0 || !states || n == 0 || !memchr(states, COLUMN_FALLBACK, n))
        return;
    /* A full scratch may have caused the fallback: evaluator_continue() resets it. */
    is_ok = open_fallback(e, node, reg) && evaluator_continue(e);
    for (size_t i = 0; is_ok && i < n; i++) {
        if (states[i] != COLUMN_FALLBACK)
            continue;
        e->fallback_variables[e->plan->host->row_slot] = evaluator_row(e, i);
        column_set(&reg->column, i, kind,
            evaluator_run(e, reg->fallback_code, e->fallback_variables, /* is_kept= */ false));
        if (states[i] == COLUMN_FALLBACK)
            states[i] = COLUMN_ERROR;
        is_ok = evaluator_continue(e);
    }
}
