#pragma once

/*
 * Dice: random numbers that repeat.
 *
 * The same seed gives the same numbers on every machine, so that what somebody saw in a demo or a
 * simulation can be seen again. (SplitMix64; nothing here is a secret.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Dice {
    uint64_t state; /* the seed, at first */
} Dice;

static inline uint64_t dice_roll(Dice *dice) {
    uint64_t z = dice->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 to @n - 1; @n is not 0. (The modulo favours small numbers by less than 1 in
 * 2^40 for the sizes used here.) */
static inline size_t dice_pick(Dice *dice, size_t n) {
    return (size_t)(dice_roll(dice) % n);
}

/* @from to @to, both included. */
static inline size_t dice_between(Dice *dice, size_t from, size_t to) {
    return from + dice_pick(dice, to - from + 1);
}

static inline bool dice_percent(Dice *dice, size_t percent) {
    return dice_pick(dice, 100) < percent;
}
