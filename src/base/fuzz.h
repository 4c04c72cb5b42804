#pragma once

/*
 * Fuzz: what every fuzzer has. libFuzzer calls LLVMFuzzerTestOneInput() with inputs of its own,
 * fuzz-main.c with saved ones.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of every input. Ends the process when it does not hold, so that the fuzzer notices. */
#define require(condition) ((condition) ? (void)0 : require_failed(#condition, __FILE__, __LINE__))

static inline _Noreturn void require_failed(const char *condition, const char *file, int line) {
    (void)fprintf(stderr, "%s:%d: %s does not hold\n", file, line, condition);
    abort();
}
