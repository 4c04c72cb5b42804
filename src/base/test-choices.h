#pragma once

/*
 * Choices: the source of decisions in generated test input: random numbers, or the bytes of a
 * fuzzer, so that libFuzzer can search for inputs. The same choices give the same input.
 */

#include <stdbool.h>

#include "base/rng.h"

/* Uses @rng; if that is NULL, @bytes; after the last byte every choice is 0. */
typedef struct Choices {
    Rng *rng;
    const uint8_t *bytes;
    size_t n;
} Choices;

/* 0 to @n - 1; at most 256 ways. */
static inline unsigned choose(Choices *choices, unsigned n) {
    if (choices->rng)
        return (unsigned)rng_pick(choices->rng, n);
    if (choices->n == 0)
        return 0;
    choices->n--;
    return *choices->bytes++ % n;
}

/* True once in @n calls on average; never after the last byte. */
static inline bool choose_rarely(Choices *choices, unsigned n) {
    return choose(choices, n) == n - 1;
}

static inline const char *choose_word(Choices *choices, const char *const *words) {
    unsigned n = 0;

    while (words[n])
        n++;
    return words[choose(choices, n)];
}

#define CHOOSE(choices, ...) choose_word((choices), (const char *const[]){__VA_ARGS__, NULL})
