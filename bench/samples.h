#pragma once

/*
 * Samples: CPU times of the same thing done again and again; and what else the benchmarks share:
 * how they read a number, and how they give up.
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct Samples {
    double *values; /* nanoseconds; room for all that will come */
    size_t n;
} Samples;

static inline _Noreturn void fail(const char *what, const char *why) {
    (void)fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static inline void *need(void *memory) {
    if (!memory)
        fail("bench", "out of memory");
    return memory;
}

/* The number in the value of an option. */
static inline size_t number_of(const char *text) {
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*text == '\0' || *end != '\0')
        fail(text, "is not a number");
    return number;
}

/* CPU time of the process. */
static inline double cpu_nsec(void) {
    struct timespec now;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline void samples_note(Samples *samples, double start_nsec) {
    samples->values[samples->n++] = cpu_nsec() - start_nsec;
}

static inline int samples_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The best, the median and the 99th percentile, as members of an object that has begun. */
static inline void samples_print(const char *name, Samples *samples) {
    qsort(samples->values, samples->n, sizeof(double), samples_compare);
    (void)printf(", \"%s_ns\": %.0f, \"%s_p50_ns\": %.0f, \"%s_p99_ns\": %.0f", name,
        samples->values[0], name, samples->values[samples->n / 2], name,
        samples->values[(samples->n * 99) / 100]);
}
