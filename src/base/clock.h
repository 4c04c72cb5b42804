#pragma once

/*
 * Clock: the current time. A test with a simulated clock links that instead of clock.c.
 *
 * Decisions never call this; they get `now` as an argument.
 */

#include <stdint.h>

#include "base/nsec.h"

int64_t clock_monotonic_nsec(void);  /* for durations and deadlines; unaffected by clock changes */
int64_t clock_wall_nsec(void);       /* since 1970 UTC; for stamps and certificates only */
int64_t clock_thread_cpu_nsec(void); /* processor time that the calling thread has used */
