/*
 * The kernel for all other machines: handles eight bytes at a time in a uint64_t.
 *
 * A test on eight bytes sets the high bit of each matching byte; word_bits() combines them into
 * eight bits.
 */

#include "json/scan-kernel.h"

#define KERNEL
#define PIECE_SIZE 8u

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (uint64_t)(unsigned char)(c))
#define HIGH_BITS EACH_BYTE(0x80)
#define LOW_BITS EACH_BYTE(0x7f)

/* The first byte of the text becomes the lowest byte of the number, on any machine. */
static inline uint64_t word_read(const char *bytes) {
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Moves the high bits to the lowest byte: 7 i + (56 - 7 i) is 56 for each byte i, and all other
 * sums differ from each other. */
static inline uint64_t word_bits(uint64_t high_bits) {
    return (high_bits >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* The usual test for zero bytes, in its exact form: no carry crosses bytes. */
static inline uint64_t word_equal(uint64_t word, char c) {
    uint64_t zero_where_equal = word ^ EACH_BYTE(c);

    return ~(((zero_where_equal & LOW_BITS) + LOW_BITS) | zero_where_equal) & HIGH_BITS;
}

static inline ScanBlock block_read(const char *bytes) {
    ScanBlock block = {0};

    for (unsigned at = 0; at < 64; at += 8) {
        uint64_t word = word_read(bytes + at);
        uint64_t set = word | EACH_BYTE(0x20); /* turns only [ into { and ] into } */

        block.quotes |= word_bits(word_equal(word, '"')) << at;
        block.backslashes |= word_bits(word_equal(word, '\\')) << at;
        block.opens |= word_bits(word_equal(set, '{')) << at;
        block.closes |= word_bits(word_equal(set, '}')) << at;
    }
    return block;
}

static inline uint64_t word_stops(uint64_t word) {
    uint64_t from_space = (word & LOW_BITS) + EACH_BYTE(0x80 - ' '); /* high bit: 0x20 and up */

    return ((~from_space | word) & HIGH_BITS) | word_equal(word, '"') | word_equal(word, '\\');
}

static inline uint64_t piece_stops(const char *bytes) {
    return word_bits(word_stops(word_read(bytes)));
}

static inline uint64_t block_stops(const char *bytes) {
    uint64_t stops = 0;

    for (unsigned at = 0; at < 64; at += 8)
        stops |= piece_stops(bytes + at) << at;
    return stops;
}

static inline uint64_t bits_prefix_xor(uint64_t bits) {
    return prefix_xor_by_shifts(bits);
}

/* Adds up groups of two, four and eight bits; the multiplication adds up the bytes. On processors
 * without an instruction for this, __builtin_popcountll() would call a function. */
static inline uint64_t bits_count(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return bits * UINT64_C(0x0101010101010101) >> 56;
}

#include "json/scan-walk.h"

const ScanOps scan_portable_ops = {
    .container = walk_container,
    .string = walk_string,
    .plain = walk_plain,
    .stops = walk_stops,
};
