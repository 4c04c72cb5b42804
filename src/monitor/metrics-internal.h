#pragma once

/* The files that print parts of /metrics, and Prometheus' text format. Threads: any. */

#include "extender/view.h"
#include "live/gauge-state.h"
#include "live/live.h"
#include "live/measuring.h"

/* Begins a metric. Call it once for each, before its samples. */
void exposition_head(Buf *out, const char *name, const char *type, const char *help);

/* Writes a metric with one sample without labels. */
void exposition_count(Buf *out, const char *name, const char *help, uint64_t n);
void exposition_gauge(Buf *out, const char *name, const char *help, double value);

/* Writes the value of a label, without its quotes. */
void exposition_value(Buf *out, Str text);

/* Writes the metrics of the watched cluster: lists and watches, binds, the Lease, Events, wake-ups,
 * bypasses. @now_nsec is monotonic. */
void live_figures_print(const LiveStatus *live, int64_t now_nsec, Buf *out);

/* Writes the state of metrics that policies read, at most MEASURING_SHOWN_MAX, with three labels:
 * the first policy that declares it, its name there, and the source. Nothing if @arena is full. */
void source_figures_print(
    const View *view, const MeasuringStatus *status, GaugeTime time, Arena *arena, Buf *out);
