/*
 * Any text as a timestamp and as a duration: no crash, and a valid one is written as text that
 * reads back the same. Adding the duration to the timestamp and subtracting it restores it, and so
 * does the difference.
 */

#include "base/buf.h"
#include "base/calendar.h"
#include "base/fuzz.h"
#include "cel/time.h"

static void check_timestamp(int64_t sec, uint32_t nanos) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    int64_t again;
    uint32_t again_nanos;

    require(cel_timestamp_is_valid(sec) && nanos < 1000000000);
    calendar_print(sec, nanos, &out);
    require(calendar_parse(buf_str(&out), &again, &again_nanos));
    require(again == sec && again_nanos == nanos);
}

static void check_duration(int64_t ns) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    int64_t again;

    cel_duration_print(ns, &out);
    require(cel_duration_parse(buf_str(&out), &again));
    require(again == ns);
}

static void check_sum(int64_t sec, uint32_t nanos, int64_t ns) {
    int64_t moved = sec, between;
    uint32_t moved_nanos = nanos;

    if (!cel_timestamp_add(&moved, &moved_nanos, ns)) {
        require(moved == sec && moved_nanos == nanos);
        return;
    }
    check_timestamp(moved, moved_nanos);
    require(cel_timestamp_difference(moved, moved_nanos, sec, nanos, &between) && between == ns);
    require(cel_timestamp_subtract(&moved, &moved_nanos, ns));
    require(moved == sec && moved_nanos == nanos);
}

/* "TIMESTAMP DURATION", or one of them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str rest = str_of((const char *)data, size), part;
    int64_t sec = 0, ns = 0;
    uint32_t nanos = 0;

    while (str_split(&rest, ' ', &part)) {
        if (calendar_parse(part, &sec, &nanos))
            check_timestamp(sec, nanos);
        if (cel_duration_parse(part, &ns))
            check_duration(ns);
        check_sum(sec, nanos, ns);
    }
    return 0;
}
