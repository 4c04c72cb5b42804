#pragma once

/*
 * Rng: random numbers that repeat (SplitMix64; nothing here is a secret).
 *
 * The same seed gives the same numbers on every machine, so that a demo or a simulation can be run
 * again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Rng {
    uint64_t state; /* the seed, at first */
} Rng;

static inline uint64_t rng_next(Rng *rng) {
    uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 to @n - 1; @n is not 0. (The modulo favours small numbers by less than 1 in
 * 2^40 for the sizes used here.) */
static inline size_t rng_pick(Rng *rng, size_t n) {
    return (size_t)(rng_next(rng) % n);
}

/* @from to @to, both included. */
static inline size_t rng_between(Rng *rng, size_t from, size_t to) {
    return from + rng_pick(rng, to - from + 1);
}

static inline bool rng_percent(Rng *rng, size_t percent) {
    return rng_pick(rng, 100) < percent;
}
