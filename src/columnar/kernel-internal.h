#pragma once

/*
 * Shared by the files of the kernels; kernel.h is the interface.
 *
 * Each loop is an expression of x and y, compiled four times: each operand is a column or one value
 * for all rows. An operation that can fail has two loops: the first, without a branch, records
 * whether any row failed; the second runs only then and finds the rows.
 */

#include "base/wide-loops.h"
#include "columnar/kernel.h"

#define KERNEL_INLINE static inline __attribute__((always_inline))
#define KERNEL WIDE_LOOPS void

enum { KERNEL_NO_VALUE = 2 }; /* this bit is set in ERROR and FALLBACK */

/* Calls @loop with constants for whether each operand is a single value. */
#define KERNEL_SHAPES(loop, a_single, b_single, ...)                                               \
    do {                                                                                           \
        if (!(a_single) && !(b_single))                                                            \
            loop(false, false, __VA_ARGS__);                                                       \
        else if (!(a_single))                                                                      \
            loop(false, true, __VA_ARGS__);                                                        \
        else if (!(b_single))                                                                      \
            loop(true, false, __VA_ARGS__);                                                        \
        else                                                                                       \
            loop(true, true, __VA_ARGS__);                                                         \
    } while (0)

/* Sets the states of the result if the operation reads all @n_operands operands, none of lane BOOL:
 * the state of an argument that is not OK, else the operation's own state (@has_own: it is already
 * in out->states). */
void kernel_merge(const KernelArgs *args, size_t n_operands, bool has_own);

/* A loop over entries of type A and B. */
#define KERNEL_LOOP(name, A, B, R, expression)                                                     \
    KERNEL_INLINE void name##_loop(bool a_single, bool b_single, size_t n, const A *restrict a,    \
        const B *restrict b, R *restrict out) {                                                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            A x = a[a_single ? 0 : i];                                                             \
            B y = b[b_single ? 0 : i];                                                             \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }

/* Operations that never fail. A: the type of the operands' entries in member @am; R, @rm: the
 * result's. If R is a byte, the result is the states of a bool. */
#define KERNEL_UNARY(name, A, am, R, rm, expression)                                               \
    KERNEL_LOOP(name, A, A, R, ((void)y, expression))                                              \
    KERNEL name(const KernelArgs *args) {                                                          \
        const bool has_own = sizeof(R) == sizeof(uint8_t); /* out->states */                       \
        const KernelOperand *a = &args->operands[0];                                               \
        if (a->is_single)                                                                          \
            name##_loop(true, true, args->n, a->column->am, a->column->am, args->out->rm);         \
        else                                                                                       \
            name##_loop(false, true, args->n, a->column->am, a->column->am, args->out->rm);        \
        kernel_merge(args, 1, has_own);                                                            \
    }

#define KERNEL_BINARY(name, A, am, B, bm, R, rm, expression)                                       \
    KERNEL_LOOP(name, A, B, R, expression)                                                         \
    KERNEL name(const KernelArgs *args) {                                                          \
        const bool has_own = sizeof(R) == sizeof(uint8_t); /* out->states */                       \
        const KernelOperand *a = &args->operands[0], *b = &args->operands[1];                      \
        KERNEL_SHAPES(name##_loop, a->is_single, b->is_single, args->n, a->column->am,             \
            b->column->bm, args->out->rm);                                                         \
        kernel_merge(args, 2, has_own);                                                            \
    }

/* Operations that can fail: in a row where @fails is not 0, the state is @state. @expression must
 * be defined there, too. */
#define KERNEL_UNARY_FAILING(name, A, am, R, rm, expression, fails, state)                         \
    KERNEL_BINARY_FAILING_LOOPS(name, A, A, R, ((void)y, expression), ((void)y, fails), state)     \
    KERNEL name(const KernelArgs *args) {                                                          \
        const KernelOperand *a = &args->operands[0];                                               \
        uint64_t failed = 0;                                                                       \
        if (a->is_single)                                                                          \
            name##_loop(                                                                           \
                true, true, args->n, a->column->am, a->column->am, args->out->rm, &failed);        \
        else                                                                                       \
            name##_loop(                                                                           \
                false, true, args->n, a->column->am, a->column->am, args->out->rm, &failed);       \
        if (failed)                                                                                \
            name##_failures(                                                                       \
                a->is_single, true, args->n, a->column->am, a->column->am, args->out->states);     \
        kernel_merge(args, 1, failed != 0);                                                        \
    }

