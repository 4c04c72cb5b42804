#include "monitor/exposition.h"

#include <inttypes.h>

void exposition_head(Buf *out, const char *name, const char *type, const char *help) {
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void exposition_count(Buf *out, const char *name, const char *help, uint64_t n) {
    exposition_head(out, name, "counter", help);
    buf_printf(out, "%s %" PRIu64 "\n", name, n);
}

void exposition_gauge(Buf *out, const char *name, const char *help, double value) {
    exposition_head(out, name, "gauge", help);
    buf_printf(out, "%s %.17g\n", name, value);
}

void exposition_value(Buf *out, Str text) {
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
