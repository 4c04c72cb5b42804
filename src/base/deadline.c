/* Waiting for a condition by the monotonic clock. */

#include "base/deadline.h"

#include "base/clock.h"

void deadline_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

/* Not clock_monotonic_nsec(): where a test has a clock of its own, threads still wait by the
 * system's. */
struct timespec deadline_in(int64_t nsec) {
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    nsec += at.tv_nsec;
    at.tv_sec += nsec / NSEC_PER_SEC;
    at.tv_nsec = nsec % NSEC_PER_SEC;
    return at;
}
