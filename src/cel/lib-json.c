/* JSON as a value of type dyn; json.decode() takes a text, such as an annotation. */

#include "base/double.h"
#include "base/vec.h"
#include "cel/library.h"
#include "cel/limits.h"
#include "json/token.h"

typedef struct Decoding {
    CelRun *run;
    const char *name; /* before errors */
    JsonReader reader;
    VEC(CelValue) values;          /* of all open lists and objects; keys are values, too */
    size_t begins[JSON_DEPTH_MAX]; /* where each of those begins */
    size_t depth;
    CelValue error; /* CEL_ABSENT: none */
} Decoding;

static void push(Decoding *decoding, CelValue value) {
    if (value.kind == CEL_ERROR)
        decoding->error = value;
    else if (!VEC_ADD(&decoding->values, decoding->run->arena, value))
        decoding->error = cel_no_memory(decoding->run);
}

static void push_text(Decoding *decoding) {
    Str text = decoding->reader.text;

    if (decoding->reader.escaped)
        text = json_unescape(text, decoding->run->arena);
    push(decoding, text.ptr || text.len == 0 ? cel_string(text) : cel_no_memory(decoding->run));
}

/* An int if it is written as one and fits, else a double. */
static void push_number(Decoding *decoding) {
    Str text = decoding->reader.text;
    int64_t whole;
    double number;

    if (!cel_charge(decoding->run, CEL_DOUBLE_FUEL))
        push(decoding, cel_exhausted(decoding->run));
    else if (str_to_int64(text, &whole))
        push(decoding, cel_int(whole));
    else if (text.len <= JSON_DOUBLE_TEXT_MAX && double_parse(text, &number, NULL))
        push(decoding, cel_double(number));
    else
        push(decoding,
            cel_fail(decoding->run, "%sa number that does not fit a double", decoding->name));
}

/* The list or map of all values since it began. */
static void finish(Decoding *decoding, bool is_map) {
    size_t begin = decoding->begins[--decoding->depth];
    size_t n = (decoding->values.n - begin) / (is_map ? 2 : 1);
    const CelValue *from = decoding->values.items + begin;
    CelEntry *entries = is_map ? cel_map_begin(decoding->run, n) : NULL;
    CelValue *items = is_map ? NULL : cel_list_begin(decoding->run, n);

    if (!entries && !items) {
        decoding->error = cel_no_memory(decoding->run);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (is_map)
            entries[i] = (CelEntry){.key = from[2 * i], .value = from[2 * i + 1]};
        else
            items[i] = from[i];
    }
    decoding->values.n = begin;
    push(decoding,
        is_map ? cel_map_end(decoding->run, entries, n) : cel_list_end(decoding->run, items, n));
}

static void take(Decoding *decoding, JsonToken token) {
    switch (token) {
    case JSON_OBJECT_BEGIN:
    case JSON_ARRAY_BEGIN:
        decoding->begins[decoding->depth++] = decoding->values.n;
        break;
    case JSON_OBJECT_END:
    case JSON_ARRAY_END:
        finish(decoding, token == JSON_OBJECT_END);
        break;
    case JSON_KEY:
    case JSON_STRING:
        push_text(decoding);
        break;
    case JSON_NUMBER:
        push_number(decoding);
        break;
    case JSON_NULL:
        push(decoding, cel_null());
        break;
    default:
        push(decoding, cel_bool(token == JSON_TRUE));
    }
}

CelValue cel_json_decode(CelRun *run, Str text, const char *name) {
    Decoding decoding = {.run = run, .name = name, .error = cel_absent()};
    JsonToken token;
    char why[128];

    json_reader_init(&decoding.reader, text);
    while ((token = json_next(&decoding.reader)) != JSON_DONE) {
        if (token == JSON_BAD) {
            json_describe(&decoding.reader, why, sizeof(why));
            return cel_fail(run, "%s%s", name, why);
        }
        take(&decoding, token);
        if (decoding.error.kind == CEL_ERROR)
            return decoding.error;
    }
    return decoding.values.items[0];
}

CEL_FUNCTION(decode) {
    Str text = cel_str(args[0]);

    if (text.len > CEL_JSON_MAX)
        return cel_fail(run, "json.decode: more than %d bytes", CEL_JSON_MAX);
    if (!cel_charge_bytes(run, 2 * text.len))
        return cel_exhausted(run);
    return cel_json_decode(run, text, "json.decode: ");
}

static const CelOverloadSpec overloads[] = {
    {"json.decode", "(string) -> dyn", decode, CEL_SIZED(BYTES, FIRST), .reads_text = true},
};

CEL_LIBRARY(cel_json_library, "json", overloads);
