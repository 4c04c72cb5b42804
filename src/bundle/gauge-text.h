#pragma once

/* GaugeText: gauges (model/gauge.h) as JSON, and back. */

#include "base/arena.h"
#include "model/gauge.h"
#include "json/read.h"
#include "json/write.h"

/* All of it but placements, which are the policy's affair and not the measurement's. */
void gauge_text_write(JsonWriter *writer, const Gauge *gauge);

/* Errors are the reader's. Strings are of the input or in @arena. */
void gauge_text_read(JsonReader *reader, Arena *arena, Gauge *ret);
