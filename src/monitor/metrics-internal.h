#pragma once

/* The files that print parts of /metrics, and Prometheus' text format. Threads: any. */

#include "extender/view.h"
#include "live/gauge-state.h"
#include "live/live.h"
#include "live/measuring.h"

/* Begins a metric: each once, before its samples. */
void exposition_head(Buf *out, const char *name, const char *type, const char *help);

/* A metric of one sample without labels. */
void exposition_count(Buf *out, const char *name, const char *help, uint64_t n);
void exposition_gauge(Buf *out, const char *name, const char *help, double value);

/* A label's value, between its quotes. */
void exposition_value(Buf *out, Str text);

/* The watched cluster: lists and watches, binds, the lease, Events, wake-ups, bypassing pods.
 * @now_nsec is monotonic. */
void live_figures_print(const LiveStatus *live, int64_t now_nsec, Buf *out);

/* Metrics that policies read, MEASURING_SHOWN_MAX at most: by the policy that declares each first,
 * its name there, and the source. Without room in @arena nothing is printed. */
void source_figures_print(
    const View *view, const MeasuringStatus *status, GaugeTime time, Arena *arena, Buf *out);
