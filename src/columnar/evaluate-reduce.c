/* Reductions, as the scalar machine does them: additions from the first element to the last,
 * beginning with zero; an error of a predicate or collected value ends the reduction; all() and
 * exists() ignore errors of their body if another element decides. */

#include <errno.h>

#include "columnar/evaluator-internal.h"

void reduce_apply_predicate(uint8_t *include, size_t n, KernelOperand predicate) {
    const uint8_t *states = predicate.column->states;

    for (size_t i = 0; i < n; i++)
        include[i] = include[i] == COLUMN_TRUE ? states[predicate.is_single ? 0 : i] : include[i];
}

/* NULL: no memory. */
static const uint8_t *combine_predicates(Evaluator *e, const PlanReduction *reduction, size_t n) {
    e->include = evaluator_grow(e, e->include, &e->include_capacity, n, 1);
    if (!e->include)
        return NULL;
    memset(e->include, COLUMN_TRUE, n);
    for (uint32_t i = 0; i < reduction->n_predicates; i++)
        reduce_apply_predicate(e->include, n, evaluator_operand(e, reduction->predicates[i]));
    return e->include;
}

bool reduce_begin(Evaluator *e, const PlanReduction *reduction, ReduceArgs *ret) {
    static const Column nothing = {.lane = LANE_NONE};
    size_t n = e->frames[reduction->space].n;
    KernelOperand first;

    *ret = (ReduceArgs){
        .op = (ReduceOp)reduction->op,
        .value = {&nothing, true},
        .lane = LANE_BOOL,
        .has_value = reduction->value != NO_COLUMN,
    };
    if (ret->has_value) {
        ret->value = evaluator_operand(e, reduction->value);
        ret->lane = (ColumnLane)plan_column_at(e->plan, reduction->value)->lane;
    }
    if (reduction->n_predicates == 0 || n == 0)
        return true;
    first = evaluator_operand(e, reduction->predicates[0]);
    ret->include = first.column->states;
    if (reduction->n_predicates > 1 || first.is_single)
        ret->include = combine_predicates(e, reduction, n);
    return ret->include != NULL;
}

static void worsen(uint8_t *bad, uint8_t state) {
    if (state > *bad)
        *bad = state;
}

/* Whether element @i counts. */
static bool counts(const ReduceArgs *args, size_t i, ReduceState *result) {
    uint8_t include = args->include ? args->include[i] : COLUMN_TRUE;

    if (include >= COLUMN_ERROR)
        worsen(&result->bad, include);
    return include == COLUMN_TRUE;
}

static uint8_t state_of(const ReduceArgs *args, size_t i) {
    const uint8_t *states = args->value.column->states;

    return states ? states[args->value.is_single ? 0 : i] : COLUMN_OK;
}

/* Counts the @wanted states, and raises @bad to the worst state of all. No branches. */
static size_t count_states(
    const uint8_t *states, size_t from, size_t to, uint8_t wanted, uint8_t *bad) {
    uint8_t worst = 0;
    size_t n = 0;

    for (size_t i = from; i < to; i++) {
        n += states[i] == wanted;
        worst = states[i] > worst ? states[i] : worst;
    }
    if (worst >= COLUMN_ERROR)
        worsen(bad, worst);
    return n;
}

static void reduce_verdict(
    const ReduceArgs *args, size_t from, size_t to, uint8_t deciding, ReduceState *result) {
    if (!args->include && !args->value.is_single) {
        result->is_decided |=
            count_states(args->value.column->states, from, to, deciding, &result->bad_value) > 0;
        return;
    }
    for (size_t i = from; i < to; i++) {
        uint8_t state;

        if (!counts(args, i, result))
            continue;
        state = state_of(args, i);
        if (state >= COLUMN_ERROR)
            worsen(&result->bad_value, state);
        else if (state == deciding)
            result->is_decided = true;
    }
}

/* exists_one() counts true elements, size() all. */
static void reduce_count(const ReduceArgs *args, size_t from, size_t to, ReduceState *result) {
    bool is_size = args->op == REDUCE_COUNT;
    uint8_t state;

    if (is_size && !args->has_value && args->include) {
        result->i += (int64_t)count_states(args->include, from, to, COLUMN_TRUE, &result->bad);
        return;
    }
    for (size_t i = from; i < to; i++) {
        if (!counts(args, i, result))
            continue;
        state = args->has_value ? state_of(args, i) : COLUMN_OK;
        if (state >= COLUMN_ERROR)
            worsen(&result->bad, state);
        else
            result->i += is_size || state == COLUMN_TRUE;
    }
}

