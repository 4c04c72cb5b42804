#pragma once

/*
 * WIDE_LOOPS: marks a function whose loops over arrays are faster with wide vector registers.
 *
 * On x86-64 it is compiled twice, with and without AVX2, and the loader picks one for the
 * processor. arm64 always has NEON. No FMA (meson.build: -ffp-contract=off): it would round once
 * where two operations round twice. Does not work with sanitizers.
 */

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) &&                        \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define WIDE_LOOPS
#endif

/* UNROLLED: before a loop over nodes that wide registers do not help, because it reads or writes
 * scattered places: the cost of the loop's counter falls to an eighth. */
#define UNROLLED _Pragma("GCC unroll 8")
