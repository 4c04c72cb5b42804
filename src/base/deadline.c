#include "base/deadline.h"

#include "base/clock.h"

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
