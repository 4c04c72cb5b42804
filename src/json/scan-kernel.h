#pragma once

/*
 * ScanOps: the functions of a kernel for scan.c; scan.h documents them. ScanBlock: a kernel's view
 * of 64 bytes.
 */

#include "base/str.h"

typedef struct ScanOps {
    size_t (*container)(Str text);
    size_t (*string)(Str text);
    size_t (*plain)(Str text);
    uint64_t (*stops)(const char *bytes);
} ScanOps;

/* Bit i of each: byte i is one. Brackets of either kind are alike. */
typedef struct ScanBlock {
    uint64_t quotes, backslashes, opens, closes;
} ScanBlock;

extern const ScanOps scan_portable_ops;
#ifdef __x86_64__
extern const ScanOps scan_avx2_ops;
#elif defined(__aarch64__)
extern const ScanOps scan_neon_ops;
#endif

/* Bit i: whether an odd number of bits 0..i is set. */
static inline uint64_t prefix_xor_by_shifts(uint64_t bits) {
    for (unsigned by = 1; by < 64; by *= 2)
        bits ^= bits << by;
    return bits;
}
