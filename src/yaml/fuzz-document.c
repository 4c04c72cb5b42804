/* Parses any bytes as YAML. There must be errors, or a tree whose places are in the text and whose
 * JSON, read as YAML, gives the same JSON. */

#include "base/cleanup.h"
#include "base/fuzz.h"
#include "yaml/document.h"

#define ARENA_SIZE ((size_t)64 << 20)

static void check_place(Place place, Str source) {
    Str line = STR_NULL;

    for (size_t i = 0; i < place.line; i++)
        require(str_split(&source, '\n', &line));
    require(place.line > 0 && place.column > 0);
    require(place.column - 1 + place.width <= line.len);
}

static void check_node(const YamlNode *node, const YamlStream *stream, unsigned depth) {
    require(depth <= YAML_DEPTH_MAX);
    check_place(node->place, stream->source);
    for (size_t i = 0; i < node->n; i++) {
        if (node->kind == YAML_MAPPING) {
            require(yaml_find(node, node->pairs[i].key->text) == node->pairs[i].value);
            check_node(node->pairs[i].key, stream, depth + 1);
        }
        check_node(
            node->kind == YAML_MAPPING ? node->pairs[i].value : node->items[i], stream, depth + 1);
    }
}

static void check_json(const YamlNode *document) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    _cleanup_(buf_done) Buf first = BUF_INIT(ARENA_SIZE);
    _cleanup_(buf_done) Buf second = BUF_INIT(ARENA_SIZE);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream = {0};

    yaml_to_json(document, &first);
    if (buf_error(&first) || first.len > YAML_SOURCE_MAX)
        return;
    require(yaml_parse(STR("json"), buf_str(&first), arena, &diags, &stream) == 0);
    require(stream.n_documents == 1);
    yaml_to_json(stream.documents[0], &second);
    require(str_eq(buf_str(&first), buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _cleanup_(arena_freep) Arena *arena = arena_new(ARENA_SIZE);
    _cleanup_(buf_done) Buf out = BUF_INIT(ARENA_SIZE);
    DiagList diags = DIAG_LIST_IN(arena);
    YamlStream stream = {0};
    int r = yaml_parse(STR("fuzz"), str_of((const char *)data, size), arena, &diags, &stream);

    diag_list_print(&diags, false, &out);
    require((r != 0) == (diags.n_errors > 0));
    for (size_t i = 0; i < stream.n_documents; i++) {
        check_node(stream.documents[i], &stream, 0);
        check_json(stream.documents[i]);
    }
    return 0;
}
