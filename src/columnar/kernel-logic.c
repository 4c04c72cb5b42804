/* Kernels for conditions: && || ! ?:, comparisons of bools, and the copy of a column. False, true,
 * error and fallback are states 0 to 3: the worst of two is the larger one, and bit 1 says that
 * there is no value. */

#include "columnar/kernel-internal.h"

static void merge_column(size_t n, const uint8_t *restrict from, uint8_t *restrict to) {
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] ? from[i] : to[i];
}

void kernel_merge(const KernelArgs *args, size_t n_operands, bool has_own) {
    uint8_t *states = args->out->states;
    bool is_set = has_own;

    for (size_t i = 0; i < n_operands; i++) {
        const KernelOperand *operand = &args->operands[i];
        const uint8_t *from = operand->column->states;

        if (!from || (operand->is_single && from[0] == COLUMN_OK))
            continue;
        if (operand->is_single)
            memset(states, from[0], args->n);
        else if (is_set)
            merge_column(args->n, from, states);
        else
            memcpy(states, from, args->n);
        is_set = true;
    }
    if (!is_set)
        args->out->states = NULL;
}

KERNEL_INLINE uint8_t worst(uint8_t x, uint8_t y) {
    return x > y ? x : y;
}

#define LOGIC(name, expression)                                                                    \
    KERNEL_LOOP(name, uint8_t, uint8_t, uint8_t, expression)                                       \
    KERNEL kernel_##name(const KernelArgs *args) {                                                 \
        const KernelOperand *a = &args->operands[0], *b = &args->operands[1];                      \
        KERNEL_SHAPES(name##_loop, a->is_single, b->is_single, args->n, a->column->states,         \
            b->column->states, args->out->states);                                                 \
    }

LOGIC(and, (x == COLUMN_FALSE || y == COLUMN_FALSE) ? COLUMN_FALSE : worst(x, y))
LOGIC(or, (x == COLUMN_TRUE || y == COLUMN_TRUE) ? COLUMN_TRUE : worst(x, y))

/* Comparisons read both sides. */
#define COMPARE(name, operator)                                                                    \
    LOGIC(name, worst(x, y) & KERNEL_NO_VALUE ? worst(x, y) : x operator y)

COMPARE(eq_bool, ==)
COMPARE(ne_bool, !=)

KERNEL_LOOP(not, uint8_t, uint8_t, uint8_t, ((void)y, x < COLUMN_ERROR ? x ^ 1 : x))

KERNEL kernel_not(const KernelArgs *args) {
    const uint8_t *a = args->operands[0].column->states;

    if (args->operands[0].is_single)
        not_loop(true, true, args->n, a, a, args->out->states);
    else
        not_loop(false, true, args->n, a, a, args->out->states);
}

/* The bits of a double are copied as those of an int. */
static void copy_column(const KernelOperand *operand, size_t n, Column *out) {
    const uint8_t *states = operand->column->states;
    size_t step = !operand->is_single;

    for (size_t i = 0; out->lane != LANE_BOOL && i < n; i++)
        out->ints[i] = operand->column->ints[step * i];
    if (!states || (out->lane != LANE_BOOL && operand->is_single && *states == COLUMN_OK))
        out->states = NULL;
    else if (operand->is_single)
        memset(out->states, states[0], n);
    else
        memcpy(out->states, states, n);
}

void kernel_copy(const KernelArgs *args) {
    copy_column(&args->operands[0], args->n, args->out);
}

KERNEL_INLINE void choose_values(bool a_single, bool b_single, size_t n, const uint8_t *restrict c,
    const int64_t *restrict a, const int64_t *restrict b, int64_t *restrict out) {
    for (size_t i = 0; i < n; i++) {
        int64_t x = a[a_single ? 0 : i], y = b[b_single ? 0 : i];

        out[i] = c[i] == COLUMN_TRUE ? x : y;
    }
}

/* The condition's state if it has no value, else the state of the chosen side. */
KERNEL_INLINE void choose_states(bool a_single, bool b_single, size_t n, const uint8_t *restrict c,
    const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out) {
    for (size_t i = 0; i < n; i++) {
        uint8_t x = a[a_single ? 0 : i], y = b[b_single ? 0 : i];
        uint8_t side = c[i] == COLUMN_TRUE ? x : y;

        out[i] = c[i] & KERNEL_NO_VALUE ? c[i] : side;
    }
}

KERNEL_INLINE bool has_no_value(size_t n, const uint8_t *states) {
    uint8_t any = 0;

    for (size_t i = 0; i < n; i++)
        any |= states[i];
    return any & KERNEL_NO_VALUE;
}

/* The states of a side; NULL: it is fine in all rows. */
KERNEL_INLINE const uint8_t *side_states(const KernelOperand *side) {
    const uint8_t *states = side->column->states;

    return states && side->is_single && states[0] == COLUMN_OK ? NULL : states;
}

KERNEL_INLINE void merge_states(const KernelArgs *args) {
    static const uint8_t fine = COLUMN_OK;
    const KernelOperand *a = &args->operands[1], *b = &args->operands[2];
    const uint8_t *condition = args->operands[0].column->states;
    const uint8_t *a_states = side_states(a), *b_states = side_states(b);

    if (args->out->lane != LANE_BOOL && !a_states && !b_states &&
        !has_no_value(args->n, condition)) {
        args->out->states = NULL;
        return;
    }
    KERNEL_SHAPES(choose_states, a->is_single || !a_states, b->is_single || !b_states, args->n,
        condition, a_states ? a_states : &fine, b_states ? b_states : &fine, args->out->states);
}

/* A condition that is the same for all rows. */
static void choose_side(const KernelArgs *args, uint8_t condition) {
    uint8_t *states = args->out->states;

    copy_column(&args->operands[condition == COLUMN_TRUE ? 1 : 2], args->n, args->out);
    if (!(condition & KERNEL_NO_VALUE))
        return;
    memset(states, condition, args->n);
    args->out->states = states;
}

KERNEL kernel_choose(const KernelArgs *args) {
    const KernelOperand *a = &args->operands[1], *b = &args->operands[2];
    const uint8_t *condition = args->operands[0].column->states;

    if (args->operands[0].is_single) {
        choose_side(args, condition[0]);
        return;
    }
    if (args->out->lane != LANE_BOOL)
        KERNEL_SHAPES(choose_values, a->is_single, b->is_single, args->n, condition,
            a->column->ints, b->column->ints, args->out->ints);
    merge_states(args);
}
