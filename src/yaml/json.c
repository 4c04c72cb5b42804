/* YAML to JSON: numbers keep their digits where JSON can read them. */

#include "yaml/document.h"
#include "json/read.h"
#include "json/write.h"

/* Whether @text, a YAML number, is a JSON number too, unlike "+1", "007", "1.", ".5", "0x1f". */
static bool is_json_number(Str text) {
    JsonReader reader;

    json_reader_init(&reader, text);
    json_skip(&reader, NULL);
    json_end(&reader);
    return json_error(&reader) == JSON_OK;
}

static void write_number(JsonWriter *writer, const YamlNode *node) {
    if (is_json_number(node->text))
        json_write_raw(writer, node->text);
    else if (node->kind == YAML_INT)
        json_write_int(writer, node->integer);
    else
        json_write_double(writer, node->real);
}

typedef struct NodeWriter {
    JsonWriter json;
    size_t offset;         /* of the byte that is looked for; SIZE_MAX: none is */
    const YamlNode *found; /* the innermost node that wrote it */
} NodeWriter;

static void note_written(NodeWriter *writer, const YamlNode *node, size_t begin) {
    if (!writer->found && writer->offset >= begin && writer->offset < writer->json.out->len)
        writer->found = node;
}

static void write_node(NodeWriter *writer, const YamlNode *node);

static void write_mapping(NodeWriter *writer, const YamlNode *node) {
    json_write_object(&writer->json);
    for (size_t i = 0; i < node->n; i++) {
        size_t begin = writer->json.out->len;

        json_write_key(&writer->json, node->pairs[i].key->text);
        note_written(writer, node->pairs[i].key, begin);
        write_node(writer, node->pairs[i].value);
    }
    json_write_end_object(&writer->json);
}

/* yaml_parse() limits the recursion to YAML_DEPTH_MAX. */
static void write_node(NodeWriter *writer, const YamlNode *node) {
    size_t begin = writer->json.out->len;

    switch (node->kind) {
    case YAML_NULL:
        json_write_null(&writer->json);
        break;
    case YAML_BOOL:
        json_write_bool(&writer->json, node->boolean);
        break;
    case YAML_INT:
    case YAML_FLOAT:
        write_number(&writer->json, node);
        break;
    case YAML_STRING:
        json_write_string(&writer->json, node->text);
        break;
    case YAML_SEQUENCE:
        json_write_array(&writer->json);
        for (size_t i = 0; i < node->n; i++)
            write_node(writer, node->items[i]);
        json_write_end_array(&writer->json);
        break;
    case YAML_MAPPING:
        write_mapping(writer, node);
        break;
    }
    note_written(writer, node, begin);
}

void yaml_to_json(const YamlNode *node, Buf *out) {
    NodeWriter writer = {.json = JSON_WRITER(out), .offset = SIZE_MAX};

    write_node(&writer, node);
}

Place yaml_json_place(const YamlNode *node, size_t offset) {
    _cleanup_(buf_done) Buf text = BUF_INIT(offset + YAML_SOURCE_MAX);
    NodeWriter writer = {.json = JSON_WRITER(&text), .offset = offset};

    write_node(&writer, node);
    return writer.found ? writer.found->place : node->place;
}
