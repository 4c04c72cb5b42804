/* Timestamps of API objects. */

#include "model/time.h"

bool time_parse(Str text, int64_t *ret_sec) {
    uint32_t nanos;

    return calendar_parse(text, ret_sec, &nanos);
}

void time_decode(JsonReader *reader, Arena *arena, void *target) {
    Str text = STR_NULL;

    if (json_null(reader))
        return;
    if (json_peek(reader) == JSON_STRING)
        json_string(reader, arena, &text);
    else
        json_skip(reader, NULL);
    if (!json_error(reader) && !time_parse(text, target))
        *(int64_t *)target = 0;
}

void time_print(int64_t sec, Buf *out) {
    calendar_print(sec, 0, out);
}
