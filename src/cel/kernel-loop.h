#pragma once

/*
 * Kernel-loop: what the files of the kernels share. Nobody else includes it; kernel.h is the
 * contract.
 *
 * A loop is written once, as an expression of x and y, and made four times: an operand is a column
 * or one value for all rows, and the compiler knows which. What can fail is made of two loops: the
 * first computes and only collects whether anything failed, which is rare; the second,
 * only then, says where. So the usual loop has no branch and no state in it.
 */

#include "base/wide-loops.h"
#include "cel/kernel.h"

#define KERNEL_INLINE static inline __attribute__((always_inline))
#define KERNEL WIDE_LOOPS void

enum { KERNEL_NO_VALUE = 2 }; /* the bit of a state that is neither false nor true */

/* Calls @loop with constants for whether each operand is a single one. */
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

/* The states of the result, where all of @n_operands operands count and none is of lane BOOL: an
 * argument that is not fine decides, else what the operation said (@has_own: that is in
 * out->states already). */
void cel_kernel_merge(const CelKernelArgs *args, size_t n_operands, bool has_own);

/* What never fails. A: the type of the operands' entries in member @am; R, @rm: the result's. A
 * result of bytes is the states of a bool. */
#define KERNEL_UNARY(name, A, am, R, rm, expression)                                               \
    KERNEL_INLINE void name##_loop(bool single, size_t n, const A *restrict a, R *restrict out) {  \
        for (size_t i = 0; i < n; i++) {                                                           \
            A x = a[single ? 0 : i];                                                               \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }                                                                                              \
    KERNEL name(const CelKernelArgs *args) {                                                       \
        const bool has_own = sizeof(R) == sizeof(uint8_t); /* out->states */                       \
        const CelOperand *a = &args->operands[0];                                                  \
        if (a->is_single)                                                                          \
            name##_loop(true, args->n, a->column->am, args->out->rm);                              \
        else                                                                                       \
            name##_loop(false, args->n, a->column->am, args->out->rm);                             \
        cel_kernel_merge(args, 1, has_own);                                                        \
    }

#define KERNEL_BINARY(name, A, am, B, bm, R, rm, expression)                                       \
    KERNEL_INLINE void name##_loop(bool a_single,                                                  \
        bool b_single,                                                                             \
        size_t n,                                                                                  \
        const A *restrict a,                                                                       \
        const B *restrict b,                                                                       \
        R *restrict out) {                                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            A x = a[a_single ? 0 : i];                                                             \
            B y = b[b_single ? 0 : i];                                                             \
            out[i] = (R)(expression);                                                              \
        }                                                                                          \
    }                                                                                              \
    KERNEL name(const CelKernelArgs *args) {                                                       \
        const bool has_own = sizeof(R) == sizeof(uint8_t); /* out->states */                       \
        const CelOperand *a = &args->operands[0], *b = &args->operands[1];                         \
        KERNEL_SHAPES(name##_loop,                                                                 \
            a->is_single,                                                                          \
            b->is_single,                                                                          \
            args->n,                                                                               \
            a->column->am,                                                                         \
            b->column->bm,                                                                         \
            args->out->rm);                                                                        \
        cel_kernel_merge(args, 2, has_own);                                                        \
    }

/* What can fail: @fails is not 0 then, and @state what that is. @expression must be defined
 * all the same. */
#define KERNEL_UNARY_FAILING(name, A, am, R, rm, expression, fails, state)                         \
    KERNEL_BINARY_FAILING_LOOPS(name, A, A, R, ((void)y, expression), ((void)y, fails), state)     \
    KERNEL name(const CelKernelArgs *args) {                                                       \
        const CelOperand *a = &args->operands[0];                                                  \
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
        cel_kernel_merge(args, 1, failed != 0);                                                    \
    }

