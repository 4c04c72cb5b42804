#pragma once

/*
 * ProcessFigures: what the process takes of the machine, as parts of /metrics, under the names that
 * Prometheus' own clients have for it. Threads: any.
 */

#include <stdint.h>

#include "base/buf.h"

/* @started_at_sec since 1970. */
void process_figures_print(int64_t started_at_sec, Buf *out);
