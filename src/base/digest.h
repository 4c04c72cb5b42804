#pragma once

/*
 * Digest: a short name for bytes.
 *
 * The same bytes have the same digest in every process and version, so that users can store and
 * compare it. It protects against accidents only: an attacker can make two texts with one digest.
 */

#include "base/str.h"

typedef struct Digest {
    uint64_t high, low;
} Digest;

#define DIGEST_NONE ((Digest){0, 0}) /* no digest; the start of a chain */

static inline bool digest_equal(Digest a, Digest b) {
    return a.high == b.high && a.low == b.low;
}

/* The digest of @text alone: XXH3, 128 bits. */
Digest digest_of(Str text);

/* The digest of the texts in @before followed by @text. "ab", "c" and "a", "bc" differ. */
Digest digest_chain(Digest before, Str text);

/* XXH3, 64 bits, with @seed. Expressions show it to users (hash()): never another algorithm. */
uint64_t digest_short(Str text, uint64_t seed);

#define DIGEST_TEXT_MAX 33u

/* 32 hexadecimal digits and a NUL. Returns @text. */
const char *digest_print(Digest digest, char text[static DIGEST_TEXT_MAX]);

/* Reads it back. False, and @ret untouched, unless @text is 32 hexadecimal digits. */
bool digest_parse(Str text, Digest *ret);
