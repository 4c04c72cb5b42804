/* JSON data as CEL values. */

#include "input/values.h"

#include "base/vec.h"
#include "cel/run.h"

/* Turns an error of building a list or map into the reader's. */
static CelValue checked(JsonReader *reader, CelValue v, const char *what) {
    if (v.kind != CEL_ERROR)
        return v;
    json_fail(reader, v.error->is_limit ? JSON_E_MEMORY : JSON_E_TYPE, what);
    return cel_absent();
}

static CelValue decode_list(JsonReader *reader, Arena *arena) {
    VEC(CelValue) items = {0};
    CelRun run = CEL_RUN(arena);

    run.fuel = INT64_MAX; /* bounded by the text already */
    json_array(reader);
    while (json_element(reader)) {
        CelValue item = value_decode(reader, arena);

        if (!VEC_ADD(&items, arena, item))
            json_fail(reader, JSON_E_MEMORY, "the data is too large");
    }
    return checked(reader, cel_list_end(&run, items.items, items.n), "a list nested too deep");
}

static CelValue decode_map(JsonReader *reader, Arena *arena) {
    VEC(CelEntry) entries = {0};
    CelRun run = CEL_RUN(arena);
    Str key;

    run.fuel = INT64_MAX; /* bounded by the text already */
    json_object(reader);
    while (json_key(reader, &key)) {
        bool is_escaped = reader->escaped;
        Str name = is_escaped ? json_unescape(key, arena) : key;
        CelValue value = value_decode(reader, arena);

        if ((is_escaped && !name.ptr) ||
            !VEC_ADD(&entries, arena, (CelEntry){.key = cel_string(name), .value = value}))
            json_fail(reader, JSON_E_MEMORY, "the data is too large");
    }
    if (json_error(reader) != JSON_OK)
        return cel_absent();
    return checked(reader, cel_map_end(&run, entries.items, entries.n), "a duplicate key");
}

/* Recursion no deeper than the reader goes: JSON_DEPTH_MAX. */
CelValue value_decode(JsonReader *reader, Arena *arena) {
    Str text = STR_NULL;
    bool boolean = false;
    int64_t whole;
    double real = 0;

    switch (json_peek(reader)) {
    case JSON_OBJECT_BEGIN:
        return decode_map(reader, arena);
    case JSON_ARRAY_BEGIN:
        return decode_list(reader, arena);
    case JSON_STRING:
        json_string(reader, arena, &text);
        return cel_string(text);
    case JSON_NUMBER:
        json_double(reader, &real);
        if (json_error(reader) != JSON_OK)
            return cel_absent();
        return str_to_int64(reader->text, &whole) ? cel_int(whole) : cel_double(real);
    case JSON_TRUE:
    case JSON_FALSE:
        json_bool(reader, &boolean);
        return cel_bool(boolean);
    case JSON_NULL:
        (void)json_null(reader);
        return cel_null();
    default:
        return cel_absent();
    }
}
