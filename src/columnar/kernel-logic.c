/*
 * Logic: what works on states. False, true, error and odd are 0 to 3, so the worst of two is the
 * larger one, and bit 1 says that there is no value.
 */
#include <string.h>

#include "columnar/kernel-loop.h"

/* --- states of what has values ---------------------------------------------------------- */

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

/* --- bools ------------------------------------------------------------------------------ */

KERNEL_INLINE uint8_t worst(uint8_t x, uint8_t y) {
    return x > y ? x : y;
}

#define LOGIC(name, expression)                                                                    \
    KERNEL_INLINE void name##_loop(bool a_single,                                                  \
        bool b_single,                                                                             \
        size_t n,                                                                                  \
        const uint8_t *restrict a,                                                                 \
        const uint8_t *restrict b,                                                                 \
        uint8_t *restrict out) {                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            uint8_t x = a[a_single ? 0 : i];                                                       \
            uint8_t y = b[b_single ? 0 : i];                                                       \
            out[i] = (uint8_t)(expression);                                                        \
        }                                                                                          \
    }                                                                                              \
    KERNEL kernel_##name(const KernelArgs *args) {                                                 \
        const KernelOperand *a = &args->operands[0], *b = &args->operands[1];                      \
        KERNEL_SHAPES(name##_loop,                                                                 \
            a->is_single,                                                                          \
            b->is_single,                                                                          \
            args->n,                                                                               \
            a->column->states,                                                                     \
            b->column->states,                                                                     \
            args->out->states);                                                                    \
    }

LOGIC(and, (x == COLUMN_FALSE || y == COLUMN_FALSE) ? COLUMN_FALSE : worst(x, y))
LOGIC(or, (x == COLUMN_TRUE || y == COLUMN_TRUE) ? COLUMN_TRUE : worst(x, y))

/* These look at both. */
#define COMPARE(name, operator)                                                                    \
    LOGIC(name, worst(x, y) & KERNEL_NO_VALUE ? worst(x, y) : x operator y)

COMPARE(eq_bool, ==)
COMPARE(ne_bool, !=)
COMPARE(lt_bool, <)
COMPARE(le_bool, <=)
COMPARE(gt_bool, >)
COMPARE(ge_bool, >=)

KERNEL_INLINE void not_loop(
    bool single, size_t n, const uint8_t *restrict a, uint8_t *restrict out) {
    for (size_t i = 0; i < n; i++) {
        uint8_t x = a[single ? 0 : i];

        out[i] = x & KERNEL_NO_VALUE ? x : x ^ 1;
    }
}

KERNEL kernel_not(const KernelArgs *args) {
    const uint8_t *a = args->operands[0].column->states;

    if (args->operands[0].is_single)
        not_loop(true, args->n, a, args->out->states);
    else
        not_loop(false, args->n, a, args->out->states);
}
