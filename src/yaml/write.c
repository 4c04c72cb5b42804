/* Writes JSON text as block YAML. */

#include "yaml/write.h"

#include <errno.h>

#include "base/ascii.h"
#include "json/read.h"

/* Whether YAML 1.1 or 1.2 does not read this word as a string. */
static bool is_reserved(Str text) {
    static const Str words[] = {STR("true"), STR("false"), STR("yes"), STR("no"), STR("on"),
        STR("off"), STR("y"), STR("n"), STR("null")};

    for (size_t i = 0; i < ELEMENTS_OF(words); i++)
        if (str_eq_nocase(text, words[i]))
            return true;
    return false;
}

static bool is_plain_char(char c) {
    return ascii_is_alnum(c) || (c != '\0' && strchr("_-./=+@(),;%<>?' ", c));
}

/* A text that starts with a letter or slash cannot be a number, time or indicator. */
bool yaml_is_plain(Str raw) {
    bool is_word = raw.len > 0 && (ascii_is_letter(raw.ptr[0]) || raw.ptr[0] == '/');

    if (!is_word || raw.ptr[raw.len - 1] == ' ' || is_reserved(raw))
        return false;
    for (size_t i = 0; i < raw.len; i++) {
        bool is_inner_colon = raw.ptr[i] == ':' && i + 1 < raw.len && raw.ptr[i + 1] != ' ';

        if (!is_plain_char(raw.ptr[i]) && !is_inner_colon)
            return false;
    }
    return true;
}

static void write_text(Buf *out, Str raw) {
    if (yaml_is_plain(raw)) {
        buf_append(out, raw);
        return;
    }
    buf_append_char(out, '"');
    buf_append(out, raw);
    buf_append_char(out, '"');
}

static void write_value(JsonReader *reader, Buf *out, size_t indent, bool is_item);

static void begin_line(Buf *out, size_t indent, bool *is_first) {
    if (!*is_first) {
        buf_append_char(out, '\n');
        buf_append_repeat(out, ' ', indent);
    }
    *is_first = false;
}

/* The first line comes after the "- " of a list (@is_item), or below the key. */
static void write_mapping(JsonReader *reader, Buf *out, size_t indent, bool is_item) {
    bool is_first = is_item, is_empty = true;
    Str key;

    json_object(reader);
    while (json_key(reader, &key)) {
        begin_line(out, indent, &is_first);
        is_empty = false;
        write_text(out, key);
        buf_append_char(out, ':');
        write_value(reader, out, indent, /* is_item= */ false);
    }
    if (is_empty)
        buf_append(out, is_item ? STR("{}") : STR(" {}"));
}

static void write_sequence(JsonReader *reader, Buf *out, size_t indent, bool is_item) {
    bool is_first = is_item, is_empty = true;

    json_array(reader);
    while (json_element(reader)) {
        begin_line(out, indent, &is_first);
        is_empty = false;
        buf_append(out, STR("- "));
        write_value(reader, out, indent + 2, /* is_item= */ true);
    }
    if (is_empty)
        buf_append(out, is_item ? STR("[]") : STR(" []"));
}

/* The reader limits the recursion to JSON_DEPTH_MAX. @indent is the column of the key, or after "-
 * ". */
static void write_value(JsonReader *reader, Buf *out, size_t indent, bool is_item) {
    JsonToken token = json_peek(reader);
    bool is_escaped;
    Str raw = STR_NULL;

    if (token == JSON_OBJECT_BEGIN) {
        write_mapping(reader, out, is_item ? indent : indent + 2, is_item);
        return;
    }
    if (token == JSON_ARRAY_BEGIN) { /* starts at the column of its key, like in kubectl */
        write_sequence(reader, out, indent, is_item);
        return;
    }
    if (!is_item)
        buf_append_char(out, ' ');
    if (token == JSON_STRING) {
        json_string_raw(reader, &raw, &is_escaped);
        write_text(out, raw);
    } else {
        json_skip(reader, &raw);
        buf_append(out, raw);
    }
}

int yaml_from_json(Str json, Buf *out) {
    JsonReader reader;

    json_reader_init(&reader, json);
    write_value(&reader, out, 0, /* is_item= */ true);
    json_end(&reader);
    buf_append_char(out, '\n');
    return json_error(&reader) != JSON_OK ? -EINVAL : buf_error(out);
}
