/* Converts CEL values from and to the typed JSON of the conformance tests. */

#include "commands/eval-internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/double.h"
#include "base/nsec.h"
#include "cel/number.h"
#include "cel/time.h"
#include "cel/type.h"
#include "json/fields.h"

#define VALUE_BYTES_MAX ((size_t)16 * 1024 * 1024)

/* --- reading ---------------------------------------------------------------------- */

/* The members of a typed value, before it is known which of them its type needs. */
typedef struct Typed {
    Str type, text, base64, seconds;
    int64_t nanos;
    CelValue parts; /* "value" when it was a bool, or an array: as a list or a map */
} Typed;

static CelValue decode_items(JsonReader *reader, Arena *arena) {
    VEC(CelValue) items = {0};
    CelRun run = CEL_RUN(arena);

    run.fuel = INT64_MAX;
    json_array(reader);
    while (json_element(reader)) {
        CelValue item = eval_value_decode(reader, arena);
        CelValue *slot = VEC_PUSH(&items, arena);

        if (slot)
            *slot = item;
    }
    return cel_list_end(&run, items.items, items.n);
}

static CelValue decode_pairs(JsonReader *reader, Arena *arena) {
    VEC(CelEntry) entries = {0};
    CelRun run = CEL_RUN(arena);

    run.fuel = INT64_MAX;
    json_array(reader);
    while (json_element(reader)) {
        CelValue pair = decode_items(reader, arena);
        CelEntry *entry = VEC_PUSH(&entries, arena);

        if (!entry || pair.kind != CEL_LIST || pair.list->n != 2)
            json_fail(reader, JSON_E_TYPE, "a pair of key and value");
        else
            *entry = (CelEntry){.key = pair.list->items[0], .value = pair.list->items[1]};
    }
    return cel_map_end(&run, entries.items, entries.n);
}

static void decode_parts(JsonReader *reader, Arena *arena, void *target) {
    Typed *typed = target;
    bool boolean = false;

    if (json_peek(reader) == JSON_TRUE || json_peek(reader) == JSON_FALSE) {
        json_bool(reader, &boolean);
        typed->parts = cel_bool(boolean);
    } else if (json_peek(reader) != JSON_ARRAY_BEGIN)
        json_string(reader, arena, &typed->text);
    else if (str_eq(typed->type, STR("map")))
        typed->parts = decode_pairs(reader, arena);
    else
        typed->parts = decode_items(reader, arena);
}

/* Takes NaN, Infinity and -Infinity too. */
static CelValue double_of(JsonReader *reader, Str text) {
    double d = 0;

    if (!cel_number_double(text, &d))
        json_fail(reader, JSON_E_TYPE, "a double as text");
    return cel_double(d);
}

static CelValue string_of(JsonReader *reader, Str text) {
    if (!text.ptr)
        json_fail(reader, JSON_E_TYPE, "a string as value");
    return cel_string(text);
}

/* A value that was no text. */
static CelValue parts_of(JsonReader *reader, CelValue parts, CelKind kind) {
    if (parts.kind != kind)
        json_fail(reader, JSON_E_TYPE, "a value of its type");
    return parts;
}

static CelValue int_of(JsonReader *reader, Str text) {
    int64_t i = 0;

    if (!str_to_int64(text, &i))
        json_fail(reader, JSON_E_RANGE, "an int as text");
    return cel_int(i);
}

static CelValue uint_of(JsonReader *reader, Str text) {
    uint64_t u = 0;

    if (!cel_number_uint(text, &u))
        json_fail(reader, JSON_E_RANGE, "a uint as text");
    return cel_uint(u);
}

static CelValue bytes_of(JsonReader *reader, Str base64, Arena *arena) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(VALUE_BYTES_MAX);

    if (!base64.ptr || !base64_decode(base64, &bytes) || buf_error(&bytes) < 0)
        json_fail(reader, JSON_E_TYPE, "base64");
    return cel_bytes(arena_copy(arena, buf_str(&bytes)));
}

static CelValue duration_of(JsonReader *reader, int64_t seconds, int64_t nanos) {
    int64_t ns = 0;

    if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, &ns) ||
        __builtin_add_overflow(ns, nanos, &ns))
        json_fail(reader, JSON_E_RANGE, "a duration that fits");
    return cel_duration(ns);
}

