/* Columns of strings. In a session they are codes, with the dictionary of the rows' block, or
 * strings if looked up by a key. While a block is made they are strings; codes are made when the
 * column is stored, or when something is done once for each distinct string. */

#include <errno.h>

#include "base/hash.h"
#include "base/wide-loops.h"
#include "columnar/evaluator-internal.h"

/* Entries of one block that follow each other share its dictionary. */
const Dictionary *evaluator_dictionary(
    const Evaluator *e, const PlanColumn *column, size_t at, size_t *ret_end) {
    const EntryFrame *frame = &e->frames[column->space];
    size_t low = 0, high = frame->n_ranges;

    if (!e->session) {
        *ret_end = frame->n;
        return evaluator_register(e, column)->column.dictionary;
    }
    while (high - low > 1) { /* the last range that begins at @at or before */
        size_t middle = low + (high - low) / 2;

        if (frame->ranges[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    high = low + 1;
    while (high < frame->n_ranges && frame->ranges[high].block == frame->ranges[low].block)
        high++;
    *ret_end = frame->ranges[high - 1].at + frame->ranges[high - 1].n;
    return e->session->blocks[frame->ranges[low].block]->columns[column->store].dictionary;
}

bool evaluator_texts(Evaluator *e, const PlanColumn *column, ColumnRegister *reg) {
    size_t n = e->frames[column->space].n, end = 0;
    const Dictionary *dictionary = NULL;

    if (reg->has_texts)
        return true;
    if (!register_open_texts(e, reg, n, reg->is_borrowed))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!dictionary || i >= end)
            dictionary = evaluator_dictionary(e, column, i, &end);
        reg->texts[i] = !reg->column.states || reg->column.states[i] == COLUMN_OK
                            ? dictionary->values[reg->column.codes[i]]
                            : column_error();
    }
    return true;
}

bool dictionary_builder_open(DictionaryBuilder *b, size_t n, Arena *scratch) {
    size_t n_places = 8;

    while (n_places < 2 * n)
        n_places *= 2;
    *b = (DictionaryBuilder){
        .places = ARENA_ARRAY(scratch, uint32_t, n_places),
        .n_places = (uint32_t)n_places,
        .values = ARENA_RAW(scratch, CelValue, n < DICTIONARY_MAX ? n : DICTIONARY_MAX),
    };
    return b->places && b->values;
}

static bool is_same(CelValue a, CelValue b) {
    return a.len == b.len && (a.text == b.text || str_eq(cel_str(a), cel_str(b)));
}

uint32_t dictionary_builder_add(DictionaryBuilder *b, CelValue v) {
    uint32_t mask = b->n_places - 1, place = (uint32_t)hash_str(cel_str(v)) & mask;

    while (b->places[place] != 0) {
        if (is_same(b->values[b->places[place] - 1], v))
            return b->places[place] - 1;
        place = (place + 1) & mask;
    }
    if (b->n == DICTIONARY_MAX)
        return DICTIONARY_MAX;
    b->values[b->n++] = v;
    b->places[place] = b->n;
    return b->n - 1;
}

const Dictionary *dictionary_builder_finish(
    const DictionaryBuilder *b, bool with_strings, Arena *keep) {
    Dictionary *dictionary = ARENA_NEW(keep, Dictionary);
    CelValue *values = ARENA_RAW(keep, CelValue, b->n);

    if (!dictionary || !values)
        return NULL;
    for (uint32_t i = 0; i < b->n; i++) {
        Str text = cel_str(b->values[i]);

        if (with_strings)
            text = arena_copy(keep, text);
        if (with_strings && !text.ptr)
            return NULL;
        values[i] = cel_string(text);
    }
    *dictionary = (Dictionary){b->n, values};
    return dictionary;
}

bool evaluator_encode(Evaluator *e, ColumnRegister *reg, size_t n, Arena *keep) {
    CelValue last = cel_string(STR(""));
    uint32_t code = UINT32_MAX;
    DictionaryBuilder b;

    if (!evaluator_check(e, dictionary_builder_open(&b, n, e->run->arena), -ENOMEM))
        return false;
    for (size_t i = 0; i < n; i++) {
        reg->column.codes[i] = 0;
        if (reg->column.states && reg->column.states[i] != COLUMN_OK)
            continue;
        if (code == UINT32_MAX || !is_same(last, reg->texts[i]))
            code = dictionary_builder_add(&b, reg->texts[i]);
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
    reg->column.dictionary =
        dictionary_builder_finish(&b, keep != e->arena && !reg->is_borrowed, keep);
    return evaluator_check(e, reg->column.dictionary, -ENOMEM);
}

/* One argument: the strings of a column, or one string for all entries. */
typedef struct Side {
    const PlanColumn *column;
    bool is_one;
    ColumnRegister *reg; /* of a column */
    CelValue value;      /* is_one: the string */
    uint8_t state;       /* is_one: its state */
} Side;

static Side side_of(const Evaluator *e, uint32_t number) {
    const PlanColumn *column = plan_column_at(e->plan, number);
    Side side = {.column = column, .is_one = plan_column_is_single(column)};

    if (side.is_one) {
        side.value = evaluator_single(e, column);
        side.state = column_state_of(CEL_STRING, side.value);
    } else {
        side.reg = evaluator_register(e, column);
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

static bool make_texts(Evaluator *e, const Side *side) {
    return side->is_one || evaluator_texts(e, side->column, side->reg);
}

/* One side has no value in any entry, so the strings of the other do not matter. */
static void same_as_none(const Evaluator *e, const Side *text, uint8_t state, ColumnRegister *out) {
    size_t n = e->frames[text->column->space].n;

    for (size_t i = 0; i < n; i++) {
        uint8_t other = side_state(text, i);

        out->states[i] = other > state ? other : state;
    }
}

static void same_by_texts(
    Evaluator *e, const Side *a, const Side *b, bool is_negated, ColumnRegister *out) {
    size_t n = e->frames[(a->is_one ? b : a)->column->space].n;

    if (!make_texts(e, a) || !make_texts(e, b))
        return;
    for (size_t i = 0; i < n; i++) {
        uint8_t left = side_state(a, i), right = side_state(b, i);
        uint8_t worst = left > right ? left : right;

        out->states[i] =
            worst != COLUMN_OK ? worst : is_same(side_text(a, i), side_text(b, i)) != is_negated;
    }
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

static void same_by_codes(
    Evaluator *e, const Side *text, CelValue v, bool is_negated, ColumnRegister *out) {
    const EntryFrame *frame = &e->frames[text->column->space];
    const uint8_t *states = text->reg->column.states;

    for (size_t i = 0, end = 0; i < frame->n; i = end) {
        const Dictionary *dictionary = evaluator_dictionary(e, text->column, i, &end);

        same_by_code(text->reg, dictionary, v, is_negated, i, end, out->states);
    }
    for (size_t i = 0; states && i < frame->n; i++)
        out->states[i] = states[i] != COLUMN_OK ? states[i] : out->states[i];
}

/* Returns whether @text has codes. While a block is made, strings that are compared more than once
 * get codes, since comparing codes takes a fraction of the time. */
static bool find_codes(Evaluator *e, const Side *text) {
    ColumnRegister *reg = text->reg;
    bool was_compared = reg->is_compared;

    if (e->session || reg->has_codes || text->column->method == METHOD_SPREAD)
        return reg->has_codes;
    reg->is_compared = true;
    return was_compared && evaluator_encode(e, reg, e->frames[text->column->space].n, e->arena);
}

void evaluate_same_string(Evaluator *e, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(e, column);
    Side a = side_of(e, column->inputs[0]), b = side_of(e, column->inputs[1]);
    const Side *text = a.is_one ? &b : &a, *one = a.is_one ? &a : &b;
    bool is_by_one = one->is_one && !text->is_one;

    if (!register_open(e, reg, LANE_BOOL, e->frames[column->space].n))
        return;
    if (is_by_one && one->state != COLUMN_OK)
        same_as_none(e, text, one->state, reg);
    else if (is_by_one && find_codes(e, text))
        same_by_codes(e, text, one->value, column->is_negated, reg);
    else if (e->status == 0)
        same_by_texts(e, &a, &b, column->is_negated, reg);
}

void evaluate_choose(Evaluator *e, const PlanColumn *column) {
    ColumnRegister *reg = evaluator_register(e, column);
    KernelOperand by = evaluator_operand(e, column->inputs[0]);
    Side sides[2] = {side_of(e, column->inputs[1]), side_of(e, column->inputs[2])};
    size_t n = e->frames[column->space].n;
    bool is_borrowed = (sides[0].is_one || sides[0].reg->is_borrowed) &&
                       (sides[1].is_one || sides[1].reg->is_borrowed);

    if (!register_open_values(e, reg, LANE_TEXT, n, is_borrowed) || !make_texts(e, &sides[0]) ||
        !make_texts(e, &sides[1]))
        return;
    for (size_t i = 0; i < n; i++) {
        uint8_t state = by.column->states[by.is_single ? 0 : i];
        const Side *side = &sides[state == COLUMN_FALSE];

        reg->states[i] = state >= COLUMN_ERROR ? state : side_state(side, i);
        if (reg->states[i] == COLUMN_OK)
            reg->texts[i] = side_text(side, i);
    }
}
