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

/* The members of a typed value, before it is known which of them its type needs. */
typedef struct Typed {
    Str type, text, base64, seconds;
    int64_t nanos;
    CelValue parts; /* "value", if it is a bool, a list or a map */
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

static const char *const types[CEL_N_KINDS] = {
    [CEL_NULL] = "null",
    [CEL_BOOL] = "bool",
    [CEL_INT] = "int",
    [CEL_UINT] = "uint",
    [CEL_DOUBLE] = "double",
    [CEL_STRING] = "string",
    [CEL_BYTES] = "bytes",
    [CEL_TYPE] = "type",
    [CEL_LIST] = "list",
    [CEL_MAP] = "map",
    [CEL_DURATION] = "duration",
    [CEL_TIMESTAMP] = "timestamp",
    [CEL_OPTIONAL] = "optional", /* only written */
};

/* Returns CEL_N_KINDS for an unknown name. */
static CelKind kind_of(Str name) {
    CelKind kind = 0;

    while (kind < CEL_N_KINDS && !(types[kind] && str_is(name, types[kind])))
        kind++;
    return kind;
}

static CelValue want(
    JsonReader *reader, bool holds, JsonError error, const char *wanted, CelValue value) {
    if (!holds)
        json_fail(reader, error, wanted);
    return value;
}

/* The type that type() prints as @name. */
static CelValue type_of(JsonReader *reader, Str name) {
    for (int kind = CEL_NULL; kind < CEL_N_KINDS; kind++) {
        const CelType *type = cel_type_of((CelValue){.kind = (uint8_t)kind});

        if (str_eq(type->name, name))
            return cel_type(type);
    }
    return want(reader, false, JSON_E_TYPE, "a type", cel_absent());
}

/* A duration or a timestamp. */
static CelValue time_of(JsonReader *reader, const Typed *typed, CelKind kind) {
    int64_t seconds = 0, nanos = typed->nanos, ns = 0;
    bool is_fine;

    if (!str_to_int64(typed->seconds, &seconds))
        json_fail(reader, JSON_E_RANGE, "an int as text");
    if (kind == CEL_TIMESTAMP)
        return want(reader, cel_timestamp_is_valid(seconds) && nanos >= 0 && nanos <= 999999999,
            JSON_E_RANGE, "a timestamp of the years 1 to 9999",
            cel_timestamp(seconds, (uint32_t)nanos));
    is_fine = !__builtin_mul_overflow(seconds, NSEC_PER_SEC, &ns) &&
              !__builtin_add_overflow(ns, nanos, &ns);
    return want(reader, is_fine, JSON_E_RANGE, "a duration that fits", cel_duration(ns));
}

static CelValue value_of(JsonReader *reader, const Typed *typed, Arena *arena) {
    _cleanup_(buf_done) Buf bytes = BUF_INIT(VALUE_BYTES_MAX);
    CelKind kind = kind_of(typed->type);
    int64_t i = 0;
    uint64_t u = 0;
    double d = 0;
    bool is_fine;

    switch (kind) {
    case CEL_NULL:
        return cel_null();
    case CEL_BOOL:
    case CEL_LIST:
    case CEL_MAP:
        return want(
            reader, typed->parts.kind == kind, JSON_E_TYPE, "a value of its type", typed->parts);
    case CEL_INT:
        is_fine = str_to_int64(typed->text, &i);
        return want(reader, is_fine, JSON_E_RANGE, "an int as text", cel_int(i));
    case CEL_UINT:
        is_fine = cel_number_uint(typed->text, &u);
        return want(reader, is_fine, JSON_E_RANGE, "a uint as text", cel_uint(u));
    case CEL_DOUBLE: /* NaN, Infinity and -Infinity too */
        is_fine = cel_number_double(typed->text, &d);
        return want(reader, is_fine, JSON_E_TYPE, "a double as text", cel_double(d));
    case CEL_STRING:
        return want(
            reader, typed->text.ptr, JSON_E_TYPE, "a string as value", cel_string(typed->text));
    case CEL_BYTES:
        is_fine = typed->base64.ptr && base64_decode(typed->base64, &bytes) && !buf_error(&bytes);
        return want(
            reader, is_fine, JSON_E_TYPE, "base64", cel_bytes(arena_copy(arena, buf_str(&bytes))));
    case CEL_TYPE:
        return type_of(reader, typed->text);
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return time_of(reader, typed, kind);
    default:
        return want(reader, false, JSON_E_TYPE, "a type of the vectors", cel_absent());
    }
}

/* "type" comes first in the vectors; a map whose "value" came before it would be read as a list of
 * lists and rejected. The reader limits the recursion. */
CelValue eval_value_decode(JsonReader *reader, Arena *arena) {
    static const JsonField fields[] = {
        JSON_MEMBER("type", TEXT, Typed, type),
        {"value", JSON_FIELD_CUSTOM, .read = decode_parts},
        JSON_MEMBER("base64", TEXT, Typed, base64),
        JSON_MEMBER("seconds", TEXT, Typed, seconds),
        JSON_MEMBER("nanos", INT, Typed, nanos),
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

/* CEL_VALUE_DEPTH_MAX limits the recursion. Parts can be shared, so that a small value is a huge
 * text: the buffer's ceiling ends it. */
void eval_value_write(CelValue v, CelRun *run, JsonWriter *writer) {
    _cleanup_(buf_done) Buf text = BUF_INIT(2 * VALUE_BYTES_MAX);

    json_write(writer, "{type: %s", types[v.kind] ? types[v.kind] : "opaque");
    switch (v.kind) {
    case CEL_NULL:
        break;
    case CEL_BOOL:
        json_member_bool(writer, "value", v.boolean);
        break;
    case CEL_INT:
        buf_append_int(&text, v.i);
        break;
    case CEL_UINT:
        buf_printf(&text, "%" PRIu64, v.u);
        break;
    case CEL_DOUBLE:
        write_double(writer, v.d);
        break;
    case CEL_STRING:
        json_write_member(writer, STR("value"), cel_str(v));
        break;
    case CEL_BYTES:
        base64_encode(cel_str(v), &text);
        json_write_member(writer, STR("base64"), buf_str(&text));
        break;
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        buf_append_int(&text, v.kind == CEL_DURATION ? v.i / NSEC_PER_SEC : v.i);
        json_write(writer, "seconds: %.*s, nanos: %jd", STR_FMT(buf_str(&text)),
            v.kind == CEL_DURATION ? v.i % NSEC_PER_SEC : v.len);
        break;
    case CEL_TYPE:
        json_write_member(writer, STR("value"), v.type->name);
        break;
    case CEL_LIST:
        json_member_array(writer, "value");
        for (uint32_t i = 0; i < v.list->n && !buf_error(writer->out); i++)
            eval_value_write(cel_list_at(v.list, i, run), run, writer);
        json_write_end_array(writer);
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
        text.ceiling = VALUE_BYTES_MAX;
        cel_value_print(v, run, /* max= */ 0, &text);
        json_write(writer, "name: %.*s, value: %.*s", STR_FMT(cel_type_of(v)->name),
            STR_FMT(buf_str(&text)));
    }
    if (v.kind == CEL_INT || v.kind == CEL_UINT)
        json_write_member(writer, STR("value"), buf_str(&text));
    json_write_end_object(writer);
}
