#pragma once

/* GaugeText: gauges (model/gauge.h) as JSON, and back. */

#include "base/arena.h"
#include "model/gauge.h"
#include "json/read.h"
#include "json/write.h"

/* Everything but placements, which belong to the policy, not to the measurement. */
void gauge_text_write(JsonWriter *writer, const Gauge *gauge);

/* Errors are the reader's. Strings are of the input or in @arena. */
void gauge_text_read(JsonReader *reader, Arena *arena, Gauge *ret);
