#pragma once

/* Exposition: what the files that print parts of /metrics share of Prometheus' text format. */

#include <stdint.h>

#include "base/buf.h"

/* Begins a metric: each once, before its samples. */
void exposition_head(Buf *out, const char *name, const char *type, const char *help);

/* A metric of one sample without labels. */
void exposition_count(Buf *out, const char *name, const char *help, uint64_t n);
void exposition_gauge(Buf *out, const char *name, const char *help, double value);

/* A label's value, between its quotes. */
void exposition_value(Buf *out, Str text);
