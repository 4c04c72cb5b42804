#pragma once

/* Duration: a length of time, in nanoseconds; up to 292 years either way. */

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Reads what Go writes and reads: a sign, then numbers with units, "1h30m", "-1.5s", "100ms",
 * "1us" or "1µs", "0". False, and @ret_ns untouched, when it is something else or does not
 * fit. */
bool cel_duration_parse(Str text, int64_t *ret_ns);

/* As string(duration) gives it, in seconds and exactly: "5400s", "-0.001s". */
void cel_duration_print(int64_t ns, Buf *out);
