/* The kernel for arm64, where every processor has NEON. */

#include "json/scan-kernel.h"

#ifdef __aarch64__

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define KERNEL
#define PIECE_SIZE 16u

/*
 * 64 bytes are read so that byte i is in register i % 4, at index i / 4. Each test sets a byte to
 * all ones or zero. Shift-and-insert instructions combine the first bits of the four registers into
 * four adjacent bits.
 */
static inline uint64_t quad_mask(uint8x16_t m0, uint8x16_t m1, uint8x16_t m2, uint8x16_t m3) {
    uint8x16_t pairs = vsriq_n_u8(vsriq_n_u8(m3, m2, 1), vsriq_n_u8(m1, m0, 1), 2);
    uint16x8_t both = vreinterpretq_u16_u8(vsriq_n_u8(pairs, pairs, 4));

    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(both, 4)), 0);
}

static inline uint64_t quad_equal(uint8x16x4_t quad, char c) {
    uint8x16_t wanted = vdupq_n_u8((uint8_t)c);

    return quad_mask(vceqq_u8(quad.val[0], wanted), vceqq_u8(quad.val[1], wanted),
        vceqq_u8(quad.val[2], wanted), vceqq_u8(quad.val[3], wanted));
}

static inline ScanBlock block_read(const char *bytes) {
    uint8x16x4_t quad = vld4q_u8((const uint8_t *)bytes), set = quad;

    for (unsigned i = 0; i < 4; i++) /* turns only [ into { and ] into } */
        set.val[i] = vorrq_u8(quad.val[i], vdupq_n_u8(0x20));
    return (ScanBlock){
        .quotes = quad_equal(quad, '"'),
        .backslashes = quad_equal(quad, '\\'),
        .opens = quad_equal(set, '{'),
        .closes = quad_equal(set, '}'),
    };
}

/* As signed numbers, control bytes and bytes over 0x7f are less than a space. */
static inline uint8x16_t piece_marks(uint8x16_t bytes) {
    uint8x16_t below = vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(' '));
    uint8x16_t quote = vceqq_u8(bytes, vdupq_n_u8('"'));

    return vorrq_u8(vorrq_u8(below, quote), vceqq_u8(bytes, vdupq_n_u8('\\')));
}

/* Keeps one bit of each byte, in both halves; adding neighbours three times combines eight. */
static inline uint64_t piece_stops(const char *bytes) {
    uint8x16_t marks = piece_marks(vld1q_u8((const uint8_t *)bytes));
    uint8x16_t bits =
        vandq_u8(marks, vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201))));

    for (unsigned i = 0; i < 3; i++)
        bits = vpaddq_u8(bits, bits);
    return vgetq_lane_u16(vreinterpretq_u16_u8(bits), 0);
}

static inline uint64_t block_stops(const char *bytes) {
    uint8x16x4_t quad = vld4q_u8((const uint8_t *)bytes);

    return quad_mask(piece_marks(quad.val[0]), piece_marks(quad.val[1]), piece_marks(quad.val[2]),
        piece_marks(quad.val[3]));
}

/* Does not use a carry-less multiplication: some processors lack it, and six shifts are as fast. */
static inline uint64_t bits_prefix_xor(uint64_t bits) {
    return prefix_xor_by_shifts(bits);
}

static inline uint64_t bits_count(uint64_t bits) {
    return vaddv_u8(vcnt_u8(vreinterpret_u8_u64(vdup_n_u64(bits))));
}

#include "json/scan-walk.h"

const ScanOps scan_neon_ops = {
    .container = walk_container,
    .string = walk_string,
    .plain = walk_plain,
    .stops = walk_stops,
};

#endif
