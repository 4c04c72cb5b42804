/* The keyed hash of names. */

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/hash.h"

#include <sys/random.h>
#include <time.h>

static uint64_t hash_key;

/* Runs before main(), hence before any thread: no lock is needed to read the key. */
__attribute__((constructor)) static void draw_key(void) {
    if (getrandom(&hash_key, sizeof(hash_key), GRND_NONBLOCK) != sizeof(hash_key)) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        hash_key = (uint64_t)now.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)&now;
    }
}

uint64_t hash_str(Str str) {
    return XXH3_64bits_withSeed(str.ptr, str.len, hash_key);
}

void hash_set_key(uint64_t key) {
    hash_key = key;
}
