#pragma once

/*
 * Clock: the only place that asks what time it is.
 *
 * Decisions never call this; they get `now` as an argument.
 */

#include <stdint.h>

#define NSEC_PER_SEC INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)

int64_t clock_monotonic_nsec(void);  /* for durations and deadlines; unaffected by clock changes */
int64_t clock_wall_nsec(void);       /* since 1970 UTC; for stamps and certificates only */
int64_t clock_thread_cpu_nsec(void); /* processor time that the calling thread has had */
