/*
 * Strings in columns: codes, dictionaries, and what needs no scalar machine.
 *
 * In a session a column of strings is codes, and the dictionary is that of the block the rows
 * are of; but one that was looked up by a key is the strings themselves. So it is while a block is
 * made; codes are made when it is kept, or when something is to be done once for each distinct one.
 */
#include <errno.h>

#include "base/hash.h"
#include "base/wide-loops.h"
#include "columnar/evaluator-internal.h"

/* --- dictionaries ------------------------------------------------------------------------ */

/* Entries of one block that follow each other share its dictionary. */
const Dictionary *evaluator_dictionary(
    const Evaluator *work, const PlanColumn *column, size_t at, size_t *ret_end) {
    const EntryFrame *frame = &work->frames[column->space];
    size_t low = 0, high = frame->n_stretches;

    if (work->is_kept) {
        *ret_end = frame->n;
        return evaluator_register(work, column)->column.dictionary;
    }
    while (high - low > 1) { /* the last stretch that begins at @at or before */
        size_t middle = low + (high - low) / 2;

        if (frame->stretches[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    high = low + 1;
    while (high < frame->n_stretches && frame->stretches[high].block == frame->stretches[low].block)
        high++;
    *ret_end = frame->stretches[high - 1].at + frame->stretches[high - 1].n;
    return work->blocks[frame->stretches[low].block]->columns[column->store].dictionary;
}

int evaluator_texts(Evaluator *work, const PlanColumn *column, ColumnRegister *reg) {
    size_t n = work->frames[column->space].n, end = 0;
    const Dictionary *dictionary = NULL;
    int r;

    if (reg->has_texts)
        return 0;
    r = register_open_texts(work, reg, n);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        if (!dictionary || i >= end)
            dictionary = evaluator_dictionary(work, column, i, &end);
        reg->texts[i] = !reg->column.states || reg->column.states[i] == COLUMN_OK
                            ? dictionary->values[reg->column.codes[i]]
                            : column_error();
    }
    reg->has_texts = true;
    return 0;
}

int dictionary_builder_open(DictionaryBuilder *e, size_t n, Arena *scratch) {
    size_t n_places = 8;

    while (n_places < 2 * n)
        n_places *= 2;
    *e = (DictionaryBuilder){
        .places = ARENA_ARRAY(scratch, uint32_t, n_places),
        .n_places = (uint32_t)n_places,
        .values = ARENA_RAW(scratch, CelValue, n < DICTIONARY_MAX ? n : DICTIONARY_MAX),
    };
    return e->places && e->values ? 0 : -ENOMEM;
}

static bool is_same(CelValue a, CelValue b) {
    return a.len == b.len && (a.text == b.text || str_eq(cel_str(a), cel_str(b)));
}

uint32_t dictionary_builder_add(DictionaryBuilder *e, CelValue v) {
    uint32_t mask = e->n_places - 1, place = (uint32_t)hash_str(cel_str(v)) & mask;

    while (e->places[place] != 0) {
        if (is_same(e->values[e->places[place] - 1], v))
            return e->places[place] - 1;
        place = (place + 1) & mask;
    }
    if (e->n == DICTIONARY_MAX)
        return DICTIONARY_MAX;
    e->values[e->n++] = v;
    e->places[place] = e->n;
    return e->n - 1;
}

int dictionary_builder_finish(
    const DictionaryBuilder *e, bool with_strings, Arena *keep, const Dictionary **ret) {
    Dictionary *dictionary = ARENA_NEW(keep, Dictionary);
    CelValue *values = ARENA_RAW(keep, CelValue, e->n);

    if (!dictionary || !values)
        return -ENOMEM;
    for (uint32_t i = 0; i < e->n; i++) {
        Str text = cel_str(e->values[i]);

        if (with_strings)
            text = arena_copy(keep, text);
        if (with_strings && !text.ptr)
            return -ENOMEM;
        values[i] = cel_string(text);
    }
    *dictionary = (Dictionary){e->n, values};
    *ret = dictionary;
    return 0;
}

int evaluator_encode(Evaluator *work, ColumnRegister *reg, size_t n, Arena *keep) {
    CelValue last = cel_string(STR(""));
    uint32_t code = UINT32_MAX;
    DictionaryBuilder e;
    int r = dictionary_builder_open(&e, n, work->run->arena);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        reg->column.codes[i] = 0;
        if (reg->column.states && reg->column.states[i] != COLUMN_OK)
            continue;
        if (code == UINT32_MAX || !is_same(last, reg->texts[i]))
            code = dictionary_builder_add(&e, reg->texts[i]);
        last = reg->texts[i];
        if (code < DICTIONARY_MAX) {
            reg->column.codes[i] = (uint16_t)code;
        } else {
            if (!reg->column.states)
                memset(reg->states, COLUMN_OK, n);
            reg->column.states = reg->states;
            reg->states[i] = COLUMN_FALLBACK;
            code = UINT32_MAX;
        }
    }
    reg->has_codes = true;
    return dictionary_builder_finish(
        &e, keep != work->arena && !reg->is_borrowed, keep, &reg->column.dictionary);
}

/* --- the same or not --------------------------------------------------------------------- */

/* The strings of a column, or one for all. */
typedef struct Side {
    const PlanColumn *column;
    bool is_one;
    ColumnRegister *reg; /* of a column */
    CelValue value;      /* the one */
    uint8_t state;       /* of that */
} Side;

static Side side_of(const Evaluator *work, uint32_t number) {
    const PlanColumn *column = plan_column_at(work->plan, number);
    Side side = {.column = column, .is_one = plan_column_is_single(column)};

    if (side.is_one) {
        side.value = evaluator_single(work, column);
        side.state = column_state_of(CEL_STRING, side.value);
    } else {
        side.reg = evaluator_register(work, column);
    }
    return side;
}

static uint8_t side_state(const Side *side, size_t i) {
    if (side->is_one)
        return side->state;
    return side->reg->column.states ? side->reg->column.states[i] : COLUMN_OK;
}

static CelValue side_text(const Side *side, size_t i) {
    return side->is_one ? side->value : side->reg->texts[i];
}

static int make_texts(Evaluator *work, const Side *side) {
    return side->is_one ? 0 : evaluator_texts(work, side->column, side->reg);
}

/* Where one side has no value for anybody, nobody looks at the other's strings. */
static void same_as_none(
    const Evaluator *work, const Side *text, uint8_t state, ColumnRegister *out) {
    size_t n = work->frames[text->column->space].n;

    for (size_t i = 0; i < n; i++) {
        uint8_t other = side_state(text, i);

        out->states[i] = other > state ? other : state;
    }
}

static int same_by_texts(
    Evaluator *work, const Side *a, const Side *b, bool is_negated, ColumnRegister *out) {
    size_t n = work->frames[(a->is_one ? b : a)->column->space].n;
    int r = make_texts(work, a);

    if (r == 0)
        r = make_texts(work, b);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        uint8_t left = side_state(a, i), right = side_state(b, i);
        uint8_t worst = left > right ? left : right;

        out->states[i] =
            worst != COLUMN_OK ? worst : is_same(side_text(a, i), side_text(b, i)) != is_negated;
    }
    return 0;
}