#define KERNEL_BINARY_FAILING(name, A, am, B, bm, R, rm, expression, fails, state)                 \
    KERNEL_BINARY_FAILING_LOOPS(name, A, B, R, expression, fails, state)                           \
    KERNEL name(const CelKernelArgs *args) {                                                       \
        const CelOperand *a = &args->operands[0], *b = &args->operands[1];                         \
        uint64_t failed = 0;                                                                       \
        KERNEL_SHAPES(name##_loop,                                                                 \
            a->is_single,                                                                          \
            b->is_single,                                                                          \
            args->n,                                                                               \
            a->column->am,                                                                         \
            b->column->bm,                                                                         \
            args->out->rm,                                                                         \
            &failed);                                                                              \
        if (failed)                                                                                \
            name##_failures(a->is_single,                                                          \
                b->is_single,                                                                      \
                args->n,                                                                           \
                a->column->am,                                                                     \
                b->column->bm,                                                                     \
                args->out->states);                                                                \
        cel_kernel_merge(args, 2, failed != 0);                                                    \
    }

#define KERNEL_BINARY_FAILING_LOOPS(name, A, B, R, expression, fails, state)                       \
    KERNEL_INLINE void name##_loop(bool a_single,                                                  \
        bool b_single,                                                                             \
        size_t n,                                                                                  \
        const A *a,                                                                                \
        const B *b,                                                                                \
        R *restrict out,                                                                           \
        uint64_t *failed) {                                                                        \
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
            out[i] = (fails) ? (state) : CEL_STATE_FINE;                                           \
        }                                                                                          \
    }

/* Sums are made of unsigned numbers, which wrap around: both terms of a sum that did not fit have
 * the other sign than it has. No branch, and no processor has to know it. */

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
CelKernel cel_kernel_add_int, cel_kernel_sub_int, cel_kernel_mul_int, cel_kernel_div_int,
    cel_kernel_mod_int, cel_kernel_neg_int, cel_kernel_add_double, cel_kernel_sub_double,
    cel_kernel_mul_double, cel_kernel_div_double, cel_kernel_neg_double, cel_kernel_int_of_double,
    cel_kernel_double_of_int, cel_kernel_copy, cel_kernel_abs_int, cel_kernel_sign_int,
    cel_kernel_least_int, cel_kernel_greatest_int, cel_kernel_sqrt_int, cel_kernel_abs_double,
    cel_kernel_sign_double, cel_kernel_least_double, cel_kernel_greatest_double,
    cel_kernel_sqrt_double, cel_kernel_ceil_double, cel_kernel_floor_double,
    cel_kernel_round_double, cel_kernel_trunc_double, cel_kernel_is_nan, cel_kernel_is_inf,
    cel_kernel_is_finite, cel_kernel_eq_int, cel_kernel_ne_int, cel_kernel_lt_int,
    cel_kernel_le_int, cel_kernel_gt_int, cel_kernel_ge_int, cel_kernel_eq_double,
    cel_kernel_ne_double, cel_kernel_lt_double, cel_kernel_le_double, cel_kernel_gt_double,
    cel_kernel_ge_double, cel_kernel_lt_int_double, cel_kernel_le_int_double,
    cel_kernel_gt_int_double, cel_kernel_ge_int_double, cel_kernel_lt_double_int,
    cel_kernel_le_double_int, cel_kernel_gt_double_int, cel_kernel_ge_double_int,
    cel_kernel_eq_bool, cel_kernel_ne_bool, cel_kernel_lt_bool, cel_kernel_le_bool,
    cel_kernel_gt_bool, cel_kernel_ge_bool, cel_kernel_not, cel_kernel_and, cel_kernel_or,
    cel_kernel_choose, cel_kernel_sub_time, cel_kernel_add_time_duration,
    cel_kernel_sub_time_duration, cel_kernel_time_of_int, cel_kernel_int_of_time,
    cel_kernel_duration_hours, cel_kernel_duration_minutes, cel_kernel_duration_seconds,
    cel_kernel_duration_milliseconds, cel_kernel_time_year, cel_kernel_time_month,
    cel_kernel_time_day_of_year, cel_kernel_time_day_of_month, cel_kernel_time_date,
    cel_kernel_time_day_of_week, cel_kernel_time_hours, cel_kernel_time_minutes,
    cel_kernel_time_seconds, cel_kernel_time_milliseconds;
