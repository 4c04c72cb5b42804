#pragma once

/* Exposition: what the files that print parts of /metrics share of Prometheus' text format. */

#include "base/buf.h"

/* Begins a metric: each once, before its samples. */
static inline void exposition_head(Buf *out, const char *name, const char *type, const char *help) {
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}
