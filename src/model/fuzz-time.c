/*
 * Any bytes: no crash. A time that is accepted equals the one that libc computes from
 * the same digits, and reads back equal after it was printed.
 */

#include <time.h>

#include "base/fuzz.h"
#include "model/time.h"

static int number(Str text, size_t from, size_t len) {
    int64_t value = -1;

    (void)str_to_int64(str_take(str_skip(text, from), len), &value);
    require(value >= 0);
    return (int)value;
}

/* Only for valid texts: the positions of the digits are known then. */
static int64_t by_libc(Str text) {
    struct tm parts = {
        .tm_year = number(text, 0, 4) - 1900,
        .tm_mon = number(text, 5, 2) - 1,
        .tm_mday = number(text, 8, 2),
        .tm_hour = number(text, 11, 2),
        .tm_min = number(text, 14, 2),
        .tm_sec = number(text, 17, 2),
    };
    int64_t sec = (int64_t)timegm(&parts);
    int64_t offset;

    if (text.ptr[text.len - 1] == 'Z')
        return sec;
    offset = number(text, text.len - 5, 2) * 3600 + number(text, text.len - 2, 2) * 60;
    return text.ptr[text.len - 6] == '-' ? sec + offset : sec - offset;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(buf_done) Buf out = BUF_INIT(64);
    Str text = str_of((const char *)data, size);
    int64_t sec = 42, again = 42;

    if (!time_parse(text, &sec)) {
        require(sec == 42);
        return 0;
    }
    require(sec >= CALENDAR_FIRST && sec <= CALENDAR_LAST);
    require(sec == by_libc(text));
    time_print(sec, &out);
    require(out.error || (out.len == 20 && time_parse(buf_str(&out), &again) && again == sec));
    return 0;
}
