#pragma once

/*
 * SourceFigures: how measuring goes, as parts of /metrics.
 *
 * A series a gauge: by the policy that asked for it first, its name there, and the source. At most
 * MEASURING_SHOWN_MAX gauges are shown. Threads: any.
 */

#include "base/arena.h"
#include "base/buf.h"
#include "extender/view.h"
#include "live/gauge-state.h"
#include "live/measuring.h"

/* @arena is for what is needed on the way; without room in it nothing is printed. */
void source_figures_print(
    const View *view, const MeasuringStatus *status, GaugeTime time, Arena *arena, Buf *out);
