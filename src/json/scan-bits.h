#pragma once

/* Counting in 64 bits without the instructions that do it; for the kernels that
 * cannot rely on them. (__builtin_popcountll() would call a function.) */

#include <stdint.h>

static inline uint64_t bits_prefix_xor(uint64_t bits) {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    bits ^= bits << 32;
    return bits;
}

/* Sums of two bits, of four, of eight; the multiplication adds up the bytes. */
static inline uint64_t bits_count(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return bits * UINT64_C(0x0101010101010101) >> 56;
}
