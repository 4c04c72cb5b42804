#include "kube/micro-time.h"

#include "base/calendar.h"
#include "base/nsec.h"

void micro_time_write(JsonWriter *writer, Str key, int64_t wall_nsec) {
    _cleanup_(buf_done) Buf text = BUF_INIT(64);
    int64_t nanos = wall_nsec % NSEC_PER_SEC;

    calendar_print(wall_nsec / NSEC_PER_SEC, 0, &text);
    if (text.len > 0)
        text.len--; /* the Z */
    buf_printf(&text, ".%06dZ", (int)(nanos < 0 ? 0 : nanos / 1000));
    json_write_key(writer, key);
    json_write_string(writer, buf_str(&text));
}