/* Entries @from to @to have one dictionary: at most one of its strings is @v. */
WIDE_LOOPS static void same_by_code(const ColumnRegister *text, const Dictionary *dictionary,
    CelValue v, bool is_negated, size_t from, size_t to, uint8_t *out) {
    const uint16_t *codes = text->column.codes;
    uint32_t code = 0;

    while (code < dictionary->n && !is_same(dictionary->values[code], v))
        code++;
    if (code == dictionary->n) {
        memset(out + from, is_negated, to - from);
    } else {
        for (size_t i = from; i < to; i++)
            out[i] = (codes[i] == code) != is_negated;
    }
}

static int same_by_codes(
    Evaluator *work, const Side *text, CelValue v, bool is_negated, ColumnRegister *out) {
    const EntryFrame *frame = &work->frames[text->column->space];
    const uint8_t *states = text->reg->column.states;

    for (size_t i = 0, end = 0; i < frame->n; i = end) {
        const Dictionary *dictionary = evaluator_dictionary(work, text->column, i, &end);

        same_by_code(text->reg, dictionary, v, is_negated, i, end, out->states);
    }
    for (size_t i = 0; states && i < frame->n; i++)
        out->states[i] = states[i] != COLUMN_OK ? states[i] : out->states[i];
    return 0;
}

/* While a block is made, strings that are compared more than once get codes: with these it takes
 * a fraction. Whether that is so is through @ret. */
static int find_codes(Evaluator *work, const Side *text, bool *ret) {
    ColumnRegister *reg = text->reg;

    *ret = reg->has_codes;
    if (!work->is_kept || *ret || text->column->how == METHOD_SPREAD)
        return 0;
    *ret = reg->is_compared;
    reg->is_compared = true;
    return *ret ? evaluator_encode(work, reg, work->frames[text->column->space].n, work->arena) : 0;
}

int evaluate_same_string(Evaluator *work, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(work, column);
    Side a = side_of(work, column->inputs[0]), b = side_of(work, column->inputs[1]);
    const Side *text = a.is_one ? &b : &a, *one = a.is_one ? &a : &b;
    bool has_codes = false;
    int r = register_open(work, reg, LANE_BOOL, work->frames[column->space].n);

    if (r == 0 && one->is_one && !text->is_one)
        r = find_codes(work, text, &has_codes);
    if (r < 0)
        return r;
    if (one->is_one && one->state != COLUMN_OK && !text->is_one) {
        same_as_none(work, text, one->state, reg);
        return 0;
    }
    return has_codes ? same_by_codes(work, text, one->value, column->is_negated, reg)
                     : same_by_texts(work, &a, &b, column->is_negated, reg);
}

/* --- one or the other -------------------------------------------------------------------- */

int evaluate_choose(Evaluator *work, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(work, column);
    KernelOperand by = evaluator_operand(work, column->inputs[0]);
    Side sides[2] = {side_of(work, column->inputs[1]), side_of(work, column->inputs[2])};
    size_t n = work->frames[column->space].n;
    int r = register_open(work, reg, LANE_TEXT, n);

    if (r == 0)
        r = register_open_texts(work, reg, n);
    for (int i = 0; r == 0 && i < 2; i++)
        r = make_texts(work, &sides[i]);
    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        uint8_t state = by.column->states[by.is_single ? 0 : i];
        const Side *side = &sides[state == COLUMN_FALSE];

        reg->states[i] = state >= COLUMN_ERROR ? state : side_state(side, i);
        if (reg->states[i] == COLUMN_OK)
            reg->texts[i] = side_text(side, i);
    }
    reg->has_texts = true;
    reg->is_borrowed = (sides[0].is_one || sides[0].reg->is_borrowed) &&
                       (sides[1].is_one || sides[1].reg->is_borrowed);
    return 0;
}
