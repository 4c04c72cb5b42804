/* Converts trees to JSON and back; libfyaml would need 200 times the size of brackets (feed.c). */

#include <errno.h>

#include "yaml/yaml-internal.h"
#include "json/read.h"
#include "json/write.h"

/* Writes a number as in the source, unless JSON has no such numbers: "+1", "007", ".5", "0x1f". */
static void write_number(JsonWriter *writer, const YamlNode *node) {
    JsonReader reader;

    json_reader_init(&reader, node->text);
    json_skip(&reader, NULL);
    json_end(&reader);
    if (json_error(&reader) == JSON_OK)
        json_write_raw(writer, node->text);
    else if (node->kind == YAML_INT)
        json_write_int(writer, node->integer);
    else
        json_write_double(writer, node->real);
}

typedef struct NodeWriter {
    JsonWriter json;
    size_t offset;         /* of the wanted byte; SIZE_MAX: none */
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

/* --- JSON to trees ---------------------------------------------------------------------------- */

typedef struct TreeReader {
    YamlBuilder *builder;
    JsonReader json;
    size_t base; /* offset of the reader's text in the source */
    int r;       /* YAML_BUILDER_STOPPED: too deep; reported */
} TreeReader;

static bool can_continue(const TreeReader *reader) {
    const YamlBuilder *builder = reader->builder;

    return reader->r == 0 && !builder_has_failed(builder) &&
           builder->diags->n_errors < builder->errors_max;
}

/* @raw is the text, without quotes if it is a string. */
static void add_scalar(YamlBuilder *builder, Str raw, bool is_string) {
    size_t start = (size_t)(raw.ptr - builder->source.text.ptr) - is_string;
    YamlNode *node = ARENA_NEW(builder->arena, YamlNode);

    if (!node)
        return;
    node->place = builder_place_between(builder, start, start + raw.len + 2 * (size_t)is_string);
    node->is_plain = !is_string;
    if (is_string && str_find(raw, '\\') != SIZE_MAX)
        raw = json_unescape(raw, builder->arena);
    node->text = builder_keep_text(builder, raw);
    node->kind = YAML_STRING;
    if (!is_string)
        scalar_resolve(node);
    builder_check_text(builder, node);
    builder_add(builder, node);
}

/* The JSON was validated before, but not its depth: builder_open() limits the recursion to
 * YAML_DEPTH_MAX. */
static void add_value(TreeReader *reader) {
    JsonToken token = json_peek(&reader->json);
    size_t start = reader->base + reader->json.at;
    bool is_escaped;
    Str text = STR_NULL;

    if (token == JSON_STRING) {
        json_string_raw(&reader->json, &text, &is_escaped);
        add_scalar(reader->builder, text, /* is_string= */ true);
        return;
    }
    if (token != JSON_OBJECT_BEGIN && token != JSON_ARRAY_BEGIN) {
        json_skip(&reader->json, &text);
        add_scalar(reader->builder, text, /* is_string= */ false);
        return;
    }
    reader->r = builder_open(reader->builder,
        token == JSON_OBJECT_BEGIN ? YAML_MAPPING : YAML_SEQUENCE, start, start + 1);
    if (reader->r != 0)
        return;
    if (token == JSON_OBJECT_BEGIN) {
        json_object(&reader->json);
        while (can_continue(reader) && json_key(&reader->json, &text)) {
            add_scalar(reader->builder, text, /* is_string= */ true);
            add_value(reader);
        }
    } else {
        json_array(&reader->json);
        while (can_continue(reader) && json_element(&reader->json))
            add_value(reader);
    }
    if (can_continue(reader))
        builder_close(reader->builder, reader->base + reader->json.at);
}

/* Moves to the opening bracket of the next document, or to the end. Returns false if anything else
 * comes first. */
static bool find_document(const YamlSource *source, bool is_first, size_t *at) {
    Str rest;

    *at = source_skip_blank(source, *at);
    rest = str_skip(source->text, *at);
    if ((*at == 0 || rest.ptr[-1] == '\n') && str_has_prefix(rest, STR("---")) && rest.len > 3 &&
        ascii_is_blank(rest.ptr[3]))
        *at = source_skip_blank(source, *at + 3);
    else if (!is_first && rest.len > 0)
        return false;
    rest = str_skip(source->text, *at);
    return rest.len == 0 || rest.ptr[0] == '{' || rest.ptr[0] == '[';
}

static int read_documents(YamlBuilder *builder, bool only_checks) {
    TreeReader reader = {.builder = builder};
    size_t at = 0;

    while (find_document(&builder->source, at == 0, &at)) {
        if (at == builder->source.text.len)
            return 0;
        reader.base = at;
        json_reader_init(&reader.json, str_skip(builder->source.text, at));
        if (only_checks)
            json_skip(&reader.json, NULL);
        else
            add_value(&reader);
        if (!can_continue(&reader) || json_error(&reader.json) == JSON_E_DEPTH)
            return 0;
        if (json_error(&reader.json) != JSON_OK)
            break;
        at += reader.json.at;
    }
    return YAML_NO_JSON;
}

int builder_read_json(YamlBuilder *builder) {
    int r = read_documents(builder, /* only_checks= */ true);

    if (r == 0)
        r = read_documents(builder, /* only_checks= */ false);
    return builder_has_failed(builder) ? -ENOMEM : r;
}