static CelValue timestamp_of(JsonReader *reader, int64_t seconds, int64_t nanos) {
    if (!cel_timestamp_is_valid(seconds) || nanos < 0 || nanos > 999999999)
        json_fail(reader, JSON_E_RANGE, "a timestamp of the years 1 to 9999");
    return cel_timestamp(seconds, (uint32_t)nanos);
}

/* A type by the name that type() prints. */
static CelValue type_of(JsonReader *reader, Str name) {
    for (int kind = CEL_NULL; kind < CEL_N_KINDS; kind++) {
        const CelType *type = cel_type_of((CelValue){.kind = (uint8_t)kind});

        if (str_eq(type->name, name))
            return cel_type(type);
    }
    json_fail(reader, JSON_E_TYPE, "a type");
    return cel_absent();
}

static CelValue value_of(JsonReader *reader, const Typed *typed, Arena *arena) {
    if (str_eq(typed->type, STR("null")))
        return cel_null();
    if (str_eq(typed->type, STR("bool")))
        return parts_of(reader, typed->parts, CEL_BOOL);
    if (str_eq(typed->type, STR("int")))
        return int_of(reader, typed->text);
    if (str_eq(typed->type, STR("uint")))
        return uint_of(reader, typed->text);
    if (str_eq(typed->type, STR("double")))
        return double_of(reader, typed->text);
    if (str_eq(typed->type, STR("string")))
        return string_of(reader, typed->text);
    if (str_eq(typed->type, STR("bytes")))
        return bytes_of(reader, typed->base64, arena);
    if (str_eq(typed->type, STR("type")))
        return type_of(reader, typed->text);
    if (str_eq(typed->type, STR("list")))
        return parts_of(reader, typed->parts, CEL_LIST);
    if (str_eq(typed->type, STR("map")))
        return parts_of(reader, typed->parts, CEL_MAP);
    if (str_eq(typed->type, STR("duration")))
        return duration_of(reader, int_of(reader, typed->seconds).i, typed->nanos);
    if (str_eq(typed->type, STR("timestamp")))
        return timestamp_of(reader, int_of(reader, typed->seconds).i, typed->nanos);
    json_fail(reader, JSON_E_TYPE, "a type of the vectors");
    return cel_absent();
}

/* "type" comes first in the vectors; a map whose "value" came before it would be read as a list of
 * lists and rejected. Recursion no deeper than the reader's limit. */
CelValue eval_value_decode(JsonReader *reader, Arena *arena) {
    static const JsonField fields[] = {
        {"type", JSON_FIELD_TEXT, offsetof(Typed, type)},
        {"value", JSON_FIELD_CUSTOM, .read = decode_parts},
        {"base64", JSON_FIELD_TEXT, offsetof(Typed, base64)},
        {"seconds", JSON_FIELD_TEXT, offsetof(Typed, seconds)},
        {"nanos", JSON_FIELD_INT, offsetof(Typed, nanos)},
    };
    Typed typed = {0};
    CelValue v;

    JSON_READ_FIELDS(reader, arena, fields, &typed);
    if (json_error(reader) != JSON_OK)
        return cel_absent();
    v = value_of(reader, &typed, arena);
    if (v.kind == CEL_ABSENT || v.kind == CEL_ERROR)
        json_fail(reader, JSON_E_TYPE, "a value that can be");
    /* an error may be in the arena of a run that has ended: it is not returned */
    return json_error(reader) == JSON_OK ? v : cel_absent();
}

/* --- writing ---------------------------------------------------------------------- */

static void write_int(JsonWriter *writer, Str key, int64_t i) {
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRId64, i);
    json_write_member(writer, key, str_from_c(text));
}

/* "9007199254740992.0", "1e+16", "NaN", "-Infinity": the fewest digits that read back. */
static void write_double(JsonWriter *writer, double d) {
    char text[40] = "NaN";

    if (isinf(d))
        (void)snprintf(text, sizeof(text), d > 0 ? "Infinity" : "-Infinity");
    else if (!isnan(d)) {
        DoubleDigits digits = double_digits(d);
        int decimals = digits.n - digits.point;

        if (digits.n == 0 || (digits.point > -4 && digits.point <= 16))
            (void)snprintf(text, sizeof(text), "%.*f", decimals > 1 ? decimals : 1, d);
        else
            (void)snprintf(text, sizeof(text), "%.*e", digits.n - 1, d);
    }
    json_write_member(writer, STR("value"), str_from_c(text));
}

