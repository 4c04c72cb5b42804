/* The clocks of the system. */

#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id) {
    struct timespec now = {0};

    (void)clock_gettime(id, &now); /* cannot fail for the clocks below */
    return (int64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

int64_t clock_monotonic_nsec(void) {
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_nsec(void) {
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_thread_cpu_nsec(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
