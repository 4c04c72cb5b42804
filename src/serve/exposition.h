#pragma once

/* Exposition: what the files that print parts of /metrics share of Prometheus' text format. */

#include "base/buf.h"

/* A label's value, between its quotes. */
static inline void exposition_value(Buf *out, Str text) {
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if (c == '"' || c == '\\')
            buf_append_char(out, '\\');
        if (c == '\n')
            buf_append(out, STR("\\n"));
        else
            buf_append_char(out, c);
    }
}

/* Begins a metric: each once, before its samples. */
static inline void exposition_head(Buf *out, const char *name, const char *type, const char *help) {
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}
