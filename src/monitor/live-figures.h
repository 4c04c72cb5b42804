#pragma once

/*
 * LiveFigures: how a cluster that is watched fares, as parts of /metrics: lists and watches, binds,
 * the lease, Events, wake-ups, pods that went past us. Threads: any.
 */

#include <stdint.h>

#include "base/buf.h"
#include "live/live.h"

/* @now_nsec is monotonic. */
void live_figures_print(const LiveStatus *live, int64_t now_nsec, Buf *out);