static void write_bytes(JsonWriter *writer, Str bytes) {
    _cleanup_(buf_done) Buf text = BUF_INIT(2 * VALUE_BYTES_MAX);

    base64_encode(bytes, &text);
    json_write_member(writer, STR("base64"), buf_str(&text));
}

static void write_time(JsonWriter *writer, int64_t seconds, int64_t nanos) {
    write_int(writer, STR("seconds"), seconds);
    json_member_int(writer, "nanos", nanos);
}

static void write_list(const CelList *list, CelRun *run, JsonWriter *writer) {
    json_member_array(writer, "value");
    for (uint32_t i = 0; i < list->n && !buf_error(writer->out); i++)
        eval_value_write(cel_list_at(list, i, run), run, writer);
    json_write_end_array(writer);
}

static void write_map(const CelMap *map, CelRun *run, JsonWriter *writer) {
    json_member_array(writer, "value");
    for (uint32_t i = 0; i < map->n && !buf_error(writer->out); i++) {
        CelEntry entry = cel_map_at(map, i, run);

        json_write_array(writer);
        eval_value_write(entry.key, run, writer);
        eval_value_write(entry.value, run, writer);
        json_write_end_array(writer);
    }
    json_write_end_array(writer);
}

static void write_opaque(CelValue v, CelRun *run, JsonWriter *writer) {
    _cleanup_(buf_done) Buf text = BUF_INIT(VALUE_BYTES_MAX);

    cel_value_print(v, run, /* max= */ 0, &text);
    json_write_member(writer, STR("name"), cel_type_of(v)->name);
    json_write_member(writer, STR("value"), buf_str(&text));
}

static Str name_of(CelValue v) {
    switch (v.kind) {
    case CEL_NULL:
        return STR("null");
    case CEL_OPTIONAL:
        return STR("optional");
    case CEL_DURATION:
        return STR("duration");
    case CEL_TIMESTAMP:
        return STR("timestamp");
    case CEL_TYPE:
        return STR("type");
    default:
        return v.kind <= CEL_MAP ? cel_type_of(v)->name : STR("opaque");
    }
}

/* Recursion no deeper than values are: CEL_VALUE_DEPTH_MAX. Parts can be shared, so that a small
 * value is a huge text: the buffer's ceiling ends it. */
void eval_value_write(CelValue v, CelRun *run, JsonWriter *writer) {
    json_write_object(writer);
    json_write_member(writer, STR("type"), name_of(v));
    switch (v.kind) {
    case CEL_NULL:
        break;
    case CEL_BOOL:
        json_member_bool(writer, "value", v.boolean);
        break;
    case CEL_INT:
        write_int(writer, STR("value"), v.i);
        break;
    case CEL_UINT: {
        char text[24];

        (void)snprintf(text, sizeof(text), "%" PRIu64, v.u);
        json_write_member(writer, STR("value"), str_from_c(text));
        break;
    }
    case CEL_DOUBLE:
        write_double(writer, v.d);
        break;
    case CEL_STRING:
        json_write_member(writer, STR("value"), cel_str(v));
        break;
    case CEL_BYTES:
        write_bytes(writer, cel_str(v));
        break;
    case CEL_DURATION:
        write_time(writer, v.i / NSEC_PER_SEC, v.i % NSEC_PER_SEC);
        break;
    case CEL_TIMESTAMP:
        write_time(writer, v.i, v.len);
        break;
    case CEL_TYPE:
        json_write_member(writer, STR("value"), v.type->name);
        break;
    case CEL_LIST:
        write_list(v.list, run, writer);
        break;
    case CEL_MAP:
        write_map(v.map, run, writer);
        break;
    case CEL_OPTIONAL:
        if (v.inner) {
            json_write_key(writer, STR("value"));
            eval_value_write(*v.inner, run, writer);
        }
        break;
    default:
        write_opaque(v, run, writer);
    }
    json_write_end_object(writer);
}