#define KERNEL_BINARY_FAILING(name, A, am, B, bm, R, rm, expression, fails, state)                 \
    KERNEL_BINARY_FAILING_LOOPS(name, A, B, R, expression, fails, state)                           \
    KERNEL name(const KernelArgs *args) {                                                          \
        const KernelOperand *a = &args->operands[0], *b = &args->operands[1];                      \
        uint64_t failed = 0;                                                                       \
        KERNEL_SHAPES(name##_loop, a->is_single, b->is_single, args->n, a->column->am,             \
            b->column->bm, args->out->rm, &failed);                                                \
        if (failed)                                                                                \
            name##_failures(a->is_single, b->is_single, args->n, a->column->am, b->column->bm,     \
                args->out->states);                                                                \
        kernel_merge(args, 2, failed != 0);                                                        \
    }

#define KERNEL_BINARY_FAILING_LOOPS(name, A, B, R, expression, fails, state)                       \
    KERNEL_INLINE void name##_loop(bool a_single, bool b_single, size_t n, const A *a, const B *b, \
        R *restrict out, uint64_t *failed) {                                                       \
        uint64_t any = 0;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            A x = a[a_single ? 0 : i];                                                             \
            B y = b[b_single ? 0 : i];                                                             \
            out[i] = (R)(expression);                                                              \
            any |= (uint64_t)(fails);                                                              \
        }                                                                                          \
        *failed = any;                                                                             \
    }                                                                                              \
    static void name##_failures(                                                                   \
        bool a_single, bool b_single, size_t n, const A *a, const B *b, uint8_t *restrict out) {   \
        for (size_t i = 0; i < n; i++) {                                                           \
            A x = a[a_single ? 0 : i];                                                             \
            B y = b[b_single ? 0 : i];                                                             \
            out[i] = (fails) ? (state) : COLUMN_OK;                                                \
        }                                                                                          \
    }

/* Adds as unsigned numbers, which wrap around: a sum overflowed if both terms have the opposite
 * sign of the result. No branch, no special instruction. */

KERNEL_INLINE uint64_t kernel_sum(int64_t x, int64_t y) {
    return (uint64_t)x + (uint64_t)y;
}

KERNEL_INLINE uint64_t kernel_difference(int64_t x, int64_t y) {
    return (uint64_t)x - (uint64_t)y;
}

KERNEL_INLINE uint64_t kernel_sum_fails(int64_t x, int64_t y) {
    return (((uint64_t)x ^ kernel_sum(x, y)) & ((uint64_t)y ^ kernel_sum(x, y))) >> 63;
}

KERNEL_INLINE uint64_t kernel_difference_fails(int64_t x, int64_t y) {
    return (((uint64_t)x ^ (uint64_t)y) & ((uint64_t)x ^ kernel_difference(x, y))) >> 63;
}

/* Every kernel. */
Kernel kernel_add_int, kernel_sub_int, kernel_mul_int, kernel_div_int, kernel_mod_int,
    kernel_neg_int, kernel_add_double, kernel_sub_double, kernel_mul_double, kernel_div_double,
    kernel_neg_double, kernel_int_of_double, kernel_double_of_int, kernel_copy, kernel_abs_int,
    kernel_least_int, kernel_greatest_int, kernel_abs_double, kernel_least_double,
    kernel_greatest_double, kernel_sqrt_double, kernel_ceil_double, kernel_floor_double,
    kernel_round_double, kernel_trunc_double, kernel_is_nan, kernel_eq_int, kernel_ne_int,
    kernel_lt_int, kernel_le_int, kernel_gt_int, kernel_ge_int, kernel_eq_double, kernel_ne_double,
    kernel_lt_double, kernel_le_double, kernel_gt_double, kernel_ge_double, kernel_lt_int_double,
    kernel_le_int_double, kernel_gt_int_double, kernel_ge_int_double, kernel_lt_double_int,
    kernel_le_double_int, kernel_gt_double_int, kernel_ge_double_int, kernel_eq_bool,
    kernel_ne_bool, kernel_not, kernel_and, kernel_or, kernel_choose, kernel_add_time_duration,
    kernel_sub_time_duration, kernel_time_of_int, kernel_int_of_time, kernel_duration_hours,
    kernel_duration_minutes, kernel_duration_seconds;
