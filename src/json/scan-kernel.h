#pragma once

/* ScanOps: the functions that a kernel offers to scan.c, as documented in scan.h. ScanBlock: what a
 * kernel finds in 64 bytes. */

#include "base/str.h"

typedef struct ScanOps {
    size_t (*container)(Str text);
    size_t (*string)(Str text);
    size_t (*plain)(Str text);
    uint64_t (*stops)(const char *bytes);
} ScanOps;

/* Bit i tells whether byte i is one of these. [ and { are not distinguished, nor ] and }. */
typedef struct ScanBlock {
    uint64_t quotes, backslashes, opens, closes;
} ScanBlock;

extern const ScanOps scan_portable_ops;
#ifdef __x86_64__
extern const ScanOps scan_avx2_ops;
#elif defined(__aarch64__)
extern const ScanOps scan_neon_ops;
#endif

/* Sets bit i if an odd number of bits 0..i is set. */
static inline uint64_t prefix_xor_by_shifts(uint64_t bits) {
    for (unsigned by = 1; by < 64; by *= 2)
        bits ^= bits << by;
    return bits;
}
