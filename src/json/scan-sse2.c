/* The kernel for every x86-64: SSE2, and neither popcnt nor pclmul. */

#include "json/scan-kernel.h"

#ifdef __x86_64__

#include <emmintrin.h>
#include <stdint.h>

#include "json/scan-bits.h"

#define KERNEL
#define PIECE_SIZE 16u

typedef struct Quarters {
    __m128i a, b, c, d;
} Quarters;

static inline Quarters quarters_read(const char *bytes) {
    const __m128i_u *at = (const __m128i_u *)bytes;

    return (Quarters){
        .a = _mm_loadu_si128(at),
        .b = _mm_loadu_si128(at + 1),
        .c = _mm_loadu_si128(at + 2),
        .d = _mm_loadu_si128(at + 3),
    };
}

static inline uint64_t quarters_mask(Quarters q) {
    uint32_t low = (uint32_t)_mm_movemask_epi8(q.a) | (uint32_t)_mm_movemask_epi8(q.b) << 16;
    uint32_t high = (uint32_t)_mm_movemask_epi8(q.c) | (uint32_t)_mm_movemask_epi8(q.d) << 16;

    return low | (uint64_t)high << 32;
}

static inline uint64_t quarters_equal(Quarters q, char c) {
    __m128i wanted = _mm_set1_epi8(c);

    return quarters_mask((Quarters){
        .a = _mm_cmpeq_epi8(q.a, wanted),
        .b = _mm_cmpeq_epi8(q.b, wanted),
        .c = _mm_cmpeq_epi8(q.c, wanted),
        .d = _mm_cmpeq_epi8(q.d, wanted),
    });
}

static inline Quarters quarters_or(Quarters q, char c) {
    __m128i bits = _mm_set1_epi8(c);

    return (Quarters){
        .a = _mm_or_si128(q.a, bits),
        .b = _mm_or_si128(q.b, bits),
        .c = _mm_or_si128(q.c, bits),
        .d = _mm_or_si128(q.d, bits),
    };
}

static inline ScanBlock block_read(const char *bytes) {
    Quarters q = quarters_read(bytes);
    Quarters set = quarters_or(q, 0x20); /* [ and { differ in this bit only; ] and } too */

    return (ScanBlock){
        .quotes = quarters_equal(q, '"'),
        .backslashes = quarters_equal(q, '\\'),
        .opens = quarters_equal(set, '{'),
        .closes = quarters_equal(set, '}'),
    };
}

/* As signed numbers, control bytes and bytes over 0x7f are all below a space. */
static inline __m128i quarter_stops(__m128i bytes) {
    __m128i below = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));
    __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));

    return _mm_or_si128(below, _mm_or_si128(quote, backslash));
}

static inline uint64_t piece_stops(const char *bytes) {
    return (uint32_t)_mm_movemask_epi8(quarter_stops(_mm_loadu_si128((const __m128i_u *)bytes)));
}

static inline uint64_t block_stops(const char *bytes) {
    Quarters q = quarters_read(bytes);

    return quarters_mask((Quarters){
        .a = quarter_stops(q.a),
        .b = quarter_stops(q.b),
        .c = quarter_stops(q.c),
        .d = quarter_stops(q.d),
    });
}

#include "json/scan-walk.h"

const ScanOps scan_sse2_ops = {
    .container = walk_container,
    .string = walk_string,
    .plain = walk_plain,
    .stops = walk_stops,
};

#endif
