#pragma once

/*
 * WIDE_LOOPS: a function whose loops over arrays are worth the widest registers there are.
 *
 * On x86-64 it is made twice, for processors with AVX2 and without; the loader takes the one that
 * fits. arm64 has NEON always. No FMA (meson.build: -ffp-contract=off): it would round once where
 * two operations round twice. Sanitizers do not go together with it.
 */

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) &&                        \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDE_LOOPS __attribute__((target_clones("avx2", "default")))
#else
#define WIDE_LOOPS
#endif

/* UNROLLED: before a loop over nodes that wide registers do not help, because it looks up or
 * scatters: counting and comparing then cost an eighth. */
#define UNROLLED _Pragma("GCC unroll 8")