static void add_int(int64_t x, ReduceState *result) {
    if (__builtin_add_overflow(result->i, x, &result->i))
        worsen(&result->bad, COLUMN_ERROR);
}

/* Keeps the first of equal values. NaN is neither less nor greater. */
static void choose_int(bool is_min, int64_t x, ReduceState *result) {
    if (!result->is_any || (is_min ? x < result->i : x > result->i))
        result->i = x;
}

static void choose_double(bool is_min, double x, ReduceState *result) {
    if (!result->is_any || (is_min ? x < result->d : x > result->d))
        result->d = x;
}

static void reduce_numbers(const ReduceArgs *args, size_t from, size_t to, ReduceState *result) {
    const Column *value = args->value.column;
    bool is_double = args->lane == LANE_DOUBLE, is_min = args->op == REDUCE_MIN;

    for (size_t i = from; i < to; i++) {
        size_t at = args->value.is_single ? 0 : i;
        uint8_t state;

        if (!counts(args, i, result))
            continue;
        state = state_of(args, i);
        if (state != COLUMN_OK)
            worsen(&result->bad, state);
        else if (args->op == REDUCE_SUM && is_double)
            result->d += value->doubles[at];
        else if (args->op == REDUCE_SUM)
            add_int(value->ints[at], result);
        else if (is_double)
            choose_double(is_min, value->doubles[at], result);
        else
            choose_int(is_min, value->ints[at], result);
        result->is_any = true;
    }
}

void reduce_range(const ReduceArgs *args, size_t from, size_t to, ReduceState *result) {
    switch (args->op) {
    case REDUCE_ALL:
        reduce_verdict(args, from, to, COLUMN_FALSE, result);
        break;
    case REDUCE_EXISTS:
        reduce_verdict(args, from, to, COLUMN_TRUE, result);
        break;
    case REDUCE_ONE:
    case REDUCE_COUNT:
        reduce_count(args, from, to, result);
        break;
    default:
        reduce_numbers(args, from, to, result);
    }
}

static uint8_t final_state(ReduceOp op, const ReduceState *result) {
    if (result->bad)
        return result->bad;
    switch (op) {
    case REDUCE_ALL:
    case REDUCE_EXISTS:
        if (!result->is_decided && result->bad_value)
            return result->bad_value;
        return result->is_decided != (op == REDUCE_ALL);
    case REDUCE_ONE:
        return result->i == 1;
    case REDUCE_MIN:
    case REDUCE_MAX:
        return result->is_any ? COLUMN_OK : COLUMN_ERROR;
    default:
        return COLUMN_OK;
    }
}

void reduce_end(ReduceOp op, const ReduceState *result, Column *out, size_t i) {
    out->states[i] = final_state(op, result);
    if (out->lane == LANE_DOUBLE)
        out->doubles[i] = result->d;
    else if (out->lane != LANE_BOOL)
        out->ints[i] = result->i;
}

/* The places for the results of a piece. */
typedef struct Target {
    const uint32_t *entries; /* NULL: those from @from on */
    size_t from;
    Column *out;
} Target;

static size_t place_of(const Target *target, size_t row) {
    return target->entries ? target->entries[row] : target->from + row;
}

static void reduce_row(
    const ReduceArgs *args, const EntryFrame *frame, size_t row, const Target *target) {
    ReduceState result = {.bad = frame->list_states[row]};

    reduce_range(args, frame->starts[row], frame->starts[row + 1], &result);
    reduce_end(args->op, &result, target->out, place_of(target, row));
}

/* The verdicts of the elements, if the reduction reads nothing else; else NULL. Most elements have
 * the usual verdict: true for all(), false for exists() and for counts. */
static const uint8_t *find_verdicts(const ReduceArgs *args, uint8_t *ret_usual) {
    *ret_usual = args->op == REDUCE_ALL ? COLUMN_TRUE : COLUMN_FALSE;
    if (args->op == REDUCE_COUNT)
        return args->has_value ? NULL : args->include;
    if ((args->op != REDUCE_ALL && args->op != REDUCE_EXISTS) || args->include ||
        args->value.is_single)
        return NULL;
    return args->value.column->states;
}

