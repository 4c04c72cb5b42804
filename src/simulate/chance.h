#pragma once

/*
 * Chance: numbers that look random and repeat.
 *
 * Where nodes are equally good kube-scheduler throws dice; a simulation must throw the same ones
 * each time, or nobody could tell two policies from two runs. (SplitMix64.)
 */

#include <stddef.h>
#include <stdint.h>

typedef struct Chance {
    uint64_t state; /* the seed, at first */
} Chance;

static inline uint64_t chance_next(Chance *chance) {
    uint64_t z = chance->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Below @n, which is not 0. */
static inline size_t chance_pick(Chance *chance, size_t n) {
    return (size_t)(chance_next(chance) % n);
}
