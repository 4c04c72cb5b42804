/* YAML to JSON: numbers keep their digits where JSON can read them. */

#include "base/ascii.h"
#include "yaml/document.h"
#include "json/write.h"

static bool is_digit(Str text, size_t at) {
    return at < text.len && ascii_is_digit(text.ptr[at]);
}

static size_t skip_digits(Str text, size_t at) {
    while (is_digit(text, at))
        at++;
    return at;
}

/* Whether @text, a YAML number, is a JSON number too, unlike "+1", "007", "1.", ".5", "0x1f". */
static bool is_json_number(Str text) {
    size_t at = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;

    if (!is_digit(text, at))
        return false;
    at = text.ptr[at] == '0' ? at + 1 : skip_digits(text, at);
    if (at < text.len && text.ptr[at] == '.') {
        if (!is_digit(text, at + 1))
            return false;
        at = skip_digits(text, at + 1);
    }
    if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
        at++;
        if (at < text.len && (text.ptr[at] == '+' || text.ptr[at] == '-'))
            at++;
        if (!is_digit(text, at))
            return false;
        at = skip_digits(text, at);
    }
    return at == text.len;
}

static void write_number(JsonWriter *writer, const YamlNode *node) {
    if (is_json_number(node->text))
        json_write_raw(writer, node->text);
    else if (node->kind == YAML_INT)
        json_write_int(writer, node->integer);
    else
        json_write_double(writer, node->real);
}

/* yaml_parse() limits the recursion to YAML_DEPTH_MAX. */
static void write_node(JsonWriter *writer, const YamlNode *node) {
    switch (node->kind) {
    case YAML_NULL:
        json_write_null(writer);
        return;
    case YAML_BOOL:
        json_write_bool(writer, node->boolean);
        return;
    case YAML_INT:
    case YAML_FLOAT:
        write_number(writer, node);
        return;
    case YAML_STRING:
        json_write_string(writer, node->text);
        return;
    case YAML_SEQUENCE:
        json_write_array(writer);
        for (size_t i = 0; i < node->n; i++)
            write_node(writer, node->items[i]);
        json_write_end_array(writer);
        return;
    case YAML_MAPPING:
        json_write_object(writer);
        for (size_t i = 0; i < node->n; i++) {
            json_write_key(writer, node->pairs[i].key->text);
            write_node(writer, node->pairs[i].value);
        }
        json_write_end_object(writer);
        return;
    }
}

void yaml_to_json(const YamlNode *node, Buf *out) {
    JsonWriter writer = JSON_WRITER(out);

    write_node(&writer, node);
}
