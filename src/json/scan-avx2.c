/* The kernel for processors with AVX2. Called only after scan.c has checked the processor. */

#include "json/scan-kernel.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdint.h>

#define KERNEL __attribute__((target("avx2,bmi,bmi2,pclmul,popcnt")))
#define PIECE_SIZE 32u

static inline KERNEL uint64_t pair_mask(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

static inline KERNEL uint64_t pair_equal(__m256i low, __m256i high, char c) {
    __m256i wanted = _mm256_set1_epi8(c);

    return pair_mask(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
}

static inline KERNEL __m256i half_read(const char *bytes) {
    return _mm256_loadu_si256((const __m256i_u *)bytes);
}

static inline KERNEL ScanBlock block_read(const char *bytes) {
    __m256i low = half_read(bytes), high = half_read(bytes + 32);
    __m256i case_bit = _mm256_set1_epi8(0x20); /* [ and { differ only in this bit; ] and } too */
    __m256i low_set = _mm256_or_si256(low, case_bit), high_set = _mm256_or_si256(high, case_bit);

    return (ScanBlock){
        .quotes = pair_equal(low, high, '"'),
        .backslashes = pair_equal(low, high, '\\'),
        .opens = pair_equal(low_set, high_set, '{'),
        .closes = pair_equal(low_set, high_set, '}'),
    };
}

/* As signed numbers, control bytes and bytes over 0x7f are less than a space. */
static inline KERNEL __m256i half_stops(__m256i bytes) {
    __m256i below = _mm256_cmpgt_epi8(_mm256_set1_epi8(' '), bytes);
    __m256i quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"'));
    __m256i backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\'));

    return _mm256_or_si256(below, _mm256_or_si256(quote, backslash));
}

static inline KERNEL uint64_t piece_stops(const char *bytes) {
    return (uint32_t)_mm256_movemask_epi8(half_stops(half_read(bytes)));
}

static inline KERNEL uint64_t block_stops(const char *bytes) {
    return pair_mask(half_stops(half_read(bytes)), half_stops(half_read(bytes + 32)));
}

/* A carry-less multiplication by all ones is the XOR of all shifts. */
static inline KERNEL uint64_t bits_prefix_xor(uint64_t bits) {
    __m128i product =
        _mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8((char)0xff), 0);

    return (uint64_t)_mm_cvtsi128_si64(product);
}

static inline KERNEL uint64_t bits_count(uint64_t bits) {
    return (uint64_t)_mm_popcnt_u64(bits);
}

#include "json/scan-walk.h"

const ScanOps scan_avx2_ops = {
    .container = walk_container,
    .string = walk_string,
    .plain = walk_plain,
    .stops = walk_stops,
};

#endif
