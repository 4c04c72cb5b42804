#pragma once

/*
 * GaugeState: the state of one gauge, from its last query and from the view in force. It borrows
 * from both. Shared by pages and metrics. Threads: any.
 */

#include "cluster/loads.h"
#include "extender/view.h"
#include "live/measuring.h"
#include "model/gauge.h"
#include "policy/program.h"

#define GAUGE_RESOURCES_NAME STR("metrics.k8s.io")
#define GAUGE_CUSTOM_NAME STR("custom.metrics.k8s.io")

typedef struct GaugeTime {
    int64_t now_nsec;    /* since 1970 */
    int64_t uptime_nsec; /* monotonic */
} GaugeTime;

typedef struct GaugeState {
    const Gauge *gauge;
    const PollStatus *poll; /* NULL: not polled, or not yet */
    const char *state;      /* a stable word: "ok" */
    LoadsFigures figures;   /* of values in force now */
    int64_t at_nsec;        /* since 1970: last good answer, or oldest annotation; 0: none */
    int64_t age_nsec;       /* time since at_nsec */
} GaugeState;

GaugeState gauge_state(
    const View *view, const MeasuringStatus *status, size_t number, GaugeTime time);

/* The policy's word for a source: "prometheus", "resourceMetrics", "annotation",
 * "customMetrics". */
const char *gauge_kind_name(GaugeSource kind);

/* Whether a policy reads a metric of @source. */
bool gauge_source_is_used(const Program *program, GaugeSource source);

/* "default", "metrics.k8s.io", "custom.metrics.k8s.io"; empty for annotations. */
Str gauge_source_name(const Gauge *gauge);

/* The name of the first policy that reads gauge @number: another policy may use its metric's name
 * for another gauge. */
Str gauge_policy(const Program *program, size_t number);
