#pragma once

/*
 * Bytes: memcpy and memcmp for names.
 *
 * Most strings of a request and its reply are 16 to 128 bytes long. A call of memcpy costs
 * about as much as copying them; here overlapping blocks of fixed size, which the compiler
 * turns into a few moves, cover each length. Nothing beyond the length is read or written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void bytes_copy(char *to, const char *from, size_t len) {
    if (len > 128 || len < 16) {
        memcpy(to, from, len);
    } else if (len > 64) {
        memcpy(to, from, 64);
        memcpy(to + len - 64, from + len - 64, 64);
    } else if (len > 32) {
        memcpy(to, from, 32);
        memcpy(to + len - 32, from + len - 32, 32);
    } else {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    }
}

/* Loops over thousands of names copy whole blocks of this size: one block costs less than a branch
 * on the length. The next piece overwrites the rest of the block. */
#define BYTES_BLOCK ((size_t)64)

/* Vectors, so that loops marked WIDE_LOOPS (wide-loops.h) use wide registers. */
typedef uint64_t BytesWide __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) void bytes_copy_wide(char *to, const char *from) {
    BytesWide block;

    memcpy(&block, from, sizeof(block));
    memcpy(to, &block, sizeof(block));
}

static inline __attribute__((always_inline)) void bytes_copy_block(char *to, const char *from) {
    bytes_copy_wide(to, from);
    bytes_copy_wide(to + sizeof(BytesWide), from + sizeof(BytesWide));
}

/* 16 bytes at @a XOR 16 bytes at @b: all zero if they are equal. */
typedef uint64_t BytesLanes __attribute__((vector_size(16)));

static inline BytesLanes bytes_difference(const char *a, const char *b) {
    BytesLanes x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x ^ y;
}

/* The same for 8 bytes and for 4 bytes. */
static inline uint64_t bytes_difference_8(const char *a, const char *b) {
    uint64_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x ^ y;
}

static inline uint32_t bytes_difference_4(const char *a, const char *b) {
    uint32_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x ^ y;
}

static inline bool bytes_equal(const char *a, const char *b, size_t len) {
    BytesLanes difference;

    if (len < 4 || len > 64)
        return memcmp(a, b, len) == 0;
    if (len < 8)
        return (bytes_difference_4(a, b) | bytes_difference_4(a + len - 4, b + len - 4)) == 0;
    if (len < 16)
        return (bytes_difference_8(a, b) | bytes_difference_8(a + len - 8, b + len - 8)) == 0;
    difference = bytes_difference(a, b) | bytes_difference(a + len - 16, b + len - 16);
    if (len > 32)
        difference |=
            bytes_difference(a + 16, b + 16) | bytes_difference(a + len - 32, b + len - 32);
    return (difference[0] | difference[1]) == 0;
}
