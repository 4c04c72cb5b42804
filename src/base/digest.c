/* 128-bit digests that are the same in every process. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/digest.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/ascii.h"

Digest digest_of(Str text) {
    XXH128_hash_t hash = XXH3_128bits(text.ptr, text.len);

    return (Digest){.high = hash.high64, .low = hash.low64};
}

Digest digest_chain(Digest before, Str text) {
    Digest own = digest_of(text);
    uint64_t parts[] = {before.high, before.low, own.high, own.low};

    return digest_of(str_of((const char *)parts, sizeof(parts)));
}

uint64_t digest_short(Str text, uint64_t seed) {
    return XXH3_64bits_withSeed(text.ptr, text.len, seed);
}

const char *digest_print(Digest digest, char text[static DIGEST_TEXT_MAX]) {
    (void)snprintf(text, DIGEST_TEXT_MAX, "%016" PRIx64 "%016" PRIx64, digest.high, digest.low);
    return text;
}

/* Returns false if the text is not 16 hexadecimal digits. */
static bool parse_half(Str text, uint64_t *ret) {
    *ret = 0;
    for (size_t i = 0; i < 16; i++) {
        int digit = ascii_hex_value(text.ptr[i]);

        if (digit < 0)
            return false;
        *ret = *ret << 4 | (uint64_t)digit;
    }
    return true;
}

bool digest_parse(Str text, Digest *ret) {
    Digest digest;

    if (text.len != DIGEST_TEXT_MAX - 1 || !parse_half(text, &digest.high) ||
        !parse_half(str_skip(text, 16), &digest.low))
        return false;
    *ret = digest;
    return true;
}