/* The first from @i on that is not the usual one, or @n. */
static size_t find_special(const uint8_t *states, size_t i, size_t n, uint8_t usual) {
    const uint64_t eight = usual * UINT64_C(0x0101010101010101);

    for (; i + sizeof(eight) <= n; i += sizeof(eight))
        if (memcmp(states + i, &eight, sizeof(eight)) != 0)
            break;
    while (i < n && states[i] == usual)
        i++;
    return i;
}

/* The result of a row whose elements all have the usual verdict. */
static void fill_usual(const Target *target, size_t n, uint8_t usual) {
    bool has_values = target->out->lane != LANE_BOOL;
    uint8_t state = has_values ? COLUMN_OK : usual;

    for (size_t i = 0; target->entries && i < n; i++) {
        target->out->states[target->entries[i]] = state;
        if (has_values)
            target->out->ints[target->entries[i]] = 0;
    }
    if (target->entries)
        return;
    memset(target->out->states + target->from, state, n);
    if (has_values)
        memset(target->out->ints + target->from, 0, n * sizeof(int64_t));
}

static void reduce_verdicts(const ReduceArgs *args, const EntryFrame *frame, size_t n,
    const uint8_t *states, uint8_t usual, const Target *target) {
    size_t row = 0;

    fill_usual(target, n, usual);
    for (size_t i = 0; (i = find_special(states, i, frame->n, usual)) < frame->n;) {
        while (frame->starts[row + 1] <= i)
            row++;
        reduce_row(args, frame, row, target);
        i = frame->starts[row + 1]; /* on to the next row's */
    }
}

/* Sets @ret[i] to the number of verdicts among the first i that are not the usual one. Returns
 * false if one is an error. */
static bool count_special(
    const uint8_t *restrict states, size_t n, uint8_t usual, uint32_t *restrict ret) {
    uint8_t worst = 0;
    uint32_t n_special = 0;

    for (size_t i = 0; i < n; i++) {
        ret[i] = n_special;
        n_special += states[i] != usual;
        worst |= states[i];
    }
    ret[n] = n_special;
    return worst < COLUMN_ERROR;
}

/* all() and exists(): one element that is not the usual one decides. */
static void decide_rows(const uint32_t *restrict starts, size_t n, const uint32_t *restrict special,
    uint8_t usual, uint8_t *restrict states) {
    for (size_t row = 0; row < n; row++)
        states[row] = usual ^ (special[starts[row + 1]] != special[starts[row]]);
}

/* Reduces short lists of many rows without branches, which no processor could predict. False: the
 * caller must use reduce_verdicts(). */
static bool reduce_short(Evaluator *e, const EntryFrame *frame, size_t n, const uint8_t *states,
    uint8_t usual, const Target *target) {
    if (target->entries || target->out->lane != LANE_BOOL || n > PLAN_BATCH_ROWS || frame->n > n)
        return false;
    if (!e->special)
        e->special = ARENA_RAW(e->arena, uint32_t, PLAN_BATCH_ROWS + 1);
    if (!e->special || !count_special(states, frame->n, usual, e->special))
        return false;
    decide_rows(frame->starts, n, e->special, usual, target->out->states + target->from);
    return true;
}

void reduce_rows(Evaluator *e, const PlanColumn *column, const uint32_t *entries, size_t from,
    size_t n, ColumnRegister *reg) {
    const EntryFrame *frame = &e->frames[column->reduction->space];
    const Target target = {.entries = entries, .from = from, .out = &reg->column};
    const uint8_t *verdicts;
    ReduceArgs args;
    uint8_t usual;

    if (!reduce_begin(e, column->reduction, &args))
        return;
    verdicts = find_verdicts(&args, &usual);
    if (verdicts && !column_has_states(frame->list_states, n)) {
        if (!reduce_short(e, frame, n, verdicts, usual, &target))
            reduce_verdicts(&args, frame, n, verdicts, usual, &target);
        return;
    }
    for (size_t i = 0; i < n; i++)
        reduce_row(&args, frame, i, &target);
}
